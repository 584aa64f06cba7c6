# SPDX-License-Identifier: Apache-2.0
"""Processes on this machine, through a door that tests and the lab replace."""

import math
import tempfile
from typing import NamedTuple, Protocol

from converge import StepError
from hostnic.process import ended
from hostnic.system import CommandError
from operate import private

WORDS = 300
"""Characters of a command's message that a sentence quotes."""


class Output(NamedTuple):
    """The result of a process: exit status, standard output, standard error."""

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

    Raises NotInstalled if the program is missing, and StepError if it cannot be started, does not end in
    time, or prints without end.
    """
    limit = math.inf if seconds is None else seconds
    try:
        with tempfile.TemporaryFile() as file:  # nobody else can open it, and it is gone with this process
            file.write(given.encode(errors="replace"))
            file.seek(0)
            return Output(*ended(command, limit, given=file, shown=shown))
    except CommandError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise NotInstalled(f"{command[0]} is not installed here", f"install it: {command[0]}") from None
        raise StepError(error.reason) from None


def last_words(output: Output) -> str:
    """The last line that a command printed, on standard error if it printed there, for a sentence."""
    lines = [line.strip() for line in (output.error or output.text).splitlines() if line.strip()]
    return private.without(lines[-1].rstrip(".") if lines else f"exit status {output.status}")[:WORDS]
