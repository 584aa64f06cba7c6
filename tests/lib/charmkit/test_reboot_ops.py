# SPDX-License-Identifier: Apache-2.0
"""The rolling reboot in charms: a whole application on modelled hosts, driven by Juju's events."""

import json
from typing import Any

import pytest
from charmkit.reboot.databag import KEY, decode_cluster, decode_unit, encode
from charmkit.reboot.status import STUCK
from charmkit.reboot.unit import NEVER_CAME
from hostnic.system import CommandError
from ops import testing

WHY = "8 VFs at the next boot"
DISPATCH = ("systemctl", "start", "--no-block", "ovn-offload-sriov-dispatch.service")


def test_a_host_that_needs_no_reboot_publishes_once_and_asks_nobody(application: Any):
    app = application(1)
    data = dict(app.nodes[0].data)

    out = app.hook(0)

    assert out.unit_status == testing.ActiveStatus()
    assert app.nodes[0].data == data
    assert app.nodes[0].host.spawned == []


def test_one_approval_rolls_through_the_application(application: Any):
    app = application(3)
    for node in app.nodes:
        node.needs = (WHY,)
    for number in range(3):
        blocked = app.hook(number)
        assert blocked.unit_status == testing.BlockedStatus(
            f"run: juju run sriov/leader approve-reboot; reboot: needed for {WHY}"
        )

    results = app.action(0, "approve-reboot")

    assert results["approved"] == "sriov/0, sriov/1, sriov/2"
    assert DISPATCH in app.nodes[0].host.spawned, "the leader's own turn begins outside of the action"
    down: list[int] = []
    for _ in range(40):
        for number, node in enumerate(app.nodes):
            reboots = node.reboots
            out = app.hook(number)
            if node.reboots > reboots:
                assert app.holder == f"sriov/{number}"
                down.append(number)
                node.boot()
            elif app.holder and app.holder != f"sriov/{number}" and node.needs:
                assert out.unit_status.message.startswith(f"reboot: waits for {app.holder}, whose turn began")
            node.host.sleep(60)
    assert sorted(down) == [0, 1, 2]
    assert app.holder == ""
    assert app.hook(0).unit_status == testing.ActiveStatus()


def test_the_next_host_waits_until_the_first_one_has_settled(application: Any):
    app = application(2, "always")
    first, second = app.nodes
    first.needs = second.needs = (WHY,)
    app.hooks(0, 1)
    first.boot()
    first.has_stopped("juju-0-lxd-1")

    assert "once all is back: juju-0-lxd-1 stopped" in app.hook(0).unit_status.message
    assert first.wakes_in == 60
    first.has_stopped()
    assert "settles for another 5 min" in app.hook(0).unit_status.message
    first.host.sleep(299)
    app.hooks(0, 1)
    assert second.reboots == 0
    first.host.sleep(1)
    app.hook(0)
    app.hook(1)  # answers the leader, whose host has booted
    app.hooks(0, 1)

    assert (first.reboots, second.reboots) == (1, 1)
    assert app.holder == "sriov/1"


def test_when_idle_waits_for_the_instances_of_the_host(application: Any):
    app = application(1, "when-idle")
    node = app.nodes[0]
    node.needs = (WHY,)
    instance = "/run/libvirt/qemu/instance-00000007.xml"
    node.host.disk.install(instance, b"<domstatus/>", 0o600)

    waiting = app.hook(0)
    assert node.reboots == 0
    assert "waits until the host is idle (instance-00000007 running)" in waiting.unit_status.message

    node.host.disk.remove(instance)
    app.hook(0)
    assert node.reboots == 1


def test_a_unit_that_is_not_the_leader_approves_itself_alone(application: Any):
    app = application(3)
    app.need(1, 2)

    results = app.action(1, "approve-reboot")
    assert app.nodes[1].host.spawned == [DISPATCH]
    app.hooks(0, 1, 2)

    assert (results["approved"], results["first"]) == ("sriov/1", "as the leader grants it")
    assert app.reboots == [0, 1, 0]


def test_a_reboot_that_changed_nothing_stops_the_roll_until_the_operator_approves(application: Any):
    app = application(2, "always")
    for number, node in enumerate(app.nodes):
        node.needs = (WHY,)
        app.hook(number)
    app.nodes[0].boot(changes_nothing=True)

    for _ in range(30):
        out = app.hook(0)
        app.hook(1)
        app.nodes[0].host.sleep(300)

    assert out.unit_status.name == "blocked"
    assert out.unit_status.message.startswith("reboot: rebooted, and still needs a reboot for ")
    assert out.unit_status.message.endswith("fix what verify reports")
    assert app.reboots == [1, 0]
    # One approval is one reboot, and one that changes something lets the roll go on.
    assert app.action(0, "approve-reboot")["approved"] == "sriov/0, sriov/1"
    app.hook(0)
    app.nodes[0].boot(changes_nothing=True)
    for _ in range(30):
        app.hooks(0, 1)
        app.nodes[0].host.sleep(300)
    assert app.reboots == [2, 0]
    app.action(0, "approve-reboot")
    app.hook(0)
    app.nodes[0].boot()
    for _ in range(3):
        app.hooks(0, 1)
        app.nodes[0].host.sleep(300)
    assert app.reboots == [3, 1]


def test_an_approval_on_the_leader_reaches_a_unit_whose_reboot_changed_nothing(application: Any):
    app = application(2, "manual")
    app.need(1)
    app.action(0, "approve-reboot")
    app.hooks(0, 1)
    app.nodes[1].boot(changes_nothing=True)
    app.hooks(1, 0)

    assert app.action(0, "approve-reboot")["approved"] == "sriov/1"
    for _ in range(2):
        app.hooks(0, 1)

    assert app.reboots == [0, 2]


def test_the_lock_of_a_host_that_never_came_back_is_freed_by_the_operator(application: Any):
    app = application(3, "always")
    for number in (1, 2):
        app.nodes[number].needs = (WHY,)
    app.hooks(1, 0, 1, 2)
    assert (app.holder, app.reboots) == ("sriov/1", [0, 1, 0])

    app.nodes[1].down = True

    results = app.action(0, "release-reboot-lock")

    assert results["released"] == "sriov/1"
    assert results["held-for"].endswith(" s")
    assert app.holder == "", "the action itself grants nothing"
    app.hooks(0, 2)
    assert app.reboots == [0, 1, 0], "sriov/1 is still down"
    app.action(0, "approve-reboot")
    app.hooks(0, 2)
    assert app.reboots == [0, 1, 1]


def test_a_leader_that_waits_itself_still_says_that_a_holder_is_stuck(application: Any):
    app = application(2, "always")
    app.need(1)
    app.hooks(0, 1)
    app.nodes[0].needs = (WHY,)
    waits = app.hook(0).unit_status
    age = STUCK + app.policy.reboot_settle
    state = decode_cluster(app.app_data[KEY])
    held = {unit: slot._replace(since=slot.since - age) for unit, slot in state.held.items()}
    app.app_data = {KEY: encode(state._replace(held=held))}

    stuck = app.hook(0).unit_status

    assert app.holder == "sriov/1"
    assert waits.name == "waiting"
    assert stuck == testing.BlockedStatus(
        "reboot: sriov/1 has held the lock for 35 min; look at that host (+1 more, see verify)"
    )


def test_a_reboot_that_never_came_names_the_manual_command(application: Any):
    app = application(1, "always")
    node = app.nodes[0]
    node.needs = (WHY,)
    app.hook(0)
    node.host.sleep(NEVER_CAME)

    out = app.hook(0)

    assert (node.reboots, out.unit_status.name) == (1, "blocked")
    assert out.unit_status.message.startswith("run: juju ssh sriov/0 sudo systemctl reboot; reboot: ")
    app.action(0, "approve-reboot")
    app.hook(0)
    assert node.reboots == 2


def test_the_lock_outlives_its_leader(application: Any):
    app = application(3, "always")
    app.need(0, 1)
    app.leader = 1

    app.hook(1)

    assert app.holder == "sriov/0"
    assert app.nodes[1].reboots == 0


def test_before_the_peer_relation_there_is_no_reboot(application: Any):
    app = application(1, "always")
    app.related = False
    app.nodes[0].needs = (WHY,)

    out = app.hook(0)

    assert app.nodes[0].reboots == 0
    assert out.unit_status == testing.WaitingStatus(f"reboot: waits for the peer relation; needed for {WHY}")
    with pytest.raises(testing.ActionFailed, match="the peer relation is not there yet"):
        app.action(0, "approve-reboot")
    app.nodes[0].needs = ()
    assert app.hook(0).unit_status == testing.ActiveStatus()


@pytest.mark.parametrize(
    ("number", "action", "sentence"),
    [
        (0, "approve-reboot", "nothing to approve: no reboot is needed by sriov/0, sriov/1"),
        (1, "approve-reboot", "nothing to approve: no reboot is needed by sriov/1"),
        (0, "release-reboot-lock", "no unit holds the reboot lock"),
        (1, "release-reboot-lock", "only the leader can; run: juju run sriov/leader release-reboot-lock"),
    ],
)
def test_actions_that_make_no_sense_now_say_so(application: Any, number: int, action: str, sentence: str):
    app = application(2)

    with pytest.raises(testing.ActionFailed, match=sentence):
        app.action(number, action)

    assert DISPATCH not in app.nodes[number].host.spawned


def test_an_action_between_the_boot_and_the_first_hook_says_to_wait(application: Any):
    app = application(1)
    app.nodes[0].host.reboot()

    with pytest.raises(testing.ActionFailed, match="has not run a hook since the host booted"):
        app.action(0, "approve-reboot")


def test_a_peer_that_publishes_nonsense_is_named_and_gets_no_grant(application: Any):
    app = application(2, "always")
    app.nodes[1].data[KEY] = json.dumps({"version": 9})

    out = app.hook(0)

    assert out.unit_status == testing.ActiveStatus(
        "refresh all units to one revision; reboot: what sriov/1 publishes is unusable: version… (see verify)"
    )
    assert app.holder == ""


def test_only_the_leader_reads_what_its_peers_publish(application: Any):
    app = application(3)
    app.nodes[2].data[KEY] = "{"

    assert "; reboot: what sriov/2 publishes is unusable" in app.hook(0).unit_status.message
    assert app.hook(1).unit_status == testing.ActiveStatus()


def test_without_systemd_the_roll_goes_on_at_the_next_update_status(application: Any):
    app = application(1, "always")
    node = app.nodes[0]
    node.needs = (WHY,)
    app.hook(0)
    node.boot()
    node.host.fail("run", "dispatch", CommandError(["systemctl"], "systemctl failed (1): no bus"), times=None)

    out = app.hook(0)
    node.host.sleep(300)
    app.hook(0)

    assert out.unit_status.message.endswith("settles for another 5 min (+1 more, see verify)")
    assert app.holder == ""


def test_an_approval_counts_although_the_unit_cannot_wake_itself(application: Any):
    app = application(1)
    app.need(0)
    app.nodes[0].host.fail("run", "dispatch", CommandError(["systemctl"], "systemctl failed (1): no bus"))

    assert app.action(0, "approve-reboot")["approved"] == "sriov/0"
    assert ["cannot wake itself" in line for line in app.logs] == [True]
    app.hook(0)
    assert app.nodes[0].reboots == 1


def test_a_lock_that_cannot_be_read_grants_nothing(application: Any):
    app = application(1, "always")
    app.app_data[KEY] = "{"
    app.nodes[0].needs = (WHY,)

    out = app.hook(0)

    assert app.nodes[0].reboots == 0
    assert out.unit_status.name == "blocked"
    assert out.unit_status.message.startswith(
        "run: juju run sriov/leader release-reboot-lock; reboot: no reboot is granted, since "
    )
    with pytest.raises(testing.ActionFailed, match="no reboot is granted"):
        app.action(0, "approve-reboot")


def test_what_is_published_is_what_the_core_decided(application: Any):
    app = application(2, "always")
    app.nodes[1].needs = (WHY,)

    app.hook(1)

    state = decode_unit(app.nodes[1].data[KEY])
    assert (state.boot_id, state.reasons) == (app.nodes[1].host.boot_id, (WHY,))
    assert (state.ready, state.consent, state.requested_at) == (True, "always", None)


@pytest.mark.parametrize(("mode", "asks"), [("always", False), ("when-idle", True)])
def test_only_when_idle_goes_through_all_processes_for_hooks_in_containers(
    application: Any, mode: str, asks: bool
):
    app = application(1, mode)
    app.nodes[0].needs = (WHY,)
    app.nodes[0].host.asked.clear()
    app.hook(0)
    assert (("listdir", "/proc") in app.nodes[0].host.asked) is asks
