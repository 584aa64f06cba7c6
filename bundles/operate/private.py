# SPDX-License-Identifier: Apache-2.0
"""Files that only the operator can read: passwords, keys, and what Juju's client takes them from."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from converge import StepError


def read(path: Path) -> str:
    """The text of a file that nobody else can read.

    Raises:
        StepError: it cannot be read, is not text, or others can read it.

    """
    try:
        if path.stat().st_mode & 0o077:
            raise StepError(f"{path} can be read by others", f"run chmod 600 {path}")
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise StepError(f"{path} cannot be read: {getattr(error, 'strerror', error)}") from error


def create(path: Path) -> int:
    """A new file of mode 0600, open for writing.

    Raises:
        StepError: it is there already, or cannot be made.

    """
    try:
        return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError as error:
        raise StepError(f"{path} already exists", "name another file, or move it away") from error
    except OSError as error:
        raise StepError(f"{path} cannot be written: {error.strerror}") from error


def fill(descriptor: int, text: str) -> None:
    """Write the text, through to the disk, and close the file."""
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def passing(text: str) -> Generator[str, None, None]:
    """The path of a file with this text, for the time of one call.

    It is in the working directory: Juju's snap is confined and reads neither /tmp nor hidden folders.
    """
    path = Path(f"ovn-offload-{os.getpid()}.yaml")
    fill(create(path), text)
    try:
        yield str(path)
    finally:
        path.unlink()
