# SPDX-License-Identifier: Apache-2.0
"""The lock that charmcraft's uv plugin installs from.

It records the address of a package index and is therefore never committed: it is made for each packing, and
may hold no version and no file that ``tests/requirements`` does not pin.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PINS = ROOT / "tests/requirements/guest.txt"
"""The versions with which the functional tests run the charms."""

LEFT_OUT = {
    "jinja2": "charmhelpers: its templates",
    "netaddr": "charmhelpers: its addresses and networks",
    "pbr": "charmhelpers: its own setup.py",
}
"""Requirements of the charms' packages that no charm uses, each with the package and its use for it."""


def lock(directory: Path) -> None:
    """Write uv.lock for the pyproject.toml of a staged charm, without what is left out."""
    pins = [line.rstrip(" \\") for line in PINS.read_text().splitlines() if re.match(r"[A-Za-z0-9]", line)]
    settings = {
        "constraint-dependencies": pins,
        # No system has this name: uv takes the requirement for one that never applies.
        "override-dependencies": [f"{name} ; sys_platform == 'none'" for name in LEFT_OUT],
        "environments": ["sys_platform == 'linux'"],
    }
    with (directory / "pyproject.toml").open("a") as project:
        project.write("\n[tool.uv]\n")
        project.writelines(f"{name} = {value!r}\n" for name, value in settings.items())
    _uv("lock", "--quiet", cwd=directory)


def faults(directory: Path) -> list[str]:
    """Packages of the lock that are pinned nowhere, or to other files."""
    exported = _uv("export", "--frozen", "--no-emit-project", "--no-header", "--no-annotate", cwd=directory)
    known = _pins(PINS.read_text())
    faults: list[str] = []
    for pin, hashes in _pins(exported).items():
        if pin not in known:
            faults.append(f"{pin} is pinned nowhere in tests/requirements: run tox -e pins")
        elif not hashes <= known[pin]:
            faults.append(f"{pin}: the index offers other files than those pinned in tests/requirements")
    return faults


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
