# SPDX-License-Identifier: Apache-2.0
"""Takes a revision from one state to another, even if requests or answers are lost."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rest.client import CONFIRMED_BY, Nvue, Progress
from rest.connection import Clock, SwitchError

MAX_ATTEMPTS = 3
"""Requests for one transition if answers are lost."""

LONGER = "check it with nv config history; a larger settle-timeout gives each switch more time"
"""The remedy for a switch that does not finish."""

AYS_TIMEOUT_S = 4.0
"""Seconds after which the state ``ays`` means waiting; as a question answered in advance it is shorter."""


@dataclass(frozen=True)
class Polling:
    """How a transition is polled."""

    clock: Clock  # for waiting
    deadline: float  # seconds that a transition may take
    poll: float  # seconds between two reads


class AwaitsConfirmation:
    """Whether a revision waits for its confirmation, by the states read one after the other.

    The state for that is ``confirm``, or, according to nv-config-manager, ``ays``. Elsewhere ``ays`` is a
    brief intermediate state, so it counts only if it lasts some seconds.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: float | None = None

    def __call__(self, seen: Progress) -> bool:
        """Whether it waits, now that this state has been read."""
        if seen.state != "ays" or seen.warns:
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
    """Request a transition and wait for it; repeat the request if it was lost.

    Raises SwitchError if the switch refused, or did not finish in time: of kind ``slow`` if it still answers.
    """
    clock = polling.clock
    deadline = clock.monotonic() + polling.deadline
    lost = _try(ask)
    further = MAX_ATTEMPTS - 1
    while True:
        late = clock.monotonic() > deadline  # a state read after the deadline still counts
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
            raise SwitchError("slow" if seen else "unreachable", what, LONGER)
        clock.sleep(polling.poll)


def apply_to_confirm(
    switch: Nvue,
    revision: str,
    confirm_s: int,
    *,
    done: Callable[[Progress], bool],
    heed: Callable[[Sequence[str]], None],
    polling: Polling,
) -> Progress:
    """Apply a revision until it is ``done``, such as waiting for its confirmation.

    The warnings of the switch before it goes on are given to ``heed``, which raises SwitchError where it may
    not go on.
    """
    seen = reach(
        switch,
        revision,
        lambda: switch.apply(revision, confirm_s, ask=True),
        started=lambda seen: seen.state != "pending",
        reached=lambda seen: seen.warns or done(seen),
        polling=polling,
    )
    if not seen.warns:
        return seen
    heed(seen.issues)
    return reach(
        switch,
        revision,
        lambda: switch.go_on(revision, yes=True),
        started=lambda seen: not seen.warns,
        reached=done,
        polling=polling,
    )


def confirm(switch: Nvue, revision: str, polling: Polling) -> Progress:
    """Confirm a revision that waits for it."""
    return reach(
        switch,
        revision,
        lambda: switch.confirm(revision),
        started=lambda seen: seen.state not in CONFIRMED_BY,
        reached=lambda seen: seen.applied,
        polling=polling,
    )


def _try(ask: Callable[[], None]) -> bool:
    """Send the request; True if it is unknown whether the switch received it."""
    try:
        ask()
    except SwitchError as error:
        if error.kind != "unreachable":
            raise
        return True
    return False


def _look(switch: Nvue, revision: str) -> Progress | None:
    """The state of a revision; None while the switch does not answer, as during its own change."""
    try:
        return switch.progress(revision)
    except SwitchError as error:
        if error.kind != "unreachable":
            raise
        return None
