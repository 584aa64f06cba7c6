# SPDX-License-Identifier: Apache-2.0
"""After the reboot: the lock is given back by a host that settled; a reboot without effect is the last."""

import pytest
from charmkit.reboot.lock import approve_all, arbitrate
from charmkit.reboot.policy import RebootOptions
from charmkit.reboot.state import Approval, Cluster, Need, UnitNow, UnitState, mark
from charmkit.reboot.unit import NEVER_CAME, approve_one
from lib.reboot_decisions import ALWAYS, HELD, HOST, IDLE, MANUAL, ME, NEEDS, PEER, SETTLED, WANTS, WHY, turn

REBOOTED = HOST._replace(boot_id="boot 2", uptime=40, leader=False)
ASKED = WANTS._replace(requested_at=5000)


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
def test_an_approval_repeats_it_once(policy: RebootOptions, where: str):
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
