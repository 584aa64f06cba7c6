# SPDX-License-Identifier: Apache-2.0
"""The programs of OVN, Neutron and Nova, in the cache outside the tree.

`released` are OVN's of Debian 13, out of the package base from which the guests' images are built, and
Neutron and Nova of PyPI, pinned in requirements/openstack.txt. `packaged` are all out of a distribution's
packages, in the root of the cloud (`lab.cloud.root`). A distribution's programs run on any host, since
their own libraries and loader come with them.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from lab import host, store
from lab.cloud import openstacks, root
from lab.image import base, digest, locked
from lab.progress import Step
from lab.releases import RELEASES

REQUIREMENTS = Path(__file__).parents[2] / "requirements/openstack.txt"
RELEASE = RELEASES["trixie"]
LIBRARIES = "usr/lib/x86_64-linux-gnu"
OVN = {
    "ovn-nbctl": "usr/bin",
    "ovn-northd": "usr/bin",
    "ovn-sbctl": "usr/bin",
    "ovsdb-client": "usr/bin",
    "ovsdb-server": "usr/sbin",
    "ovsdb-tool": "usr/bin",
}
"""Each program of OVN and OVSDB that is needed, and its folder."""

WRAPPER = """#!/bin/sh
root=$(dirname "$0")/..
exec "$root/{libraries}/ld-linux-x86-64.so.2" --library-path "$root/{libraries}" "$root/{program}" "$@"
"""
"""Starts a program with the libraries of its own release, whatever the host's are."""


class Programs(NamedTuple):
    """Where the programs of one release are.

    Attributes:
        release: of Neutron and Nova, as `lab.openstack` names it.
        ovn: the folder whose `bin` has OVN's programs, and `usr/share/ovn` its schemas.
        python: the interpreter that imports Neutron and Nova.

    """

    release: str
    ovn: Path
    python: Path


def released() -> Programs:
    """OVN of Debian 13, and the Neutron and Nova of PyPI.

    Raises:
        HostError: the host lacks what the package base is made with, or making it failed.

    """
    return Programs("2024.1", _ovn(), _python())


def packaged() -> Programs:
    """Those of the distribution's packages, for the first release of LAB_RELEASES.

    Raises:
        HostError: there is no OpenStack for this release, or installing its packages failed.

    """
    packages = root.root()
    _, openstack = openstacks.taken()
    with locked(store.folder() / "neutron.lock"):
        folder = _cached(
            f"{packages.name.replace('root', 'programs')}-{digest([WRAPPER, str(packages)])}",
            lambda target: _wrap(packages, target),
        )
    return Programs(openstack.version.lower(), folder, folder / "bin/python3")


def _wrap(packages: Path, target: Path) -> None:
    (target / "bin").mkdir(parents=True)
    (target / "usr").symlink_to(packages / "usr")
    _wrappers(target, {**OVN, "python3": "usr/bin"})


def _wrappers(target: Path, programs: dict[str, str]) -> None:
    for name, folder in programs.items():
        wrapper = target / "bin" / name
        wrapper.write_text(WRAPPER.format(libraries=LIBRARIES, program=f"{folder}/{name}"))
        wrapper.chmod(0o755)


def _ovn() -> Path:
    """OVN's programs, out of the guests' packages."""
    host.require()
    with locked(store.folder() / f"{RELEASE.name}.lock"):
        return _cached(f"ovn-{digest([RELEASE.name, WRAPPER, *OVN])}", _unpack)


def _unpack(target: Path) -> None:
    packages = base(RELEASE)
    with Step("OVN's programs, out of the guests' packages"):
        wanted = [f"./{folder}/{name}" for name, folder in OVN.items()]
        wanted += ["./usr/share/ovn", f"./{LIBRARIES}/*.so*"]
        target.mkdir()
        _run(["tar", "-xf", str(packages), "-C", str(target), "--wildcards", *wanted])
    (target / "bin").mkdir()
    _wrappers(target, OVN)


def _python() -> Path:
    """The interpreter of the virtual environment with Neutron and Nova."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    with locked(store.folder() / "neutron.lock"):
        made = _cached(f"neutron-{version}-{digest([REQUIREMENTS, sys.base_prefix])}", _install)
    return made / "bin/python"


def _install(target: Path) -> None:
    with Step("Neutron and Nova from PyPI"):
        _run([sys.executable, "-m", "venv", "--without-pip", str(target)])
        # Without the resolver, since the pins are complete.
        _run(
            [
                sys.executable, "-m", "pip", "--python", str(target / "bin/python"), "install", "-q",
                "--disable-pip-version-check", "--no-deps", "--no-compile", "--require-hashes",
                f"--requirement={REQUIREMENTS}",
            ]
        )  # fmt: skip


def _cached(name: str, make: Callable[[Path], None]) -> Path:
    """A folder of the cache, made now if it is not there; older ones of its kind are removed."""
    path = store.folder() / name
    whole = path / "complete"
    if whole.exists():
        return path
    for old in store.folder().glob(f"{name.rpartition('-')[0]}-*"):
        shutil.rmtree(old)
    # In place, since scripts of a virtual environment have its path in them.
    make(path)
    whole.touch()
    return path


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise host.HostError(f"{' '.join(command[:4])} failed: {' '.join(said[-3:])}")
