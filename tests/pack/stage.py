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
from import_graph import COMMAND_LINE, modules, packed, reachable

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build"
PYTHON = {"22.04": "3.10", "24.04": "3.12"}
"""The system's Python of each Ubuntu release, with which Juju runs a charm there."""

REMOTE = re.compile(
    r"(?:(?:https|ssh)://)?(?:[^@/\s]+@)?(?P<host>[\w-]+(?:\.[\w-]+)+)(?::\d+/|[:/])(?P<path>[\w./~-]+?)(?:\.git)?/?"
)
"""The forms of git's name for a repository on another computer: an https or ssh URL, or USER@HOST:PATH."""


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
    """Copy the charm and its part of lib/ to a fresh directory, and write there what the uv plugin needs."""
    target = BUILD / platform.version / platform.machine / charm.name
    copy(charm, target)
    (target / "version").write_text(version(charm) + "\n")
    _adapt(target / "charmcraft.yaml", platform)
    lock.lock(target)
    return target


def copy(charm: Path, target: Path) -> None:
    """Copy what the artifact is made of: the charm without its command line, its part of lib/, a licence."""
    shutil.rmtree(target, ignore_errors=True)
    left_out = shutil.ignore_patterns("__pycache__", "*.pyc", "uv.lock", COMMAND_LINE)
    shutil.copytree(charm, target, ignore=left_out)
    # Documents of lib/ are for its developers.
    not_run = shutil.ignore_patterns("__pycache__", "*.pyc", "*.md")
    for name in shared(charm):
        shutil.copytree(ROOT / "lib" / name, target / "lib" / name, ignore=not_run)
    shutil.copy(ROOT / "LICENSE", target)


def shared(charm: Path) -> set[str]:
    """The packages of lib/ with a module to which the charm's imports lead."""
    source, lib = packed(charm / "src"), modules(ROOT / "lib")
    led_to = {module.name for module in reachable(source, lib | source)}
    return {name.partition(".")[0] for name in led_to & lib.keys()}


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


def origin(clone: Path) -> str:
    """Where a clone comes from, as a page's URL without a user; "" if that is no other computer."""
    command = ["git", "remote", "get-url", "origin"]
    told = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False).stdout.strip()
    found = REMOTE.fullmatch(told)
    return f"https://{found['host']}/{found['path']}" if found else ""


def links(name: str, environment: Mapping[str, str], clone: Path) -> dict[str, str]:
    """Where a charm has its source, documentation, issues and contact: in the repository that GitHub packs.

    Elsewhere, in the one that the clone comes from. Only of GitHub and GitLab it is known how addresses of
    files and issues are made.
    """
    if repository := environment.get("GITHUB_REPOSITORY"):
        source = f"{environment['GITHUB_SERVER_URL']}/{repository}"
    elif not (source := origin(clone)):
        return {}
    elif not source.startswith(("https://github.", "https://gitlab.")):
        return {"source": source}
    return {
        "source": source,
        "documentation": f"{source}/blob/HEAD/charms/{name}/README.md",
        "issues": f"{source}/issues",
        "contact": f"{source}/issues",
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
    content["links"] = links(content["name"], os.environ, ROOT)
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
