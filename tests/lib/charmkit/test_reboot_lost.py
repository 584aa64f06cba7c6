# SPDX-License-Identifier: Apache-2.0
"""A holder of the lock that does not come back, and leaders that change meanwhile."""

from charmkit.reboot.lock import GONE_FOR, approve_all, arbitrate, release
from charmkit.reboot.peers import UNREAD
from charmkit.reboot.state import Approval, Cluster, Need, Slot, mark
from charmkit.reboot.unit import approve_one
from lib.reboot_decisions import HELD, HOST, MANUAL, ME, NEEDS, PEER, SETTLED, WANTS, WHY, turn


def test_a_lock_taken_away_goes_to_the_next_and_not_back_to_the_same():
    units = {ME: SETTLED, PEER: WANTS._replace(since=10), "sriov/2": WANTS._replace(since=20)}

    freed = release(Cluster(grant=5, held={PEER: Slot(5, 999_000)}), PEER)
    waits = arbitrate(ME, units, freed, HOST.now)
    assert (waits.holder, waits.may_be_down) == ("", {PEER: UNREAD}), "its hook may have begun before that"
    units[PEER] = units[PEER]._replace(saw_lock_taken=5)
    granted = arbitrate(ME, units, freed, HOST.now)

    assert granted.holder == "sriov/2"
    assert granted.taken == {PEER: 5}
    assert arbitrate(ME, {PEER: WANTS}, freed, HOST.now).holder == ""


def test_a_host_whose_lock_was_taken_queues_again_when_it_has_settled():
    taken = Cluster(grant=5, taken={ME: 5})
    unsettled = SETTLED._replace(settled=False)

    away = turn(HOST._replace(leader=False, need=Need(unverified="no")), own=unsettled, cluster=taken)
    back = turn(HOST._replace(leader=False), own=SETTLED, cluster=taken)

    assert away.own.released == 0
    assert back.own.released == 5
    assert arbitrate(ME, {ME: back.own}, taken, HOST.now).taken == {}


def test_a_host_whose_lock_was_taken_and_that_does_not_settle_queues_only_with_an_approval():
    taken = Cluster(grant=5, taken={ME: 5})
    unsettled = SETTLED._replace(settled=False, containers_up_at=0)
    host = HOST._replace(leader=False, need=Need(WHY, unverified="no"))

    waits = turn(host, MANUAL, own=unsettled, cluster=taken)
    approved = turn(host, MANUAL, own=approve_one(waits.own, HOST.uptime), cluster=taken)

    assert (waits.own.queues_unsettled, waits.own.released) == (True, 0)
    assert (approved.own.released, approved.reboot) == (5, False)


def test_a_removed_units_lock_is_free_after_a_while():
    held = Cluster(grant=2, held={"sriov/9": Slot(2, 999_000)})

    first = arbitrate(ME, {ME: WANTS}, held, HOST.now)
    early = arbitrate(ME, {ME: WANTS}, first, HOST.now + GONE_FOR - 1)
    late = arbitrate(ME, {ME: WANTS}, early, HOST.now + GONE_FOR)

    assert (first.held, first.missed_by) == ({"sriov/9": Slot(2, 999_000, HOST.now)}, ME)
    assert early == first
    assert (late.holder, late.grant) == (ME, 3)


def test_a_fresh_leader_that_does_not_see_the_holder_yet_keeps_the_lock():
    held = Cluster(grant=2, held={PEER: Slot(2, 999_000)})

    blind = arbitrate(ME, {ME: WANTS}, held, HOST.now)
    seeing = arbitrate(ME, {ME: WANTS, PEER: SETTLED._replace(settled=False)}, blind, HOST.now + 2 * GONE_FOR)

    assert seeing == held


def test_another_fresh_leader_starts_the_wait_again():
    missed = Cluster(grant=2, held={PEER: Slot(2, 999_000, HOST.now - 7200)}, missed_by="sriov/2")

    again = arbitrate(ME, {ME: WANTS}, missed, HOST.now)

    assert (again.held, again.missed_by) == ({PEER: Slot(2, 999_000, HOST.now)}, ME)


def test_a_lock_that_was_given_back_is_not_used_again_while_the_leader_has_not_noticed():
    given_back = SETTLED._replace(released=1)

    decision = turn(NEEDS._replace(leader=False), own=given_back, cluster=HELD)

    assert not decision.reboot


def test_a_clock_behind_the_former_leaders_starts_the_wait_again():
    held = Cluster(grant=2, held={"sriov/9": Slot(2, 999_000, HOST.now + 1000)}, missed_by=ME)

    assert arbitrate(ME, {ME: WANTS}, held, HOST.now).held["sriov/9"].missing_since == HOST.now


def test_a_leaders_approval_of_units_it_does_not_see_stays():
    known = Cluster(approvals={PEER: Approval(mark("boot 1"), WHY)}, taken={PEER: 1})

    assert arbitrate(ME, {ME: SETTLED}, known, HOST.now) == known
    assert set(approve_all({ME: WANTS}, known).approvals) == {ME, PEER}
