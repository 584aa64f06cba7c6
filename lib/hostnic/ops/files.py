# SPDX-License-Identifier: Apache-2.0
"""Files that outlive a boot."""

import errno
from collections.abc import Callable
from dataclasses import dataclass, field

from converge import StepError, cause

from hostnic.ops import refusal
from hostnic.system import UNREADABLE, System, link_target, list_names, read_own

Reader = Callable[[str], object]
"""The reader of a file of ours; it raises an error of :data:`hostnic.system.UNREADABLE` if it fails."""


@dataclass(frozen=True)
class InstallFile:
    """Put ``content`` at ``path``, replacing it atomically."""

    path: str
    content: bytes = field(repr=False)
    mode: int = 0o644
    read: Reader | None = field(default=None, repr=False)  # its own reader, if it is our format

    def run(self, system: System) -> None:
        if holds(system, self.path, self.content):
            return
        with refusal.explained(f"cannot write {self.path}"):
            if self.read:
                write_own(system, self.path, self.content.decode(), self.read, self.mode)
            else:
                system.files.install(self.path, self.content, self.mode)
        if not holds(system, self.path, self.content):
            raise StepError(f"{self.path} does not read back as it was written")


@dataclass(frozen=True)
class RemoveFile:
    """Remove the file at ``path``."""

    path: str

    def run(self, system: System) -> None:
        with refusal.explained(f"cannot remove {self.path}"):
            if system.files.exists(self.path):
                system.files.remove(self.path)


@dataclass(frozen=True)
class RemoveTree:
    """Remove the directory ``path`` with all that is in it."""

    path: str

    def run(self, system: System) -> None:
        """Remove the files, then the empty directories."""
        with refusal.explained(f"cannot remove {self.path}"):
            if system.files.exists(self.path):
                self._remove(system, self.path)

    def _remove(self, system: System, path: str) -> None:
        # What a link leads to is not part of the tree.
        for entry in () if link_target(system, path) else list_names(system, path):
            self._remove(system, f"{path}/{entry}")
        system.files.remove(path)


def write_own(system: System, path: str, text: str, read: Reader, mode: int = 0o600) -> None:
    """Put a file of ours there once its own reader has taken it: else nobody could read it again.

    Raises OSError if ``read`` raises an error of :data:`UNREADABLE`, or it cannot be written.
    """
    try:
        read(text)
    except UNREADABLE as error:
        raise OSError(errno.EINVAL, f"it could not be read again: {cause(error)}", path) from None
    system.files.install(path, text.encode(), mode)


def holds(system: System, path: str, content: bytes) -> bool:
    """Whether the file at ``path`` has exactly this content, and root alone can change it."""
    try:
        return read_own(system, path).encode("utf-8", "surrogateescape") == content
    except OSError:
        return False
