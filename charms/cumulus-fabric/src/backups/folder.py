# SPDX-License-Identifier: Apache-2.0
"""The folder with the configurations that are kept: of its owner alone, and bounded in number and bytes.

A file is called by its number and its switch, ``000017.Leaf0-1.json``. Numbers count up over all switches,
and operators name a configuration by its number. One that is the same as the switch's last one is not kept
again.
"""

import fcntl
import os
import re
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from converge import StepError, words
from converge.shape import InvalidValue

from backups import kept
from backups.kept import Kept

MOST_EACH = 20
"""Configurations of one switch. The oldest goes first."""

MOST_BYTES = 64 * 1024 * 1024
"""Bytes of all files. 48 switches take 10 KB each time; as many of the largest 20 MB."""

PATIENCE_S = 10.0
"""Seconds to wait for another run that writes into the folder, which takes much less than one."""

_NAME = re.compile(r"([0-9]{6,12})\.([A-Za-z0-9][A-Za-z0-9.-]*)\.json")

COLUMNS = ("number", "switch", "time", "run", "release")
NONE = "No configuration is kept yet: each run that changes a switch keeps them."

ROOM = "make room there, or give another folder"
OWNER = "make it yours alone: chmod 700"


@dataclass(frozen=True)
class Entry:
    """A file of the folder, by its name."""

    number: int
    switch: str
    path: Path
    size: int  # bytes


@dataclass(frozen=True)
class Folder:
    """The folder, which is made with the first configuration.

    Every method raises StepError if it cannot be used.
    """

    name: str

    @property
    def path(self) -> Path:
        """The folder itself."""
        return Path(self.name).expanduser()

    def keep(self, found: Iterable[Kept]) -> None:
        """Keep these configurations, and remove the oldest ones that are too many."""
        with self._using("written"):
            self._make()
            with self._alone():
                entries = self._entries()
                last = {each.switch: each for each in entries}
                number = max((each.number for each in entries), default=0)
                for each in found:
                    if each.switch in last and (known := _read(last[each.switch])) and known.same(each):
                        continue
                    number += 1
                    self._write(number, each)
                self._prune()

    def entries(self, switch: str = "") -> list[Entry]:
        """The files of one switch, or of all, the oldest first; none without a folder."""
        with self._using("read"):
            return [each for each in self._entries() if switch in ("", each.switch)]

    def read(self, number: int) -> Kept:
        """The configuration with this number."""
        entry = next((each for each in self.entries() if each.number == number), None)
        if entry is None:
            raise StepError(f"no configuration with the number {number} is kept", "list-backups shows them")
        with self._using("read"):
            found = _read(entry)
        if found is None:
            raise StepError(f"{entry.path} is damaged", "take another one: list-backups shows them")
        return found

    def history(self, switch: str) -> list[tuple[int, Kept]]:
        """The configurations of a switch with their numbers, the newest first; damaged ones are left out."""
        with self._using("read"):
            found = [(each.number, _read(each)) for each in reversed(self.entries(switch))]
        return [(number, each) for number, each in found if each is not None]

    def rows(self, names: Sequence[str] = ()) -> list[dict[str, str]]:
        """A row for each configuration, the oldest first."""
        found: list[dict[str, str]] = []
        for entry in self.entries():
            if not names or entry.switch in names:
                with self._using("read"):
                    each = _read(entry)
                told = (each.time, each.when, each.release) if each else ("", "damaged", "")
                found.append(dict(zip(COLUMNS, (str(entry.number), entry.switch, *told), strict=True)))
        return found

    def _make(self) -> None:
        for folder in reversed((self.path, *self.path.parents)):
            if not folder.exists():
                folder.mkdir(mode=0o700, exist_ok=True)
        found = self.path.stat()
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise StepError(f"backups: others can use {self.path}", f"{OWNER} {self.path}")

    @contextmanager
    def _alone(self) -> Generator[None]:
        """No other run writes meanwhile; numbers are given once."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        end = time.monotonic() + PATIENCE_S
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise StepError(
                            f"backups: another run keeps {self.path} busy",
                            "wait for its end, and run this again",
                        ) from None
                    time.sleep(0.1)
            yield
        finally:
            os.close(descriptor)

    def _entries(self) -> list[Entry]:
        if not self.path.exists():
            return []
        found: list[Entry] = []
        for path in self.path.iterdir():
            if name := _NAME.fullmatch(path.name):
                found.append(Entry(int(name[1]), name[2], path, path.lstat().st_size))
        return sorted(found, key=lambda each: each.number)

    def _write(self, number: int, each: Kept) -> None:
        """Write one file, and read it back."""
        try:
            content = kept.written(each)
        except InvalidValue as error:
            raise StepError(
                f"backups: the configuration of {each.switch} cannot be kept: {error}", ROOM
            ) from None
        path = self.path / f"{number:06}.{each.switch}.json"
        draft = path.with_suffix(".new")
        draft.unlink(missing_ok=True)
        descriptor = os.open(
            draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        with os.fdopen(descriptor, "w") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        if path.read_text() != content:
            raise StepError(f"backups: {path} does not have what was written", ROOM)

    def _prune(self) -> None:
        entries = self._entries()
        of_each: dict[str, list[Entry]] = {}
        for each in entries:
            of_each.setdefault(each.switch, []).append(each)
        going = [each for every in of_each.values() for each in every[:-MOST_EACH]]
        staying = [each for each in entries if each not in going]
        newest = {every[-1].number for every in of_each.values()}
        size = sum(each.size for each in staying)
        for each in staying:
            if size > MOST_BYTES and each.number not in newest:
                going.append(each)
                size -= each.size
        for each in going:
            each.path.unlink(missing_ok=True)

    @contextmanager
    def _using(self, access: str) -> Generator[None]:
        try:
            yield
        except OSError as error:
            remedy = ROOM if access == "written" else f"{OWNER} {self.path}"
            raise StepError(f"backups: {self.path} cannot be {access}: {words(error)}", remedy) from None


def _read(entry: Entry) -> Kept | None:
    """The configuration in a file; None if it is damaged, or another switch's."""
    if entry.size > kept.MAX_CHARS:
        return None
    try:
        found = kept.read(entry.path.read_text())
    except (FileNotFoundError, InvalidValue, ValueError):  # also one that was removed meanwhile
        return None
    return found if found.switch == entry.switch else None
