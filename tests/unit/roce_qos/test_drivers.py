# SPDX-License-Identifier: Apache-2.0
"""Other drivers: each converges, and its limits are reported."""

import pytest
from hostnic.netlink.dcb import App
from lab.modelled import card
from unit.roce_qos.node import P0, P1, Node, compute_node, nic, pfc


@pytest.mark.parametrize("driver", ["bnxt_en", "qede", "ice"])
def test_every_driver_converges_and_its_limit_is_reported(
    driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(compute_node(driver), monkeypatch)
    assert node.emit().name == "active", node.log
    assert pfc(node.host) == [(3,), (3,)]
    apps = node.host.port(P0).dcb.apps
    if driver == "qede":
        assert apps == {App(1, 0x8915, 3), App(3, 4791, 3)}
        assert "qede maps no DSCP" in node.findings()
    else:
        assert App(5, 26, 3) in apps
    if driver == "bnxt_en":
        assert App(3, 4791, 3) in apps
        assert "bnxt_en takes settings only while" in node.findings()
    assert node.emit("update_status").name == "active"
    assert node.writes == []
    assert node.host.blackouts == 0


def test_a_cable_length_that_one_card_cannot_have_stops_no_other_card(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Broadcom's ports come first, and had failed before those of the ConnectX were set."""
    host = compute_node(cards=[card("3b", driver="bnxt_en"), card("5e")])
    node = Node(host, monkeypatch)
    status = node.configure(cable_length=5, devices=f"{P0} {P1} enp94s0f0np0").emit()
    assert status.name == "active", node.log
    assert host.port("enp94s0f0np0").dcb.cable == 5
    assert f"5 m is not set on {P0}, {P1}" in node.findings()


def test_the_firmware_agent_of_bnxt_blocks_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node("bnxt_en"), monkeypatch)
    for name in (P0, P1):
        port = node.host.port(name).dcb
        port.firmware_agent = True
        port.driver_restarts()
    status = node.emit()
    assert status.name == "blocked"
    assert "DCBX mode firmware ieee" in node.log
    assert nic(node.writes) == []


def test_a_port_whose_driver_keeps_no_setting_is_reported(node: Node) -> None:
    node.host.port(P1).dcb.deaf.add("ets")
    assert node.emit().name == "blocked"
    assert f"ETS of {P1} reads back differently" in node.log
    assert pfc(node.host) == [(), ()]


def test_a_refusal_of_a_driver_is_reported_with_the_name_of_the_setting(node: Node) -> None:
    node.host.port(P0).dcb.refuses = True
    assert node.emit().name == "blocked"
    assert f"the driver of {P0} refused: ETS: Invalid argument" in node.log
