# SPDX-License-Identifier: Apache-2.0
"""Juju's hooks of a new unit, and in which of them the unit looks at what it keeps."""

from collections.abc import Iterable, Iterator
from typing import Any

from ops import testing

Hook = tuple[Any, ...]
"""An event's name and its arguments, as a unit's ``emit`` takes them."""


def of_a_new_unit(state: testing.State) -> Iterator[Hook]:
    """In Juju's order, up to start."""
    yield ("install",)
    for relation in sorted(state.relations, key=lambda relation: relation.endpoint):
        yield ("relation_created", relation)
    if state.leader:
        yield ("leader_elected",)
    yield from (("config_changed",), ("start",))


def observing(unit: Any, hooks: Iterable[Hook]) -> list[str]:
    """Run hooks; the names of those that looked, which is when a unit sets its status."""
    found = list[str]()
    for event, *arguments in hooks:
        before = len(unit.context.unit_status_history)
        # A relation as the hooks before have left it.
        now = [unit.state.get_relation(each.id) for each in arguments]
        unit.emit(event, *now)
        found += [event] if len(unit.context.unit_status_history) > before else []
    return found
