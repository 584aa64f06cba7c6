# SPDX-License-Identifier: Apache-2.0
"""A unit's publications on its reboot, and the hooks of a roll in which it looks at its host."""

from typing import Any

import pytest
from charmkit.reboot.databag import KEY, decode_cluster, decode_unit, encode
from charmkit.reboot.hook import may_lead_to_grant
from charmkit.reboot.peers import SILENT
from charmkit.reboot.relation import must_publish
from charmkit.reboot.state import Cluster, Probe, Slot, UnitState
from charmkit.reboot.status import STUCK
from exporter import facts

WHY = ("8 VFs at the next boot",)


def writes(app: Any, number: int, hook: Any) -> list[str]:
    """Which databags a hook writes."""
    node = app.nodes[number]
    unit, application = dict(node.data), dict(app.app_data)
    hook()
    found = {"unit": node.data.get(KEY) != unit.get(KEY), "application": app.app_data != application}
    return [name for name, changed in found.items() if changed]


def looks(app: Any, number: int, hook: Any) -> int:
    before = app.nodes[number].looks
    hook()
    return app.nodes[number].looks - before


@pytest.fixture
def roll(application: Any) -> Any:
    """Three units that need a reboot; unit 1 gets the lock first."""
    app = application(3, "always")
    app.need(1, 2)
    app.changed(0, of=1)
    assert app.holder == "sriov/1"
    return app


def test_a_unit_publishes_its_need_and_that_it_has_settled_and_nothing_in_between(roll: Any):
    assert writes(roll, 1, lambda: roll.changed(1)) == []
    assert roll.nodes[1].reboots == 1
    assert writes(roll, 1, lambda: roll.hook(1)) == [], "it waits for the reboot"
    roll.nodes[1].boot()
    for _ in range(5):
        assert writes(roll, 1, lambda: roll.hook(1)) == []
        roll.nodes[1].host.sleep(60)
    assert writes(roll, 1, lambda: roll.hook(1)) == ["unit"]
    published = decode_unit(roll.nodes[1].data[KEY])
    assert (published.settled, published.released, published.reasons) == (True, 1, ())


def test_a_reboot_that_did_not_help_is_published_at_once(roll: Any):
    roll.changed(1)
    roll.nodes[1].boot(changes_nothing=True)

    assert writes(roll, 1, lambda: roll.hook(1)) == ["unit"]
    assert decode_unit(roll.nodes[1].data[KEY]).still_needed == WHY


def test_a_boot_without_the_lock_is_published_at_once(roll: Any):
    roll.nodes[2].boot()

    assert writes(roll, 2, lambda: roll.hook(2)) == ["unit"]
    assert not decode_unit(roll.nodes[2].data[KEY]).settled


def test_without_its_own_memory_a_unit_goes_on_with_what_it_published(roll: Any):
    roll.changed(1)
    roll.nodes[1].boot()
    roll.hook(1)
    roll.nodes[1].kept = frozenset()  # as after a refresh to a revision without it, and back

    roll.hook(1)
    roll.nodes[1].host.sleep(300)
    roll.hook(1)

    assert decode_unit(roll.nodes[1].data[KEY]).released == 1


def test_what_another_revision_published_since_replaces_the_memory(roll: Any):
    roll.changed(1)
    roll.nodes[1].boot()
    roll.hook(1)
    published = decode_unit(roll.nodes[1].data[KEY])
    roll.nodes[1].data[KEY] = encode(published._replace(released=1))
    roll.hook(1)

    assert decode_unit(roll.nodes[1].data[KEY]).released == 1


def test_a_change_of_a_peer_is_nothing_to_a_unit_that_does_not_lead(roll: Any):
    assert looks(roll, 2, lambda: roll.changed(2, of=1)) == 0
    assert looks(roll, 2, lambda: roll.changed(2)) == 0, "the lock is another unit's"
    assert looks(roll, 1, lambda: roll.changed(1)) == 1, "it is its own"


def test_the_leader_grants_without_a_look_at_its_own_host(roll: Any):
    roll.changed(1)
    roll.nodes[1].boot()
    roll.hook(1)
    roll.nodes[1].host.sleep(300)
    roll.hook(1)

    assert looks(roll, 0, lambda: roll.changed(0, of=2)) == 0
    assert roll.holder == "sriov/1", "the holder's change decides, and no other"
    assert looks(roll, 0, lambda: roll.changed(0, of=1)) == 0
    assert roll.holder == "sriov/2"
    assert sorted(roll.nodes[0].host.contacted) == ["192.168.25.11 22", "192.168.25.12 22"]


def test_what_the_leader_grants_without_a_look_reaches_the_exporter(application: Any):
    app = application(3, "always")
    host = app.nodes[0].host
    facts.publish(host, facts.Facts("sriov", "sriov/0", int(host.now()), reboot=app.nodes[0].told))
    app.need(1, 2)
    host.sleep(50)
    before = facts.read(host, "sriov")

    assert looks(app, 0, lambda: app.changed(0, of=1)) == 0
    told = facts.read(host, "sriov")
    assert (told.at, told.reboot.limit) == (before.at, before.reboot.limit), "it has not looked"
    assert before.reboot.held == {}
    assert (list(told.reboot.held), told.reboot.queue) == (["sriov/1"], 1)
    assert told.reboot.held["sriov/1"] == pytest.approx(host.now(), abs=2)


def test_a_unit_that_no_longer_leads_tells_the_exporter_of_no_others(roll: Any):
    host = roll.nodes[0].host
    roll.hook(0)
    facts.publish(host, facts.Facts("sriov", "sriov/0", int(host.now()), reboot=roll.nodes[0].told))
    assert list(facts.read(host, "sriov").reboot.held) == ["sriov/1"]
    roll.leader = 2
    roll.hook(2)

    assert looks(roll, 0, lambda: roll.changed(0)) == 0
    told = facts.read(host, "sriov").reboot
    assert (told.held, told.queue) == ({}, None)


def test_a_new_leader_tells_of_the_holder_and_its_limit(roll: Any):
    assert list(roll.nodes[2].told.held) == []
    roll.leader = 2
    roll.hook(2)

    told = roll.nodes[2].told
    assert (list(told.held), told.queue) == (["sriov/1"], 1)
    assert told.limit == STUCK + roll.policy.reboot_settle


def test_the_leader_names_a_host_that_is_down_without_a_look_at_its_own(application: Any):
    app = application(3, "always")
    app.need(1)
    app.nodes[2].down = True

    assert looks(app, 0, lambda: app.changed(0, of=1)) == 0
    assert (app.holder, decode_cluster(app.app_data[KEY]).may_be_down) == ("", {"sriov/2": SILENT})


def test_the_leader_looks_at_its_own_host_before_it_reboots_itself(application: Any):
    app = application(2, "always")
    app.nodes[0].down = app.nodes[1].down = True
    app.need(0)
    assert app.nodes[0].reboots == 0
    app.nodes[1].down = False
    app.nodes[1].boot()
    app.hook(1)
    app.changed(0, of=1)
    app.nodes[1].host.sleep(300)
    app.hook(1)

    assert looks(app, 0, lambda: app.changed(0, of=1)) == 1
    assert app.nodes[0].reboots == 1


def test_a_unit_that_booted_looks_whatever_its_hook_is_about(roll: Any):
    roll.nodes[2].boot()

    assert looks(roll, 2, lambda: roll.changed(2, of=1)) == 1


def test_a_unit_whose_boot_id_cannot_be_read_looks_and_says_so(roll: Any):
    roll.nodes[2].host.fail("read", "/proc/sys/kernel/random/boot_id", OSError(5, "Input/output error"))

    assert looks(roll, 2, lambda: roll.changed(2)) == 1


def test_an_approval_and_its_withdrawal_reach_a_unit(application: Any):
    app = application(2)
    app.need(1)
    app.action(0, "approve-reboot")
    assert looks(app, 1, lambda: app.changed(1)) == 1
    assert looks(app, 1, lambda: app.changed(1)) == 0
    app.action(0, "cancel-reboots")
    assert looks(app, 1, lambda: app.changed(1)) == 1


def test_an_approval_wakes_a_unit_that_waits_for_its_turn_and_none_that_needs_no_reboot(application: Any):
    app = application(4)
    app.need(1, 2)
    app.hook(3)
    app.action(0, "approve-reboot")
    assert app.holder == "sriov/1"
    assert decode_cluster(app.app_data[KEY]).approvals.keys() >= {"sriov/2"}

    assert looks(app, 2, lambda: app.changed(2)) == 1, "its status says that it waits for sriov/1"
    assert looks(app, 2, lambda: app.changed(2)) == 0
    assert looks(app, 3, lambda: app.changed(3)) == 0


def test_a_unit_answers_the_leader_at_once_if_a_grant_waits_for_it(application: Any):
    app = application(3, "always")
    app.nodes[0].boot()
    app.hook(0)
    app.nodes[0].host.sleep(300)
    app.hook(0)
    assert writes(app, 2, lambda: app.changed(2)) == [], "nothing waits for it"
    app.need(1)
    assert writes(app, 0, lambda: app.changed(0, of=1)) == ["application"]
    assert app.holder == ""
    assert looks(app, 2, lambda: app.changed(2)) == 0
    assert decode_unit(app.nodes[2].data[KEY]).answered == decode_unit(app.nodes[0].data[KEY]).boot_id
    app.changed(0, of=2)
    assert app.holder == "sriov/1"


# As pure functions.

IDLE = UnitState(boot_id="b")
NEEDS = IDLE._replace(reasons=WHY, ready=True, consent="always", zone="zone-a", has_containers=False)
HELD = Cluster(grant=3, held={"u/1": Slot(3, 5)})


def test_the_peers_need_no_times_of_another_host():
    waits = IDLE._replace(settled=False, healthy_at=7, containers_up_at=7)

    assert not must_publish("u/1", waits, waits._replace(healthy_at=None, containers_up_at=9), Cluster())
    assert not must_publish("u/1", NEEDS, NEEDS._replace(requested_at=70), HELD)


@pytest.mark.parametrize(
    "field", [{"saw_lock_taken": 3}, {"contested": "leaves its reboots to nic"}, {"answered": "l"}]
)
def test_while_it_holds_the_lock_a_booted_unit_still_tells_what_a_leader_waits_for(field: Any):
    booted = IDLE._replace(boot_id="b2", settled=False)

    assert not must_publish("u/1", NEEDS, booted, HELD)
    assert must_publish("u/1", NEEDS, booted._replace(**field), HELD._replace(probe=Probe("l")))


def test_which_changes_of_a_peer_may_lead_to_a_grant():
    free, full = Cluster(grant=3), HELD
    two = Cluster(grant=4)._replace(held={"u/1": Slot(3, 5), "u/2": Slot(4, 5)})

    assert may_lead_to_grant("u/1", IDLE._replace(released=3), full, lambda: 1, "")
    assert not may_lead_to_grant("u/1", IDLE._replace(released=2), full, lambda: 1, "")
    assert not may_lead_to_grant("u/2", NEEDS, full, lambda: 1, "")
    assert may_lead_to_grant("u/2", NEEDS, full, lambda: 2, "")
    assert not may_lead_to_grant("u/2", NEEDS._replace(has_containers=True), full, lambda: 2, "")
    assert not may_lead_to_grant("u/3", NEEDS, two, lambda: 2, "")
    assert may_lead_to_grant("u/2", NEEDS, free, lambda: 1, "")
    assert not may_lead_to_grant("u/2", IDLE, free, lambda: 1, "")
    assert not may_lead_to_grant("u/2", NEEDS, free, lambda: 1, "u/3"), (
        "it waits for u/3, as the one before it"
    )
    assert may_lead_to_grant("u/3", IDLE, free, lambda: 1, "u/3")
    assert may_lead_to_grant("u/2", NEEDS._replace(approved=WHY), free, lambda: 1, "u/3")
