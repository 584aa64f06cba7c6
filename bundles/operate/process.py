# SPDX-License-Identifier: Apache-2.0
"""Processes on this machine, through a door that tests and the lab replace."""

import io
import math
import os
import select
import selectors
import subprocess
from typing import IO, NamedTuple, Protocol, cast

from converge import StepError
from converge.bounded import CHUNK, MIB, LateError, LongError, Meter
from operate import private

MOST = 256 * MIB
"""Bytes that a command may print; what Juju knows of a large model, or a measurement prints, is less."""
WORDS = 300
"""Characters of a command's message that a sentence quotes."""


class Output(NamedTuple):
    """What a process left: exit status, standard output, standard error."""

    status: int
    text: str
    error: str = ""


class Process(Protocol):
    """Runs a command with this standard input, for at most so many seconds; None sets no limit.

    With `shown` it has the terminal: its progress goes there, and it can ask for what it needs.
    """

    def __call__(
        self, command: list[str], given: str, seconds: float | None, *, shown: bool = False
    ) -> Output: ...


class NotInstalled(StepError):
    """The program is not on this machine."""


def process(command: list[str], given: str, seconds: float | None, *, shown: bool = False) -> Output:
    """Run a command on this machine.

    Raises NotInstalled if the program is missing, and StepError if it does not end in time, or prints without
    end.
    """
    meter = Meter(command[0], math.inf if seconds is None else seconds, MOST)
    inherited = None if shown else subprocess.PIPE
    try:
        with subprocess.Popen(command, stdin=inherited, stdout=subprocess.PIPE, stderr=inherited) as running:
            try:
                printed, complained = _exchange(running, given.encode(errors="replace"), meter)
                status = running.wait(_wait(meter))
            except BaseException:
                running.kill()
                raise
    except FileNotFoundError:
        raise NotInstalled(f"{command[0]} is not installed here", f"install it: {command[0]}") from None
    except (LateError, subprocess.TimeoutExpired):
        raise StepError(f"{command[0]} did not answer within {seconds:.0f} s") from None
    except LongError as error:
        raise StepError(str(error)) from None
    return Output(status, printed, complained)


def _wait(meter: Meter) -> float | None:
    """Seconds for which the next call may wait, as the calls take them."""
    left = meter.left()
    return None if left == math.inf else left


def _exchange(running: "subprocess.Popen[bytes]", given: bytes, meter: Meter) -> tuple[str, str]:
    """Give a process its input, until it has closed its output; both of its outputs."""
    outputs = (running.stdout, running.stderr)
    printed: dict[object, bytearray] = {stream: bytearray() for stream in outputs}
    with selectors.DefaultSelector() as ready:
        for stream in filter(None, outputs):
            ready.register(stream, selectors.EVENT_READ)
        if running.stdin:
            ready.register(running.stdin, selectors.EVENT_WRITE)
        while ready.get_map():
            for key, _ in ready.select(_wait(meter)):
                stream = cast("IO[bytes]", key.fileobj)
                if stream is running.stdin:
                    given = given[_write(key.fd, given) :]
                    over = not given
                else:
                    part = os.read(key.fd, CHUNK)
                    meter.count(len(part))
                    printed[stream] += part
                    over = not part
                if over:
                    ready.unregister(stream)
                    stream.close()
    return _text(printed[running.stdout]), _text(printed[running.stderr])


def _write(descriptor: int, content: bytes) -> int:
    """Write as much as a pipe takes without waiting; a process may also leave its input unread."""
    try:
        return os.write(descriptor, content[: select.PIPE_BUF])
    except BrokenPipeError:
        return len(content)


def _text(content: bytearray) -> str:
    return io.TextIOWrapper(io.BytesIO(content), errors="replace").read()


def last_words(output: Output) -> str:
    """The last line that a command printed, on standard error if it printed there, for a sentence."""
    lines = [line.strip() for line in (output.error or output.text).splitlines() if line.strip()]
    return private.without(lines[-1].rstrip(".") if lines else f"exit status {output.status}")[:WORDS]
