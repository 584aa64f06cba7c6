# SPDX-License-Identifier: Apache-2.0
"""One revision of one switch on its way from state to state, whatever becomes of requests and answers."""

from collections.abc import Callable
from dataclasses import dataclass

from rest.client import Nvue, Progress
from rest.connection import Clock, SwitchError

MAX_ATTEMPTS = 3
"""Requests for a transition, when their answers are lost."""

AYS_TIMEOUT_S = 4.0
"""Seconds that the state ``ays`` lasts at most where it is a question that was answered in advance."""


@dataclass(frozen=True)
class Polling:
    """How long a switch is waited for.

    Attributes:
        clock: that waiting goes by.
        deadline: seconds that a transition may take.
        poll: seconds between two looks.

    """

    clock: Clock
    deadline: float
    poll: float


class AwaitsConfirmation:
    """Tells whether a revision waits for its confirmation; shown one look after the other.

    It does in the state ``confirm``. By another description (nv-config-manager) it does in ``ays``, which
    elsewhere only passes: that one counts when it is still so some seconds later.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: float | None = None

    def __call__(self, seen: Progress) -> bool:
        """Whether it waits, by what is seen now."""
        if seen.state != "ays":
            self._since = None
            return seen.state == "confirm"
        if self._since is None:
            self._since = self._clock.monotonic()
        return self._clock.monotonic() - self._since >= AYS_TIMEOUT_S


def reach(
    switch: Nvue,
    revision: str,
    ask: Callable[[], None],
    *,
    started: Callable[[Progress], bool],
    reached: Callable[[Progress], bool],
    polling: Polling,
) -> Progress:
    """Ask for a transition and wait for it; ask again where the request was lost on its way.

    Raises:
        SwitchError: the switch refused, or has not done it in time.

    """
    clock = polling.clock
    deadline = clock.monotonic() + polling.deadline
    lost = _try(ask)
    further = MAX_ATTEMPTS - 1
    while True:
        late = clock.monotonic() > deadline  # what is seen after it still counts
        seen = _look(switch, revision)
        if seen is not None:
            if reached(seen):
                return seen
            if seen.failed:
                said = "; ".join(seen.issues) or "no reason given"
                raise SwitchError("refused", f"{seen.state}: {said}")
            if lost and further and not started(seen):
                further -= 1
                lost = _try(ask)
                continue
        if late:
            what = f"not finished within {polling.deadline:g} s: {seen.state if seen else 'no answer'}"
            raise SwitchError("unreachable", what, "check it with nv config history")
        clock.sleep(polling.poll)


def _try(ask: Callable[[], None]) -> bool:
    """Ask; True when it is not known whether the switch heard it."""
    try:
        ask()
    except SwitchError as error:
        if error.kind != "unreachable":
            raise
        return True
    return False


def _look(switch: Nvue, revision: str) -> Progress | None:
    """How far a revision is; None while the switch does not answer, as it may while it changes itself."""
    try:
        return switch.progress(revision)
    except SwitchError as error:
        if error.kind != "unreachable":
            raise
        return None
