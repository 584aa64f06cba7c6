# SPDX-License-Identifier: Apache-2.0
"""Changes that take a link down roll over a bond; whatever fails, the node answers and the rest stops."""

import errno

import pytest
from unit.roce_qos.node import P0, P1, PF0, PF1, Node, compute_node, pfc

REFUSED = OSError(errno.EIO, "PFC: Input/output error")


def test_each_member_carries_traffic_again_before_the_next_one_is_changed(node: Node) -> None:
    seen: list[tuple[str, bool]] = []
    change = node.host.dcb.set

    def watched(link: str, wanted: object) -> None:
        if getattr(wanted, "pfc", None) is not None:
            others = [name for name in (P0, P1) if name != link]
            now = node.host.now()
            seen.append((link, node.host.network.has_carrier(others[0], now)))
        change(link, wanted)

    node.host.dcb.set = watched
    assert node.emit().name == "active"
    assert seen == [(P0, True), (P1, True)]
    assert node.host.blackouts == 0


def test_a_member_that_does_not_come_back_stops_the_roll(node: Node) -> None:
    """LACP does not take the port back: the second port keeps its link, and carries on."""
    flap = node.host.network.flap

    def for_good(name: str, now: float, time: float = 0.5) -> None:
        flap(name, now, time)
        node.host.network.unplugged.add(name)

    node.host.network.flap = for_good
    status = node.emit()
    assert status.name == "blocked"
    assert f"{P0} does not carry traffic in bond0 within 45 s" in node.log
    assert pfc(node.host) == [(3,), ()]
    assert node.host.blackouts == 0
    # The next hook leaves the last port alone, and says what it waits for.
    node.host.network.flap = flap
    assert node.emit("update_status").name == "blocked"
    assert pfc(node.host) == [(3,), ()]
    assert f"bring up {P0}" in node.findings()
    node.host.network.unplugged.clear()
    node.host.sleep(5)
    assert node.emit("update_status").name == "active"
    assert pfc(node.host) == [(3,), (3,)]


@pytest.mark.parametrize(
    ("verb", "target"),
    [
        ("set_dcb", f"{P0} ets"),
        ("set_dcb", f"{P0} apps"),
        ("set_pause", P0),
        ("set_dcb", f"{P1} ets"),
        ("set_dcb", f"{P0} pfc"),
        ("set_dcb", f"{P1} pfc"),
        ("mkdir", "rdma_cm"),
        ("write", "default_roce_tos"),
        ("run", "ovs-vsctl set"),
        ("install", "/etc/ovn-offload/roce-qos.json"),
    ],
)
def test_a_fault_at_any_write_is_reported_and_the_next_hook_finishes(
    node: Node, verb: str, target: str
) -> None:
    node.host.fail(verb, target, REFUSED)
    status = node.emit()
    assert status.name == "blocked"
    assert "Input/output error" in node.log
    assert node.host.reachable
    assert "Traceback" not in node.log
    node.host.sleep(60)
    assert node.emit("update_status").name == "active"
    assert node.host.blackouts == 0
    node.emit("update_status")
    assert node.writes == []


def test_with_one_port_down_pfc_is_held_and_the_rest_runs(node: Node) -> None:
    node.host.network.unplugged.add(P1)
    status = node.emit()
    assert status.name == "blocked"
    assert pfc(node.host) == [(), (3,)]
    assert f"held: {PF0}/pfc" in node.log
    assert "no other port of bond0 carries traffic" in node.log
    assert node.host.port(P0).dcb.ets.bandwidth[3] == 50
    plan = node.action("plan")["plan"]
    assert f"bring up {P1}" in plan
    node.host.network.unplugged.clear()
    node.host.sleep(5)
    assert node.emit("update_status").name == "active"


def test_a_port_outside_any_bond_is_set_when_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node(bonded=False), monkeypatch)
    assert node.configure(devices=P0).emit().name == "active"
    assert pfc(node.host) == [(3,), ()]


def test_ports_outside_any_bond_never_lose_their_links_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that routes over both of its ports, or bonds them in Open vSwitch, keeps one of them."""
    node = Node(compute_node(bonded=False), monkeypatch)
    assert node.configure(devices=f"{P0} {P1}").emit().name == "active"
    assert pfc(node.host) == [(3,), (3,)]
    (_, back), (down, _) = (node.host.network.flaps[name] for name in (P0, P1))
    assert back < down


def test_a_port_outside_any_bond_whose_link_does_not_come_back_stops_the_roll(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = Node(compute_node(bonded=False), monkeypatch)
    flap = node.host.network.flap

    def for_good(name: str, now: float, time: float = 0.5) -> None:
        flap(name, now, time)
        node.host.network.unplugged.add(name)

    node.host.network.flap = for_good
    assert node.configure(devices=f"{P0} {P1}").emit().name == "blocked"
    assert f"{P0} does not have its link back within 45 s" in node.log
    assert pfc(node.host) == [(3,), ()]


def test_a_port_outside_any_bond_that_has_no_link_is_set_without_a_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = Node(compute_node(bonded=False), monkeypatch)
    node.host.network.unplugged.add(P0)
    assert node.configure(devices=f"{P0} {P1}").emit().name == "active"
    assert pfc(node.host) == [(3,), (3,)]


def test_steps_of_a_bond_need_each_other(node: Node) -> None:
    import json

    plan = json.loads(node.action("plan", format="json")["plan"])
    keys = [step["key"] for step in plan["steps"]]
    order = [f"{PF0}/pfc", f"{PF0}/member", f"{PF1}/pfc", f"{PF1}/member"]
    assert [key for key in keys if key in order] == order
    flaps = {step["key"] for step in plan["steps"] if step["disruption"] == "link-flap"}
    assert flaps == {f"{PF0}/pfc", f"{PF1}/pfc"}
