# SPDX-License-Identifier: Apache-2.0
"""The directory that charmcraft packs: the charm, the shared packages, and a lock of the pinned versions.

charmcraft sees only the charm's own directory, so that lib/ and the licence are copied in.
"""

import os
import platform as host
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import lock
import yaml
from import_graph import COMMAND_LINE

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build"
PYTHON = {"22.04": "3.10", "24.04": "3.12"}
"""The system's Python of each Ubuntu release, with which Juju runs a charm there."""


@dataclass(frozen=True)
class Platform:
    """One entry under ``platforms:``, such as ``ubuntu@22.04:arm64``."""

    name: str

    @property
    def version(self) -> str:
        """The Ubuntu release, such as 22.04."""
        return self.name.partition("@")[2].partition(":")[0]

    @property
    def machine(self) -> str:
        """Debian's name of the architecture, such as arm64."""
        return self.name.rpartition(":")[2]

    @property
    def python(self) -> str:
        """The minor version of Python on that release, such as 3.10."""
        return PYTHON[self.version]


def platforms(charm: Path) -> list[Platform]:
    """The platforms that a charm declares."""
    declared = yaml.safe_load((charm / "charmcraft.yaml").read_text())["platforms"]
    return [Platform(name) for name in declared]


def stage(charm: Path, platform: Platform) -> Path:
    """Copy the charm and lib/ to a fresh directory, and write there what the uv plugin needs."""
    target = BUILD / platform.version / platform.machine / charm.name
    copy(charm, target)
    (target / "version").write_text(version(charm) + "\n")
    _adapt(target / "charmcraft.yaml", platform)
    lock.lock(target)
    return target


def copy(charm: Path, target: Path) -> None:
    """Copy what the artifact is made of: the charm without its command line, lib/, and the licence."""
    shutil.rmtree(target, ignore_errors=True)
    left_out = shutil.ignore_patterns("__pycache__", "*.pyc", "uv.lock", COMMAND_LINE)
    shutil.copytree(charm, target, ignore=left_out)
    # The modelled host is for tests; a charm that imports it fails the look at its artifact. Documents of
    # lib/ are for its developers.
    for package in sorted(path for path in (ROOT / "lib").iterdir() if path.is_dir()):
        not_run = shutil.ignore_patterns("__pycache__", "*.pyc", "testing", "*.md")
        shutil.copytree(package, target / "lib" / package.name, ignore=not_run)
    shutil.copy(ROOT / "LICENSE", target)


def version(charm: Path) -> str:
    """The charm's version and the git revision, which Juju shows as charm-version: 1.0.1+git.0123456789ab.

    A work tree that differs from its revision adds ".modified". Outside a git repository, the version alone.
    """
    text = (charm / "pyproject.toml").read_text()
    (number,) = re.findall(r'^version = "(.+)"$', text, flags=re.MULTILINE)
    revision, changes = (
        subprocess.run(["git", *command.split()], cwd=charm, capture_output=True, text=True, check=False)
        for command in ("rev-parse --short=12 HEAD", "status --porcelain")
    )
    if revision.returncode != 0:
        return number
    return f"{number}+git.{revision.stdout.strip()}{'.modified' if changes.stdout else ''}"


def links(name: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Where a charm has its source, documentation and issues: in the repository that GitHub packs."""
    if not (repository := environment.get("GITHUB_REPOSITORY")):
        return {}
    source = f"{environment['GITHUB_SERVER_URL']}/{repository}"
    return {
        "source": source,
        "documentation": f"{source}/blob/HEAD/charms/{name}/README.md",
        "issues": f"{source}/issues",
    }


def _adapt(charmcraft: Path, platform: Platform) -> None:
    """Take uv from the test environment, not from a snap, and put packages where the base's Python looks.

    The uv plugin installs for the Python and for the machine that packs. All packages are pure Python, or are
    without the compiled modules that they can do without: they work on every machine, and on the base's
    Python once they are in its directory.
    """
    content = yaml.safe_load(charmcraft.read_text())
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    script = [DEFAULT, CLEAN] if here == platform.python else [DEFAULT, RENAMED, CLEAN]
    for part in content["parts"].values():
        if part.get("plugin") != "uv":
            continue
        part["build-snaps"] = [snap for snap in part.get("build-snaps", []) if snap != "astral-uv"]
        part["override-build"] = "".join(script).format(here=here, base=platform.python)
    content["platforms"] = {platform.name: {"build-on": [_machine()], "build-for": [platform.machine]}}
    content["links"] = links(content["name"], os.environ)
    content["parts"]["files"] = {"plugin": "dump", "source": ".", "stage": ["LICENSE", "icon.svg", "version"]}
    charmcraft.write_text(yaml.safe_dump(content, sort_keys=False))


def _machine() -> str:
    """Debian's name of the architecture that packs."""
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(host.machine(), host.machine())


DEFAULT = """\
craftctl default
cd "$CRAFT_PART_INSTALL/venv"
"""

RENAMED = """\
mv lib/python{here} lib/python{base}
"""

# Byte code and compiled modules are for the Python that runs here, and pyvenv.cfg names it.
CLEAN = """\
find lib -name __pycache__ -prune -exec rm -r {{}} +
find lib -name '*.so' -delete
rm -f .lock .gitignore CACHEDIR.TAG
printf 'home = /usr/bin\\ninclude-system-site-packages = false\\n' > pyvenv.cfg
"""
