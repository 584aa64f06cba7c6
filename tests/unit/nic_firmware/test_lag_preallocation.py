# SPDX-License-Identifier: Apache-2.0
"""Resources that the firmware keeps for a LAG, with which VF-LAG returns while VFs are in use."""

from hostnic.devices import lag
from hostnic.ops.bonding import JoinBond, LeaveBond
from lab.modelled import FakeHost, states
from unit.nic_firmware.node import PF0, Node


def lost_and_back(host: FakeHost) -> bool | None:
    """Whether the NIC has a VF-LAG after a port left its bond and came back, while VFs are bound."""
    states.converged(host)
    assert lag.read(host, PF0).vf_lag is True
    LeaveBond("enp59s0f1np1").run(host)
    host.sleep(2.0)
    assert lag.read(host, PF0).vf_lag is False
    JoinBond("enp59s0f1np1", "bond0").run(host)
    host.sleep(2.0)
    return lag.read(host, PF0).vf_lag


def test_vf_lag_returns_with_vfs_in_use_once_the_profile_is_current(node: Node) -> None:
    node.converge()
    assert lost_and_back(node.host) is True


def test_vf_lag_stays_lost_with_vfs_in_use_if_the_option_keeps_the_default(node: Node) -> None:
    node.converge(parameters="LAG_RESOURCE_ALLOCATION=DEVICE_DEFAULT")
    assert lost_and_back(node.host) is False


def test_firmware_without_lag_preallocation_gives_no_finding(node: Node) -> None:
    node.host.cards[0].lacks.add("LAG_RESOURCE_ALLOCATION")
    del node.host.cards[0].settings["LAG_RESOURCE_ALLOCATION"]
    assert node.converge().name == "active"
    assert node.findings() == "No finding: everything is as declared."


def test_lag_preallocation_in_the_option_is_missed_on_a_nic_without_it(node: Node) -> None:
    node.host.cards[0].lacks.add("LAG_RESOURCE_ALLOCATION")
    del node.host.cards[0].settings["LAG_RESOURCE_ALLOCATION"]
    assert node.configure(parameters="LAG_RESOURCE_ALLOCATION=1").emit().name == "blocked"
    assert "does not offer LAG_RESOURCE_ALLOCATION (option parameters)" in node.findings()
