# SPDX-License-Identifier: Apache-2.0
"""Sets a recording beside the virtual card's."""

from collections.abc import Iterator
from dataclasses import dataclass

from lab.calibrate.purposes import Purpose, of
from lab.calibrate.recording import Recording, Result

FIELDS = ("command", "status", "errno", "message", "output", "log")
"""The fields to compare beside the state; the time is not one, since a virtual card's has no meaning."""


@dataclass(frozen=True)
class Difference:
    """The difference of two recordings in one place.

    Attributes:
        place: "sequence/operation/field".
        recorded: lines of the recording that only it has.
        virtual: lines of the virtual card's that only it has.
        reasons: why it is on purpose; empty if it is not.

    """

    place: str
    recorded: list[str]
    virtual: list[str]
    reasons: tuple[str, ...] = ()

    def text(self) -> str:
        """The place, the lines of each, and the reasons."""
        lines = [self.place]
        lines += [f"    recorded: {line}" for line in self.recorded]
        lines += [f"    virtual:  {line}" for line in self.virtual]
        lines += [f"    on purpose: {reason}" for reason in self.reasons]
        return "\n".join(lines)


@dataclass(frozen=True)
class Comparison:
    """All differences of two recordings, in the order of the operations."""

    compared: int
    differences: list[Difference]

    @property
    def unexplained(self) -> list[Difference]:
        """Those without a reason."""
        return [each for each in self.differences if not each.reasons]

    def text(self) -> str:
        """Every difference, and a last line with the numbers."""
        purposeful = len(self.differences) - len(self.unexplained)
        total = (
            f"{self.compared} operations compared: {len(self.unexplained)} unexpected differences, "
            f"{purposeful} on purpose."
        )
        return "\n".join([*(each.text() for each in self.differences), total])


def compare(recorded: Recording, virtual: Recording, purposes: list[Purpose]) -> Comparison:
    """Every place in which two recordings differ, with the reasons that the list has for it."""
    ours, theirs = dict(places(virtual)), dict(places(recorded))
    found = []
    for place in dict.fromkeys([*ours, *theirs]):  # in the order of the operations
        there, here = theirs.get(place, ["(not there)"]), ours.get(place, ["(not there)"])
        if there != here:
            found.append(difference(place, there, here, purposes))
    operations = {place.rpartition("/")[0] for place in ours if place.endswith("/status")}
    return Comparison(len(operations), found)


def difference(place: str, there: list[str], here: list[str], purposes: list[Purpose]) -> Difference:
    """Return the lines that only one side has; with reasons if the list allows all of them to differ."""
    only = [line for line in there if line not in here], [line for line in here if line not in there]
    shown = only if any(only) else (there, here)
    reasons = []
    left, right = there, here
    for purpose in of(place, purposes):
        if any(purpose.without(lines) != lines for lines in shown):
            reasons.append(purpose.reason)
        left, right = purpose.without(left), purpose.without(right)
    return Difference(place, *shown, tuple(reasons) if left == right else ())


def places(recording: Recording) -> Iterator[tuple[str, list[str]]]:
    """Everything that is compared, as lines, by its place."""
    for name, results in recording.sequences.items():
        for result in results:
            for field, lines in fields(result):
                yield f"{name}/{result.name}/{field}", lines


def fields(result: Result) -> Iterator[tuple[str, list[str]]]:
    """One operation's; the state's are "state.port0.mode"."""
    for field in FIELDS:
        value = getattr(result, field)
        yield field, value if isinstance(value, list) else [str(value)]
    for port, answers in result.state.items():
        for name, answer in answers.items():
            yield f"state.{port}.{name}", [answer]
