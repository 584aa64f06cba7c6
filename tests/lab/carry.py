# SPDX-License-Identifier: Apache-2.0
"""The files of a system that are not of its packages: what an upgrade to another release leaves as it is.

``carry.py ROOT ARCHIVE`` runs in a guest; :func:`packed` and :func:`unpacked` take the files from one guest
to another, whose system is the newer release. dpkg's own lists say which files are a package's. Of a
package's configuration files those go along that somebody has changed.
"""

import base64
import hashlib
import json
import os
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.guest import Guest

STATE = ("/usr/lib", "/var/lib", "/root")
"""A directory here that is a package's is so with all that is in it: such as dpkg's and apt's own state."""
LINKED = ("/bin", "/sbin", "/lib", "/lib64")
"""Links into /usr, by which jammy's packages name their files."""
OF_THE_RELEASE = (
    *("/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/subuid", "/etc/subgid"),
    *("/etc/ld.so.cache", "/etc/alternatives", "/etc/apt", "/etc/ssl", "/etc/pam.d", "/etc/.pwd.lock"),
    *("/etc/rc", "/etc/.updated", "/etc/udev/hwdb.bin", "/usr/lib/udev", "/usr/lib/locale"),
)
"""How paths begin whose files the packages of a release write when they are installed."""
ARCHIVE = "/var/tmp/carried.tar.gz"


def carried(root: str) -> list[str]:
    """Absolute paths below a root: files and links that are to be carried, and directories of no package."""
    owned = set(_owned(Path(root)))
    changed = set(_changed(Path(root)))
    found = [*_below(root, "/etc", owned - changed, whole=False)]
    for top in STATE:
        found += _below(root, top, owned, whole=True)
    return sorted(found)


def _below(root: str, top: str, owned: set[str], *, whole: bool) -> Iterator[str]:
    for place, directories, files in os.walk(f"{root.rstrip('/')}{top}"):
        here = "/" + os.path.relpath(place, root)
        at_top = here == top
        for name in [*directories, *files]:
            path = f"{here}/{name}"
            there = f"{root.rstrip('/')}{path}"
            is_directory = name in directories and not Path(there).is_symlink()
            of_a_package = path in owned or path.startswith(OF_THE_RELEASE)
            elsewhere = is_directory and os.path.ismount(there)
            if is_directory and (elsewhere or name == "__pycache__" or (whole and at_top and of_a_package)):
                directories.remove(name)
            elif not of_a_package:
                yield path


def _owned(root: Path) -> Iterator[str]:
    """Every path of every package, below /usr where it is a link there."""
    for listed in (root / "var/lib/dpkg/info").glob("*.list"):
        for path in listed.read_text().splitlines():
            linked = any(path == link or path.startswith(f"{link}/") for link in LINKED)
            yield f"/usr{path}" if linked else path


def _changed(root: Path) -> Iterator[str]:
    """Configuration files that differ from those of their package."""
    listed = False
    for line in (root / "var/lib/dpkg/status").read_text().splitlines():
        listed = line == "Conffiles:" or (listed and line.startswith(" "))
        path, _, said = line.strip().partition(" ")
        if listed and path.startswith("/"):
            place, digest = root / path[1:], said.split()[0]
            if place.is_file() and _md5(place) != digest:
                yield path


def _md5(place: Path) -> str:
    """The digest that dpkg keeps of a configuration file."""
    return hashlib.md5(place.read_bytes(), usedforsecurity=False).hexdigest()


def pack(root: str, archive: str) -> list[str]:
    """Write the archive; the paths in it."""
    paths = carried(root)
    with tarfile.open(archive, "w:gz") as tar:
        for path in paths:
            tar.add(f"{root.rstrip('/')}{path}", arcname=path[1:], recursive=False)
    return paths


def packed(guest: "Guest") -> tuple[list[str], bytes]:
    """Pack a guest's files: their paths, and the archive."""
    from lab.code import MOUNTED

    pack = ["python3", "-I", f"{MOUNTED}/tests/lab/carry.py", "/", ARCHIVE]
    paths = json.loads(guest.run(pack, timeout=600).stdout)
    return paths, base64.b64decode(guest.run(["base64", "-w0", ARCHIVE], timeout=600).stdout)


def unpacked(guest: "Guest", archive: bytes) -> None:
    """Put them in place; what runs there keeps the files that it has open, until the next boot.

    tar replaces a file by a new one, and leaves a directory that is there as it is.
    """
    guest.write(ARCHIVE, archive)
    guest.run(f"tar -C / -xzf {ARCHIVE} && rm {ARCHIVE} && sync", timeout=600)


if __name__ == "__main__":
    print(json.dumps(pack(*sys.argv[1:])))
