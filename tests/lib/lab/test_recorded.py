# SPDX-License-Identifier: Apache-2.0
"""The order of hooks that a controller with Juju 4.0.15 ran, and the rules that simulations follow."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml
from lab.juju import uniter
from lab.juju.agents import Agents, Costs, Does, Machine
from lab.juju.hooktools import Controller, Tools
from lab.juju.model import Event, Relation, app_of
from lab.rack import controller as juju
from lab.rack.deployment import ROOT, read
from lab.rack.machine import Floor
from lab.rack.machine import Machine as Guests
from lib.lab.silent import SilentGuest, SilentRunner, by_end, by_relation

HOOKS = ROOT / "tests/recorded/juju/hooks-4.0.15.yaml"
RECORDED: dict[str, dict[str, list[str]]] = yaml.safe_load(HOOKS.read_text())
SIMULATED: dict[str, Any] = yaml.safe_load((ROOT / "tests/lab/juju/hooks.yaml").read_text())
MACHINES = 3
RAN = [(part, unit) for part, units in RECORDED.items() for unit in units]


@pytest.mark.parametrize(("part", "unit"), RAN)
def test_what_a_controller_ran_contradicts_no_rule(part: str, unit: str) -> None:
    assert [*uniter.contradictions(RECORDED[part][unit])] == []


@pytest.mark.parametrize("charm", SIMULATED["deployed"])
def test_neither_do_the_simulations(charm: str) -> None:
    assert [*uniter.contradictions(SIMULATED["deployed"][charm])] == []


@pytest.mark.parametrize("change", SIMULATED["changes"])
def test_nor_what_changes_in_them(change: str) -> None:
    for ran in SIMULATED["changes"][change].values():
        assert [*uniter.contradictions(ran)] == []


def test_joined_need_not_be_followed_directly_by_its_changed() -> None:
    ran = RECORDED["related"]["roce-qos/1"]
    assert ran[ran.index("juju-info-relation-joined") + 1] == "fabric-relation-changed"


def test_stop_and_remove_may_be_missing() -> None:
    ends = [ran[-2:] for ran in RECORDED["removed"].values()]
    assert ends.count(["stop", "remove"]) == 4
    assert not any("stop" in ran for ran in RECORDED["principal removed"].values())


@pytest.mark.parametrize(
    ("ran", "wrong"),
    [
        (["install", "start", "config-changed"], "start before config-changed"),
        (["install", "config-changed", "a-relation-joined"], "a-relation-joined before start"),
        (["remove", "stop"], "remove before stop"),
        (["stop", "a-relation-departed"], "a-relation-departed after the unit has stopped"),
        (["a-relation-broken", "a-relation-departed"], "a-relation-departed after relation-broken"),
        (["a-relation-changed", "a-relation-joined"], "a-relation-joined without its relation-changed"),
        (
            ["install", "config-changed", "start", "a-relation-departed"],
            "a-relation-departed of a unit that has not joined",
        ),
    ],
)
def test_what_no_juju_does(ran: list[str], wrong: str) -> None:
    assert wrong in [*uniter.contradictions(ran)]


# What the simulations run where the controller ran it.

HOST_CHARMS = ("nic-firmware", "sriov-switchdev", "roce-qos")
AGREE = HOST_CHARMS[:2]
"""Their units agree on reboots, and their leaders write for the application in config-changed."""


class Recorded(Controller):
    """The model that was recorded: the host charms on three machines, and the fabric's alone."""

    def __init__(self) -> None:
        super().__init__(Path())
        self.ran = defaultdict[str, list[str]](list)
        charms = (*HOST_CHARMS, "cumulus-fabric")
        self.leaders = {charm: f"{charm}/0" for charm in charms}
        self.agents = Agents(self, dict.fromkeys(charms, Does()), Costs(tool=0.0))
        self.relate({"cumulus-fabric": "applied"})
        self.reboots = {charm: self.relate({charm: "reboot"}) for charm in AGREE}
        for charm in HOST_CHARMS:
            relation = self.relate({charm: "juju-info", "nova-compute": "juju-info"})
            for number in range(MACHINES):
                self.agents.principal(f"nova-compute/{number}", relation)
        self.agents.start("cumulus-fabric/0", Machine())
        for number in range(MACHINES):
            machine = Machine()
            for charm in HOST_CHARMS:
                self.agents.start(f"{charm}/{number}", machine)
        self.agents.settle()

    def begin(
        self, unit: str, hook: str, relation: Relation | None = None, remote: str = "", **_: Any
    ) -> Tools:
        app, tools = app_of(unit), Tools(self, unit, {})
        self.ran[unit].append(Event(hook, relation).hook(app))
        if hook == "config-changed" and self.leads(unit) and app in self.reboots:
            tools.write(self.reboots[app], app, {"policy": "manual"})
        return tools


@pytest.mark.parametrize("charm", RECORDED["deployed"])
def test_the_agents_run_the_hooks_that_the_controller_ran(charm: str) -> None:
    ran = Recorded().ran[f"{charm}/0"]
    assert by_relation(ran) == by_relation(RECORDED["deployed"][charm])


@pytest.mark.parametrize("charm", AGREE)
def test_so_do_the_racks_units(charm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(juju, "Runner", SilentRunner)
    monkeypatch.setattr(juju, "LOOK_AGAIN", 0.0)
    monkeypatch.setattr(SilentRunner, "writes_at", "config_changed")
    deployment = read(ROOT / "bundles/ovn-offload-jammy-caracal.yaml", [], MACHINES)
    place = {machine: machine for app in deployment.applications.values() for machine in app.machines}
    floor = Floor([Guests(name, SilentGuest(), "192.168.25.5") for name in place], lambda: None)
    rack = juju.Controller(deployment, floor, place)
    floor.tick = rack.due
    rack.deploy(*(name for name in rack.planned if app_of(name) == charm))
    assert floor.work(lambda: rack.settled, 30)
    floor.stop()
    ran = rack.units[f"{charm}/0"].runner.ran
    assert by_relation(ran) == by_relation(RECORDED["deployed"][charm])


@pytest.mark.parametrize("unit", ["nic-firmware/1", "nic-firmware/2", "sriov-switchdev/2"])
def test_a_removed_unit_has_the_last_hooks_that_the_controller_ran(unit: str) -> None:
    """Of those that had all of them; one heard of a change before."""
    recorded = [hook for hook in RECORDED["removed"][unit] if not hook.endswith("-changed")]
    ran = [event.hook(app_of(unit)) for event in Recorded().of_a_removed_unit(unit)]
    assert by_end(ran) == by_end(recorded)
