# SPDX-License-Identifier: Apache-2.0
"""The bench's agents run hooks when and in the order that the real ones do."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from lab.juju.agents import BOOT, LEASE, Agents, Costs, Does, Machine
from lab.juju.hooktools import Controller, Tools
from lab.juju.model import Event, Relation

APP = "a"
HOOKS = yaml.safe_load((Path(__file__).parents[2] / "lab/juju/hooks.yaml").read_text())


class Quiet(Controller):
    """Units ``a/0`` to ``a/2`` on machines of their own, whose hooks write what ``writes`` has."""

    def __init__(self) -> None:
        super().__init__(Path())
        self.leaders[APP] = "a/0"
        self.peers = self.relate({APP: "peers"})
        self.ran: list[tuple[str, Event]] = []
        self.writes: dict[str, str] = {}
        self.agents = Agents(self, {APP: Does()}, Costs(tool=0.0))

    def begin(
        self, unit: str, hook: str, relation: Relation | None = None, remote: str = "", **_: Any
    ) -> Tools:
        self.ran.append((unit, Event(hook, relation, remote)))
        tools = Tools(self, unit, {})
        tools.write(self.peers, unit, self.writes)
        return tools

    def of(self, unit: str) -> list[Event]:
        return [event for each, event in self.ran if each == unit]


@pytest.fixture
def quiet() -> Quiet:
    """They have been there for long."""
    found = Quiet()
    for unit in ("a/0", "a/1", "a/2"):
        found.databags[found.peers.id][unit] = {}
        found.agents.place(unit, Machine())
    return found


def test_what_is_due_after_a_boot_runs_in_the_order_of_the_real_ones(quiet: Quiet) -> None:
    due = [
        Event("update-status"),
        Event("relation-changed", quiet.peers, "a/2"),
        Event("relation-changed", quiet.peers, "a/1"),
        Event("relation-changed", quiet.peers, APP),
        Event("config-changed"),
        Event("juju-exec"),
        Event("leader-elected"),
    ]
    quiet.agents.down(quiet.agents.machines["a/0"])
    for event in due:
        quiet.agents.emit("a/0", event)
    quiet.agents.settle()
    assert quiet.of("a/0") == [Event("start"), *reversed(due)]


def test_what_a_hook_writes_is_there_when_it_ends_and_heard_by_each_other_unit_once(quiet: Quiet) -> None:
    quiet.writes, bags = {"key": "new"}, quiet.databags[quiet.peers.id]
    quiet.agents.emit("a/0", Event("update-status"))
    quiet.agents.settle(0.0)
    assert (quiet.ran, bags["a/0"]) == ([("a/0", Event("update-status"))], {})
    quiet.agents.settle()
    assert bags["a/0"] == {"key": "new"}
    assert quiet.of("a/1").count(Event("relation-changed", quiet.peers, "a/0")) == 1


def test_what_a_hook_was_about_to_write_is_lost_with_its_machine_and_its_leadership_a_minute_later(
    quiet: Quiet,
) -> None:
    quiet.writes, machine = {"key": "new"}, quiet.agents.machines["a/0"]
    quiet.agents.emit("a/0", Event("update-status"))
    quiet.agents.settle(0.0)
    quiet.agents.down(machine)
    quiet.agents.settle(LEASE - 1)
    assert quiet.leaders[APP] == "a/0"
    quiet.agents.settle(2)
    assert [event for unit, event in quiet.ran if unit == quiet.leaders[APP]] == [Event("leader-elected")]
    quiet.agents.settle(BOOT - LEASE - 2)
    assert quiet.databags[quiet.peers.id]["a/0"] == {}
    assert not machine.up


class Related(Quiet):
    """Two units of roce-qos and one of cumulus-fabric, which have been there for long."""

    def __init__(self) -> None:
        super().__init__()
        self.fabric = self.relate({"cumulus-fabric": "fabric", "roce-qos": "fabric"})
        self.peers = self.fabric
        self.other = self.relate({"cumulus-fabric": "applied"})
        for app in self.fabric.ends:
            self.leaders[app] = f"{app}/0"
        self.agents = Agents(self, dict.fromkeys(self.fabric.ends, Does()), Costs(tool=0.0))
        self.sees = list[tuple[str, str, list[str]]]()
        for unit in ("roce-qos/0", "roce-qos/1", "cumulus-fabric/0"):
            self.databags[self.fabric.id][unit] = {}
            self.agents.place(unit, Machine())

    def begin(self, unit: str, hook: str, *given: Any, **named: Any) -> Tools:
        self.sees.append((unit, hook, self.seen(self.fabric, unit)))
        return super().begin(unit, hook, *given, **named)


def test_a_removed_relation_has_the_hooks_of_the_real_one() -> None:
    related = Related()
    related.agents.unrelate(related.fabric)
    related.agents.settle()
    for unit, recorded in HOOKS["changes"]["a relation is removed"].items():
        assert [f"fabric-{event.kind}" for event in related.of(unit)] == recorded
    lost = [event.remote for event in related.of("cumulus-fabric/0")]
    assert lost == ["roce-qos/0", "roce-qos/1", ""]


def test_what_was_due_of_a_removed_relation_is_not_run_and_the_rest_is() -> None:
    related = Related()
    related.agents.down(related.agents.machines["roce-qos/0"])
    changed = Event("relation-changed", related.fabric, "cumulus-fabric/0")
    for event in (changed, Event("config-changed")):
        related.agents.emit("roce-qos/0", event)
    related.agents.unrelate(related.fabric)
    related.agents.settle()
    ran = [event.kind for event in related.of("roce-qos/0")]
    assert ran == ["start", "config-changed", "relation-departed", "relation-broken"]


def test_units_that_lose_a_relation_see_fewer_in_it_and_at_last_not_the_relation() -> None:
    related = Related()
    related.writes = {"key": "new"}
    related.agents.unrelate(related.fabric)
    related.agents.settle()
    assert [sees for unit, _, sees in related.sees if unit == "cumulus-fabric/0"] == [["roce-qos/1"], [], []]
    tools = Tools(related, "cumulus-fabric/0", {})
    assert tools(["relation-ids", "fabric", "--format=json"], None) == "[]"
    assert tools(["relation-ids", "applied", "--format=json"], None) == f'["applied:{related.other.id}"]'
    assert not related.databags[related.fabric.id], "its databags are gone"
