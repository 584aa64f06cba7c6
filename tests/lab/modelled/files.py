# SPDX-License-Identifier: Apache-2.0
"""The modelled host's own file system: files, links and directories, and what a reboot takes away."""

import errno
import os
import stat

from hostnic.machine import check_owner
from hostnic.system import FileStat, NotOwnError

VOLATILE = "/run/"


def missing(path: str) -> OSError:
    """The error of a path that does not exist."""
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


class Content(dict[str, bytes]):
    """Paths to content; each assignment is a write, which the file's stat shows."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0
        self.stamps: dict[str, tuple[int, int]] = {}  # when it was written last, as a number of writes; inode

    def __setitem__(self, path: str, content: bytes) -> None:
        self.writes += 1
        inode = self.stamps[path][1] if path in self else self.writes
        super().__setitem__(path, content)
        self.stamps[path] = (self.writes, inode)

    def decay(self, path: str, content: bytes) -> None:
        """The medium gives other content back than was written, and no stat shows it."""
        super().__setitem__(path, content)


class FakeDisk:
    """Absolute paths to content; links resolve one step, as far as units need it."""

    def __init__(self) -> None:
        self.content = Content()
        self.mode: dict[str, int] = {}
        self.owners: dict[str, int] = {}
        self.links: dict[str, str] = {}
        self.units: dict[str, bytes] = {}  # as systemd has loaded them
        self.directories: set[str] = {"/etc", "/run", "/usr", "/etc/netplan", "/etc/systemd/system"}

    def install(self, path: str, content: bytes, mode: int) -> None:
        """Put a file there, and the directories above it."""
        if path in self.directories:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        self._make_parents(path)
        self.links.pop(path, None)
        self.owners.pop(path, None)
        self.content.pop(path, None)  # a new file, which takes its place
        self.content[path] = content
        self.mode[path] = mode

    def link(self, path: str, target: str) -> None:
        """Put a symbolic link there."""
        self._make_parents(path)
        self.links[path] = target

    def give(self, path: str, owner: int, mode: int | None = None) -> None:
        """``chown OWNER PATH``, of a link itself, and ``chmod MODE PATH``."""
        self.owners[path] = owner
        if mode is not None:
            self.mode[path] = mode

    def check_own(self, path: str) -> None:
        """As HostFiles: root's alone, with the directories above it, and no link."""
        self.check_directory(path.rpartition("/")[0] or "/")
        if not (path in self.links or self.exists(path)):
            raise missing(path)
        self._check_entry(path)
        if path in self.links:
            raise NotOwnError(path, f"is a link to {self.links[path]}")

    def check_directory(self, path: str) -> None:
        """This directory and those above it, where they exist; and where links lead."""
        if above := path.rpartition("/")[0]:
            self.check_directory(above)
        self._check_entry(path)
        if path in self.links:
            self.check_directory(self.links[path])

    def _check_entry(self, path: str) -> None:
        kind, mode = (stat.S_IFDIR, 0o755) if path in self.directories else (stat.S_IFREG, 0o644)
        kind = stat.S_IFLNK if path in self.links else kind
        owner = self.owners.get(path, 0)
        check_owner(path, owner, owner, kind | self.mode.get(path, mode))

    def remove(self, path: str) -> None:
        """Remove a file, a link or an empty directory."""
        if path in self.links:
            del self.links[path]
            self.owners.pop(path, None)
        elif path in self.content:
            del self.content[path]
            del self.mode[path]
            self.owners.pop(path, None)
        elif path in self.directories:
            if self.listdir(path):
                raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
            self.directories.remove(path)
        else:
            raise missing(path)

    def read(self, path: str) -> str:
        """A file's text."""
        path = self.links.get(path, path)
        if path in self.directories:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if path not in self.content:
            raise missing(path)
        return self.content[path].decode("utf-8", "surrogateescape")

    def stat(self, path: str) -> FileStat:
        """A file's; those of directories are not modelled."""
        path = self.links.get(path, path)
        if path in self.directories:
            raise NotImplementedError(f"stat of a directory: {path}")
        if path not in self.content:
            raise missing(path)
        return FileStat(len(self.content[path]), *self.content.stamps[path])

    def exists(self, path: str) -> bool:
        """A file or directory is there; a dangling link is not."""
        path = self.links.get(path, path)
        return path in self.content or path in self.directories

    def listdir(self, path: str) -> list[str]:
        """Names in a directory."""
        if path not in self.directories:
            if path in self.content:
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            raise missing(path)
        everything = (*self.content, *self.links, *self.directories)
        return sorted({name.rpartition("/")[2] for name in everything if name.rpartition("/")[0] == path})

    def readlink(self, path: str) -> str:
        """Where a link points."""
        if path not in self.links:
            raise (
                OSError(errno.EINVAL, os.strerror(errno.EINVAL), path) if self.exists(path) else missing(path)
            )
        return self.links[path]

    def boot(self) -> None:
        """/run is a fresh tmpfs, and systemd has loaded nothing yet."""
        self.units.clear()
        for path in [path for path in self.content if path.startswith(VOLATILE)]:
            self.remove(path)
        self.directories = {path for path in self.directories if not path.startswith(VOLATILE)}
        self.owners = {path: owner for path, owner in self.owners.items() if not path.startswith(VOLATILE)}

    def _make_parents(self, path: str) -> None:
        parent = path.rpartition("/")[0]
        while parent:
            self.directories.add(parent)
            parent = parent.rpartition("/")[0]
