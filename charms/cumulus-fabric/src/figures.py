# SPDX-License-Identifier: Apache-2.0
"""The result of a survey in numbers, for the exporter. Pure: nothing is asked of a switch for it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from converge import Finding, Severity
from exporter import facts
from hosts import ABOUT
from intent.model import Fabric
from roce.counters import counted
from survey import Survey
from tree import drain, leaves
from verify import CABLING_REMEDY, Checker, checkers


def switches(
    fabric: Fabric, survey: Survey, findings: Iterable[Finding], before: facts.Fabric | None
) -> Iterator[facts.Switch]:
    """Each switch of the intent that the charm configures, from a survey with ``state`` and its findings.

    A drained switch is still drained while it does not answer, as ``before`` has it: it may be at work.
    """
    out = {each.name for each in before.switches if each.drained} if before else set[str]()
    miswired = Counter(each.subject.split()[0] for each in findings if each.remedy == CABLING_REMEDY)
    seen = survey.observed.switches
    found = {each.switch.name: each for each in checkers(fabric, survey.goals, survey.observed)}
    for switch in fabric.switches:
        if (name := switch.name) not in seen and name not in survey.observed.errors:
            continue  # it has no NVUE
        parts = zip(facts.OBJECTS, (switch.open_links, switch.open_links, switch.bonds, switch.extended))
        change, checker = survey.changes.get(name), found.get(name)
        yield facts.Switch(
            name,
            name in seen,
            drain.drained(seen[name].applied) if name in seen else name in out,
            len([*leaves(change.patch)]) if change else 0,
            miswired[name],
            {part: len(those) for part, those in parts},
            dict(_as_declared(checker)) if checker else {},
            counted(switch, seen[name].state) if name in seen else (),
        )


def _as_declared(checker: Checker) -> Iterator[tuple[str, int]]:
    """How many of the switch's :data:`facts.OBJECTS` are up and as the intent has them."""
    switch = checker.switch
    yield "links", sum(checker.up(link.port) for link in switch.open_links)
    yield "sessions", sum(_holds(checker.session(link)) for link in switch.open_links)
    yield "segments", sum(_holds(checker.segment(bond)) for bond in switch.bonds)
    yield "vnis", sum(_holds(checker.vni(network)) for network in switch.extended)


def _holds(findings: Iterable[Finding]) -> bool:
    """Whether none is more than a warning, as of a host that is being installed."""
    return all(each.severity <= Severity.WARNING for each in findings)


def reports(differing: Mapping[str, Sequence[Finding]], told: Iterable[str]) -> dict[str, dict[str, int]]:
    """Count the points in which the host of each unit that reports differs, by their subjects."""
    found = {unit: Counter(ABOUT[each.severity] for each in differing.get(unit, ())) for unit in told}
    return {unit: {about: each[about] for about in facts.ABOUT} for unit, each in found.items()}
