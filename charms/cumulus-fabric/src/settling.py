# SPDX-License-Identifier: Apache-2.0
"""Whether the fabric is worse than before a run, and whether waiting can help. Only reads."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from converge import Finding
from intent.model import Fabric
from observe import Observed, SwitchState, observe
from output.report import BROKEN
from rest.connection import Clock, SwitchError
from rest.fleet import Fleet
from tree import Tree
from tree.expected import Expected
from tree.merge import Goal
from verify import CABLING_REMEDY, verify

MAX_PAUSE_S = 20.0
"""Seconds between two looks at most. Each look takes 6 to 10 requests to every switch: 58 in 90 seconds."""

LASTING = ("credentials", "proxy", "release")
"""Kinds of errors that remain until somebody corrects something."""


@dataclass(frozen=True)
class Verdict:
    """The findings that are worse than before the run."""

    worse: tuple[Finding, ...] = ()  # findings of at least WAITING that were not there before
    lasting: bool = False  # whether one of them cannot mend itself, so that waiting is in vain


Look = Callable[[], Verdict]
"""Reads the switches."""

Check = Callable[[Collection[str]], Look]
"""Prepares the looks after one wave; it is given the switches still to change."""

Ready = Callable[[Sequence[str], Collection[str]], Look]
"""Prepares the looks whether a wave may begin; it is given the wave, and the switches changed before."""

Also = Callable[[Mapping[str, SwitchState]], Collection[Finding]]
"""Finds more that must not be, in the switches that were read."""


def always(*_: Collection[str]) -> Look:
    """Every wave may begin."""
    return Verdict


def settle(look: Look, timeout: float, poll: float, clock: Clock) -> tuple[Finding, ...]:
    """Look until nothing is worse than before; what still is after ``timeout`` seconds, or lasts.

    The pauses start at ``poll`` seconds and double.
    """
    deadline = clock.monotonic() + timeout
    pause = poll
    while True:
        left = deadline - clock.monotonic()
        seen = look()
        if not seen.worse or seen.lasting or left <= 0:
            return seen.worse
        clock.sleep(min(pause, max(left, poll)))
        pause = min(2 * pause, max(MAX_PAUSE_S, poll))


def healthy(
    fabric: Fabric,
    fleet: Fleet,
    goals: Mapping[str, Goal],
    before: Observed,
    beside: Observed,
    unready: frozenset[str],
    also: Also = lambda _: (),
) -> Check:
    """Finds what is worse than before a run and can be blamed on it.

    Args:
        fabric: what the intent says.
        fleet: the way to the switches.
        goals: what each switch of the run is to run.
        before: what was read from these switches before the run.
        beside: what was read from the switches around them, which the run does not change.
        unready: those around them that do not run the intent, or do not answer.
        also: finds what no waiting mends.

    """

    def differing(seen: Mapping[str, SwitchState]) -> dict[str, Tree]:
        """Return the settings of their goals that these switches of the run lack."""
        return {name: goal.patch(seen[name].applied) for name, goal in goals.items() if name in seen}

    then = {**beside.switches, **before.switches}
    states = {name: seen.state for name, seen in then.items()}
    known = verify(fabric, differing(then), Observed(then, before.errors))
    faults = {(each.subject, each.what) for each in known}

    def prepare(pending: Collection[str]) -> Look:
        expected = Expected(states, unready | frozenset(pending))
        configured: dict[str, SwitchState] = {}
        patches: dict[str, Tree] = {}

        def look() -> Verdict:
            # After the first look, only what can still change is read.
            seen = observe(fleet, then, known=configured)
            first = {name: each for name, each in seen.switches.items() if name not in configured}
            patches.update(differing(first))
            configured.update(seen.switches)
            errors = {name: error for name, error in seen.errors.items() if name in before.switches}
            found = verify(fabric, patches, Observed(seen.switches, errors), expected)
            more = also(seen.switches)
            new = [each for each in found if (each.subject, each.what) not in faults]
            seen_now = _verdict([*more, *new], errors)
            return replace(seen_now, lasting=seen_now.lasting or bool(more))

        return look

    return prepare


def reachable(fleet: Fleet, names: Collection[str]) -> Check:
    """Finds the switches that do not answer any more."""

    def look() -> Verdict:
        seen = observe(fleet, names, state=False)
        return _verdict(list(seen.findings), seen.errors)

    return lambda _: look


def returned(
    fleet: Fleet,
    before: Mapping[str, SwitchState],
    waiting: Callable[[Sequence[str], Mapping[str, SwitchState]], Collection[Finding]],
) -> Ready:
    """Whether those are back who would be cut by a wave, by the state of these switches now.

    Of the configurations only those of switches that this run has changed are read again, once for each wave.
    """

    def prepare(wave: Sequence[str], changed: Collection[str]) -> Look:
        known = {name: each for name, each in before.items() if name not in changed}

        def look() -> Verdict:
            seen = observe(fleet, before, known=known).switches
            known.update(seen)
            return Verdict(tuple(waiting(wave, seen)))

        return look

    return prepare


def _verdict(found: Collection[Finding], errors: Mapping[str, SwitchError]) -> Verdict:
    worse = tuple(each for each in found if each.severity in BROKEN)
    cabling = any(each.remedy == CABLING_REMEDY for each in worse)
    return Verdict(worse, cabling or any(error.kind in LASTING for error in errors.values()))
