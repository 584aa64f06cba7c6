# SPDX-License-Identifier: Apache-2.0
"""Run a packed charm's own dispatch as on its base: that release's Python and os-release, and nothing else.

In place of src/charm.py, dispatch starts IMPORTER. It imports all that the charm imports, also inside
functions, and has lib/charmkit/packages.py install a package, with an apt-get that only notes what it is
asked for.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import base
from stage import Platform

PACKAGE = "package-of-the-probe"

LACKS = {"3.10": ("tomllib",), "3.12": ("asynchat", "asyncore", "distutils", "imp", "smtpd")}
"""Modules of Python 3.10 to 3.12 that a base's Python lacks: hidden where another Python stands in for it."""

IMPORTER = f'''
import importlib, importlib.machinery as machinery, json, os, sys

job = json.loads(os.environ["PROBE"])
root = os.path.dirname(os.path.realpath(__file__))


class OfTheBase(machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        spec = machinery.PathFinder.find_spec(name, path, target)
        ours = spec is None or (spec.origin or "").startswith(root)
        return None if name in job["lacking"] and not ours else spec


sys.meta_path[sys.meta_path.index(machinery.PathFinder)] = OfTheBase
for name in job["modules"]:
    importlib.import_module(name)
for target in job["names"]:
    module, _, name = target.rpartition(".")
    if not module or not hasattr(importlib.import_module(module), name):
        importlib.import_module(target)
if job["installs"]:
    from charmkit import packages
    from hostnic.machine import Machine

    packages.ensure(Machine(), {{os.path.join(root, "nowhere"): "{PACKAGE}"}}, each_hook=True)
'''


@dataclass(frozen=True)
class Job:
    """The work of the probe.

    Attributes:
        modules: the charm's own modules, which are imported.
        names: ``module.name`` or ``module`` of installed packages, which are imported.
        installs: the charm installs packages of the distribution.

    """

    modules: Sequence[str]
    names: Sequence[str]
    installs: bool


def faults(root: Path, platform: Platform, job: Job) -> list[str]:
    """List the faults of an unpacked artifact, which is changed; empty where all works."""
    python, version = _python(platform)
    lacking: Sequence[str] = ()
    if version != platform.python:
        lacking = LACKS[platform.python]
    _adapt(root, platform, python, version)
    log, apt = root / "apt.log", root / "apt-get"
    log.touch()
    apt.write_text(f'#!/bin/sh\necho "$*" >> "{log}"\n')
    apt.chmod(0o755)
    command = base.command(platform.version, {apt: "/usr/bin/apt-get"} if job.installs else {})
    environment = {
        "PATH": f"{root / 'bin'}:/usr/sbin:/usr/bin:/sbin:/bin",
        "PROBE": json.dumps({**asdict(job), "lacking": lacking}),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    dispatch = [*command, "sh", str(root / "dispatch")]
    done = subprocess.run(dispatch, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [f"it does not import: {done.stderr.strip().splitlines()[-1]}"]
    asked = [line.split() for line in log.read_text().splitlines()]
    if job.installs and not any("install" in words and PACKAGE in words for words in asked):
        return [f"it does not install packages: apt-get was asked for {asked}"]
    return []


def _python(platform: Platform) -> tuple[str, str]:
    """The base's Python and its minor version; where this machine has none, the Python that runs here."""
    ask = "import sys; print(sys.executable)"
    for name in (f"/usr/bin/python{platform.python}", f"python{platform.python}"):
        # pyenv's commands need the variable; others ignore it.
        environment = {**os.environ, "PYENV_VERSION": platform.python}
        try:
            done = subprocess.run(
                [name, "-c", ask], env=environment, capture_output=True, text=True, check=True
            )
        except (OSError, subprocess.CalledProcessError):
            continue
        return done.stdout.strip(), platform.python
    return sys.executable, f"{sys.version_info.major}.{sys.version_info.minor}"


def _adapt(root: Path, platform: Platform, python: str, version: str) -> None:
    """Let dispatch find this Python as python3, and start IMPORTER."""
    (root / "probe.py").write_text(IMPORTER)
    dispatch = root / "dispatch"
    dispatch.write_text(dispatch.read_text().replace("/src/charm.py", "/probe.py"))
    (root / "bin").mkdir()
    (root / "bin/python3").symlink_to(python)
    settings = root / "venv/pyvenv.cfg"
    settings.write_text(settings.read_text().replace("/usr/bin", str(Path(python).resolve().parent)))
    if version != platform.python:
        (root / f"venv/lib/python{version}").symlink_to(f"python{platform.python}")
