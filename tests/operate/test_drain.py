# SPDX-License-Identifier: Apache-2.0
"""drain and roll: nodes are emptied, rebooted and taken into use again, in a simulated Nova and Juju."""

import pytest
from converge import StepError
from drain import rolling
from drain.compute import KEPT, Service
from drain.rolling import Turn
from lab.openstack.operator import world_in
from operate.computes import Place
from operate.emptied import NODE1, NODE2, NODE3, Cloud


@pytest.fixture
def cloud(tmp_path):
    with world_in(tmp_path, "2024.1") as world:
        yield Cloud(world)


def test_the_plan_names_each_step_and_writes_nothing(cloud, capsys):
    status, said = cloud.typed(capsys, "drain", "node1")
    assert status == 0
    steps = [line.split("  ")[1].strip() for line in said.splitlines() if line[:1].isdigit()]
    assert steps == [
        "disable Nova's service on node1.maas",
        "move database cold",
        "move web live",
        "approve the reboot of node1",
        "wait until node1 is back and verified",
        "enable Nova's service on node1.maas",
    ]
    assert (cloud.world.writes(), cloud.nodes.approved) == ([], [])


def test_a_node_is_emptied_before_it_reboots_and_used_again_after_it(cloud, capsys):
    assert cloud.typed(capsys, "drain", "node1", "--apply")[0] == 0
    assert cloud.nova.moving.begun == [("database", "cold"), ("web", "live")]
    assert cloud.nova.moving.confirmed == ["database"]
    assert (cloud.nodes.approved, cloud.nodes.stopped, cloud.nova.disabled) == ([NODE1], [], {})


def test_a_second_run_changes_nothing(cloud, capsys):
    cloud.typed(capsys, "drain", "node1", "--apply")
    cloud.world.writes()
    status, said = cloud.typed(capsys, "drain", "node1", "--apply")
    assert (status, cloud.world.writes()) == (0, [])
    assert "asks for no reboot" in said


@pytest.mark.parametrize("lost", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("writes", [1, 2, 3, 4, 5])
def test_a_run_that_breaks_off_at_a_write_is_led_on_by_the_next_one(cloud, capsys, writes, lost):
    cloud.world.openstack.breaks, cloud.world.openstack.loses = writes, lost
    assert cloud.typed(capsys, "drain", "node1", "--apply")[0] == 1
    cloud.world.openstack.breaks = None
    assert cloud.typed(capsys, "drain", "node1", "--apply")[0] == 0
    assert (cloud.nodes.stopped, cloud.nova.disabled, cloud.nodes.needing) == ([], {}, set())
    assert (cloud.nodes.approved, cloud.nova.moving.confirmed) == ([NODE1], ["database"])


@pytest.mark.parametrize("nap", [1, 2, 3, 4])
def test_an_interruption_while_it_waits_is_led_on_by_the_next_run(cloud, capsys, monkeypatch, nap):
    cloud.nova.moving.looks, cloud.nodes.looks = 2, 2
    naps = iter(range(1, 100))

    def sleep(seconds):
        cloud.clock.now += seconds
        if next(naps) == nap:
            raise KeyboardInterrupt

    monkeypatch.setattr(cloud.clock, "sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        cloud.typed(capsys, "drain", "node1", "--apply")
    for _ in range(3):  # an instance on its way has to arrive first
        status, _ = cloud.typed(capsys, "drain", "node1", "--apply")
        for server in cloud.nova.servers.values():
            cloud.nova.moving.advance(server)
        if status == 0:
            break
    assert (cloud.nodes.stopped, cloud.nova.disabled, cloud.nodes.needing) == ([], {}, set())
    assert cloud.nodes.approved == [NODE1]


def test_a_confirmation_that_nova_has_not_ended_yet_is_waited_for_and_not_repeated(
    cloud, capsys, monkeypatch
):
    cloud.nova.moving.ending = 3

    def sleep(seconds):
        cloud.clock.now += seconds
        if cloud.nova.moving.confirmed:
            raise KeyboardInterrupt

    monkeypatch.setattr(cloud.clock, "sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        cloud.typed(capsys, "drain", "node1", "--apply")
    (confirming,) = [each for each in cloud.nova.moving.migrations if each["status"] == "confirming"]
    assert confirming["instance_uuid"] == "database"
    monkeypatch.undo()
    status, said = cloud.typed(capsys, "drain", "node1", "--apply")
    assert status == 0, said
    assert said.rindex("confirm the move of database") < said.rindex("approve the reboot of node1")
    assert (confirming["status"], cloud.nova.moving.confirmed) == ("confirmed", ["database"])


def test_an_instance_that_cannot_move_holds_the_reboot_and_is_named_with_its_project(cloud, capsys):
    cloud.add("broken", NODE1, status="RESCUE")
    status, said = cloud.typed(capsys, "drain", "node1", "--apply")
    assert status == 1
    assert "its state is RESCUE; its project is project-of-broken" in said
    assert "broken would stop: Nova cannot move it" in said
    assert (cloud.nodes.approved, cloud.nodes.stopped) == ([], [])
    assert cloud.where() == {"database": NODE2, "web": NODE2, "spare": NODE1, "broken": NODE1}


def test_it_stops_for_the_reboot_only_if_the_operator_says_so(cloud, capsys):
    cloud.add("broken", NODE1, status="RESCUE")
    assert cloud.typed(capsys, "drain", "node1", "--apply", "--stop-instances")[0] == 0
    assert (cloud.nodes.approved, cloud.nova.disabled) == ([NODE1], {})


def test_an_instance_that_comes_while_the_node_is_emptied_holds_the_reboot(cloud, capsys):
    moving = cloud.nova.moving
    confirm, moving._confirm = moving._confirm, lambda *words: (cloud.add("new", NODE1), confirm(*words))
    status, said = cloud.typed(capsys, "drain", "node1", "--apply")
    assert status == 1
    assert "new runs on node1.maas" in said
    assert cloud.nodes.approved == []


def test_a_service_that_somebody_else_disabled_stays_disabled(cloud, capsys):
    cloud.nova.disabled[NODE1] = "bad memory, ask Eve"
    assert cloud.typed(capsys, "drain", "node1", "--apply")[0] == 0
    assert cloud.nova.disabled == {NODE1: "bad memory, ask Eve"}
    assert cloud.nodes.approved == [NODE1]


def test_so_does_one_that_is_disabled_anew_during_the_reboot(cloud, capsys):
    approve = cloud.nodes._approve

    def while_it_reboots(unit):
        cloud.nova.disabled[NODE1] = "bad memory, ask Eve"
        return approve(unit)

    cloud.nodes._approve = while_it_reboots
    status, said = cloud.typed(capsys, "drain", "node1", "--apply")
    assert status == 1
    assert "somebody else disabled Nova's service on node1.maas: bad memory, ask Eve" in said


def test_a_resize_of_an_owner_is_left_to_the_owner(cloud, capsys):
    cloud.add("resized", NODE2, status="VERIFY_RESIZE")
    theirs = {"instance_uuid": "resized", "source_compute": NODE1, "status": "finished", "user_id": "eve"}
    cloud.nova.moving.migrations.append({**theirs, "id": 99, "migration_type": "migration"})
    assert cloud.typed(capsys, "drain", "node1", "--apply")[0] == 0
    assert cloud.nova.moving.confirmed == ["database"]


@pytest.mark.parametrize(
    ("name", "words"),
    [("web", "No valid host was found"), ("database", "Nova left database where it was")],
    ids=["live", "cold"],
)
def test_an_instance_for_which_there_is_no_room_ends_the_run(cloud, capsys, name, words):
    del cloud.nova.servers[{"web": "database", "database": "web"}[name]]
    cloud.nova.moving.full = {NODE2, NODE3}
    status, said = cloud.typed(capsys, "drain", "node1", "--apply")
    assert status == 1
    assert words in said
    assert (cloud.nodes.approved, [*cloud.nova.disabled]) == ([], [NODE1])


def test_a_node_that_comes_back_with_a_fault_stays_out_of_use(cloud, capsys):
    cloud.nodes.ill = {NODE1}
    status, said = cloud.typed(capsys, "drain", "node1", "--apply")
    assert status == 1
    assert "sriov-switchdev/0 is back, and verify finds bond0: no VF-LAG" in said
    assert [*cloud.nova.disabled] == [NODE1]
    cloud.nodes.ill = set()
    assert cloud.typed(capsys, "drain", "node1", "--apply")[0] == 0
    assert (cloud.nova.disabled, cloud.nodes.approved) == ({}, [NODE1])


def test_one_that_does_not_come_back_in_time_does_too(cloud, capsys):
    cloud.nodes.looks = 10**6
    status, said = cloud.typed(capsys, "drain", "node1", "--apply", "--wait", "5")
    assert status == 1
    assert "node1 is not back and verified after 5 min: its agent does not answer" in said
    assert [*cloud.nova.disabled] == [NODE1]


def test_a_charm_that_refuses_the_approval_is_quoted(cloud, capsys):
    cloud.nodes.refuses = "parameter unit: unknown"
    status, said = cloud.typed(capsys, "drain", "node1", "--apply")
    assert status == 1
    assert "parameter unit: unknown" in said


def test_a_node_can_be_kept_empty_for_other_work_and_taken_into_use_later(cloud, capsys):
    assert cloud.typed(capsys, "drain", "node1", "--apply", "--keep")[0] == 0
    assert cloud.nova.disabled[NODE1].startswith(KEPT)
    assert cloud.nodes.approved == []
    cloud.nodes.needing = set()
    assert "no node asks for a reboot" in cloud.typed(capsys, "roll", "--apply")[1]
    assert cloud.typed(capsys, "drain", "node1", "--apply")[0] == 0
    assert cloud.nova.disabled == {}


@pytest.mark.parametrize(
    ("name", "said"), [("node9", "is no node with charms of this project; nodes: node1, node2, node3")]
)
def test_a_name_that_fits_no_node_is_refused_with_those_that_there_are(cloud, capsys, name, said):
    with pytest.raises(StepError, match=said):
        cloud.typed(capsys, "drain", name)


@pytest.mark.parametrize("name", ["0", "node1.maas", "sriov-switchdev/0"])
def test_a_node_has_several_names(cloud, capsys, name):
    assert "disable Nova's service on node1.maas" in cloud.typed(capsys, "drain", name)[1]


def test_a_node_whose_agent_is_lost_is_not_emptied(cloud, capsys):
    cloud.nodes.away[NODE1] = 10**6
    status, said = cloud.typed(capsys, "drain", "node1", "--apply")
    assert status == 1
    assert "its host may be down" in said
    assert cloud.world.writes() == []


def test_an_agent_that_is_lost_is_given_no_action(cloud, capsys):
    status = cloud.nodes.known["models"]["c:m"]["status"]
    beside = status["applications"]["nova-compute"]["units"]["nova-compute/0"]["subordinates"]
    beside["sriov-switchdev/0"]["juju-status"] = {"current": "lost"}
    assert "sriov-switchdev/0 runs no action" in cloud.typed(capsys, "drain", "node1")[1]
    assert not any("sriov-switchdev/0" in call for call in cloud.nodes.known["calls"])


def test_a_node_is_back_once_its_other_units_verify_too(cloud, capsys):
    act = cloud.nodes.act

    def unfinished(unit, action, given):
        said = act(unit, action, given)
        begun = cloud.nodes.approved and cloud.clock.now < 900
        if (unit, action) == ("nic-firmware/0", "verify") and begun:
            said["results"]["verified"] = "false"
        return said

    cloud.nodes.act = unfinished
    assert cloud.typed(capsys, "drain", "node1", "--apply")[0] == 0
    assert cloud.clock.now >= 900


def test_roll_takes_all_nodes_in_turn_the_empty_ones_first_and_tells_the_time_left(cloud, capsys):
    cloud.add("other", NODE2)
    cloud.nodes.needing = {NODE1, NODE2, NODE3}
    status, said = cloud.typed(capsys, "roll", "--apply")
    assert status == 0
    assert cloud.nodes.approved == [NODE3, NODE2, NODE1]
    assert (cloud.nodes.stopped, cloud.nova.disabled, cloud.nodes.needing) == ([], {}, set())
    assert "node 3 of 3, about" in said


def test_an_interrupted_roll_begins_with_the_node_that_it_emptied(cloud, capsys):
    cloud.nodes.needing = {NODE1, NODE2, NODE3}
    cloud.nova.disabled[NODE1] = "ovn-offload: emptied for a reboot, 2026-11-30"
    assert cloud.typed(capsys, "roll", "--apply")[0] == 0
    assert cloud.nodes.approved == [NODE1, NODE2, NODE3]


def test_roll_ends_at_the_first_node_that_does_not_verify(cloud, capsys):
    cloud.nodes.needing, cloud.nodes.ill = {NODE1, NODE3}, {NODE3}
    assert cloud.typed(capsys, "roll", "--apply")[0] == 1
    assert cloud.nodes.approved == [NODE3]


def test_the_zones_are_taken_one_after_the_other():
    def turn(name, zone, live):
        service = Service(name, name, zone, enabled=True, up=True, reason="")
        return Turn(Place("0", name, frozenset(), {}), service, live, 0, 0, begun=False)

    every = [turn("a", "east", 9), turn("b", "west", 0), turn("c", "west", 3), turn("d", "east", 0)]
    assert [each.place.host for each in rolling.ordered(every)] == ["b", "c", "d", "a"]
