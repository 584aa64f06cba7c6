# SPDX-License-Identifier: Apache-2.0
"""The rolling reboot, decision by decision: what is known, then what is published and done."""

import pytest
from charmkit.reboot.lock import GONE_FOR, approve_all, arbitrate, release
from charmkit.reboot.peers import UNREAD
from charmkit.reboot.policy import RebootPolicy
from charmkit.reboot.state import Approval, Cluster, Need, Slot, UnitNow, UnitState, mark
from charmkit.reboot.unit import NEVER_CAME, Decision, approve_one, decide

ME, PEER = "sriov/0", "sriov/1"
WHY = ("8 VFs at the next boot",)
ALWAYS, IDLE, MANUAL = RebootPolicy("always"), RebootPolicy("when-idle"), RebootPolicy("manual")
HOST = UnitNow(unit=ME, boot_id="boot 1", uptime=5000, now=1_000_000, leader=True, has_containers=False)
NEEDS = HOST._replace(need=Need(WHY))
SETTLED = UnitState(boot_id="boot 1", answered="boot 1", has_containers=False)
WANTS = SETTLED._replace(reasons=WHY, since=999_000, ready=True, consent="always")


def turn(
    host: UnitNow,
    policy: RebootPolicy = ALWAYS,
    own: UnitState = SETTLED,
    peers: dict[str, UnitState] | None = None,
    cluster: Cluster | None = None,
) -> Decision:
    return decide(host, policy, own, peers or {}, cluster or Cluster())


# Asking for it.


def test_a_host_that_needs_nothing_does_nothing():
    decision = turn(HOST)

    assert not decision.reboot
    assert decision.own == SETTLED
    assert decision.cluster == Cluster()


def test_the_leader_grants_itself_and_reboots_in_the_same_hook():
    decision = turn(NEEDS)

    assert decision.reboot
    assert decision.cluster == Cluster(grant=1, held={ME: Slot(1, HOST.now)})
    assert decision.own.requested_at == HOST.uptime


def test_another_unit_publishes_its_need_and_waits_for_the_leader():
    decision = turn(NEEDS._replace(leader=False))

    assert not decision.reboot
    assert decision.own.reasons == WHY
    assert decision.own.since == HOST.now
    assert decision.own.consent == "always"
    assert decision.cluster == Cluster()


def test_it_reboots_once_it_holds_the_lock():
    decision = turn(NEEDS._replace(leader=False), cluster=Cluster(grant=4, held={ME: Slot(4, 999_990)}))

    assert decision.reboot


def test_it_asks_once():
    first = turn(NEEDS)
    second = turn(NEEDS._replace(uptime=HOST.uptime + 60), own=first.own, cluster=first.cluster)

    assert not second.reboot
    assert second.own == first.own


def test_a_boot_that_is_not_prepared_yet_waits():
    decision = turn(HOST._replace(need=Need(WHY, not_ready="boot files are not installed")))

    assert not decision.reboot
    assert decision.cluster.holder == ""


def test_the_need_keeps_its_age_while_it_lasts():
    later = turn(NEEDS._replace(leader=False, now=HOST.now + 500), own=WANTS._replace(since=HOST.now))

    assert later.own.since == HOST.now


# One at a time.


def test_a_second_host_waits_while_the_first_holds_the_lock():
    cluster = Cluster(grant=1, held={PEER: Slot(1, 999_000)})

    decision = turn(NEEDS, peers={PEER: WANTS}, cluster=cluster)

    assert not decision.reboot
    assert decision.cluster == cluster


def test_the_one_that_waited_longest_goes_first():
    units = {"sriov/2": WANTS._replace(since=10), "sriov/1": WANTS._replace(since=20), "sriov/0": SETTLED}

    assert arbitrate(ME, units, Cluster(), HOST.now).holder == "sriov/2"


def test_the_next_is_granted_when_the_holder_gives_it_back():
    cluster = Cluster(grant=7, held={PEER: Slot(7, 999_000)})

    decision = turn(NEEDS, peers={PEER: SETTLED._replace(released=7)}, cluster=cluster)

    assert decision.reboot
    assert decision.cluster == Cluster(grant=8, held={ME: Slot(8, HOST.now)})


def test_an_older_grant_given_back_does_not_free_the_lock():
    cluster = Cluster(grant=7, held={PEER: Slot(7, 999_000)})

    assert turn(NEEDS, peers={PEER: SETTLED._replace(released=6)}, cluster=cluster).cluster == cluster


# Policies.


@pytest.mark.parametrize(
    ("policy", "busy", "goes"),
    [
        (ALWAYS, "2 instances", True),
        (IDLE, "", True),
        (IDLE, "2 instances", False),
        (MANUAL, "", False),
    ],
)
def test_policies(policy: RebootPolicy, busy: str, goes: bool):
    assert turn(NEEDS._replace(busy=busy), policy).reboot is goes


@pytest.mark.parametrize("policy", [MANUAL, IDLE, ALWAYS])
def test_every_policy_waits_for_every_other_hosts_grace(policy: RebootPolicy):
    peers = {PEER: SETTLED._replace(settled=False, saw_lock_taken=1)}
    approvals = {ME: Approval(mark("boot 1"), WHY)} if policy == MANUAL else {}

    assert not turn(NEEDS, policy, peers=peers, cluster=Cluster(approvals=approvals)).reboot
    taken = Cluster(grant=1, taken={PEER: 1}, approvals=approvals)
    assert not turn(NEEDS, policy, peers=peers, cluster=taken).reboot, "also of one whose lock was released"


@pytest.mark.parametrize("policy", [MANUAL, IDLE, ALWAYS])
def test_an_approval_after_the_status_named_an_unsettled_host_goes_on_without_it(policy: RebootPolicy):
    peers = {PEER: SETTLED._replace(settled=False)}
    first = approve_all({ME: WANTS}, Cluster()) if policy == MANUAL else Cluster()
    named = turn(NEEDS, policy, peers=peers, cluster=first)

    second = approve_all({ME: named.own, **peers}, named.cluster)

    assert (named.reboot, turn(NEEDS, policy, peers=peers, cluster=second).reboot) == (False, True)


def test_nobody_holds_anybody_up_once_the_lock_is_granted():
    held_up = Cluster(held_up_by=(PEER,))

    assert turn(NEEDS, IDLE, peers={PEER: SETTLED}, cluster=held_up).cluster.held_up_by == ()


def test_a_holder_that_became_busy_gives_the_lock_back_without_a_reboot():
    cluster = Cluster(grant=3, held={ME: Slot(3, 999_990)})

    decision = turn(NEEDS._replace(leader=False, busy="2 instances"), IDLE, own=WANTS, cluster=cluster)

    assert not decision.reboot
    assert decision.own.released == 3


def test_the_operators_approval_on_the_leader_covers_all_that_need_it_now():
    units = {ME: WANTS, PEER: WANTS._replace(boot_id="boot 9"), "sriov/2": SETTLED}

    approvals = approve_all(units, Cluster()).approvals

    assert approvals == {ME: Approval(mark("boot 1"), WHY), PEER: Approval(mark("boot 9"), WHY)}


@pytest.mark.parametrize("busy", ["", "2 instances"])
@pytest.mark.parametrize("policy", [MANUAL, IDLE])
def test_an_approved_host_goes_under_every_policy(policy: RebootPolicy, busy: str):
    cluster = Cluster(approvals={ME: Approval(mark("boot 1"), WHY)})

    assert turn(NEEDS._replace(busy=busy), policy, cluster=cluster).reboot


@pytest.mark.parametrize(
    "approval",
    [
        Approval(mark("boot 0"), WHY),
        Approval(mark("boot 1"), ("something else",)),
        Approval(mark("boot 1"), ()),
    ],
)
def test_an_approval_of_another_boot_or_for_other_reasons_is_none(approval: Approval):
    assert not turn(NEEDS, MANUAL, cluster=Cluster(approvals={ME: approval})).reboot


@pytest.mark.parametrize("approved", [("other firmware",), WHY])
def test_a_host_with_two_reasons_of_which_one_is_approved_waits(approved: tuple[str, ...]):
    both = HOST._replace(need=Need((*WHY, "other firmware")))
    own = SETTLED._replace(reasons=both.need.reasons)

    assert not turn(both, MANUAL, cluster=Cluster(approvals={ME: Approval(mark("boot 1"), approved)})).reboot
    assert not turn(both, MANUAL, own=own._replace(approved=approved)).reboot
    assert turn(
        both, MANUAL, cluster=Cluster(approvals={ME: Approval(mark("boot 1"), both.need.reasons)})
    ).reboot
    assert turn(both, MANUAL, own=approve_one(own, HOST.uptime)).reboot


def test_reasons_that_were_approved_in_two_places_count_together():
    both = HOST._replace(need=Need((*WHY, "other firmware")))
    own = SETTLED._replace(reasons=both.need.reasons, approved=WHY)
    cluster = Cluster(approvals={ME: Approval(mark("boot 1"), ("other firmware",))})

    assert turn(both, MANUAL, own=own, cluster=cluster).reboot


def test_an_approval_lapses_with_the_need():
    own = approve_one(WANTS, HOST.uptime)
    cluster = Cluster(approvals={ME: Approval(mark("boot 1"), WHY)})

    decision = turn(HOST, MANUAL, own=own, cluster=cluster)

    assert decision.own.approved == ()
    assert decision.cluster.approvals == {}


def test_approval_on_the_unit_itself():
    own = approve_one(WANTS._replace(consent=""), HOST.uptime)

    assert turn(NEEDS, MANUAL, own=own).reboot


# After the reboot.

REBOOTED = HOST._replace(boot_id="boot 2", uptime=40, leader=False)
ASKED = WANTS._replace(requested_at=5000)
HELD = Cluster(grant=1, held={ME: Slot(1, 999_000)})


def test_the_lock_survives_the_reboot_until_the_host_has_settled():
    back = turn(REBOOTED, own=ASKED, cluster=HELD)
    almost = turn(REBOOTED._replace(uptime=339), own=back.own, cluster=HELD)
    settled = turn(REBOOTED._replace(uptime=340), own=almost.own, cluster=HELD)

    assert (back.own.settled, back.own.healthy_at, back.own.released) == (False, 40, 0)
    assert (almost.own.settled, almost.own.released) == (False, 0)
    assert (settled.own.settled, settled.own.released) == (True, 1)


@pytest.mark.parametrize(
    "trouble",
    [
        REBOOTED._replace(uptime=200, need=Need(unverified="VF-LAG is not active")),
        REBOOTED._replace(uptime=200, not_back="juju-0-lxd-1 stopped"),
    ],
)
def test_trouble_starts_the_settle_time_again(trouble: UnitNow):
    back = turn(REBOOTED, own=ASKED, cluster=HELD)
    worse = turn(trouble, own=back.own, cluster=HELD)
    better = turn(REBOOTED._replace(uptime=360), own=worse.own, cluster=HELD)

    assert worse.own.healthy_at is None
    assert (better.own.settled, better.own.healthy_at) == (False, 360)


def test_a_reboot_that_changed_nothing_is_terminal_and_keeps_the_lock():
    back = turn(REBOOTED._replace(need=Need(WHY)), own=ASKED, cluster=HELD)
    later = turn(REBOOTED._replace(need=Need(WHY), uptime=9000), own=back.own, cluster=HELD)

    assert (back.own.still_needed, back.own.reasons, back.reboot) == (WHY, (), False)
    assert (later.own.still_needed, later.own.released, later.reboot) == (WHY, 0, False)


@pytest.mark.parametrize("policy", [MANUAL, IDLE, ALWAYS])
@pytest.mark.parametrize("where", ["on the unit", "on the leader"])
def test_an_approval_repeats_it_once(policy: RebootPolicy, where: str):
    needs = REBOOTED._replace(need=Need(WHY))
    back = turn(needs, policy, own=ASKED, cluster=HELD)
    approved = approve_one(back.own, 100) if where == "on the unit" else back.own
    cluster = approve_all({ME: back.own}, HELD) if where == "on the leader" else HELD
    again = turn(needs._replace(uptime=110), policy, own=approved, cluster=cluster)
    once_more = turn(needs._replace(uptime=120), policy, own=again.own, cluster=again.cluster)
    third = turn(needs._replace(boot_id="boot 3"), policy, own=again.own, cluster=again.cluster)
    later = turn(needs._replace(boot_id="boot 3", uptime=9000), policy, own=third.own, cluster=third.cluster)

    assert (back.own.still_needed, again.own.still_needed, again.reboot, once_more.reboot) == (
        WHY,
        (),
        True,
        False,
    )
    assert (third.own.still_needed, third.reboot, later.own.still_needed, later.reboot) == (
        WHY,
        False,
        WHY,
        False,
    )


def test_a_crash_between_approval_and_reboot_uses_the_approval_up():
    back = turn(REBOOTED._replace(need=Need(WHY)), own=ASKED, cluster=HELD)
    unready = REBOOTED._replace(need=Need(WHY, not_ready="boot files"))
    waits = turn(unready, own=approve_one(back.own, 100), cluster=HELD)
    crashed = turn(REBOOTED._replace(need=Need(WHY), boot_id="boot 3"), own=waits.own, cluster=HELD)

    assert (waits.own.reasons, waits.reboot) == (WHY, False)
    assert (crashed.own.still_needed, crashed.reboot) == (WHY, False)


def test_an_approval_of_a_reason_already_rebooted_for_stays_until_the_unit_has_read_it():
    done = SETTLED._replace(still_needed=WHY, rebooted_for={WHY[0]: "boot 1"})
    known = approve_all({PEER: done}, Cluster())

    assert known.approvals == {PEER: Approval(mark("boot 1"), WHY)}
    assert arbitrate(ME, {ME: SETTLED, PEER: done}, known, HOST.now).approvals == known.approvals


def test_not_even_for_a_need_that_comes_and_goes():
    states = turn(REBOOTED._replace(need=Need(WHY)), own=ASKED, cluster=HELD).own
    for uptime, need in ((400, Need()), (800, Need()), (900, Need(WHY))):
        states = turn(REBOOTED._replace(need=need, uptime=uptime), own=states, cluster=HELD).own

    assert states.still_needed == WHY


def test_a_reboot_by_hand_that_changed_nothing_counts_too():
    assert turn(REBOOTED._replace(need=Need(WHY)), own=WANTS).own.still_needed == WHY


def test_a_crash_before_everything_was_in_place_does_not():
    unprepared = WANTS._replace(ready=False)

    decision = turn(REBOOTED._replace(need=Need(WHY)), own=unprepared)

    assert (decision.own.still_needed, decision.own.reasons) == ((), WHY)


def test_another_reason_may_reboot_once_more_under_the_same_lock():
    decision = turn(REBOOTED._replace(need=Need(("switchdev at the next boot",))), own=ASKED, cluster=HELD)

    assert decision.reboot


def test_a_host_that_converged_forgets_at_the_next_boot():
    done = SETTLED._replace(rebooted_for={WHY[0]: "boot 1"})

    same = turn(HOST, own=done)
    # The boot after: at its first hook the host is in its grace, and once it has settled the memory goes.
    back = turn(REBOOTED._replace(leader=True), own=same.own)
    settled = turn(REBOOTED._replace(leader=True, uptime=400), own=back.own)
    after = turn(REBOOTED._replace(leader=True, uptime=460), own=settled.own)

    assert same.own.rebooted_for
    assert back.own.rebooted_for
    assert after.own.rebooted_for == {}


def test_the_first_hook_ever_is_no_reboot():
    decision = turn(NEEDS._replace(leader=False), own=UnitState())

    assert decision.own.settled
    assert decision.own.rebooted_for == {}


# When it does not come.


def test_a_reboot_that_never_came_is_asked_for_again_when_approved():
    stuck = ASKED._replace(requested_at=5000)
    soon, late = 5000 + NEVER_CAME - 1, 5000 + NEVER_CAME

    assert approve_one(stuck, soon).requested_at == 5000
    again = approve_one(stuck, late)
    assert again.requested_at is None
    assert turn(NEEDS._replace(uptime=late), own=again, cluster=HELD).reboot


def test_a_request_without_a_need_lapses_when_it_never_came():
    soon = turn(HOST._replace(uptime=5000 + NEVER_CAME - 1), own=ASKED, cluster=HELD)
    late = turn(HOST._replace(uptime=5000 + NEVER_CAME), own=ASKED, cluster=HELD)

    assert (soon.own.requested_at, soon.cluster.holder) == (5000, ME)
    assert (late.own.requested_at, late.own.released, late.cluster.holder) == (None, 1, "")


# A holder that does not come back.


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
