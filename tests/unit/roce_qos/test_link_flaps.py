# SPDX-License-Identifier: Apache-2.0
"""A setting for which a driver closes a port rolls over the bond as a change of PFC does."""

import json

import pytest
from config import Options
from converge import Disruption
from hostnic.netlink.dcb import ENTRIES, MODE, PAUSE, SHARES
from hostnic.netlink.dcbdrivers import driver
from lab.modelled import FakeHost, card
from lab.modelled.nic.dcb import QUIRKS
from survey import survey
from unit.roce_qos.node import P0, P1, PF0, Node, compute_node, nic, pfc

OTHER_MAKERS = ("bnxt_en", "hns3", "i40e", "ice", "ixgbe", "qede")


def bonded(driver: str, monkeypatch: pytest.MonkeyPatch) -> Node:
    """A host whose only bond is of ports with this driver; they are named, and may be taken over."""
    node = Node(compute_node(driver), monkeypatch)
    return node.installed().configure(devices="bond0", dcbx_takeover=True)


def disruptions(node: Node) -> dict[str, str]:
    """Return the cost of each step in the plan, by its key."""
    plan = json.loads(node.action("plan", format="json")["plan"])
    return {step["key"]: step["disruption"] for step in plan["steps"]}


@pytest.mark.parametrize("name", OTHER_MAKERS)
def test_the_bond_always_carries_traffic(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    node = bonded(name, monkeypatch)
    assert node.emit().name == "active", node.log
    assert pfc(node.host) == [(3,), (3,)]
    assert node.host.blackouts == 0
    node.boot()
    assert pfc(node.host) == [(3,), (3,)]
    assert node.host.blackouts == 0
    node.emit("update_status")
    assert nic(node.writes) == []


@pytest.mark.parametrize("name", OTHER_MAKERS)
def test_the_plan_names_every_step_that_takes_a_link_down(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Each step runs alone, and the modelled driver is watched."""
    host = compute_node(name)
    flap, down = host.network.flap, list[str]()

    def watched(link: str, now: float, *rest: float, **when: float) -> None:
        down.append(link)
        flap(link, now, *rest, **when)

    monkeypatch.setattr(host.network, "flap", watched)
    options = Options(devices="bond0", dcbx_takeover=True)
    for step in survey(host, options, None, "roce-qos").plan.steps:
        down.clear()
        step.op.run(host)
        assert not down or step.disruption is Disruption.LINK_FLAP, step


@pytest.mark.parametrize("name", sorted({*QUIRKS} - {"mlx4_core"}))
def test_the_table_has_what_each_modelled_driver_closes_a_port_for(name: str) -> None:
    closes = QUIRKS[name].closes
    shares = (SHARES,) if {"map", "classes", "shares"} & {*closes} else ()
    entries = (ENTRIES,) if "apps" in closes else ()
    mode = (MODE,) if "restarts" in closes else ()
    pause = (PAUSE,) if "pause" in closes else ()
    assert {*driver(name).flaps} == {*mode, *shares, *entries, *pause}


def test_of_a_driver_that_is_not_in_the_table_every_change_takes_the_link_down() -> None:
    assert driver("mlx4_core").flaps == (MODE, SHARES, ENTRIES, PAUSE)


@pytest.mark.parametrize("name", ["bnxt_en", "ice", "ixgbe"])
def test_they_are_held_while_the_other_port_carries_nothing(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    node = bonded(name, monkeypatch)
    node.host.network.unplugged.add(P1)
    before = node.host.port(P0).dcb.ets
    assert node.emit().name == "blocked"
    assert node.host.port(P0).dcb.ets == before
    assert f"held: {PF0}/ets" in node.log
    assert "no other port of bond0 carries traffic" in node.log
    assert node.host.network.has_carrier(P0, node.host.now())
    node.host.network.unplugged.clear()
    node.host.sleep(5)
    assert node.emit("update_status").name == "active"
    assert node.host.blackouts == 0


@pytest.mark.parametrize("name", ["bnxt_en", "ixgbe"])
def test_a_port_that_does_not_come_back_stops_the_roll_over_two_nics(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Steps of another NIC go on after a failure; this one carries the traffic of both."""
    cards = [card("3b", ports=1, driver=name), card("5e", ports=1, driver=name)]
    host = compute_node(cards=cards, kind=Across)
    node = Node(host, monkeypatch).installed().configure(devices="bond0", dcbx_takeover=True)
    flap = host.network.flap

    def for_good(link: str, now: float, *rest: float, **when: float) -> None:
        flap(link, now, *rest, **when)
        host.network.unplugged.add(link)

    host.network.flap = for_good
    assert node.emit().name == "blocked"
    assert len(host.network.unplugged) == 1, host.network.unplugged
    assert host.blackouts == 0


class Across(FakeHost):
    """A host whose bond has one port of each of two NICs."""

    def members_changed(self) -> None:
        if "bond0" in self.network.bonds:
            self.network.bonds["bond0"].members = sorted(port.netdev for port in self.network.ports())
        super().members_changed()


@pytest.mark.parametrize(
    ("device", "cost"), [("15b3:1013", "link-flap"), ("15b3:1015", "link-flap"), ("15b3:101d", "none")]
)
def test_connectx_4_opens_its_queues_anew_when_it_begins_to_trust_dscp(
    monkeypatch: pytest.MonkeyPatch, device: str, cost: str
) -> None:
    node = Node(compute_node(cards=[card(device=device)]), monkeypatch).installed()
    told = disruptions(node)
    assert (told[f"{PF0}/ets"], told[f"{PF0}/apps"]) == ("none", cost)
    assert node.emit().name == "active", node.log
    assert node.host.blackouts == 0
    node.configure(roce_dscp=34).emit()  # the trust stays
    assert node.host.blackouts == 0


def test_shares_alone_are_followed_by_a_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    node = bonded("ixgbe", monkeypatch)
    node.emit()
    node.configure(ets="0:40 3:60 5:strict 6:strict")
    keys = [key for key in disruptions(node) if key.startswith(PF0)]
    assert keys == [f"{PF0}/ets", f"{PF0}/member"]
    assert node.emit().name == "active"
    assert node.host.blackouts == 0
