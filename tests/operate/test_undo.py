# SPDX-License-Identifier: Apache-2.0
"""undo: everything back, for a whole model and for a node that leaves, in a simulated Juju and Nova."""

import pytest
from converge import StepError
from lab.juju.leaving import BEFORE, DECLARED, Leaving
from lab.openstack.operator import world_in
from operate.emptied import NODE1, NODE2, NODE3, Cloud

HOSTS = (NODE1, NODE2, NODE3)
WITH_VFS = {**BEFORE, "SRIOV_EN": 1, "NUM_OF_VFS": 8}
ORDER = [
    "config ovn-chassis",
    "remove sriov-switchdev",
    "remove roce-qos",
    *(f"restore {host}" for host in HOSTS),
    "remove nic-firmware",
    "remove cumulus-fabric",
]


@pytest.fixture
def cloud(tmp_path):
    with world_in(tmp_path, "2024.1") as world:
        yield Cloud(world, Leaving)


def applications(cloud):
    return sorted(cloud.nodes.model_status["applications"])


def numvfs(cloud):
    return cloud.nodes.known["models"]["c:m"]["config"]["ovn-chassis"]["sriov-numvfs"]


# The whole model.


def test_the_plan_lists_what_would_be_undone_in_order_and_writes_nothing(cloud, capsys):
    status, said = cloud.typed(capsys, "undo")
    assert status == 0
    steps = [line.split("  ")[1].strip() for line in said.splitlines() if line[:1].isdigit()]
    assert steps == [
        "set sriov-numvfs=enp59s0f0np0:8 of ovn-chassis",
        "remove application sriov-switchdev",
        "remove application roce-qos",
        *(f"restore the firmware of node{number}" for number in (1, 2, 3)),
        "remove application nic-firmware",
        "remove application cumulus-fabric",
    ]
    assert (cloud.nodes.done, cloud.world.writes()) == ([], [])


def test_what_no_step_touches_is_named(cloud, capsys):
    cloud.nodes.flash[NODE1] = "22.35.2000"
    said = cloud.typed(capsys, "undo")[1]
    assert "its flash had 22.35.2000 before the first burn" in said
    assert "switches" in said
    assert "MAAS" in said


def test_everything_goes_back_in_that_order_and_upstreams_charms_stay(cloud, capsys):
    assert cloud.typed(capsys, "undo", "--apply")[0] == 0
    assert cloud.nodes.done == ORDER
    assert applications(cloud) == ["nova-compute", "ovn-chassis"]
    assert numvfs(cloud) == "enp59s0f0np0:8"
    assert cloud.nodes.next_boot == dict.fromkeys(HOSTS, WITH_VFS), "the VFs that stay need two of them"


def test_a_second_run_does_nothing(cloud, capsys):
    cloud.typed(capsys, "undo", "--apply")
    cloud.nodes.done.clear()
    status, said = cloud.typed(capsys, "undo", "--apply")
    assert (status, cloud.nodes.done) == (0, [])
    assert "Nothing to undo: the model has no charm of this project." in said


@pytest.mark.parametrize("lost", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("write", range(1, len(ORDER) + 1))
def test_an_undo_that_breaks_off_at_a_write_is_led_on_by_the_next_one(cloud, capsys, write, lost):
    cloud.nodes.breaks, cloud.nodes.loses = write, lost
    with pytest.raises(KeyboardInterrupt):
        cloud.typed(capsys, "undo", "--apply")
    assert cloud.nodes.done == ORDER[: write - (0 if lost else 1)]
    cloud.nodes.breaks = None
    assert cloud.typed(capsys, "undo", "--apply")[0] == 0
    assert list(dict.fromkeys(cloud.nodes.done)) == ORDER
    assert applications(cloud) == ["nova-compute", "ovn-chassis"]
    assert (numvfs(cloud), cloud.nodes.next_boot) == ("enp59s0f0np0:8", dict.fromkeys(HOSTS, WITH_VFS))


def test_ports_that_ovn_chassis_has_already_stay_its_own(cloud, capsys):
    cloud.nodes.known["models"]["c:m"]["config"]["ovn-chassis"]["sriov-numvfs"] = "eno1:4"
    cloud.typed(capsys, "undo", "--apply")
    assert numvfs(cloud) == "eno1:4 enp59s0f0np0:8"


@pytest.mark.parametrize("value", ["auto", "16", None])
def test_an_option_that_is_for_all_ports_is_left_as_it_is(cloud, capsys, value):
    cloud.nodes.known["models"]["c:m"]["config"]["ovn-chassis"]["sriov-numvfs"] = value
    cloud.typed(capsys, "undo", "--apply")
    assert numvfs(cloud) == value
    assert cloud.nodes.done == ORDER[1:]


def test_hosts_with_other_numbers_of_vfs_block_it_since_the_option_has_one_number(cloud, capsys):
    cloud.nodes.vfs[NODE2] = 16
    status, said = cloud.typed(capsys, "undo", "--apply")
    assert (status, cloud.nodes.done) == (1, [])
    assert "hosts have 8 and 16 VFs on enp59s0f0np0" in said


def test_a_lost_agent_holds_every_removal_since_its_files_would_stay(cloud, capsys):
    units = cloud.nodes.model_status["applications"]["nova-compute"]["units"]
    units["nova-compute/1"]["subordinates"]["sriov-switchdev/1"] = {"juju-status": {"current": "lost"}}
    status, said = cloud.typed(capsys, "undo", "--apply")
    assert (status, cloud.nodes.done) == (1, [])
    assert "the agent of sriov-switchdev/1 is lost" in said
    assert "bring that machine back; see: juju status sriov-switchdev/1" in said


def test_vfs_that_nothing_would_create_hold_it(cloud, capsys):
    for unit in cloud.nodes.model_status["applications"]["nova-compute"]["units"].values():
        unit["subordinates"] = {
            name: it for name, it in unit["subordinates"].items() if "chassis" not in name
        }
    status, said = cloud.typed(capsys, "undo", "--apply")
    assert (status, cloud.nodes.done) == (1, [])
    assert "no ovn-chassis on node1, node2, node3 would create its VFs at the next boot" in said
    assert "add --without-vfs" in said


def test_without_vfs_an_instance_that_has_one_holds_it_with_the_command_that_moves_it(cloud, capsys):
    status, said = cloud.typed(capsys, "undo", "--without-vfs", "--apply")
    assert (status, cloud.nodes.done) == (1, [])
    assert "database on node1.maas has a VF, and would have none after the next boot" in said
    assert "pipx run tox -e juju -- drain node1 --cloud rdg --keep --apply" in said


def test_without_vfs_and_without_such_an_instance_all_of_the_firmware_goes_back(cloud, capsys):
    del cloud.nova.servers["database"]
    assert cloud.typed(capsys, "undo", "--without-vfs", "--apply")[0] == 0
    assert cloud.nodes.done == ORDER[1:]
    assert numvfs(cloud) == "none:0"
    assert cloud.nodes.next_boot == dict.fromkeys(HOSTS, BEFORE)


def test_units_that_do_not_go_end_it_with_their_names(cloud, capsys):
    cloud.nodes.slow = 10**6
    status, said = cloud.typed(capsys, "undo", "--apply", "--wait", "5")
    assert status == 1
    assert "sriov-switchdev still has sriov-switchdev/0, sriov-switchdev/1, sriov-switchdev/2" in said
    assert "see: juju status sriov-switchdev; then run this again" in said


def test_a_value_that_the_charm_left_out_is_told(cloud, capsys, monkeypatch):
    restore = cloud.nodes._restore
    left = {"done": "set", "left-out": "LINK_TYPE_P1=1 would take Ethernet from a port"}
    monkeypatch.setattr(cloud.nodes, "_restore", lambda *words: restore(*words) and {"results": left})
    said = cloud.typed(capsys, "undo", "--apply")[1]
    assert "nic-firmware/0 has left out: LINK_TYPE_P1=1 would take Ethernet from a port" in said


# A node.


def test_a_node_that_leaves_is_emptied_and_gets_its_firmware_back(cloud, capsys):
    assert cloud.typed(capsys, "undo", "node1", "--apply")[0] == 0
    assert cloud.where() == {"database": NODE2, "web": NODE2, "spare": NODE1}
    assert cloud.nova.disabled[NODE1].startswith("ovn-offload: kept empty")
    assert cloud.nodes.done == [f"restore {NODE1}"]
    assert cloud.nodes.next_boot == {NODE1: BEFORE, NODE2: DECLARED, NODE3: DECLARED}
    assert (cloud.nodes.approved, len(applications(cloud))) == ([], 6)


def test_its_plan_ends_with_the_command_that_takes_it_out_of_the_model(cloud, capsys):
    said = cloud.typed(capsys, "undo", "node1")[1]
    assert "restore the firmware of node1" in said
    assert "juju remove-unit nova-compute/0" in said
    assert (cloud.nodes.done, cloud.world.writes()) == ([], [])


def test_a_second_run_for_the_node_does_nothing(cloud, capsys):
    cloud.typed(capsys, "undo", "node1", "--apply")
    cloud.nodes.done.clear()
    cloud.world.writes()
    assert cloud.typed(capsys, "undo", "node1", "--apply")[0] == 0
    assert (cloud.nodes.done, cloud.world.writes()) == ([], [])


def test_an_instance_that_cannot_move_holds_the_firmware_of_the_node(cloud, capsys):
    cloud.add("broken", NODE1, status="RESCUE")
    status, said = cloud.typed(capsys, "undo", "node1", "--apply")
    assert (status, cloud.nodes.done) == (1, [])
    assert "broken runs there, and Nova does not move it" in said


def test_several_nodes_are_taken_one_after_the_other_and_the_first_that_fails_ends_it(cloud, capsys):
    cloud.add("broken", NODE2, status="RESCUE")
    assert cloud.typed(capsys, "undo", "node3", "node2", "node1", "--apply")[0] == 1
    assert cloud.nodes.done == [f"restore {NODE3}"]


def test_a_node_that_does_not_answer_is_left_as_it_is(cloud, capsys):
    cloud.nodes.away[NODE1] = 10**6
    status, said = cloud.typed(capsys, "undo", "node1", "--apply")
    assert (status, cloud.nodes.done, cloud.world.writes()) == (1, [], [])
    assert "its host may be down" in said


def test_the_option_for_the_whole_model_is_refused_for_a_node(cloud, capsys):
    with pytest.raises(StepError, match="--without-vfs is for the whole model"):
        cloud.typed(capsys, "undo", "node1", "--without-vfs")
