# SPDX-License-Identifier: Apache-2.0
"""Who else has data centre bridging in hand: lldpad, the firmware, a driver's agent."""

import json

import pytest
from unit.roce_qos.node import P0, P1, PF0, PF1, Node, compute_node, nic


def test_lldpad_is_named_and_stopped_only_where_allowed(node: Node) -> None:
    node.host.disk.install("/run/lldpad.pid", b"812\n", 0o644)
    status = node.emit()
    assert status.name == "blocked"
    assert "lldpad" in status.message
    assert nic(node.writes) == []
    node.host.answers["systemctl", "disable", "--now"] = ""
    node.configure(dcbx_takeover=True).emit()
    assert "run systemctl disable --now lldpad.service lldpad.socket" in node.writes
    node.host.disk.remove("/run/lldpad.pid")
    assert node.emit().name == "active"


def test_dcbx_under_the_firmwares_control_is_named_and_taken_over_only_where_allowed(node: Node) -> None:
    for name in (P0, P1):
        node.host.port(name).dcb.dcbx = 0x0C
    status = node.emit()
    assert status.name == "blocked"
    assert "DCBX mode cee ieee" in node.log
    assert nic(node.writes) == []
    node.configure(dcbx_takeover=True)
    assert "its mode is cee ieee" in node.action("plan", format="json")["plan"]
    assert node.emit().name == "active"
    assert node.host.port(P0).dcb.dcbx == 0x0D
    assert nic(node.writes)[0] == f"set_dcbx {P0} host cee ieee"


def requested(node: Node) -> dict[str, dict[str, object]]:
    """By PCI address: what nic-firmware is asked for about DCBX."""
    given = json.loads(node.host.files.read("/run/ovn-offload/roce-qos.json"))["parameters"]
    return {
        bdf: {name: value for name, value in each.items() if "DCBX" in name} for bdf, each in given.items()
    }


def test_only_a_firmware_that_keeps_dcbx_is_to_get_another_parameter(node: Node) -> None:
    """It needs a reboot; where the host can take over, boot units do it again in each boot."""
    for name in (P0, P1):
        node.host.port(name).dcb.dcbx = 0x0C
    node.host.port(P0).dcb.firmware_agent = True
    node.configure(dcbx_takeover=True).emit()
    assert requested(node)[PF0] == {"LLDP_NB_DCBX_P1": False}
    node.host.port(P0).dcb.firmware_agent = False
    assert node.emit("update_status").name == "active"
    assert requested(node) == {PF0: {}, PF1: {}}
    assert node.boot().name == "active"
    assert requested(node) == {PF0: {}, PF1: {}}


def test_a_firmware_that_keeps_dcbx_is_reported(node: Node) -> None:
    node.host.port(P0).dcb.dcbx = 0x0C
    node.host.port(P0).dcb.firmware_agent = True
    status = node.configure(dcbx_takeover=True).emit()
    assert status.name == "blocked"
    assert "the firmware keeps DCBX" in node.log
    assert "switch off LLDP and DCBX in the firmware" in node.log


@pytest.mark.parametrize(("driver", "flag"), [("i40e", "disable-fw-lldp on"), ("ice", "fw-lldp-agent off")])
def test_an_agent_that_hands_nothing_over_is_named_with_its_own_switch(
    monkeypatch: pytest.MonkeyPatch, driver: str, flag: str
) -> None:
    node = Node(compute_node(driver), monkeypatch).configure(devices="bond0")
    for name in (P0, P1):
        node.host.port(name).dcb.firmware_agent = True
        node.host.port(name).dcb.driver_restarts()
    node.emit()
    assert f"ethtool --set-priv-flags {P0} {flag}" in node.findings()
    assert "dcbx-takeover" not in node.findings()
    node.configure(dcbx_takeover=True).emit()
    assert f"ethtool --set-priv-flags {P0} {flag}" in node.log
    assert "nic-firmware" not in node.log


def test_a_driver_in_another_version_of_dcbx_is_named_before_any_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ixgbe starts in CEE's version, in which it refuses these settings; no firmware is involved."""
    node = Node(compute_node("ixgbe"), monkeypatch).configure(devices="bond0")
    node.emit()
    assert "its driver takes no settings in DCBX mode host cee" in node.log
    assert nic(node.writes) == []
    assert node.configure(dcbx_takeover=True).emit().name == "active"
