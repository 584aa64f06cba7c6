# SPDX-License-Identifier: Apache-2.0
"""With apply-policy=auto, a hook writes what a change of the intent is about, and tells the rest."""

from collections.abc import Callable
from typing import Any

import pytest
from lab.nvue.factory import factory
from reports import INTENT
from tree.since import since
from unit.cumulus_fabric.online.drained import runs, shut
from unit.cumulus_fabric.online.test_charm_lifecycle import report
from unit.cumulus_fabric.online.unit import Unit, intent
from unit.cumulus_fabric.online.unmanaged import typed

SHUT = {"interface": {"swp9": {"link": {"state": {"down": {}}}}}}


def another_network(content: dict[str, Any]) -> None:
    content["networks"]["tenant"] = {"vlan": 77}


def without_node2(content: dict[str, Any]) -> None:
    content["racks"][0]["hosts"] = {"ports": "swp9", "names": ["node1"]}


def has_vlan(unit: Unit, name: str = "Leaf0-1", vlan: str = "77") -> bool:
    return vlan in unit.rack.applied[name]["bridge"]["domain"]["br_default"]["vlan"]


@pytest.fixture
def auto(running: Unit) -> Unit:
    """A unit whose switches run the intent, as it knows."""
    running.configure(apply_policy="auto").emit()
    return running


@pytest.mark.parametrize("event", ["config_changed", "secret_changed", "upgrade_charm", "leader_elected"])
def test_a_port_that_somebody_has_shut_stays_shut(auto: Unit, event: str) -> None:
    typed(auto.rack, "Leaf0-1", SHUT)
    status = auto.emit(event, *([auto.secret] if event == "secret_changed" else []))
    assert "Leaf0-1" in status.message
    assert "run the action apply" in status.message
    assert (auto.writes, shut(auto.rack, "Leaf0-1")) == ([], {"swp9"})


def test_a_hosts_report_is_no_reason_to_write(auto: Unit) -> None:
    typed(auto.rack, "Leaf0-1", SHUT)
    auto.hosts(report())
    auto.emit("config_changed")
    assert (auto.writes, shut(auto.rack, "Leaf0-1")) == ([], {"swp9"})


def test_a_change_of_the_intent_is_written_beside_what_somebody_has_shut(auto: Unit) -> None:
    typed(auto.rack, "Leaf0-1", SHUT)
    status = auto.configure(intent=intent(another_network)).emit()
    assert "1 setting differs from the intent: interface swp9 link" in status.message
    assert [has_vlan(auto, name) for name in ("Leaf0-1", "Leaf0-2")] == [True, True]
    assert shut(auto.rack, "Leaf0-1") == {"swp9"}
    auto.emit()
    assert auto.writes == []
    assert auto.action("apply")["applied"] == "true"
    assert shut(auto.rack, "Leaf0-1") == set()


def test_a_switch_that_has_lost_its_configuration_is_told(auto: Unit) -> None:
    runs(auto.rack, factory("Leaf0-1", False), "Leaf0-1")
    status = auto.emit()
    assert "Leaf0-1" in status.message
    assert auto.writes == []


def test_a_host_that_would_lose_its_last_leg_holds_the_hook(auto: Unit) -> None:
    status = auto.configure(intent=intent(without_node2)).emit()
    assert (status.name, auto.writes) == ("blocked", [])
    assert status.message.startswith("keep it in the intent; Leaf0-1 bond2: node2 has no other leg")
    assert "keep it in the intent; or run apply with cut-off=bond2" in auto.log
    shown = auto.action("plan")["plan"]
    assert "held because" in shown
    assert "node2 has no other leg: bond2 of Leaf0-2 goes at the same time" in shown
    assert "node2 has no other leg" in auto.failure("apply")
    assert auto.action("apply", **{"cut-off": "node2"})["applied"] == "true"
    assert auto.emit().name == "active"


def test_a_change_that_failed_is_tried_again(auto: Unit) -> None:
    auto.rack.servers["Leaf0-2"].password = "another one"
    auto.configure(intent=intent(another_network)).emit()
    assert not has_vlan(auto)
    auto.rack.servers["Leaf0-2"].password = auto.rack.servers["Leaf0-1"].password
    assert auto.emit().name == "active"
    assert has_vlan(auto)


def without_record(unit: Unit) -> None:
    """As a fabric that another tool has built."""


def unreadable_record(unit: Unit) -> None:
    unit.emit()
    peers = next(each for each in unit.state.relations if each.endpoint == "applied")
    peers.local_app_data[INTENT] = "version: 99"


@pytest.mark.parametrize("before", [without_record, unreadable_record])
@pytest.mark.parametrize("event", ["config_changed", "upgrade_charm", "leader_elected"])
def test_without_a_known_intent_what_differs_is_told_until_one_apply(
    running: Unit, before: Callable[[Unit], object], event: str
) -> None:
    before(running)
    typed(running.rack, "Leaf0-1", SHUT)
    running.configure(apply_policy="auto", intent=intent(another_network))
    for _ in range(2):
        status = running.emit(event)
        assert "settings differ from the intent" in status.message
        assert "run the action apply" in status.message
        assert (running.writes, shut(running.rack, "Leaf0-1")) == ([], {"swp9"})
    assert running.action("apply")["applied"] == "true"
    assert (has_vlan(running), shut(running.rack, "Leaf0-1")) == (True, set())
    typed(running.rack, "Leaf0-1", SHUT)
    running.configure(intent=intent()).emit()
    assert (has_vlan(running), shut(running.rack, "Leaf0-1")) == (False, {"swp9"})


def test_without_a_known_intent_a_switch_that_runs_nothing_is_configured(running: Unit) -> None:
    """The first hook, or the next one after it has reached only a part of the switches."""
    runs(running.rack, factory("Leaf0-2", False), "Leaf0-2")
    typed(running.rack, "Leaf0-1", SHUT)
    status = running.configure(apply_policy="auto").emit()
    assert {line.split()[0] for line in running.writes} == {"Leaf0-2"}
    assert "Leaf0-1: 1 setting differs from the intent" in status.message
    assert shut(running.rack, "Leaf0-1") == {"swp9"}


def test_a_drained_switch_that_loses_its_configuration_begins_as_drained(running: Unit) -> None:
    """An upgrade of its image, for example."""
    running.emit()
    assert running.action("drain", switch="Leaf0-2")["applied"] == "true"
    runs(running.rack, factory("Leaf0-2", False))
    running.emit()
    lost = "Leaf0-2: was drained, and has lost its configuration since; apply configures it as drained"
    assert lost in running.log
    assert running.action("apply")["applied"] == "true"
    assert not running.rack.wires.members["Leaf0-2"].advertises()
    assert shut(running.rack, "Leaf0-2") == {"swp9", "swp10"}
    assert running.emit().message.startswith("Leaf0-2: is drained")
    assert running.action("undrain", switch="Leaf0-2")["applied"] == "true"
    assert running.emit().message == ""


def test_a_drained_switch_that_somebody_has_returned_is_named_until_undrain(running: Unit) -> None:
    running.emit()
    before = running.rack.applied["Leaf0-2"]
    assert running.action("drain", switch="Leaf0-2")["applied"] == "true"
    runs(running.rack, before)
    assert running.emit().message.startswith(
        "run drain to drain it again, or undrain to leave it in use; Leaf0-2"
    )
    assert "Leaf0-2: was drained, and is in use again, but not by undrain" in running.log
    assert running.action("undrain", switch="Leaf0-2")["applied"] == "true"
    assert running.writes == []
    assert running.emit().message == ""


PARTS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "nothing was changed by others": (
        {"interface": {"swp9": {}}},
        {},
        {"interface": {"swp9": {"link": {"mtu": 9000}}}},
        {"interface": {"swp9": {"link": {"mtu": 9000}}}},
    ),
    "others have changed something else": (
        {"interface": {"swp9": {}}},
        {"interface": {"swp9": {"link": {"state": None}}}},
        {"interface": {"swp9": {"link": {"mtu": 9000, "state": None}}}},
        {"interface": {"swp9": {"link": {"mtu": 9000}}}},
    ),
    "others have changed the same": (
        {"interface": {"swp9": {"link": {"mtu": 1500}}}},
        {"interface": {"swp9": {"link": {"mtu": 9000}}}},
        {"interface": {"swp9": {"link": {"mtu": 9100}}}},
        {"interface": {"swp9": {"link": {"mtu": 9100}}}},
    ),
    "others have removed what the change is about": (
        {"interface": {}},
        {"interface": {"bond1": {"type": "bond"}}},
        {"interface": {"bond1": {"type": "bond", "link": {"mtu": 9000}}}},
        {"interface": {"bond1": {"type": "bond", "link": {"mtu": 9000}}}},
    ),
}


@pytest.mark.parametrize(("applied", "earlier", "now", "left"), PARTS.values(), ids=PARTS)
def test_the_part_of_a_patch_that_a_change_is_about(
    applied: dict[str, Any], earlier: dict[str, Any], now: dict[str, Any], left: dict[str, Any]
) -> None:
    assert since(applied, earlier, now) == left
