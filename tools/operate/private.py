# SPDX-License-Identifier: Apache-2.0
"""Secrets: files that only the operator can read, files for Juju's client, and sentences without secrets."""

import html
import json
import os
import re
import signal
import tempfile
import threading
import urllib.parse
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from converge import StepError

SNAP = Path("snap/juju/common")
"""A folder of the home directory that Juju's snap can read; it is confined and sees no /tmp of the host."""
ROOM = 16384
"""Bytes that are reserved for a file before its content exists."""
SHORT = 8
"""A secret of fewer characters is only hidden as a whole word: it may be a part of others."""
_kept: set[str] = set()


def keep(secret: str) -> str:
    """Remember a secret of this process, so that :func:`without` hides it; returns it."""
    if secret.strip():
        _kept.add(secret)
    return secret


def without(text: str) -> str:
    """A text that others wrote, with *** for each secret of this process, however it is written there.

    Services and tools may repeat what they were sent, also as a form, as JSON or in HTML.
    """
    forms = {
        form
        for kept in _kept
        for secret in (kept, kept.strip())
        for form in (
            *(secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], html.escape(secret)),
            *(
                urllib.parse.quote(secret),
                urllib.parse.quote(secret, safe=""),
                urllib.parse.quote_plus(secret),
            ),
        )
    }
    for form in sorted(forms, key=len, reverse=True):
        word = re.escape(form)
        text = re.sub(word if len(form) >= SHORT else rf"(?<!\w){word}(?!\w)", "***", text)
    return text


def create(path: Path) -> int:
    """A new file of mode 0600, open for writing, with room for a content that is made later.

    Raises StepError if it is there already, or cannot be made, or the disk is full.
    """
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError as error:
        raise StepError(f"{path} already exists", "name another file, or move it away") from error
    except OSError as error:
        raise StepError(f"{path} cannot be written: {error.strerror}") from error
    try:
        os.posix_fallocate(descriptor, 0, ROOM)
    except OSError as error:
        os.close(descriptor)
        path.unlink()
        raise StepError(f"{path} cannot be written: {error.strerror}") from error
    return descriptor


def fill(descriptor: int, text: str) -> None:
    """Write the text, through to the disk, and close the file. Raises OSError."""
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        file.truncate()
        os.fsync(file.fileno())


def flush_folder(path: Path) -> None:
    """Bring a new file's name to the disk as well. Raises OSError."""
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def folder() -> Path:
    """Return the folder for files of Juju's client: where its snap can read, else the runtime folder."""
    snap = Path.home() / SNAP
    return snap if snap.is_dir() else Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())


@contextmanager
def passing(text: str) -> Generator[str, None, None]:
    """The path of a file of mode 0600 with this text, for the time of one call.

    It is removed however the call ends, also by a signal that would end this process at once.
    """
    with _ending():
        try:
            descriptor, name = tempfile.mkstemp(prefix="ovn-offload-", suffix=".yaml", dir=folder())
        except OSError as error:
            raise StepError(f"no file can be made in {folder()}: {error.strerror}") from error
        try:
            try:
                fill(descriptor, text)
            except OSError as error:
                raise StepError(f"{name} cannot be written: {error.strerror}") from error
            yield name
        finally:
            Path(name).unlink(missing_ok=True)


def replace(target: Path, text: str) -> None:
    """Put a file of mode 0600 with this text in the place of another one; nothing else of it stays anywhere.

    Raises StepError if it cannot be written; the old one is still there.
    """
    with _ending():
        name = ""
        try:
            target.parent.mkdir(mode=0o700, exist_ok=True)
            descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
            fill(descriptor, text)
            Path(name).replace(target)
        except OSError as error:
            raise StepError(f"{target} cannot be written: {error.strerror}") from None
        finally:
            if name:
                Path(name).unlink(missing_ok=True)


@contextmanager
def _ending() -> Generator[None, None, None]:
    """Signals that end a process raise SystemExit meanwhile, so that what has to be removed is."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # One that is ignored, as nohup has it, stays ignored.
    deadly = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) == signal.SIG_DFL]
    for number in deadly:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in deadly:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)
