# SPDX-License-Identifier: Apache-2.0
"""Processes on this machine, through a door that tests and the lab replace."""

import subprocess
from typing import NamedTuple, Protocol

from converge import StepError
from operate import private

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

    Raises:
        NotInstalled: the program is missing.
        StepError: it does not end in time.

    """
    errors = None if shown else subprocess.PIPE
    try:
        done = subprocess.run(
            command,
            input=None if shown else given,
            stdout=subprocess.PIPE,
            stderr=errors,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except FileNotFoundError:
        raise NotInstalled(f"{command[0]} is not installed here", f"install it: {command[0]}") from None
    except subprocess.TimeoutExpired:
        raise StepError(f"{command[0]} did not answer within {seconds:.0f} s") from None
    return Output(done.returncode, done.stdout, done.stderr or "")


def last_words(output: Output) -> str:
    """The last line that a command printed, on standard error if it printed there, for a sentence."""
    lines = [line.strip() for line in (output.error or output.text).splitlines() if line.strip()]
    return private.without(lines[-1] if lines else f"exit status {output.status}")[:WORDS]
