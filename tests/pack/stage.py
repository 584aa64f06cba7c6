# SPDX-License-Identifier: Apache-2.0
"""The directory that charmcraft packs: the charm, the shared packages, and a lock of the pinned versions.

charmcraft sees only the charm's own directory, so that lib/ is copied in. Its uv plugin wants a uv.lock,
which records the address of a package index and is therefore never committed: it is made here, and may hold
no version and no file that ``tests/requirements/guest.txt`` does not pin.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build"
PINS = [ROOT / "tests/requirements" / name for name in ("guest.txt", "fabric.txt")]
"""What tests run with: the charms of hosts in the guest, cumulus-fabric's switches by SSH."""

COMPILED_ALLOWED = frozenset({"cumulus-fabric"})
"""Charms that do not run on hosts, and may need compiled modules."""

PYTHON = {"22.04": "3.10", "24.04": "3.12"}
"""The system's Python of each Ubuntu release, with which Juju runs a charm there."""


@dataclass(frozen=True)
class Platform:
    """One entry under ``platforms:``, such as ``ubuntu@22.04:amd64``."""

    name: str

    @property
    def version(self) -> str:
        """The Ubuntu release, such as 22.04."""
        return self.name.partition("@")[2].partition(":")[0]

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
    target = BUILD / platform.version / charm.name
    shutil.rmtree(target, ignore_errors=True)
    left_out = shutil.ignore_patterns("__pycache__", "*.pyc", "uv.lock")
    shutil.copytree(charm, target, ignore=left_out)
    # The modelled host is for tests; a charm that imports it fails the look at its artifact.
    for package in sorted(path for path in (ROOT / "lib").iterdir() if path.is_dir()):
        tests_only = shutil.ignore_patterns("__pycache__", "*.pyc", "testing")
        shutil.copytree(package, target / "lib" / package.name, ignore=tests_only)
    _adapt(target / "charmcraft.yaml", platform, compiled=charm.name in COMPILED_ALLOWED)
    _lock(target)
    return target


def _adapt(charmcraft: Path, platform: Platform, *, compiled: bool) -> None:
    """Take uv from the test environment, not from a snap, and put packages where the base's Python looks.

    Without the base's own Python at hand, the uv plugin installs for the Python that runs here. Pure Python
    packages work on the other one too, once they are in its directory; compiled modules are left out, or, for
    a charm that needs them, the packages are installed once more from the files for the base's Python.
    """
    content = yaml.safe_load(charmcraft.read_text())
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    for part in content["parts"].values():
        if part.get("plugin") != "uv":
            continue
        part["build-snaps"] = [snap for snap in part.get("build-snaps", []) if snap != "astral-uv"]
        if here != platform.python:
            script = FOR_BASE if compiled else WITHOUT_COMPILED
            part["override-build"] = script.format(here=here, base=platform.python)
    charmcraft.write_text(yaml.safe_dump(content, sort_keys=False))


WITHOUT_COMPILED = """\
craftctl default
cd "$CRAFT_PART_INSTALL/venv/lib"
find . -name '*.so' -delete
find . -name '*.pyc' -delete
mv python{here} python{base}
"""

FOR_BASE = """\
craftctl default
wanted="$CRAFT_PART_BUILD/requirements.txt"
libraries="$CRAFT_PART_INSTALL/venv/lib"
uv export --quiet --frozen --no-emit-project --output-file="$wanted"
rm -r "$libraries/python{here}"
unset VIRTUAL_ENV
uv pip install --quiet --no-deps --no-build --require-hashes --requirement="$wanted" --python=python{here} \\
    --python-version={base} --python-platform=x86_64-manylinux_2_28 \\
    --target="$libraries/python{base}/site-packages"
"""


def _lock(directory: Path) -> None:
    lines = [line for path in PINS for line in path.read_text().splitlines()]
    pins = sorted({line.rstrip(" \\") for line in lines if re.match(r"[A-Za-z0-9]", line)})
    with (directory / "pyproject.toml").open("a") as project:
        linux = ["sys_platform == 'linux'"]
        project.write(f"\n[tool.uv]\nconstraint-dependencies = {pins!r}\nenvironments = {linux!r}\n")
    _uv("lock", "--quiet", cwd=directory)


def lock_faults(directory: Path) -> list[str]:
    """Packages of the lock that are pinned nowhere, or to other files."""
    exported = _uv("export", "--frozen", "--no-emit-project", "--no-header", "--no-annotate", cwd=directory)
    known = _pinned()
    faults: list[str] = []
    for pin, hashes in _pins(exported).items():
        if pin not in known:
            faults.append(f"{pin} is pinned nowhere in tests/requirements: run tox -e pins")
        elif not hashes <= known[pin]:
            faults.append(f"{pin}: the index offers other files than those pinned in tests/requirements")
    return faults


def _pinned() -> dict[str, frozenset[str]]:
    return {pin: hashes for path in PINS for pin, hashes in _pins(path.read_text()).items()}


def _pins(requirements: str) -> dict[str, frozenset[str]]:
    """``name==version`` and the hashes of its files."""
    entries = re.split(r"^(?=[A-Za-z0-9])", requirements, flags=re.MULTILINE)
    return {
        found[0]: frozenset(re.findall(r"sha256:[0-9a-f]{64}", entry))
        for entry in entries
        if (found := re.match(r"[A-Za-z0-9._-]+==[^\s;\\]+", entry))
    }


def _uv(*arguments: str, cwd: Path) -> str:
    # Where the machine names its index to pip alone, uv is told the same one.
    environment = dict(os.environ)
    if index := environment.get("PIP_INDEX_URL"):
        environment.setdefault("UV_DEFAULT_INDEX", index)
    command = [sys.executable, "-m", "uv", *arguments, f"--python={sys.executable}"]
    done = subprocess.run(command, cwd=cwd, env=environment, text=True, check=True, stdout=subprocess.PIPE)
    return done.stdout
