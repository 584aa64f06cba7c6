# SPDX-License-Identifier: Apache-2.0
"""Juju's hooks of a new unit, and in which of them the unit looks at what it keeps."""

from collections.abc import Iterable, Iterator
from typing import Any

from lab import uniter
from ops import testing

Hook = tuple[Any, ...]
"""An event's name and its arguments, as a unit's ``emit`` takes them."""


def of_a_new_unit(state: testing.State) -> Iterator[Hook]:
    """In Juju's order, up to start."""
    relations = {f"{relation.endpoint}-relation-created": relation for relation in state.relations}
    endpoints = sorted(relation.endpoint for relation in state.relations)
    for hook in uniter.of_a_new_unit(endpoints, leads=state.leader):
        created = relations.get(hook)
        yield ("relation_created", created) if created else (hook.replace("-", "_"),)


def looks_until_it_has_rebooted(node: Any) -> None:
    """A unit that needs a reboot looks when it has its options, at start, and after the reboot."""
    node.configure(reboot_policy="always", reboot_settle=0)
    assert observing(node, of_a_new_unit(node.state)) == ["config_changed", "start"]
    assert node.state.unit_status.name == "waiting"
    node.host.reboot()
    assert observing(node, [("start",)]) == ["start"]
    assert node.state.unit_status.name == "active"
    assert observing(node, [("update_status",)]) == ["update_status"]
    assert node.writes == []


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
