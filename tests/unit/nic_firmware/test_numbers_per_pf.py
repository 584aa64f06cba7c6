# SPDX-License-Identifier: Apache-2.0
"""Numbers of VFs for each PF, which void NUM_OF_VFS."""

from lab.modelled import FakeHost
from unit.nic_firmware.node import PF0, PF1, Node, rdg


def one_number_per_pf(host: FakeHost, own: int) -> None:
    """A NIC whose former owner gave each PF its own number of VFs, which voids NUM_OF_VFS."""
    for port in host.network.ports():
        firmware = port.firmware
        firmware.per_pf = firmware.next_per_pf = True
        firmware.pf_num_of_vf = firmware.next_pf_num_of_vf = port.total_vfs = own


def test_numbers_per_pf_are_switched_off_since_they_void_num_of_vfs(node: Node) -> None:
    rdg(node.host)
    one_number_per_pf(node.host, 4)
    node.deploy(reboot_policy="always", reboot_settle=0)
    assert node.reboots_asked == 1
    assert node.boot().name == "active"
    assert [port.total_vfs for port in node.host.network.ports()] == [8, 8]
    assert not any(port.firmware.per_pf for port in node.host.network.ports())
    node.emit("update_status")
    assert node.writes == []


def test_numbers_per_pf_are_switched_off_in_the_same_call_that_sets_num_of_vfs(node: Node) -> None:
    one_number_per_pf(node.host, 0)
    node.hand_over("sriov-switchdev", vfs={PF1: 6})
    node.configure(profile="").emit()
    words = "SRIOV_EN=1 NUM_OF_VFS=6 PF_NUM_OF_VF_VALID=0"
    assert node.mst() == [f"run mstconfig -d {PF0} -y set {words}"]


def test_numbers_per_pf_stay_if_the_operator_asks_for_enough_of_them(node: Node) -> None:
    node.converge(parameters="PF_NUM_OF_VF_VALID=1 PF_NUM_OF_VF=16")
    assert [port.total_vfs for port in node.host.network.ports()] == [16, 16]
    assert node.emit().name == "active"
    assert node.writes == []


def test_firmware_without_numbers_per_pf_is_right_without_them(node: Node) -> None:
    node.host.cards[0].lacks.add("PF_NUM_OF_VF_VALID")
    assert node.converge().name == "active"
    assert node.findings() == "No finding: everything is as declared."
