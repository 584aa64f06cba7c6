# SPDX-License-Identifier: Apache-2.0
"""Keeps what switches run, and finds the way back to it: only to what this charm has made."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from audit.foreign import Ownership
from converge import Finding, Severity, StepError
from intent.model import Fabric, Switch
from observe import SwitchState, observe
from plan import Change
from rest.fleet import Fleet
from tree import Tree, drain, merged, within

from backups.folder import Folder
from backups.kept import Kept, compared, without_secrets

K = TypeVar("K")

KEPT = "backups"
"""The subject of findings about the folder."""

CHOOSE = "run list-backups, and rollback with backup=NUMBER"
"""The remedy where the operator has to say which one is meant."""


def keep(
    folder: Folder, when: str, switches: Mapping[str, SwitchState], ours: Mapping[str, Tree]
) -> tuple[Finding, ...]:
    """Keep what these switches run; the finding if that cannot be done.

    Args:
        folder: for the configurations.
        when: before or after a run.
        switches: as they were read.
        ours: by switch, the tree of all that this charm may have made on it.

    """
    now = int(time.time())
    found: list[Kept] = []
    for name, seen in switches.items():
        tree = without_secrets(seen.applied)
        trees = {"all": tree, "ours": within(tree, ours.get(name, {}))}
        found.append(Kept(name, seen.release, now, when, trees))
    try:
        folder.keep(found)
    except StepError as error:
        return (_finding(error),)
    return ()


@dataclass(frozen=True)
class Return:
    """The way of one switch back to a kept configuration."""

    change: Change
    ours: Tree  # the part of it that is this charm's
    findings: tuple[Finding, ...]  # what others have that stands in the way


def way_back(switch: Switch, seen: SwitchState, kept: Kept, ownership: Ownership, intent: Tree) -> Return:
    """The change that brings a switch to what is kept: of that only what this charm had made.

    What it has made since goes, and what others have made stays. A switch that is drained stays so.

    Args:
        switch: of the intent.
        seen: what it runs.
        kept: where it is to go.
        ownership: what this charm has made on switches.
        intent: the switch's tree by the intent, which counts as this charm's.

    """
    now, ours = seen.applied, kept.in_dialect(seen.release).ours
    made = merged(ownership.had(switch.name) or {}, within(now, intent))
    owner = replace(ownership, last={switch.name: made}, named=frozenset[str]())
    wanted = drain.staying(switch, now, ours) if drain.drained(now) else ours
    found = owner.compare(switch.name, now, wanted, switch.unmanaged)
    blocked = tuple(each for each in found.findings() if each.severity is Severity.BLOCKED)
    return Return(Change(switch.name, now, found.patch), ours, blocked)


def chosen(
    folder: Folder | None, numbers: Collection[int], names: Collection[str]
) -> tuple[dict[str, list[tuple[int, Kept]]], tuple[Finding, ...]]:
    """Find the configurations with these numbers, by switch; or why they cannot be restored on ``names``."""
    found: dict[str, list[tuple[int, Kept]]] = {}
    if folder is None:
        return {}, ()
    for number in numbers:
        try:
            kept = folder.read(number)
        except StepError as error:
            return {}, (_finding(error),)
        if kept.switch not in names or kept.switch in found:
            what = f"number {number} is of {kept.switch}, which "
            what += "has another number, too" if kept.switch in found else "is no switch of the intent"
            return {}, (Finding(Severity.BLOCKED, KEPT, what, "give one number for each switch"),)
        found[kept.switch] = [(number, kept)]
    return found, ()


def histories(
    folder: Folder | None, names: Collection[str]
) -> tuple[dict[str, list[tuple[int, Kept]]], tuple[Finding, ...]]:
    """Find the configurations that are kept of switches that keep none themselves, the newest first."""
    try:
        every = {name: folder.history(name) for name in names} if folder else {}
    except StepError as error:
        return {}, (_finding(error),)
    return {name: each for name, each in every.items() if each}, ()


def ways_back(
    site: Fabric,
    switches: Mapping[str, SwitchState],
    kept: Mapping[str, Sequence[tuple[int, Kept]]],
    named: Collection[str],
    ownership: Ownership,
    intents: Mapping[str, Tree],
) -> tuple[dict[str, Return], list[Finding]]:
    """The way of each switch to one of those that are ``kept`` of it, and what the operator has to know.

    That is the one that the operator has ``named`` for a switch, or else what it ran before its last change.
    """
    ways: dict[str, Return] = {}
    told: list[Finding] = []
    for switch in site.switches:
        if not (history := kept.get(name := switch.name)):
            continue
        seen, intent = switches[name], intents.get(name, {})
        every = ((known, way_back(switch, seen, known[1], ownership, intent)) for known in history)
        try:
            found = next(every) if name in named else _newest_other(every)
        except StepError as error:
            told.append(Finding(Severity.BLOCKED, name, str(error), CHOOSE))
            continue
        if found:
            (number, each), ways[name] = found
            what = f"goes back to the kept configuration {number}, {each.when} the run of {each.time}"
            told += [Finding(Severity.INFO, name, what), *ways[name].findings]
    return ways, told


def _newest_other(every: Iterator[tuple[K, Return]]) -> tuple[K, Return] | None:
    """The one that a switch ran before its last change; None if it has run nothing else.

    If it does not run the newest one, it has lost that since, as in the installation of an image. The
    others are then not compared.

    Raises StepError if its last change was itself a return to an earlier one.
    """
    first = next(every)
    if first[1].change.patch:
        return first
    before: tuple[K, Return] | None = None
    for each in every:
        if each[1].change.patch:
            before = before or each
        elif before:
            raise StepError(
                "its last change was itself a rollback, so it is unclear which configuration to restore"
            )
    return before


def difference(folder: Folder, number: int, other: int | None, running: Callable[[str], SwitchState]) -> str:
    """The lines that lead from one kept configuration to another of that switch, or to what it runs.

    Raises StepError if one of them cannot be read.
    """
    one = folder.read(number)
    if other is None:
        now = running(one.switch)
        tree, release = without_secrets(now.applied), now.release
    else:
        two = folder.read(other)
        if two.switch != one.switch:
            what = f"number {number} is of {one.switch}, and {other} of {two.switch}"
            raise StepError(what, "compare two of one switch: list-backups shows them")
        tree, release = two.tree, two.release
    return "\n".join(compared(one.in_dialect(release).tree, tree)) or "no difference"


def running_now(fleet: Fleet, name: str) -> SwitchState:
    """Read what a switch runs. Raises StepError if that cannot be read."""
    seen = observe(fleet, [name] if name in fleet.switches else [], state=False)
    if name in seen.switches:
        return seen.switches[name]
    found = next(
        iter(seen.errors.values()), StepError("is no switch of the intent", "compare it with another one")
    )
    raise StepError(f"{name}: {found}", found.remedy)


def _finding(error: StepError) -> Finding:
    return Finding(Severity.BLOCKED, KEPT, str(error).removeprefix(f"{KEPT}: "), error.remedy)
