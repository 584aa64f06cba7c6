# SPDX-License-Identifier: Apache-2.0
"""Reads the files that a command line names: intent, credentials and certificates."""

import getpass
import re
import ssl
import sys
import tempfile
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from converge import StepError
from converge.shape import InvalidValue
from rest.connection import Credentials
from tree import record as remembered
from tree.record import Record
from yamlfile import reader

CREDENTIALS = "one line user:password, in a file that only you can read, or - for standard input"


class UsageError(Exception):
    """An argument, or the file that it names, is wrong; one sentence with what is allowed."""


def intent(name: str) -> str:
    """The text of the intent in this file; ``-`` is standard input.

    Raises UsageError if it cannot be read, or is not text.
    """
    if name != "-":
        return text("--intent", name)
    with _accessing("--intent: standard input"):
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


def authorities(name: str | None) -> str:
    """The certificates in this file, in PEM form; nothing without a file.

    Raises UsageError if it cannot be read, or holds no certificate.
    """
    if name is None:
        return ""
    pem = text("--ca", name)
    try:
        ssl.create_default_context(cadata=pem)
    except (ssl.SSLError, ValueError):
        raise UsageError(f"--ca: {name} holds no certificate in PEM form") from None
    return pem


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
    with _accessing(f"--record: {name}", "written"):
        beside.write_text(f"{content}\n")
        beside.replace(name)


def append(option: str, name: str, lines: str) -> None:
    """Add lines to the file that ``option`` names; one that does not exist is made for its owner alone.

    Raises UsageError if it cannot be written.
    """
    path = Path(name).expanduser()
    with _accessing(f"{option}: {name}", "written"):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.touch(mode=0o600)
        ended = path.read_bytes()[-1:] in (b"", b"\n")
        with path.open("a") as file:
            file.write(lines if ended else f"\n{lines}")


def text(option: str, name: str) -> str:
    """The text of the file that ``option`` names. Raises UsageError if it cannot be read, or is not text."""
    with _accessing(f"{option}: {name}"):
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
def _accessing(what: str, access: str = "read") -> Generator[None]:
    """Raises UsageError if a file cannot be read, or is not text; ``what`` names it and its option."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{what} cannot be {access}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{what} is not UTF-8 text") from None


def credentials(name: str) -> Credentials:
    """Who logs in, from a private file or, for ``-``, from the first line of standard input.

    Raises UsageError if it cannot be read, others can read it, or it holds no user and password, or more.
    """
    try:
        with _accessing("--credentials: standard input"):
            line = sys.stdin.readline() if name == "-" else reader.private(Path(name).expanduser())
        found = Credentials(*reader.login(line))
    except StepError as error:
        raise UsageError("; ".join(filter(None, (f"--credentials: {error}", error.remedy)))) from None
    except ValueError as error:
        raise UsageError(f"--credentials: {name} {error}; give {CREDENTIALS}") from None
    if not found.usable:
        raise UsageError(f"--credentials: {name} has no usable credentials; give {CREDENTIALS}")
    return found


def new_password(user: str, refused: str) -> str:
    """A password that the operator types twice at the terminal, where nothing of it is shown.

    Raises UsageError if there is no terminal, or it is not the same twice, or none for ``user``, or
    ``refused``.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)
            password = getpass.getpass(f"New password of {user} on the switches: ")
            again = getpass.getpass("The same once more: ")
    except (getpass.GetPassWarning, EOFError, OSError):
        raise UsageError("the password is asked for at the terminal, and there is none") from None
    except KeyboardInterrupt:
        raise UsageError("stopped; no switch was asked anything") from None
    if password != again:
        raise UsageError("the two passwords differ; no switch was asked anything")
    if password == refused or not Credentials(user, password).usable:
        raise UsageError("give a password of printable characters that is not the factory's")
    return password


def confirmed(question: str) -> bool:
    """Whether the operator types yes at the terminal."""
    try:
        with Path("/dev/tty").open("r+b", buffering=0) as terminal:
            terminal.write(f"{question} Type yes or no: ".encode())
            return terminal.readline(80).strip().lower() == b"yes"
    except (OSError, KeyboardInterrupt):
        return False
