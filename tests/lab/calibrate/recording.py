# SPDX-License-Identifier: Apache-2.0
"""The recording of a run, as a JSON file."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from lab.calibrate.state import State

FORMAT = 1


class RecordingError(ValueError):
    """A file is no recording; the message is one sentence with the file's name."""


@dataclass(frozen=True)
class Result:
    """One operation's.

    Attributes:
        name: the operation's.
        command: as in the sequence, with the variables' names.
        status: the exit status.
        errno: the symbol of the error that the message tells ("EBUSY"); empty without one.
        message: lines of standard error; the kernel's extack is among them.
        output: lines of standard output.
        log: what the driver wrote to the kernel log meanwhile: each line once, sorted.
        state: the ports' afterwards.
        seconds: how long the command took.

    """

    name: str
    command: str
    status: int
    errno: str
    message: list[str]
    output: list[str]
    log: list[str]
    state: State
    seconds: float


@dataclass(frozen=True)
class Recording:
    """A run of sequences on one card.

    Attributes:
        card: its kind ("virtual" or "real"), PCI ID, PSID and firmware; versions of the kernel and the tools.
        initial: the ports' state before each sequence.
        sequences: each sequence's results, in their order.

    """

    card: dict[str, str]
    initial: State
    sequences: dict[str, list[Result]]

    def write(self, path: Path) -> None:
        """Write it, also into a directory that is not there yet."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n")


def read(path: Path) -> Recording:
    """A recording that :meth:`Recording.write` wrote.

    Raises:
        RecordingError: the file cannot be read, or is something else.

    """
    try:
        data = json.loads(path.read_text())
    except OSError as problem:
        raise RecordingError(f"{path} cannot be read: {problem.strerror}") from problem
    except ValueError as problem:
        raise RecordingError(f"{path} is no recording: {problem}") from problem
    found = data.get("format") if isinstance(data, dict) else None
    if found != FORMAT:
        raise RecordingError(f"{path} is no recording of format {FORMAT}: its format is {found!r}")
    try:
        sequences = {
            name: [Result(**each) for each in results] for name, results in data["sequences"].items()
        }
        return Recording(data["card"], data["initial"], sequences)
    except (AttributeError, KeyError, TypeError) as problem:
        raise RecordingError(f"{path} is no complete recording: {problem}") from problem
