# SPDX-License-Identifier: Apache-2.0
"""The report for the fabric, its policy, and their disagreements; values for the firmware to keep."""

import json
import struct
from typing import Any

import pytest
from boot import bootfile
from charmkit.fabric import STRICT, Host, Marking, Mtu, Neighbour, Policy, Qos, Vlan
from hostnic import handover
from hostnic.handover import Handover
from hostnic.ops import lldp
from observed import QosPort
from unit.roce_qos.node import P0, P1, PF0, PF1, Node, compute_node, nic

QOS = Qos("dscp", (3,), Marking(26, 3), Marking(48, 6), {0: 50, 3: 50, 6: STRICT})
POLICY = Policy(QOS, Mtu(9000, 9216), {"rack0": "44:38:39:ff:00:01"})
MAC = bytes.fromhex("443839000001")


def tlv(kind: int, value: bytes) -> bytes:
    return struct.pack("!H", kind << 9 | len(value)) + value


def plug_in(node: Node, netdev: str, port: str) -> None:
    """networkd has heard the switch at the other end of the cable."""
    index = next(link.ifindex for link in node.host.links.all() if link.name == netdev)
    frame = bytes(14) + tlv(1, b"\x04" + MAC) + tlv(2, b"\x05" + port.encode()) + tlv(5, b"leaf0-0")
    node.host.disk.install(f"{lldp.FRAMES}/{index}", struct.pack("<Q", len(frame)) + frame, 0o644)


def test_a_host_that_follows_the_policy(node: Node) -> None:
    plug_in(node, P0, "swp3")
    node.emit()
    node.relate(POLICY.to_json())
    assert node.emit("relation_changed", node.fabric).name == "active"
    host = Host.from_json(node.published())
    assert host.hostname == "node1"
    first, second = host.ports
    assert (first.netdev, first.bdf, first.bond, first.mtu) == (P0, PF0, "bond0", 9000)
    assert first.partner_mac == second.partner_mac == "44:38:39:ff:00:01"
    assert first.neighbour == Neighbour("44:38:39:00:00:01", "swp3", "leaf0-0")
    assert second.neighbour is None
    assert first.qos == second.qos == QOS
    assert host.vlans == (Vlan(0, "br-nvda", ("192.168.25.0/24",)),)
    assert node.findings() == "No finding: everything is as declared."


def test_the_fabric_costs_an_idle_hook_no_write(node: Node) -> None:
    node.relate(POLICY.to_json()).deploy()
    before = node.published()
    node.emit("update_status")
    assert node.writes == []
    assert node.published() == before


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (Policy(Qos("pcp", (3,), *[QOS.roce, QOS.cnp], QOS.ets), POLICY.mtu), "trusts dscp, the fabric pcp"),
        (Policy(QOS, Mtu(1500, 9216)), "MTU 9000, the fabric expects 1500"),
        (Policy(QOS, POLICY.mtu, {"rack1": "44:38:39:ff:00:02"}), "LACP partner 44:38:39:ff:00:01 is no"),
    ],
)
def test_a_disagreement_is_a_warning_and_changes_no_port(converged: Node, policy: Policy, says: str) -> None:
    converged.relate(policy.to_json())
    status = converged.emit("relation_changed", converged.fabric)
    assert status.name == "active"
    assert says in converged.findings()
    assert nic(converged.writes) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 2}', '{"version": 1, "qos": 3, "mtu": {}}'])
def test_a_malformed_policy_is_one_sentence(converged: Node, text: str) -> None:
    status = converged.relate(text).emit("relation_changed", converged.fabric)
    assert status.name == "active"
    assert ("relation fabric: policy" in status.message) == bool(text)
    assert converged.published()


def test_a_fabric_that_has_said_nothing_yet_is_told_all_the_same(converged: Node) -> None:
    assert converged.relate(None).emit("relation_created", converged.fabric).name == "active"
    assert Host.from_json(converged.published()).ports


def test_what_the_fabric_could_not_read_is_a_warning_and_what_it_knows_stays(
    converged: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    converged.relate(POLICY.to_json()).emit("relation_changed", converged.fabric)
    before = converged.published()
    monkeypatch.setattr(Host, "longest", len(before) - 1)

    status = converged.emit("update_status")

    assert status.name == "active"
    assert "the fabric: is not told what this host runs: host: " in converged.log
    assert converged.published() == before


def test_a_port_with_settings_outside_the_scheme_publishes_no_qos(converged: Node) -> None:
    converged.host.port(P1).dcb.driver_restarts()
    converged.host.port(P1).dcb.refuses = True
    converged.relate(POLICY.to_json()).emit("relation_changed", converged.fabric)
    first, second = Host.from_json(converged.published()).ports
    assert first.qos == QOS
    assert second.qos is None


def test_a_priority_that_no_scheme_has_publishes_no_qos(
    converged: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's table has a whole byte for it."""
    monkeypatch.setattr(QosPort, "dscp_map", {26: 9, 48: 6})
    converged.relate(POLICY.to_json()).emit("relation_changed", converged.fabric)
    assert [port.qos for port in Host.from_json(converged.published()).ports] == [None, None]


def test_under_trust_pcp_the_tag_decides_and_the_marks_are_as_configured(converged: Node) -> None:
    converged.configure(trust_state="pcp").relate(POLICY.to_json())
    converged.emit("relation_changed", converged.fabric)
    found = Host.from_json(converged.published()).ports[0].qos
    assert found is not None
    assert (found.trust, found.roce) == ("pcp", QOS.roce)
    # Juju reserves the name trust for options, not for these.
    boot_file = json.loads(converged.host.disk.read(bootfile.PATH))
    published = json.loads(converged.published())
    assert [boot_file["qos"]["trust"], published["ports"][0]["qos"]["trust"]] == ["pcp", "pcp"]


# The firmware's part.


def requests(node: Node) -> dict[str, Any]:
    return json.loads(node.host.disk.read(handover.path_of("roce-qos")))


def test_nic_firmware_is_told_what_to_keep(converged: Node) -> None:
    assert requests(converged)["parameters"] == {
        PF0: {"CNP_DSCP_P1": 48, "CNP_802P_PRIO_P1": 6, "ROCE_CC_PRIO_MASK_P1": 255},
        PF1: {"CNP_DSCP_P2": 48, "CNP_802P_PRIO_P2": 6, "ROCE_CC_PRIO_MASK_P2": 255},
    }
    converged.configure(cnp_dscp=50, cnp_priority=7, ecn="off").emit()
    assert requests(converged)["parameters"][PF0] == {
        "CNP_DSCP_P1": 50, "CNP_802P_PRIO_P1": 7, "ROCE_CC_PRIO_MASK_P1": 0,
    }  # fmt: skip
    converged.configure(ecn="keep").emit()
    assert "ROCE_CC_PRIO_MASK_P1" not in requests(converged)["parameters"][PF0]


def test_a_dcbx_that_the_firmware_controls_is_requested_from_nic_firmware(node: Node) -> None:
    for name in (P0, P1):
        node.host.port(name).dcb.dcbx = 0x0C
        node.host.port(name).dcb.firmware_agent = True
    node.configure(dcbx_takeover=True).emit()
    assert requests(node)["parameters"][PF0]["LLDP_NB_DCBX_P1"] is False
    assert requests(node)["pending"]


def test_only_connectx_has_such_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node("bnxt_en"), monkeypatch)
    node.emit()
    assert requests(node)["parameters"] == {}


@pytest.mark.parametrize("owner", ["nic-firmware", "sriov-switchdev"])
def test_the_reboot_owner_is_the_one_that_the_others_name(node: Node, owner: str) -> None:
    node.host.disk.directories.add("/var/lib/juju/agents/unit-nic-firmware-0")
    handover.publish(node.host, Handover("nic-firmware", "nic-firmware/0", owner))
    node.emit()
    assert requests(node)["reboot_owner"] == owner


def test_congestion_control_is_set_at_run_time_where_the_kernel_lets_it(converged: Node) -> None:
    cc = converged.host.rdma.cc
    cc.update({(PF0, name): 0 for name in ("np_cnp_dscp", "np_cnp_prio", "rp_ai_rate", "rp_gd")})
    converged.configure(dcqcn="rp_ai_rate=5 rp_unknown=7").emit()
    assert {name: value for (_, name), value in cc.items()} == {
        "np_cnp_dscp": 48, "np_cnp_prio": 6, "rp_ai_rate": 5, "rp_gd": 0,
    }  # fmt: skip
    assert converged.emit("update_status").name == "active"
    assert converged.writes == []


# Congestion control that nothing here takes.

ALL_THREE = {"cnp_dscp": 40, "cnp_priority": 5, "ecn": "off"}


def test_what_reaches_no_nic_is_a_warning_with_its_option(converged: Node) -> None:
    status = converged.configure(**ALL_THREE).emit()
    assert status.name == "active"
    found = converged.findings()
    for option in ("cnp-dscp", "cnp-priority", "ecn"):
        assert f"warning   {option}" in found
    assert "deploy nic-firmware to this machine; or see whether kernel lockdown hides debugfs" in found


def test_nic_firmware_on_the_machine_takes_it(converged: Node) -> None:
    converged.host.disk.directories.add("/var/lib/juju/agents/unit-nic-firmware-0")
    handover.publish(converged.host, Handover("nic-firmware", "nic-firmware/0", "sriov-switchdev"))
    assert converged.configure(**ALL_THREE).emit().message == ""


def test_what_is_set_at_run_time_needs_nobody_else(converged: Node) -> None:
    converged.host.rdma.cc.update({(PF0, "np_cnp_dscp"): 48, (PF0, "np_cnp_prio"): 6})
    for point in ("rp", "np"):
        path = f"/sys/class/net/{P0}/ecn/roce_{point}/enable/3"
        converged.host.disk.install(path, b"0\n", 0o644)
    assert converged.configure(devices=PF0, **ALL_THREE).emit().message == ""
    assert converged.host.rdma.cc[PF0, "np_cnp_dscp"] == 40


def test_a_misspelled_parameter_of_dcqcn_is_a_warning(converged: Node) -> None:
    converged.host.rdma.cc.update({(PF0, name): 0 for name in ("np_cnp_dscp", "np_cnp_prio", "rp_ai_rate")})
    converged.configure(devices=PF0, dcqcn="rp_ai_rate=5 rp_ai_rat=7").emit()
    assert "rp_ai_rat is not a parameter of any NIC  correct the name" in converged.findings()
    assert converged.configure(dcqcn="rp_ai_rate=5").emit().message == ""


def test_parameters_of_dcqcn_that_nothing_shows_are_a_warning(converged: Node) -> None:
    converged.configure(dcqcn="rp_ai_rate=5").emit()
    remedy = "deploy nic-firmware to this machine; or see whether kernel lockdown hides debugfs"
    assert f"rp_ai_rate reaches no NIC  {remedy}" in converged.findings()


# While a NIC bonds its ports, only the first of them has an RDMA device, and with it these parameters.

ONE_PORT = (
    f"does not reach {P1} at run time, which has no RDMA device of its own while the NIC bonds its ports"
)


def both_ports(node: Node, *names: str) -> Node:
    """The kernel offers these parameters for each port that has an RDMA device."""
    node.host.rdma.cc.update({(bdf, name): 0 for bdf in (PF0, PF1) for name in names})
    return node


def test_parameters_that_reach_one_port_only_are_a_warning_for_the_other(converged: Node) -> None:
    both_ports(converged, "rp_ai_rate", "np_cnp_dscp", "np_cnp_prio")
    assert converged.configure(dcqcn="rp_ai_rate=5", cnp_dscp=40).emit().name == "active"
    assert converged.host.rdma.cc[PF0, "rp_ai_rate"] == 5
    assert converged.host.rdma.cc[PF1, "rp_ai_rate"] == 0
    found = converged.findings()
    assert f"warning   dcqcn     rp_ai_rate {ONE_PORT}" in found
    assert f"warning   cnp-dscp  40 {ONE_PORT}" in found
    assert found.count("deploy nic-firmware to this machine") == 2
    assert P0 not in found


def test_nic_firmware_sets_them_for_both_ports(converged: Node) -> None:
    both_ports(converged, "rp_ai_rate", "rp_gd", "np_cnp_dscp", "np_cnp_prio")
    converged.host.disk.directories.add("/var/lib/juju/agents/unit-nic-firmware-0")
    handover.publish(converged.host, Handover("nic-firmware", "nic-firmware/0", "sriov-switchdev"))
    assert converged.configure(dcqcn="rp_ai_rate=5 rp_gd=11", cnp_dscp=40).emit().message == ""
    asked = requests(converged)["parameters"]
    assert {name: asked[PF0][name] for name in ("RPG_AI_RATE_P1", "RPG_GD_P1")} == {
        "RPG_AI_RATE_P1": 5, "RPG_GD_P1": 11,
    }  # fmt: skip
    assert {name: asked[PF1][name] for name in ("RPG_AI_RATE_P2", "RPG_GD_P2", "CNP_DSCP_P2")} == {
        "RPG_AI_RATE_P2": 5, "RPG_GD_P2": 11, "CNP_DSCP_P2": 40,
    }  # fmt: skip
    found = converged.findings()
    assert f"info      dcqcn    rp_ai_rate rp_gd {ONE_PORT}" in found, found
    assert "the firmware applies it from the next boot on  nic-firmware sets it" in found


def test_a_value_too_large_for_the_firmware_is_not_requested(converged: Node) -> None:
    both_ports(converged, "rp_gd", "np_cnp_dscp", "np_cnp_prio")
    converged.host.disk.directories.add("/var/lib/juju/agents/unit-nic-firmware-0")
    handover.publish(converged.host, Handover("nic-firmware", "nic-firmware/0", "sriov-switchdev"))
    converged.configure(dcqcn="rp_gd=16").emit()
    assert "RPG_GD_P2" not in requests(converged)["parameters"][PF1]
    assert f"warning   dcqcn    rp_gd {ONE_PORT}" in converged.findings()


def test_the_mark_of_dcqcn_goes_to_the_firmware_as_to_the_kernel(node: Node) -> None:
    node.configure(dcqcn="np_cnp_dscp=40").emit()
    assert requests(node)["parameters"][PF1]["CNP_DSCP_P2"] == 40


def test_without_vf_lag_each_port_is_reached_at_run_time(converged: Node) -> None:
    both_ports(converged, "rp_ai_rate", "np_cnp_dscp", "np_cnp_prio")
    for netdev in (P0, P1):
        converged.host.links.set_master(netdev, None)
    converged.host.sleep(10)
    converged.configure(devices=f"{PF0} {PF1}", dcqcn="rp_ai_rate=5").emit()
    assert {converged.host.rdma.cc[bdf, "rp_ai_rate"] for bdf in (PF0, PF1)} == {5}
    assert "dcqcn" not in converged.findings()


def test_other_drivers_have_none_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node("bnxt_en"), monkeypatch)
    node.deploy()
    assert "warning" not in node.findings()
    node.configure(dcqcn="rp_ai_rate=5", **ALL_THREE).emit()
    found = node.findings()
    assert found.count("only ConnectX has it") == 4


def test_lockdown_is_said_and_stops_nothing_that_was_done(converged: Node) -> None:
    converged.host.rdma.cc[PF0, "np_cnp_dscp"] = 0
    converged.host.fail("write", "cc_params", OSError(1, "Operation not permitted"), times=None)
    assert converged.emit().name == "blocked"
    assert "kernel lockdown forbids debugfs" in converged.log


def test_a_directory_that_cannot_be_written_is_a_warning(converged: Node) -> None:
    converged.configure(cnp_dscp=50)
    converged.host.fail("install", handover.DIRECTORY, OSError(28, "No space left on device"))
    status = converged.emit()
    assert status.name == "active"
    assert "No space left on device" in status.message
