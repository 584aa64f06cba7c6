# SPDX-License-Identifier: Apache-2.0
"""The real host.

``OVN_OFFLOAD_TRACE=<file>`` in the environment has :class:`Machine` append each write to that file before it
is made, one JSON object per line: ``{"verb": "write", "arguments": ["/sys/…", "8"]}``. The words are those of
:mod:`hostnic.calls`.
"""

import contextlib
import json
import os
import stat
import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from hostnic import process
from hostnic.system import (
    DataCentreBridging,
    Devlink,
    Ethtool,
    Files,
    FileStat,
    Links,
    NotOwnError,
)

if TYPE_CHECKING:
    from hostnic.calls import Call

TRACE = "OVN_OFFLOAD_TRACE"
DIRECTORY_MODE = 0o755
_CHUNK = 1 << 16

Door = TypeVar("Door")


def check_owner(path: str, owner: int, group: int, mode: int, trusted: Collection[int] = (0,)) -> None:
    """Refuse what ``lstat`` says of a file or directory unless it is root's, or of the ``trusted`` users.

    The modelled host asks here, too.

    Raises NotOwnError if others can write it. They may add files to a sticky directory, as /tmp is.
    """
    shared = 0o002 | (0o020 if group else 0)  # the group of number 0 is root's
    if stat.S_ISLNK(mode) or (stat.S_ISDIR(mode) and mode & stat.S_ISVTX):
        shared = 0
    if owner not in trusted or mode & shared:
        raise NotOwnError(
            path, f"belongs to user {owner} and group {group} with mode {stat.S_IMODE(mode):04o}"
        )


class HostFiles:
    """The file system, as :class:`hostnic.system.Files` has it."""

    def __init__(self) -> None:
        self._locks: dict[str, int] = {}

    # System calls instead of pathlib, which takes longer than the kernel: it has to be loaded while the
    # network waits for the boot units, and makes an object for each of a hundred attributes in a hook.
    def read(self, path: str) -> str:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            parts = list(iter(lambda: os.read(descriptor, _CHUNK), b""))
        finally:
            os.close(descriptor)
        return b"".join(parts).decode("utf-8", "surrogateescape")

    def listdir(self, path: str) -> list[str]:
        with os.scandir(path) as entries:
            return [entry.name for entry in entries]

    def readlink(self, path: str) -> str:
        return os.readlink(path)

    def stat(self, path: str) -> FileStat:
        found = os.stat(path)
        return FileStat(found.st_size, found.st_mtime_ns, found.st_ino)

    def exists(self, path: str) -> bool:
        return os.access(path, os.F_OK)

    def check_own(self, path: str) -> None:
        if stat.S_ISLNK(_check(path, follow=False)):
            raise NotOwnError(path, f"is a link to {os.readlink(path)}")

    def write(self, path: str, value: str) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(descriptor, value.encode())
        finally:
            os.close(descriptor)

    def install(self, path: str, content: bytes, mode: int = 0o644) -> None:
        directory, name = os.path.split(path)
        self._make_directory(directory)
        _check(directory)
        draft = f"{directory}/.{name}.new"
        if os.path.lexists(draft):
            os.unlink(draft)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                os.fchmod(file.fileno(), mode)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        except OSError:
            os.unlink(draft)
            raise
        self._sync_directory(directory)

    def remove(self, path: str) -> None:
        _check(os.path.dirname(path))
        if os.path.isdir(path) and not os.path.islink(path):
            os.rmdir(path)
        else:
            os.unlink(path)
        self._sync_directory(os.path.dirname(path))

    def mkdir(self, path: str) -> None:
        os.mkdir(path, DIRECTORY_MODE)

    def lock(self, path: str) -> bool:
        import fcntl  # a hook that changes nothing takes no lock

        if path in self._locks:
            return True
        self._make_directory(os.path.dirname(path))
        # Not inherited by children: a command that a hook started must not keep the lock.
        _check(os.path.dirname(path))
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except OSError:
            os.close(descriptor)
            raise
        self._locks[path] = descriptor
        return True

    def unlock(self, path: str) -> None:
        if path in self._locks:
            os.close(self._locks.pop(path))

    def _make_directory(self, directory: str) -> None:
        """Create it and those above it, durable, with mode 0755 under any umask."""
        if os.path.isdir(directory):
            return
        above = os.path.dirname(directory)
        self._make_directory(above)
        with contextlib.suppress(FileExistsError):  # another charm of the machine was faster
            os.mkdir(directory, DIRECTORY_MODE)
            os.chmod(directory, DIRECTORY_MODE)
        self._sync_directory(above)

    def _sync_directory(self, directory: str) -> None:
        """Make the change of a directory entry durable."""
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _check(path: str, *, follow: bool = True) -> int:
    """Check that only root can change a file and the directories above it; return its mode.

    With ``follow``, a link that is root's is followed, and its target checked. A program that is not root, as
    in tests, is trusted like root.
    """
    above = os.path.dirname(path)
    if above != path:
        _check(above)
    found = os.lstat(path)
    check_owner(path, found.st_uid, found.st_gid, found.st_mode, (0, os.geteuid()))
    if follow and stat.S_ISLNK(found.st_mode):
        os.stat(path)  # links that lead to each other end here
        _check(os.path.join(os.path.realpath(above), os.readlink(path)))
    return found.st_mode


class Machine:
    """The host that this process runs on. Netlink sockets open at their first use."""

    def __init__(self) -> None:
        self._trace = os.environ.get(TRACE)
        self._doors: dict[type, Any] = {}

    @property
    def files(self) -> Files:
        return self._door(Files, HostFiles)

    @property
    def links(self) -> Links:
        from hostnic.netlink.links import LinksClient

        return self._door(Links, LinksClient)

    @property
    def ethtool(self) -> Ethtool:
        from hostnic.netlink.ethtool import EthtoolClient

        return self._door(Ethtool, EthtoolClient)

    @property
    def dcb(self) -> DataCentreBridging:
        from hostnic.netlink.dcbnl import DcbClient

        return self._door(DataCentreBridging, DcbClient)

    @property
    def devlink(self) -> Devlink:
        from hostnic.netlink.devlink import DevlinkClient

        return self._door(Devlink, DevlinkClient)

    def _door(self, kind: type[Door], client: Callable[[], Door]) -> Door:
        if kind not in self._doors:
            door = client()
            if self._trace:
                from hostnic.listening import heard  # tests alone ask for a trace

                door = heard(door, kind, self._hear)
            self._doors[kind] = door
        return self._doors[kind]

    def _hear(self, call: "Call", words: Sequence[str]) -> None:
        if call.writes:
            self._note(call.verb, *words)

    def _note(self, verb: str, *arguments: str) -> None:
        if self._trace:
            with open(self._trace, "a") as trace:
                trace.write(json.dumps({"verb": verb, "arguments": arguments}) + "\n")

    def query(self, argv: Sequence[str], timeout: float = 60.0) -> str:
        return process.run(argv, timeout)

    def run(self, argv: Sequence[str], timeout: float = 60.0, given: str = "") -> str:
        self._note("run", *argv)
        return process.run(argv, timeout, given)

    def answering(self, addresses: Collection[str], port: int, timeout: float) -> frozenset[str]:
        from hostnic.network import tcp  # only before a reboot is granted

        return tcp.answering(addresses, port, timeout)

    def control(self, command: str, timeout: float) -> str:
        from hostnic.network import unixctl  # only a hook that tells the exporter of flows

        return unixctl.control(command, timeout)

    def database(self, table: str, columns: Sequence[str], timeout: float) -> str:
        from hostnic.network import unixctl  # not in a boot unit

        return unixctl.select(table, columns, timeout)

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
