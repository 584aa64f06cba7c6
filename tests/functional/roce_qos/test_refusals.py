# SPDX-License-Identifier: Apache-2.0
"""Every way in which the virtual card refuses data centre bridging, on a real kernel."""

import pytest
from functional.roce_qos.node import (
    NO_BUFFER_NO_MAXRATE,
    NO_OPS,
    P0,
    P1,
    PF0,
    PF1,
    REFUSE,
    Node,
    is_lossless,
    ports,
)
from lab.guest import Guest

IN_THE_BOND = "until grep -q 'Number of ports: {}' /proc/net/bonding/bond0; do sleep 0.2; done"


def test_a_port_that_refuses_is_named_with_the_setting_and_nothing_is_cut(node: Node) -> None:
    node.fault(PF0, REFUSE)
    result = node.hook("config_changed")
    assert result.status[0] == "blocked"
    logs = " ".join(message for _, message in result.logs)
    assert f"the driver of {P0} refused: ETS: Invalid argument" in logs
    assert node.reachable()
    node.fault(PF0, 0)
    assert node.hook().status == ("active", "")
    assert is_lossless(node.state())


@pytest.mark.thorough
def test_a_port_without_the_operations_is_passed_over_and_blocks_when_named(node: Node) -> None:
    node.fault(PF1, NO_OPS)
    assert node.hook("config_changed").status[0] == "active"
    result = node.configure(devices="bond0")
    assert result.status[0] == "blocked"
    assert f"{P1}: driver mlx5_core has no data centre bridging" in result.status[1]
    assert ports(result.writes) == []


@pytest.mark.thorough
def test_missing_buffers_and_rates_are_no_matter(node: Node) -> None:
    node.fault(PF0, NO_BUFFER_NO_MAXRATE)
    node.fault(PF1, NO_BUFFER_NO_MAXRATE)
    assert node.hook("config_changed").status == ("active", "")
    assert is_lossless(node.state())


def test_dcbx_in_the_firmwares_hands_blocks_and_is_taken_over_when_allowed(
    machine: Guest, node: Node
) -> None:
    set_dcbx = (
        "from hostnic.netlink.dcbnl import DcbClient; client = DcbClient(); "
        f"[client.set_dcbx(port, 0) for port in ('{P0}', '{P1}')]"
    )
    machine.run(f'env PYTHONPATH=/opt/ovn-offload/lib:/opt/site-packages python3 -c "{set_dcbx}"')
    result = node.hook("config_changed")
    assert result.status[0] == "blocked"
    assert "the firmware controls data centre bridging (DCBX mode cee ieee)" in node.findings()
    assert ports(result.writes) == []
    result = node.configure(dcbx_takeover=True)
    assert result.status == ("active", ""), result.logs
    for port in (P0, P1):  # before what the port's driver takes from the host only
        first, *_ = (line for line in ports(result.writes) if f" {port} " in line)
        assert first == f"set_dcbx {port} host cee ieee"
    assert is_lossless(node.state())


@pytest.mark.thorough
@pytest.mark.parametrize(("dark", "lit", "bdf"), [(P0, P1, PF0), (P1, P0, PF1)])
def test_the_only_port_that_carries_is_left_alone(
    machine: Guest, node: Node, dark: str, lit: str, bdf: str
) -> None:
    machine.run(f"echo Y > /sys/kernel/debug/vcx/{bdf}/fault_link_down")
    machine.run(f"until grep -q 0 /sys/class/net/{dark}/carrier; do sleep 0.2; done; {IN_THE_BOND.format(1)}")
    result = node.hook("config_changed")
    assert result.status[0] == "blocked"
    assert f"set_dcb {dark} pfc 3" in result.writes
    assert f"set_dcb {lit} pfc 3" not in result.writes
    assert f"bring up {dark}" in node.findings()
    assert node.reachable()
    machine.run(f"echo N > /sys/kernel/debug/vcx/{bdf}/fault_link_down; {IN_THE_BOND.format(2)}")
    assert node.hook().status == ("active", "")
    assert is_lossless(node.state())
