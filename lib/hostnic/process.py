# SPDX-License-Identifier: Apache-2.0
"""Child processes of a real host."""

import io
import os
import time
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, cast

from converge import cause

from hostnic.system import CommandError, failure

if TYPE_CHECKING:
    from subprocess import Popen

MOST = 256 << 20
"""Bytes that a command may print, standard output and standard error together. The longest output is that of
``ovs-appctl dpctl/dump-flows -m``: up to 200,000 flows (OVS' default flow-limit) of less than 1 KiB each."""
_CHUNK = 1 << 16


def run(argv: Sequence[str], timeout: float = 60.0) -> str:
    """Run ``argv`` without a shell, in the C locale, and return its standard output.

    It is killed after ``timeout`` seconds.

    Raises CommandError if it could not be started, ran too long, printed more than :data:`MOST` bytes, or
    ended with a code other than 0.
    """
    import subprocess  # a boot that goes well runs no process, and the network waits for it

    try:
        child = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C"},
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
            child.kill()  # does nothing to a process that has ended
    if child.returncode:
        raise failure(argv, child.returncode, stdout, stderr)
    return stdout


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
            open_pipes.register(cast("IO[bytes]", pipe), selectors.EVENT_READ, content)
        while open_pipes.get_map():
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutExpired(child.args, timeout)
            for pipe, _ in open_pipes.select(left):
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
