# SPDX-License-Identifier: Apache-2.0
"""Live changes: a fault at any write leaves the node reachable, and the next reconcile finishes the work."""

import pytest
from converge.execute import execute
from hostnic.system import CommandError
from lab.modelled import FakeHost, card
from lab.modelled.states import free
from unit.sriov_switchdev.changedlive import small, small_node
from unit.sriov_switchdev.node import APPROVE, PF0, PORT0, REFUSED, Node, compute_node, nic

__all__ = ["small"]

FAILED = CommandError(["a-command"], "a-command failed (1): Input/output error", 1)


def writes_of_a_live_change() -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        node = small_node(patch)
        node.set_up()
        return node.writes


STANDS = {
    "nothing": lambda host: None,
    "an address": lambda host: host.network.addresses.update({PORT0: ["10.0.0.7"]}),
    "a VLAN": lambda host: host.network.uppers.update({"storage": PORT0}),
    "a route": lambda host: host.disk.install(
        "/proc/net/ipv6_route", f"{'0' * 32} 00 {'0' * 32} 00 {'0' * 32} 1 1 0 3 {PORT0}\n".encode(), 0o444
    ),
}


@pytest.mark.parametrize("what", STANDS)
def test_a_port_outside_a_bond_waits_for_the_reboot_only_with_the_hosts_network_on_it(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    host: FakeHost = free(compute_node(cards=[card(total_vfs=2)]))
    STANDS[what](host)
    node = Node(host, monkeypatch).configure(devices=f"{PORT0}:2", vf_lag="disabled")
    status = node.set_up()
    if what == "nothing":
        assert status.name == "active"
    else:
        assert f"would cut this host's network now; {APPROVE}; or set allow-live=true" in node.log
        assert nic(node.writes) == []


@pytest.mark.parametrize("bonded", [True, False])
def test_a_port_that_a_process_of_dpdk_has_open_waits_for_the_reboot(
    monkeypatch: pytest.MonkeyPatch, *, bonded: bool
) -> None:
    host: FakeHost = compute_node(cards=[card(total_vfs=2)])
    host = host if bonded else free(host)
    host.cards[0].rdma = True
    host.open_rdma(PF0, 4711, "ovs-vswitchd")
    node = Node(host, monkeypatch).configure(devices=f"{PORT0}:2", vf_lag="disabled", allow_live=True)
    node.set_up()
    assert f"{PORT0} is open in ovs-vswitchd (4711); stop that; or {APPROVE}" in node.log
    assert nic(node.writes) == []
    host.disk.remove("/proc/4711/fd/7")
    assert node.emit("update_status").name == "active"


@pytest.mark.parametrize("line", dict.fromkeys(writes_of_a_live_change()))
def test_a_fault_at_any_write_leaves_the_node_reachable_and_the_next_hook_finishes(
    small: Node, line: str
) -> None:
    verb, _, target = line.partition(" ")
    small.host.fail(verb, target, FAILED if verb == "run" else REFUSED)
    status = small.set_up()
    assert small.host.reachable
    for port in small.host.network.ports():
        assert small.host.network.bond_of(port.netdev), "a port stayed out of its bond"
    if status.name != "active":
        assert "Input/output error" in small.log
    assert small.emit("update_status").name == "active"
    assert small.host.cards[0].lag == "switchdev"
    small.emit("update_status")
    assert nic(small.writes) == []


@pytest.mark.parametrize(
    ("dark", "lit"), [("enp59s0f0np0", "enp59s0f1np1"), ("enp59s0f1np1", "enp59s0f0np0")]
)
def test_the_only_port_that_carries_traffic_is_left_alone_and_the_preview_says_so(
    small: Node, dark: str, lit: str
) -> None:
    small.host.network.unplugged.add(dark)
    assert small.set_up().name == "blocked"
    assert nic(small.writes) == []
    preview = small.action("plan")["plan"]
    assert f"{lit} is the only port of bond0 that carries traffic" in preview
    assert f"fix {dark}; or {APPROVE}" in preview
    # The cable is back.
    small.host.network.unplugged.clear()
    assert small.emit("update_status").name == "active"


def test_a_port_that_goes_dark_after_the_plan_was_made_keeps_its_neighbour_in_the_bond(small: Node) -> None:
    planned = small.planned()
    small.host.network.unplugged.add("enp59s0f1np1")
    outcome = execute(planned, small.host)
    assert outcome.failed is not None
    assert outcome.failed.key == "0000:3b:00.0/leave"
    assert small.host.reachable
    assert "set_master" not in " ".join(small.host.trace)


def test_without_allow_live_a_detached_port_returns_to_its_bond(small: Node) -> None:
    small.configure(allow_live=False, reboot_policy="manual")
    small.set_up()
    small.host.links.set_master("enp59s0f1np1", None)
    small.emit("update_status")
    assert nic(small.writes) == ["set_master enp59s0f1np1 bond0"]


def test_a_port_that_the_network_configuration_took_out_of_the_bond_stays_out(small: Node) -> None:
    small.configure(allow_live=False)
    small.set_up()
    small.host.links.set_master("enp59s0f1np1", None)
    small.host.disk.remove("/etc/systemd/network/10-netplan-enp59s0f1np1.network")
    small.emit("update_status")
    assert nic(small.writes) == []
