# SPDX-License-Identifier: Apache-2.0
"""Parameters that take Ethernet from a port: refused where the host uses it, unless an option allows it."""

import json

import pytest
from commission import commission
from config import Options
from desired import Setting
from hostnic.devices.inventory import find_nics
from hostnic.firmware.mstdatabase import Database
from lab.modelled import FakeHost
from lab.modelled.nic.mst import BOOL, FakeParameter
from nic import ethernet
from unit.nic_firmware.node import PF0, PF1, Node, machine, nics, rdg

NETDEV0, NETDEV1 = "enp59s0f0np0", "enp59s0f1np1"

FURTHER = {
    "NUM_OF_PF": lambda: FakeParameter(2),
    "NETWORK_PORTS_NUMBER": lambda: FakeParameter(2),
    "HIDE_PORT2_PF": lambda: FakeParameter(0, BOOL),
    "FPP_EN": lambda: FakeParameter(1, BOOL),
    "INTERNAL_CPU_MODEL": lambda: FakeParameter(0, ("SEPARATED_HOST", "EMBEDDED_CPU")),
    "INTERNAL_CPU_OFFLOAD_ENGINE": lambda: FakeParameter(1, ("ENABLED", "DISABLED")),
    "INTERNAL_CPU_ESWITCH_MANAGER": lambda: FakeParameter(1, ("ECPF", "EXT_HOST_PF")),
    "INTERNAL_CPU_PAGE_SUPPLIER": lambda: FakeParameter(1, ("ECPF", "EXT_HOST_PF")),
    "ECPF_ESWITCH_MANAGER": lambda: FakeParameter(0, ("EXTERNAL_HOST_PF", "ECPF")),
    "ECPF_PAGE_SUPPLIER": lambda: FakeParameter(0, ("EXTERNAL_HOST_PF", "ECPF")),
}
"""Parameters that some firmware has, with which the host keeps its ports."""
TAKING = [
    ("LINK_TYPE_P1=IB", PF0),
    ("LINK_TYPE_P1=1", PF0),
    ("LINK_TYPE_P2=IB", PF1),
    ("NUM_OF_PF=1", PF0),
    ("NETWORK_PORTS_NUMBER=1", PF1),
    ("HIDE_PORT2_PF=true", PF1),
    ("FPP_EN=0", PF1),
    ("INTERNAL_CPU_MODEL=EMBEDDED_CPU", PF0),
    ("INTERNAL_CPU_OFFLOAD_ENGINE=ENABLED", PF0),
    ("INTERNAL_CPU_OFFLOAD_ENGINE=0", PF0),
    ("INTERNAL_CPU_ESWITCH_MANAGER=ECPF", PF0),
    ("INTERNAL_CPU_PAGE_SUPPLIER=ECPF", PF0),
    ("ECPF_ESWITCH_MANAGER=ECPF", PF0),
    ("ECPF_PAGE_SUPPLIER=ECPF", PF0),
]


def further(host: FakeHost) -> None:
    """Firmware that has them all."""
    for nic in host.cards:
        nic.settings.update({name: make() for name, make in FURTHER.items()})


@pytest.fixture
def used(node: Node) -> Node:
    """A node whose NIC is as the profile wants it and whose ports are in the bond that carries the host."""
    rdg(node.host)
    further(node.host)
    assert node.configure(reboot_policy="always", reboot_settle=0).emit().name == "active"
    return node


@pytest.fixture
def loose(database: Database, monkeypatch: pytest.MonkeyPatch) -> Node:
    """The same, with nothing on either port."""
    node = Node(machine(bonded=False), database, monkeypatch)
    rdg(node.host)
    further(node.host)
    return node


def link_types(node: Node) -> tuple[int, int]:
    return node.next_boot("LINK_TYPE_P1"), node.next_boot("LINK_TYPE_P2")


# The option.


@pytest.mark.parametrize(("parameters", "bdf"), TAKING)
def test_a_parameter_that_takes_ethernet_from_the_hosts_bond_is_blocked_before_any_write(
    used: Node, parameters: str, bdf: str
) -> None:
    status = used.configure(parameters=parameters).emit()
    assert status.name == "blocked"
    assert used.mst() == []
    assert used.reboots_asked == 0
    assert parameters[:3] in status.message
    rows = json.loads(used.action("verify", format="json")["findings"])
    (found,) = [row for row in rows if row["subject"] == bdf]
    assert found["severity"] == "blocked"
    assert "would take Ethernet from this port; enp59s0f" in found["what"]
    assert "carries bond0" in found["what"]
    assert found["remedy"].startswith("set allow-ethernet-loss=true if the port may lose Ethernet")


def test_the_operator_may_allow_it(used: Node) -> None:
    used.configure(parameters="LINK_TYPE_P1=IB", allow_ethernet_loss=True).emit()
    assert len(used.mst()) == 1
    assert used.reboots_asked == 1


def test_a_link_type_that_is_left_to_the_switch_takes_ethernet_too(used: Node) -> None:
    used.known = Database()  # that of mstflint knows no such value any more
    used.host.cards[0].settings["LINK_TYPE_P1"].words = ("", "IB", "ETH", "VPI")
    for value in ("VPI", "3"):
        assert used.configure(parameters=f"LINK_TYPE_P1={value}").emit().name == "blocked"
        assert f"LINK_TYPE_P1={value} (option parameters) would take Ethernet" in used.findings()
        assert used.mst() == []


ON_PORT = {
    "an address": lambda network: network.addresses.update({NETDEV0: ["192.168.25.7"]}),
    "a VLAN": lambda network: network.uppers.update({"storage": NETDEV0}),
    "a bridge": lambda network: network.uppers.update({"ovs-system": NETDEV0}),
}


@pytest.mark.parametrize("what", ON_PORT)
def test_a_port_that_the_host_uses_is_guarded_and_the_other_one_is_set(loose: Node, what: str) -> None:
    ON_PORT[what](loose.host.network)
    assert loose.configure(parameters="LINK_TYPE_P1=IB LINK_TYPE_P2=IB").emit().name == "blocked"
    assert f"{NETDEV0} carries " in loose.findings()
    assert loose.mst() == []
    loose.configure(parameters="LINK_TYPE_P2=IB").emit()
    assert link_types(loose) == (2, 1)


def test_ports_that_the_host_does_not_use_are_set_as_asked(loose: Node) -> None:
    loose.configure(parameters="LINK_TYPE_P1=IB LINK_TYPE_P2=IB").emit()
    assert link_types(loose) == (1, 1)


def test_a_port_whose_use_cannot_be_read_counts_as_used(loose: Node) -> None:
    loose.host.fail("addresses", NETDEV0, OSError(5, "Input/output error"), times=None)
    assert loose.configure(parameters="LINK_TYPE_P1=IB").emit().name == "blocked"
    assert f"{NETDEV0} carries perhaps an address" in loose.findings()
    assert loose.mst() == []


def test_the_hosts_use_of_a_port_is_read_only_if_a_parameter_would_take_the_port(used: Node) -> None:
    used.host.fail("addresses", "", OSError(5, "Input/output error"), times=None)
    assert used.configure(parameters="LINK_TYPE_P1=ETH NUM_OF_PF=2 HIDE_PORT2_PF=0").emit().name == "active"
    assert "would take" not in used.findings()


def test_a_port_that_is_infiniband_already_loses_nothing(used: Node) -> None:
    port = used.host.cards[0].settings["LINK_TYPE_P1"]
    port.current = port.next_boot = 1
    assert used.configure(parameters="LINK_TYPE_P1=IB").emit().name == "active"
    port.next_boot = 2
    used.emit()
    assert link_types(used) == (1, 2), "nor does it when only the next boot would make it Ethernet"


def test_another_nic_that_the_host_does_not_use_goes_on(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(machine(cards=nics("3b", "5e")), database, monkeypatch)
    assert node.configure(parameters="LINK_TYPE_P1=IB").emit().name == "blocked"
    assert node.next_boot("LINK_TYPE_P1") == 2
    assert node.next_boot("LINK_TYPE_P1", "0000:5e:00.0") == 1


def test_another_charms_request_is_checked_too(used: Node) -> None:
    used.hand_over("roce-qos", parameters={PF0: {"LINK_TYPE_P1": 1}})
    assert used.configure(profile="").emit().name == "blocked"
    assert "LINK_TYPE_P1=1 (roce-qos) would take Ethernet from this port" in used.findings()
    assert used.mst() == []


# Set for the next boot already, before the host used the port.


def test_no_reboot_that_would_take_ethernet_is_requested_and_eth_sets_it_back(used: Node) -> None:
    used.host.cards[0].settings["LINK_TYPE_P1"].next_boot = 1
    request = {"reasons": ["3b:00: 8+8 VFs and VF-LAG"], "since": 1, "ready": True}
    used.hand_over("sriov-switchdev", owner="nic-firmware", reboot=request)
    assert used.configure(parameters="LINK_TYPE_P1=IB").emit().name == "blocked"
    assert used.reboots_asked == 0
    assert used.mst() == []
    said = "LINK_TYPE_P1=1 (option parameters) would take Ethernet from this port with the next boot"
    assert said in used.findings()
    assert "set LINK_TYPE_P1 back, or set allow-ethernet-loss=true" in used.findings()
    assert "run: juju run nic-firmware" not in used.findings()
    used.configure(parameters="LINK_TYPE_P1=ETH").emit()
    assert link_types(used) == (2, 2)
    assert used.reboots_asked == 1, "the one that the other charm needs"


def test_the_charm_that_requests_reboots_is_told_to_wait(used: Node) -> None:
    used.host.cards[0].settings["LINK_TYPE_P1"].next_boot = 1
    used.configure(parameters="LINK_TYPE_P1=IB", reboot_owner="sriov-switchdev").emit()
    given = json.loads(used.host.files.read("/run/ovn-offload/nic-firmware.json"))
    assert given["reboot"]["reasons"] == ["3b:00: LINK_TYPE_P1=1"]
    assert given["reboot"]["ready"] is False


def test_no_reset_applies_it_in_place(used: Node) -> None:
    used.host.cards[0].settings["LINK_TYPE_P1"].next_boot = 1
    used.configure(parameters="LINK_TYPE_P1=IB", activation="reset").emit()
    assert used.mst() == []


# Actions.


def test_set_parameters_refuses_what_the_option_refuses(used: Node) -> None:
    used.configure(profile="").emit()
    said = used.failure("set-parameters", parameters="LINK_TYPE_P1=IB CNP_DSCP_P1=26")
    assert "would take Ethernet from this port" in said
    assert "set allow-ethernet-loss=true" in said
    assert used.mst() == []
    assert used.next_boot("CNP_DSCP_P1") == 48
    used.configure(allow_ethernet_loss=True)
    used.action("set-parameters", parameters="LINK_TYPE_P1=IB")
    assert len(used.mst()) == 1


def test_restore_refuses_a_backup_that_takes_ethernet(used: Node) -> None:
    used.configure(profile="").emit()
    saved = used.action("backup")["backup-0000-3b-00-0"]
    assert "LINK_TYPE_P1=2\n" in saved
    taking = saved.replace("LINK_TYPE_P1=2", "LINK_TYPE_P1=1")
    assert "LINK_TYPE_P1=1 (backup) would take Ethernet" in used.failure("restore", device=PF0, backup=taking)
    assert used.action("restore", device=PF0, backup=saved)["done"].startswith("nothing to do")
    used.configure(allow_ethernet_loss=True).action("restore", device=PF0, backup=taking)
    assert link_types(used) == (1, 2)


def test_reset_parameters_refuses_defaults_that_take_ethernet(used: Node) -> None:
    used.host.cards[0].settings["LINK_TYPE_P2"].default = 1  # a VPI NIC
    said = used.failure("reset-parameters", devices=PF0, confirm=True)
    assert (
        f"{PF1}: LINK_TYPE_P2=1 (its default) would take Ethernet from this port; {NETDEV1} carries" in said
    )
    assert used.mst() == []
    assert link_types(used) == (2, 2)
    used.configure(allow_ethernet_loss=True)
    assert used.action("reset-parameters", devices=PF0, confirm=True)["reset"] == "3b:00"
    assert link_types(used) == (2, 1)


# Before deployment.


def test_commissioning_keeps_ethernet_on_the_port_that_the_machine_boots_from(database: Database) -> None:
    host = machine(bonded=False)
    host.network.addresses[NETDEV0] = ["10.0.0.5"]
    options = {"parameters": "LINK_TYPE_P1=IB"}
    status, results = commission(host, database, Options(**options))
    assert status == "failed"
    assert f"would take Ethernet from this port; {NETDEV0} carries 10.0.0.5" in results["left"]
    assert host.cards[0].settings["LINK_TYPE_P1"].next_boot == 2
    assert commission(host, database, Options(**options, allow_ethernet_loss=True))[0] == "passed"
    assert host.cards[0].settings["LINK_TYPE_P1"].next_boot == 1


# Which ports.


@pytest.mark.parametrize(
    ("name", "value", "functions"),
    [
        ("LINK_TYPE_P1", 2, ""),
        ("LINK_TYPE_P1", "eth", ""),
        ("LINK_TYPE_P1", 1, "0"),
        ("LINK_TYPE_P2", "IB", "1"),
        ("LINK_TYPE_P3", 1, "01"),
        ("LINK_TYPE", 1, "01"),
        ("HIDE_PORT2_PF", 1, "1"),
        ("NUM_OF_PF", 2, ""),
        ("NUM_OF_PF", 4, ""),
        ("NUM_OF_PF", 1, "01"),
        ("NUM_OF_PF", 0, "01"),
        ("NETWORK_PORTS_NUMBER", 0, ""),
        ("NETWORK_PORTS_NUMBER", 1, "01"),
        ("INTERNAL_CPU_MODEL", 0, ""),
        ("INTERNAL_CPU_OFFLOAD_ENGINE", 1, ""),
        ("NUM_OF_VFS", 0, ""),
        ("CNP_DSCP_P1", 1, ""),
    ],
)
def test_which_ports_a_value_takes_ethernet_from(name: str, value: int | str, functions: str) -> None:
    (nic,), _ = find_nics(FakeHost())
    lost = ethernet.losers(nic, Setting(name, value, "option parameters"))
    assert "".join(port.bdf[-1] for port in lost) == functions


def test_a_port_is_known_by_its_function_even_if_another_one_cannot_be_read() -> None:
    host = FakeHost()
    host.fail("read", f"{PF0}/vendor", OSError(5, "Input/output error"), times=None)
    (nic,), _ = find_nics(host)
    assert [port.bdf for port in ethernet.losers(nic, Setting("LINK_TYPE_P2", 1, ""))] == [PF1]
