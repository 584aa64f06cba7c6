# SPDX-License-Identifier: Apache-2.0
"""Juju's hooks of a new unit, and in which of them the unit looks at what it keeps."""

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from lab.juju import uniter
from lab.juju.service import told
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


def of_a_removed_unit(state: testing.State) -> Iterator[Hook]:
    """In Juju's order, up to remove; the unit itself departs."""
    relations = {relation.endpoint: relation for relation in state.relations}
    left = {endpoint: [*_seen(relation)] for endpoint, relation in relations.items()}
    peers = [name for name, each in relations.items() if isinstance(each, testing.PeerRelation)]
    for hook in uniter.of_a_removed_unit({name: len(units) for name, units in left.items()}, peers):
        endpoint, of_relation, kind = hook.partition("-relation-")
        if not of_relation:
            yield (hook,)
        elif kind == "departed":
            yield (f"relation_{kind}", relations[endpoint], left[endpoint].pop(0))
        else:
            yield (f"relation_{kind}", relations[endpoint])


def _seen(relation: testing.RelationBase) -> Iterable[int]:
    if isinstance(relation, testing.PeerRelation):
        return relation.peers_data
    return relation.remote_units_data if isinstance(relation, testing.Relation) else [0]


def changes_nothing_before_it_stops(node: Any) -> None:
    """A unit that Juju removes writes to its host in the stop hook only."""
    others = {1: {}, 2: {}}
    peers = [
        replace(node.state.get_relation(each.id), peers_data=others)
        for each in node.state.get_relations("reboot")
    ]
    rest = [each for each in node.state.relations if each.endpoint != "reboot"]
    node.state = replace(node.state, relations={*rest, *peers})
    wrote = list[str]()
    for event, *arguments in of_a_removed_unit(node.state):
        now = [node.state.get_relation(each.id) for each in arguments[:1]]
        other = {"remote_unit": arguments[1]} if arguments[1:] else {}
        with told(JUJU_DEPARTING_UNIT=f"{node.context.app_name}/0") if other else nullcontext():
            node.emit(event, *now, **other)
        wrote += [event] if node.writes else []
    assert wrote == ["stop"]


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
