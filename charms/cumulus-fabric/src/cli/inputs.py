# SPDX-License-Identifier: Apache-2.0
"""Reads and writes the files that a command line names."""

import re
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from converge.shape import InvalidValue
from tree import record as remembered
from tree.record import Record


class UsageError(Exception):
    """An argument, or the file that it names, is wrong; one sentence with what is allowed."""


def intent(name: str) -> str:
    """The text of the intent in this file; ``-`` is standard input.

    Raises UsageError if it cannot be read, or is not text.
    """
    if name != "-":
        return text("--intent", name)
    with accessing("--intent: standard input"):
        return sys.stdin.read()


def kept(given: str) -> tuple[str, dict[str, int]]:
    """A leaf and the numbers of its ports: ``Leaf0-1:swp9=1,swp10=2``.

    Raises UsageError if it is written in another way.
    """
    leaf, colon, listed = given.partition(":")
    found: dict[str, int] = {}
    for item in listed.split(","):
        port, _, number = item.partition("=")
        if not (leaf and colon and port and re.fullmatch("[1-9][0-9]{0,7}", number)):
            raise UsageError(f"--keep: {given} is not a leaf with numbers, such as Leaf0-1:swp9=1,swp10=2")
        found[port] = int(number)
    return leaf, found


def rack_numbers(given: str) -> list[int]:
    """Numbers such as ``1,0``; none if nothing is given. Raises UsageError if these are none."""
    if given and not re.fullmatch(r"[0-9]{1,4}(?:,[0-9]{1,4})*", given):
        raise UsageError(f"--racks: {given} is not a list of numbers, such as 1,0")
    return [int(number) for number in given.split(",")] if given else []


def record(name: str) -> Record:
    """Read earlier runs' record from this file; an empty one without a name, or if there is no file yet.

    Raises UsageError if it cannot be read, or is not a record.
    """
    if not name or not Path(name).exists():
        return Record()
    try:
        return remembered.read(text("--record", name))
    except InvalidValue as error:
        raise UsageError(f"--record: {name}: {error}") from None


def write_record(name: str, found: Record) -> None:
    """Replace the record in this file. Raises UsageError if it cannot be written, or read again."""
    beside = Path(f"{name}.new")
    try:
        content = remembered.written(found)
    except InvalidValue as error:
        raise UsageError(f"--record: {name} stays as it is: {error}") from None
    with accessing(f"--record: {name}", "written"):
        beside.write_text(f"{content}\n")
        beside.replace(name)


def append(option: str, name: str, lines: str) -> None:
    """Add lines to the file that ``option`` names; one that does not exist is made for its owner alone.

    Raises UsageError if it cannot be written.
    """
    path = Path(name).expanduser()
    with accessing(f"{option}: {name}", "written"):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.touch(mode=0o600)
        ended = path.read_bytes()[-1:] in (b"", b"\n")
        with path.open("a") as file:
            file.write(lines if ended else f"\n{lines}")


def text(option: str, name: str) -> str:
    """The text of the file that ``option`` names. Raises UsageError if it cannot be read, or is not text."""
    with accessing(f"{option}: {name}"):
        return Path(name).expanduser().read_text()


@contextmanager
def host_keys(name: str) -> Generator[str]:
    """A file with the host keys in ``name``, which may be a pipe: each login opens it. Empty without a name.

    Raises UsageError if it cannot be read, or is not text.
    """
    if not name:
        yield ""
        return
    with tempfile.NamedTemporaryFile("w", prefix="known-hosts-") as copy:
        copy.write(text("--known-hosts", name))
        copy.flush()
        yield copy.name


@contextmanager
def accessing(what: str, access: str = "read") -> Generator[None]:
    """Raises UsageError if a file cannot be read, or is not text; ``what`` names it and its option."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{what} cannot be {access}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{what} is not UTF-8 text") from None


def confirmed(question: str) -> bool:
    """Whether the operator types yes at the terminal."""
    try:
        with Path("/dev/tty").open("r+b", buffering=0) as terminal:
            terminal.write(f"{question} Type yes or no: ".encode())
            return terminal.readline(80).strip().lower() == b"yes"
    except (OSError, KeyboardInterrupt):
        return False
