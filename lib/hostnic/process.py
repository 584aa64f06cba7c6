# SPDX-License-Identifier: Apache-2.0
"""Child processes of a real host."""

import io
import os
import time
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING

from converge import cause

from hostnic.system import CommandError, failure

if TYPE_CHECKING:
    from subprocess import Popen

MOST = 256 << 20
"""Bytes that a command may print, standard output and standard error together. The longest output is that of
``ovs-appctl dpctl/dump-flows -m``: up to 200,000 flows (OVS' default flow-limit) of less than 1 KiB each."""
LAST = 30.0
"""Seconds in which a command that is told to end may bring to an end what it has begun.

mstflint's tools put SIGTERM off while they hold the NIC's semaphore (mft_sig_handler.c). A NIC keeps the
semaphore of a tool that was killed, and opens for no other one.
"""
_CHUNK = 1 << 16
_WAIT = 3600.0
"""Seconds between two looks at the time that is left; a selector waits for no infinite one."""


def run(argv: Sequence[str], timeout: float = 60.0, given: str = "") -> str:
    """Run ``argv`` in the C locale with ``given`` as its standard input, and return its standard output.

    Raises CommandError as :func:`ended`, or if it ended with a code other than 0.
    """
    env = {**os.environ, "LC_ALL": "C"}
    if given:
        with os.fdopen(os.memfd_create("given"), "w+b") as file:  # on a disk it could outlive this
            file.write(given.encode())
            file.seek(0)
            code, stdout, stderr = ended(argv, timeout, given=file, env=env)
    else:
        code, stdout, stderr = ended(argv, timeout, env=env)
    if code:
        raise failure(argv, code, stdout, stderr)
    return stdout


def ended(
    argv: Sequence[str],
    timeout: float,
    *,
    given: IO[bytes] | None = None,
    shown: bool = False,
    env: Mapping[str, str] | None = None,
) -> tuple[int, str, str]:
    """Run ``argv`` without a shell; its exit code, its standard output and its standard error.

    ``given`` is its standard input; with ``shown``, it has the terminal for that and for its standard error.
    It is told to end after ``timeout`` seconds, and killed :data:`LAST` seconds later.

    Raises CommandError if it could not be started, ran too long, or printed more than :data:`MOST` bytes.
    """
    import subprocess  # a boot that goes well runs no process, and the network waits for it

    try:
        child = subprocess.Popen(
            list(argv),
            stdin=None if shown else given or subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if shown else subprocess.PIPE,
            env=env,
        )
    except FileNotFoundError as error:
        raise CommandError(argv, f"{argv[0]} is not installed") from error
    except OSError as error:
        raise CommandError(argv, f"{argv[0]} could not be started: {cause(error)}") from error
    except ValueError as error:  # a NUL byte, or half of a surrogate pair
        why = error.reason if isinstance(error, UnicodeEncodeError) else error
        raise CommandError(argv, f"{argv[0]} could not be started: {why}") from error
    with child:
        try:
            stdout, stderr = _output(child, argv, timeout)
        except subprocess.TimeoutExpired as error:
            raise CommandError(argv, f"{argv[0]} did not end within {timeout:g} s") from error
        finally:
            _end(child)
    return child.returncode, stdout, stderr


def _end(child: "Popen[bytes]") -> None:
    """End a process that has not ended by itself."""
    from subprocess import TimeoutExpired

    child.terminate()  # does nothing to a process that has ended
    try:
        child.wait(LAST)
    except TimeoutExpired:
        child.kill()


def _output(child: "Popen[bytes]", argv: Sequence[str], timeout: float) -> tuple[str, str]:
    """Wait for the end of ``child``, and return what it printed on standard output and standard error.

    Raises CommandError if it prints too much, and TimeoutExpired if it does not end in time.
    """
    import selectors
    from subprocess import TimeoutExpired

    end = time.monotonic() + timeout
    printed = bytearray(), bytearray()
    with selectors.DefaultSelector() as open_pipes:
        for pipe, content in zip((child.stdout, child.stderr), printed):
            if pipe:
                open_pipes.register(pipe, selectors.EVENT_READ, content)
        while open_pipes.get_map():
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutExpired(child.args, timeout)
            for pipe, _ in open_pipes.select(min(left, _WAIT)):
                chunk = os.read(pipe.fd, _CHUNK)
                pipe.data.extend(chunk)
                if not chunk:
                    open_pipes.unregister(pipe.fileobj)
            if sum(map(len, printed)) > MOST:
                raise CommandError(argv, f"{argv[0]} printed more than {MOST >> 20} MiB")
    child.wait(max(0.0, end - time.monotonic()))
    stdout, stderr = map(_text, printed)
    return stdout, stderr


def _text(content: bytearray) -> str:
    """The text in this program's encoding, with newlines as Python has them."""
    return io.TextIOWrapper(io.BytesIO(content), errors="replace").read()
