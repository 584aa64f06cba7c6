# SPDX-License-Identifier: Apache-2.0
"""The sha256 that files had when they were last read, so that an idle hook does not read them again.

What is remembered of a file holds while its size, its time of last change and its inode stay as they were.
They do not show what a failing disk does to it: a burn reads its image again.
"""

import json

from hostnic.firmware import mstflint
from hostnic.ops.files import write_own
from hostnic.system import UNREADABLE, FileStat, System, read_own

PATH = "/var/lib/ovn-offload/firmware/digests.json"

Known = tuple[FileStat, str]
"""A file as it was when its digest was computed, and the digest."""


class Digests:
    """The digests of files of a host, and what is remembered of them in :data:`PATH`."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._remembered = _read(system)
        self._current: dict[str, Known] = {}

    def of(self, path: str) -> str:
        """The sha256 of a file, in lower case; starts a process only if the file has changed since.

        Raises OSError if it cannot be read.
        """
        stat = self._system.files.stat(path)
        known = self._current.get(path) or self._remembered.get(path)
        if known is None or known[0] != stat:
            # A change while it is read has another time than this.
            known = (stat, mstflint.digest(self._system, path))
        self._current[path] = known
        return known[1]

    def note(self, path: str, digest: str) -> None:
        """Remember the digest of a file that was just read. Raises OSError if it is not there."""
        self._current[path] = (self._system.files.stat(path), digest)

    def save(self) -> None:
        """Remember what is known of the files that were asked for; writes only what differs.

        Raises OSError if it cannot be written.
        """
        if self._current == self._remembered:
            return
        rows = {path: [*stat, digest] for path, (stat, digest) in sorted(self._current.items())}
        write_own(self._system, PATH, json.dumps(rows), _decode, 0o644)


def _read(system: System) -> dict[str, Known]:
    """Read the remembered digests; none if there is no file, or it cannot be read."""
    try:
        return _decode(read_own(system, PATH))
    except UNREADABLE:
        return {}


def _decode(text: str) -> dict[str, Known]:
    return {path: (FileStat(*stat), str(digest)) for path, (*stat, digest) in json.loads(text).items()}
