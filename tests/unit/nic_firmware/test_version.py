# SPDX-License-Identifier: Apache-2.0
"""The workload version is the firmware that the NICs run."""

from hostnic.system import CommandError
from lab.modelled.nic.model import card
from unit.nic_firmware.node import Node


def test_the_version_is_the_firmware_of_the_nics(node: Node, versions: list[str]) -> None:
    node.host.cards[0].version = "22.39.1002"
    node.set_up()
    assert node.state.workload_version == "22.39.1002"
    node.emit("update_status")
    assert versions == ["22.39.1002"]


def test_nics_with_different_firmware_are_all_named(node: Node) -> None:
    node.host.cards.append(card("af"))
    node.host.cards[0].version, node.host.cards[1].version = "22.41.1000", "22.39.1002"
    node.set_up()
    assert node.state.workload_version == "22.39.1002, 22.41.1000"


def test_a_nic_that_does_not_tell_leaves_the_last_version(node: Node, versions: list[str]) -> None:
    node.set_up()
    known = node.state.workload_version
    node.host.fail("device_info", "", CommandError(["devlink"], "gone"), times=None)
    node.emit("update_status")
    assert node.state.workload_version == known
    assert len(versions) == 1
