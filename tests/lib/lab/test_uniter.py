# SPDX-License-Identifier: Apache-2.0
"""The simulations of Juju run hooks in the order of the real one, which tests/lab/juju/hooks.yaml has."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from lab.juju import uniter
from lab.juju.model import Event
from lab.juju.remote import Result
from lab.rack import controller as juju
from lab.rack.controller import Controller
from lab.rack.deployment import ROOT, read
from lab.rack.machine import Floor, Machine
from lab.rack.units import Unit
from lib.lab.silent import SilentGuest, SilentRunner, by_end, by_relation
from ops import testing
from unit import hooks

HOOKS = yaml.safe_load((ROOT / "tests/lab/juju/hooks.yaml").read_text())
RECORDED: dict[str, list[str]] = HOOKS["deployed"]
CHANGES: dict[str, dict[str, list[str]]] = HOOKS["changes"]
BUNDLE = ROOT / "bundles/ovn-offload-jammy-caracal.yaml"
NODES = 2


@pytest.fixture
def rack(monkeypatch: pytest.MonkeyPatch) -> Controller:
    monkeypatch.setattr(juju, "Runner", SilentRunner)
    monkeypatch.setattr(juju, "LOOK_AGAIN", 0.0)
    deployment = read(BUNDLE, [], NODES)
    floor = Floor([Machine(name, SilentGuest(), "192.168.25.5") for name in "012"], lambda: None)
    controller = Controller(deployment, floor, {name: name for name in "012"})
    floor.tick = controller.due
    controller.deploy(*controller.planned)
    assert floor.work(lambda: controller.settled, 30)
    return controller


def test_the_racks_units_have_the_hooks_of_the_real_ones(rack: Controller) -> None:
    for charm, recorded in RECORDED.items():
        for unit in (unit for unit in rack.units.values() if unit.app.charm == charm):
            wanted = [hook for hook in recorded if rack.leads(unit.name) or hook != "leader-elected"]
            assert by_relation(unit.runner.ran) == by_relation(wanted), unit.name
    rack.floor.stop()


def test_a_refreshed_unit_has_its_options_directly_after_the_upgrade(rack: Controller) -> None:
    unit = rack.units["roce-qos/1"]
    unit.runner.ran.clear()
    rack.refresh("roce-qos/1")
    assert rack.floor.work(lambda: rack.settled, 30)
    assert unit.runner.ran == ["upgrade-charm", "config-changed"]
    rack.floor.stop()


def test_what_the_leader_writes_for_its_application_is_heard_of_that(rack: Controller) -> None:
    """By the other side, and by all peers but the leader."""
    for unit in rack.units.values():
        unit.runner.ran.clear()
    rack.queue(rack.units["cumulus-fabric/0"], "update_status")
    rack.queue(rack.units["sriov-switchdev/0"], "update_status")
    assert rack.floor.work(lambda: rack.settled, 30)
    heard = {name: (unit.runner.ran, unit.runner.of) for name, unit in rack.units.items() if unit.runner.ran}
    assert heard.pop("cumulus-fabric/0") == (["update-status"], None)
    assert heard.pop("sriov-switchdev/0") == (["update-status"], None)
    assert heard.pop("sriov-switchdev/1") == (["reboot-relation-changed"], "application")
    assert heard == dict.fromkeys(["roce-qos/0", "roce-qos/1"], (["fabric-relation-changed"], "application"))
    rack.floor.stop()


def peers(unit: Any) -> dict[str, Any]:
    """Return the relation with its peers as a unit was last told of it."""
    return next(each for each in unit.runner.seen["relations"] if each["endpoint"] == "reboot")


def test_a_unit_that_takes_over_knows_what_the_former_leader_has_written(rack: Controller) -> None:
    former, new = rack.units["sriov-switchdev/0"], rack.units["sriov-switchdev/1"]
    rack.queue(former, "update_status")
    assert rack.floor.work(lambda: rack.settled, 30)
    former.runner.ran.clear()
    new.runner.ran.clear()
    rack.lead(new.name)
    assert rack.floor.work(lambda: rack.settled, 30)
    assert (former.runner.ran, new.runner.ran) == ([], ["leader-elected"])
    assert new.runner.seen["leader"]
    assert peers(new)["local_app_data"] == {"policy": "new"}
    rack.queue(former, "config_changed")
    rack.queue(new, "config_changed")
    assert rack.floor.work(lambda: rack.settled, 30)
    assert not former.runner.seen["leader"]
    assert "local_app_data" in peers(former)
    assert "local_app_data" not in peers(new), "a leader writes it, and is not told"
    rack.floor.stop()


def test_a_leader_without_power_is_replaced_once_its_lease_has_run_out(rack: Controller) -> None:
    former, new = rack.units["sriov-switchdev/0"], rack.units["sriov-switchdev/1"]
    new.runner.ran.clear()
    rack.cut_power([former.machine.name])
    rack.due()
    assert rack.leads(former.name)
    former.machine.cut_at -= juju.LEASE
    assert rack.floor.work(lambda: new.elected, 30)
    assert rack.leads(new.name)
    assert new.runner.ran == ["leader-elected"]
    rack.power_on([former.machine.name])
    assert rack.floor.work(lambda: rack.settled, 30)
    assert rack.leads(new.name), "one that comes back leads no longer"
    rack.floor.stop()


def test_a_removed_unit_ends_before_the_others_lose_it_and_one_of_them_leads(rack: Controller) -> None:
    leaves, stays = rack.units["sriov-switchdev/0"], rack.units["sriov-switchdev/1"]
    leaves.runner.ran.clear()
    stays.runner.ran.clear()
    rack.remove(leaves.name)
    assert not rack.settled
    assert rack.floor.work(lambda: rack.settled, 30)
    met = {"juju-info": NODES, "reboot": 1}
    assert by_end(leaves.runner.ran) == by_end(uniter.of_a_removed_unit(met, ["reboot"]))
    assert leaves.name not in rack.units
    assert [known["app"] for known in leaves.machine.guest.known] == ["nic-firmware", "roce-qos"]
    assert stays.runner.ran == ["reboot-relation-departed", "leader-elected"]
    assert peers(stays)["peers_data"] == {}
    assert (stays.runner.seen["leader"], stays.runner.seen["planned_units"]) == (True, 1)
    rack.floor.stop()


def test_each_side_is_told_which_unit_departs(rack: Controller) -> None:
    leaves, stays = rack.units["nic-firmware/1"], rack.units["nic-firmware/0"]
    told = dict[str, list[str]]()
    for unit in (leaves, stays):
        emit, heard = unit.runner.emit, told.setdefault(unit.name, [])

        def listening(event: str, *, emit: Any = emit, heard: list[str] = heard, **given: Any) -> Result:
            if event.endswith("departed"):
                heard.append(given["told"]["JUJU_DEPARTING_UNIT"])
            return emit(event, **given)

        unit.runner.emit = listening
    rack.remove(leaves.name)
    assert rack.floor.work(lambda: rack.settled, 30)
    assert told == {leaves.name: [leaves.name] * (NODES + 1), stays.name: [leaves.name]}
    rack.floor.stop()


def reboots(rack: Controller) -> None:
    """The machine of the second compute node, whoever asked for it."""
    rack.cut_power(["1"])
    rack.power_on(["1"])


@pytest.mark.parametrize(
    ("change", "make"),
    [
        ("another unit leads", lambda rack: rack.lead("sriov-switchdev/1")),
        ("a machine reboots", reboots),
        ("a unit is removed", lambda rack: rack.remove("sriov-switchdev/0")),
        ("a unit that others see is removed", lambda rack: rack.remove("roce-qos/1")),
        ("a relation is removed", lambda rack: rack.remove_relation("roce-qos", "fabric")),
    ],
)
def test_a_change_has_the_hooks_of_the_real_one(
    rack: Controller, change: str, make: Callable[[Controller], object]
) -> None:
    units = dict(rack.units)
    for unit in units.values():
        unit.runner.ran.clear()
    make(rack)
    assert rack.floor.work(lambda: rack.settled, 30)
    ran = {name: unit.runner.ran for name, unit in units.items() if unit.runner.ran}
    recorded = CHANGES[change]
    assert ran.keys() == recorded.keys()
    for name, hooks_of in ran.items():
        order = by_end if "remove" in hooks_of else list
        assert order(hooks_of) == order(recorded[name]), name
    rack.floor.stop()


def test_after_a_removed_relation_neither_end_sees_it_and_its_databags_are_gone(rack: Controller) -> None:
    gone = next(each.id for each in rack.relations if "cumulus-fabric" in each.ends and not each.peers)
    assert rack.databags[gone]
    rack.remove_relation("roce-qos", "fabric")
    for name in ("roce-qos/0", "cumulus-fabric/0"):
        rack.queue(rack.units[name], "update_status")
    assert rack.floor.work(lambda: rack.settled, 30)
    seen = {
        name: {each["endpoint"] for each in unit.runner.seen["relations"]}
        for name, unit in rack.units.items()
    }
    assert (seen["roce-qos/0"], seen["cumulus-fabric/0"]) == ({"juju-info"}, {"applied"})
    assert seen["nic-firmware/0"] == {"juju-info", "reboot"}
    assert gone not in rack.databags
    rack.floor.stop()


def test_a_unit_that_is_removed_after_a_relation_has_left_that_one_already(rack: Controller) -> None:
    rack.remove_relation("cumulus-fabric", "fabric")
    assert rack.floor.work(lambda: rack.settled, 30)
    leaves = rack.units["roce-qos/1"]
    leaves.runner.ran.clear()
    rack.remove("roce-qos/1")
    assert rack.floor.work(lambda: rack.settled, 30)
    assert leaves.runner.ran == uniter.of_a_removed_unit({"juju-info": NODES}, [])
    rack.floor.stop()


def test_the_other_end_is_told_before_a_unit_stops_and_its_peers_when_it_is_gone(
    rack: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the hooks of others are due: on another machine they run beside the unit's own."""
    order = list[str]()
    for name, unit in rack.units.items():

        def noting(event: str, *, name: str = name, emit: Any = unit.runner.emit, **given: Any) -> Result:
            order.append(f"{name} ran {event.replace('_', '-')}")
            return emit(event, **given)

        unit.runner.emit = noting
    queue = rack._due

    def due(unit: Unit, event: Event, *given: Any, **named: Any) -> None:
        order.append(f"{unit.name} due {event.hook(unit.app.name)}")
        queue(unit, event, *given, **named)

    monkeypatch.setattr(rack, "_due", due)
    rack.remove("roce-qos/1")
    rack.remove("nic-firmware/1")
    assert rack.floor.work(lambda: rack.settled, 30)
    broken, stopped = order.index("roce-qos/1 ran fabric-relation-broken"), order.index("roce-qos/1 ran stop")
    assert broken < order.index("cumulus-fabric/0 due fabric-relation-departed") < stopped
    removed = order.index("nic-firmware/1 ran remove")
    assert removed < order.index("nic-firmware/0 due reboot-relation-departed")
    assert "cumulus-fabric/0 ran fabric-relation-departed" in order
    assert "nic-firmware/0 ran reboot-relation-departed" in order
    rack.floor.stop()


@pytest.mark.parametrize("charm", RECORDED)
def test_unit_tests_begin_with_the_hooks_of_the_real_one(charm: str) -> None:
    meta = yaml.safe_load((ROOT / f"charms/{charm}/charmcraft.yaml").read_text())
    kinds = {"peers": testing.PeerRelation, "provides": testing.Relation, "requires": testing.Relation}
    endpoints = [(role, endpoint) for role in kinds for endpoint in meta.get(role, {})]
    # The recorded model had no observability stack.
    related = [each for each in endpoints if f"{each[1]}-relation-created" in RECORDED[charm]]
    relations = [kinds[role](endpoint) for role, endpoint in related]
    ran = [
        f"{event[1].endpoint}-relation-created" if event[1:] else event[0].replace("_", "-")
        for event in hooks.of_a_new_unit(testing.State(leader=True, relations=relations))
    ]
    recorded = by_relation(RECORDED[charm])
    assert ran == recorded[: recorded.index("start") + 1]


def test_the_number_of_hooks_is_that_of_the_controller_without_those_of_what_units_write() -> None:
    """Of cumulus-fabric 12, of which two are of the hosts' reports; 13 and more on a host."""
    numbers = {charm: len(ran) for charm, ran in RECORDED.items()}
    assert numbers.pop("cumulus-fabric") == 10
    assert set(numbers.values()) == {12}


def test_each_end_of_a_removed_relation_loses_each_unit_and_then_the_relation() -> None:
    for unit, recorded in CHANGES["a relation is removed"].items():
        seen = {"roce-qos": 1, "cumulus-fabric": 2}[unit.partition("/")[0]]
        assert uniter.of_a_removed_relation("fabric", seen) == recorded


def test_a_relation_first_loses_then_meets_then_hears_its_units() -> None:
    due = [
        ("relation-changed", "b/1"),
        ("relation-joined", "b/2"),
        ("relation-changed", ""),
        ("relation-broken", ""),
        ("relation-departed", "b/0"),
    ]
    assert sorted(due, key=lambda hook: uniter.rank(*hook)) == due[::-1]
