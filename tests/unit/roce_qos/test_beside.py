# SPDX-License-Identifier: Apache-2.0
"""Other programs and other makers' NICs beside the charm: it neither fights nor fails with them."""

import pytest
from boot import files, main
from lab.modelled import FakeBond, card
from unit.roce_qos.node import P0, P1, Node, compute_node, nic

OTHER = ("enp94s0f0np0", "enp94s0f1np1")


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Node:
    host = compute_node()
    host.services[files.AGAIN] = lambda machine: main.converge(machine, main.AGAIN_DEADLINE)
    return Node(host, monkeypatch)


def mixed(monkeypatch: pytest.MonkeyPatch, driver: str = "ice") -> Node:
    """Another maker's NIC, which comes first, in a bond of its own beside the ConnectX."""
    host = compute_node(cards=[card("3b", driver=driver), card("5e")])
    host.network.bonds["bond1"] = FakeBond("bond1", members=list(OTHER))
    host.members_changed()
    host.sleep(10.0)
    return Node(host, monkeypatch)


def reset(node: Node) -> None:
    """Reset settings, as lldpad may do from its own file."""
    for name in (P0, P1):
        node.host.port(name).dcb.pfc = ()


def test_what_something_resets_after_each_hook_is_given_up_with_the_cause(node: Node) -> None:
    for _ in range(3):
        assert node.emit("update_status").name == "active"
        reset(node)
    status = node.emit("update_status")
    assert status.name == "blocked"
    assert "it was set 3 times in this boot, and something sets it back" in node.findings()
    assert "lldpad, dcbtool, mlnx_qos" in node.findings()
    assert nic(node.writes) == []
    node.emit("update_status")
    assert node.writes == []


def test_the_command_in_the_status_sets_it_again(node: Node) -> None:
    for _ in range(3):
        node.emit("update_status")
        reset(node)
    node.emit("update_status")
    assert f"systemctl restart {files.AGAIN}" in node.findings()
    node.host.start(files.AGAIN)
    assert node.host.port(P0).dcb.pfc == (3,)
    assert node.emit("update_status").name == "active"


def test_another_value_of_the_option_is_set(node: Node) -> None:
    for _ in range(4):
        node.emit("update_status")
        reset(node)
    assert node.configure(pfc_priorities="3 4").emit().name == "active"
    assert node.host.port(P0).dcb.pfc == (3, 4)


def test_options_that_change_often_are_set_each_time(node: Node) -> None:
    for share in range(40, 60, 2):
        assert node.configure(ets=f"0:{share} 3:{100 - share} 6:strict").emit().name == "active"
        ets = node.host.port(P0).dcb.ets
        assert ets.bandwidth[0] == share


def test_what_is_set_anew_now_and_then_is_never_given_up(node: Node) -> None:
    """A driver that is loaded anew once a day, for example."""
    for _ in range(5):
        assert node.emit("update_status").name == "active"
        node.host.sleep(86400.0)
        reset(node)
    assert node.emit("update_status").name == "active"


def test_auto_leaves_other_makers_nics_alone_beside_a_connectx(monkeypatch: pytest.MonkeyPatch) -> None:
    node = mixed(monkeypatch)
    for name in (P0, P1):
        node.host.port(name).dcb.firmware_agent = True
        node.host.port(name).dcb.driver_restarts()
    assert node.emit().name == "active", node.log
    assert [node.host.port(name).dcb.pfc for name in OTHER] == [(3,), (3,)]
    assert f"auto leaves NICs of other makers alone beside a ConnectX: {P0}, {P1}" in node.findings()
    assert not [line for line in nic(node.writes) if P0 in line or P1 in line]


def test_a_named_nic_that_refuses_stops_no_other_nic(monkeypatch: pytest.MonkeyPatch) -> None:
    """ice takes no settings for a port in a bond (from kernel 6.6 on)."""
    node = mixed(monkeypatch)
    for name in (P0, P1):
        node.host.port(name).dcb.refuses = True
    status = node.configure(devices=f"{P0} {P1} {' '.join(OTHER)}").emit()
    assert status.name == "blocked"
    assert f"the driver of {P0} refused" in node.log
    assert [node.host.port(name).dcb.pfc for name in OTHER] == [(3,), (3,)]
    assert "ice takes no settings for a port in a bond, from kernel 6.6 on" in node.findings()


def test_at_boot_a_nic_that_refuses_stops_no_other_nic(monkeypatch: pytest.MonkeyPatch) -> None:
    node = mixed(monkeypatch)
    node.configure(devices=f"{P0} {P1} {' '.join(OTHER)}").emit()
    for name in (P0, P1):
        node.host.port(name).dcb.refuses = True
    node.host.reboot()
    assert [node.host.port(name).dcb.pfc for name in OTHER] == [(3,), (3,)]


def test_a_tos_of_the_tunnels_that_was_there_before_stays_and_is_named(node: Node) -> None:
    node.host.ovs.external_ids["ovn-encap-tos"] = "184"
    for _ in range(2):
        assert node.emit().name == "active"
        assert node.host.ovs.external_ids["ovn-encap-tos"] == "184"
    assert "is 184, which this charm did not set, and stays so" in node.findings()
    assert "juju config roce-qos ovn-encap-tos=184" in node.findings()
    node.configure(ovn_encap_tos="46").emit()
    assert node.host.ovs.external_ids["ovn-encap-tos"] == "46"


def test_a_tos_of_the_tunnels_that_the_charm_has_set_is_set_again(node: Node) -> None:
    node.configure(ovn_encap_tos="46").emit()
    node.configure(ovn_encap_tos="inherit").emit()
    assert node.host.ovs.external_ids["ovn-encap-tos"] == "inherit"
    node.host.ovs.external_ids["ovn-encap-tos"] = "184"
    node.emit("update_status")
    assert node.host.ovs.external_ids["ovn-encap-tos"] == "inherit"
