# SPDX-License-Identifier: Apache-2.0
"""A wrong option in the middle of a rolling reboot: the lock is given back, and approvals are kept."""

from dataclasses import replace

import pytest
from charmkit.reboot.databag import KEY, decode_cluster, decode_unit, encode
from charmkit.reboot.state import Cluster, Slot, UnitState
from ops import testing
from unit.sriov_switchdev.node import Node, nic

WRONG = "option num-vfs: 0 is not allowed"


def published(node: Node) -> UnitState:
    return decode_unit(node.state.get_relation(node.peer.id).local_unit_data.get(KEY))


def relate(node: Node, cluster: Cluster, *, leader: bool) -> None:
    """Have the leader publish ``cluster``."""
    peers = node.state.get_relation(node.peer.id)
    assert isinstance(peers, testing.PeerRelation)
    told = replace(peers, local_app_data={KEY: encode(cluster)})
    node.state = replace(node.state, leader=leader, relations={*node.state.relations - {peers}, told})


@pytest.fixture
def holder(node: Node) -> Node:
    """A unit that needs a reboot, is approved, and gets the lock together with a wrong option."""
    node.deploy()
    own = published(node)
    assert own.reasons
    peers = node.state.get_relation(node.peer.id)
    approved = encode(own._replace(approved=own.reasons))
    told = replace(peers, local_unit_data={KEY: approved})
    node.state = replace(node.state, relations={*node.state.relations - {peers}, told})
    relate(node, Cluster(grant=4, held={"sriov-switchdev/0": Slot(4, 1)}), leader=False)
    node.configure(num_vfs=0)
    return node


def test_the_holder_gives_the_lock_back_and_does_not_reboot(holder: Node) -> None:
    status = holder.emit()
    assert status.name == "blocked"
    assert status.message.startswith(WRONG)
    assert published(holder).released == 4
    assert holder.reboots_asked == 0
    assert nic(holder.writes) == []


def test_what_the_operator_approved_is_still_approved_when_the_option_is_right_again(holder: Node) -> None:
    holder.emit()
    assert f"waits for {WRONG}" in holder.log
    relate(holder, Cluster(grant=5, held={"sriov-switchdev/0": Slot(5, 1)}), leader=False)
    holder.configure(num_vfs=8).emit()
    assert holder.reboots_asked == 1


def test_the_leader_takes_back_a_lock_even_if_its_own_options_are_wrong(node: Node) -> None:
    node.deploy()
    relate(node, Cluster(grant=4, held={"sriov-switchdev/1": Slot(4, 1)}), leader=True)
    peers = node.state.get_relation(node.peer.id)
    assert isinstance(peers, testing.PeerRelation)
    other = UnitState(boot_id="b", settled=True, released=4)
    told = replace(peers, peers_data={1: {KEY: encode(other)}})
    node.state = replace(node.state, relations={*node.state.relations - {peers}, told})
    node.configure(num_vfs=0).emit()
    after = node.state.get_relation(node.peer.id)
    assert decode_cluster(after.local_app_data[KEY]).holder == ""


def test_a_unit_whose_option_is_wrong_after_its_boot_gives_its_lock_back(node: Node) -> None:
    node.deploy(reboot_policy="always", reboot_settle=0)
    assert node.reboots_asked == 1
    lock = decode_cluster(node.state.get_relation(node.peer.id).local_app_data[KEY])
    assert lock.holder == "sriov-switchdev/0"
    node.configure(num_vfs=0)
    assert node.boot().message.startswith(WRONG)
    assert "reboot: rebooted; the host settles for another 5 min" in node.log
    node.host.sleep(300)
    assert node.emit().message.startswith(WRONG)
    assert published(node).settled
    assert published(node).released == lock.grant
    assert published(node).still_needed == ()
    assert node.configure(num_vfs=8).emit().name == "active"
    assert node.reboots_asked == 1
