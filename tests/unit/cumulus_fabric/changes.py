# SPDX-License-Identifier: Apache-2.0
"""Random changes of intents beside what others have set: what a switch runs after each, and what is said.

``PYTHONPATH=lib:tests:charms/cumulus-fabric/src python -m unit.cumulus_fabric.changes 4500 > FILE`` writes a
line for each change, always the same ones: with the record, without it, and with all that others have made
named for removal. Files of two revisions of the charm differ where it does something else. On standard error
it counts.
"""

import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

from audit.foreign import Comparison, Ownership
from converge import Severity
from converge.shape import InvalidValue
from intent.model import Dialect, Fabric
from lab.nvue import merge
from lab.nvue.factory import factory
from tree import patched, render
from unit.cumulus_fabric.edits import EDITS, THEIRS
from unit.cumulus_fabric.fabrics import SIX, fabric

Tree = dict[str, Any]


class Change(NamedTuple):
    """A switch that gets another intent."""

    name: str
    last: Tree  # the intent's tree that was applied last
    wanted: Tree  # that of the new intent
    theirs: Tree  # what others have set since
    applied: Tree  # what the switch runs
    compared: Comparison


@cache
def changed(edits: tuple[str, ...]) -> Fabric | None:
    """The guide's fabric with these of EDITS; None if the intent is refused."""
    try:
        return fabric(change=lambda content: [EDITS[name](content) for name in edits])
    except InvalidValue:
        return None


def change(old: Fabric, new: Fabric, others: list[str], name: str, dialect: Dialect) -> Change:
    """The switch ``name`` on its way from one intent to another, with these of THEIRS on it."""
    before, now = old.switch(name), new.switch(name)
    assert before is not None
    assert now is not None
    last, wanted = render.tree(old, before, dialect), render.tree(new, now, dialect)
    applied, theirs = merge(factory(name, dialect is Dialect.FROM_5_15), deepcopy(last)), {}
    for each in others:
        applied, theirs = merge(applied, deepcopy(THEIRS[each])), merge(theirs, deepcopy(THEIRS[each]))
    compared = Ownership({name: last}).compare(name, applied, wanted, now.unmanaged)
    return Change(name, last, wanted, theirs, applied, compared)


def others_named(each: Change) -> Comparison:
    """The same with all named for removal that others have made."""
    names = frozenset(found.said for found in each.compared.kept)
    return Ownership({each.name: each.last}, named=names).compare(
        each.name, each.applied, each.wanted, each.compared.unmanaged
    )


def without_record(each: Change) -> Comparison:
    """The same where it is not known what was applied last."""
    return Ownership().compare(each.name, each.applied, each.wanted, each.compared.unmanaged)


def changes(number: int) -> Iterator[tuple[str, Change]]:
    """So many random changes, and what each is."""
    chance = random.Random(7)
    for _ in range(number):
        before, now = (tuple(chance.sample(sorted(EDITS), chance.randint(0, 3))) for _ in ("before", "now"))
        others = chance.sample(sorted(THEIRS), chance.choice([0, 0, 1, 2, 3]))
        name, dialect = chance.choice(SIX), chance.choice([*Dialect])
        old, new = changed(before), changed(now)
        if old and new:
            told = (
                f"{name} {dialect.value}: {', '.join(before)} -> {', '.join(now)} beside {', '.join(others)}"
            )
            yield told, change(old, new, others, name, dialect)


def outcome(compared: Comparison) -> tuple[str, str]:
    """Whether a change is sent, and what stands for what the switch then runs and for what is said."""
    findings = list(compared.findings())
    blocked = any(found.severity is Severity.BLOCKED for found in findings)
    after = compared.applied if blocked else patched(compared.applied, compared.patch)
    said = sorted(f"{found.severity.name} {found.sentence()}" for found in findings)
    text = json.dumps([after, said], sort_keys=True)
    became = "blocked" if blocked else "sent" if compared.patch else "unchanged"
    return became, hashlib.sha256(text.encode()).hexdigest()[:12]


def main(number: int) -> None:
    """Print what each of so many changes leads to."""
    count = Counter[str]()
    for told, each in changes(number):
        ways = {"recorded": each.compared, "unknown": without_record(each), "named": others_named(each)}
        found = {way: outcome(compared) for way, compared in ways.items()}
        count.update(f"{way} {became}" for way, (became, _) in found.items())
        print(*(text for both in found.values() for text in both), told)
    print(dict(sorted(count.items())), file=sys.stderr)


if __name__ == "__main__":
    main(int(sys.argv[1]))
