# SPDX-License-Identifier: Apache-2.0
"""``activation=reset``: a NIC that nothing uses is reset in place; any other waits for the reboot."""

import pytest
from converge import StepError
from hostnic.firmware.mstdatabase import Database
from hostnic.system import failure
from lab.modelled import FakeHost, at_two_slots
from nic.reset import ResetFirmware
from unit.nic_firmware.node import PF0, Node, machine


def test_an_unused_nic_is_reset_in_place(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(machine(bonded=False), database, monkeypatch)
    node.configure(activation="reset").set_up()
    assert f"run mstfwreset -d {PF0} -y --level 3 reset" in node.writes
    assert node.emit("start").name == "active"
    assert node.reboots_asked == 0
    assert node.host.cards[0].settings["NUM_VF_MSIX"].current == 63


def test_a_card_at_two_pci_slots_waits_for_the_reboot(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reset through the unused slot would restart the port that carries the host's network, too."""
    nic = at_two_slots()
    nic.rdma = True
    host = machine(cards=[nic], bonded=False)
    host.network.addresses[nic.ports[1].netdev] = ["192.0.2.7"]
    node = Node(host, database, monkeypatch)
    node.deploy(activation="reset")
    assert host.port(PF0).firmware.num_of_vfs == 4
    assert "its card is at 0000:3b:00 and 0002:3b:00" in node.action("plan")["plan"]


def test_a_nic_in_a_bond_waits_for_the_reboot(node: Node) -> None:
    status = node.deploy(activation="reset")
    assert status.name == "blocked"
    assert "no reset: enp59s0f0np0 is in bond0" in node.action("plan")["plan"]


def route(netdev: str) -> str:
    """BGP unnumbered: the port has no address, and the default route's next hop is link-local."""
    destination, hop = "0" * 32, "fe800000000000000000000000000001"
    return f"{destination} 00 {destination} 00 {hop} 00000400 00000001 00000000 00000003  {netdev}\n"


def dpdk(host: FakeHost, netdev: str) -> None:
    """A process of DPDK has the port open."""
    host.cards[0].rdma = True
    host.open_rdma(host.port(netdev).bdf, 4711, "ovs-vswitchd")


STANDS = {
    "a VLAN": lambda host, netdev: host.network.uppers.update({"storage": netdev}),
    "an address": lambda host, netdev: host.network.addresses.update({netdev: ["192.168.25.7"]}),
    "an IPv6 address": lambda host, netdev: host.network.addresses.update({netdev: ["2001:db8::7"]}),
    "a route": lambda host, netdev: host.disk.install("/proc/net/ipv6_route", route(netdev).encode(), 0o444),
    "DPDK": dpdk,
}
SAYS = {
    "a VLAN": "no reset: enp59s0f1np1 carries storage",
    "an address": "no reset: enp59s0f1np1 carries 192.168.25.7",
    "an IPv6 address": "no reset: enp59s0f1np1 carries 2001:db8::7",
    "a route": "no reset: enp59s0f1np1 carries the route to ::/0",
    "DPDK": "no reset: enp59s0f1np1 is open in ovs-vswitchd (4711)",
}


@pytest.mark.parametrize("what", STANDS)
def test_a_nic_that_carries_the_hosts_own_network_waits_for_the_reboot(
    database: Database, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    node = Node(machine(bonded=False), database, monkeypatch)
    STANDS[what](node.host, "enp59s0f1np1")
    assert node.deploy(activation="reset").name == "blocked"
    assert SAYS[what] in node.action("plan")["plan"]
    assert node.host.cards[0].settings["NUM_VF_MSIX"].current == 11


def test_an_address_that_comes_after_the_plan_stops_the_reset() -> None:
    host = machine(bonded=False)
    host.network.addresses["enp59s0f0np0"] = ["192.168.25.7"]
    with pytest.raises(StepError, match=r"enp59s0f0np0 carries 192\.168\.25\.7 meanwhile"):
        ResetFirmware(PF0, {}, "", "").run(host)
    assert host.spawned == []


def test_the_hosts_use_of_a_port_is_read_only_before_a_reset(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(machine(bonded=False), database, monkeypatch)
    node.deploy(activation="reset")
    node.host.fail("addresses", "", OSError(5, "Input/output error"), times=None)
    assert node.emit().name == "active"
    node.configure(parameters="NUM_VF_MSIX=31").emit()
    said = "no reset: enp59s0f0np0 carries perhaps an address (Input/output error)"
    assert said in node.action("plan")["plan"]


def test_a_reset_that_fails_falls_back_to_the_reboot_and_is_named(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(machine(bonded=False), database, monkeypatch)
    said = "-E- The reset flow encountered a failure due to a reset state error\n"
    node.host.answers[("mstfwreset",)] = failure(["mstfwreset"], 1, said, "")
    assert node.configure(activation="reset", reboot_settle=0).emit().name == "blocked"
    assert "mstfwreset: The reset flow encountered a failure due to a reset state error" in node.log
    node.emit()
    assert node.mst() == [], "never a second reset in one boot"
    assert "no reset: one has already failed in this boot" in node.action("plan")["plan"]
    del node.host.answers[("mstfwreset",)]
    assert node.boot().name == "active"


def test_a_reset_that_applies_nothing_is_named_and_not_repeated(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(machine(bonded=False), database, monkeypatch)
    node.host.answers[("mstfwreset",)] = "-I- FW was loaded successfully.\n"
    assert node.configure(activation="reset").emit().name == "blocked"
    names = "NUM_VF_MSIX, LAG_RESOURCE_ALLOCATION, SRIOV_EN, NUM_OF_VFS"
    assert f"the reset did not apply {names} on {PF0}" in node.log
    node.emit()
    assert node.mst() == []
