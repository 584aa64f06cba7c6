# SPDX-License-Identifier: Apache-2.0
"""Policies and approvals: which host goes when, and without whom."""

import pytest
from charmkit.reboot.lock import approve_all
from charmkit.reboot.policy import RebootOptions
from charmkit.reboot.state import Approval, Cluster, Need, Slot, mark
from charmkit.reboot.unit import approve_one
from lib.reboot_decisions import ALWAYS, HOST, IDLE, MANUAL, ME, NEEDS, PEER, SETTLED, WANTS, WHY, turn


@pytest.mark.parametrize(
    ("policy", "busy", "goes"),
    [
        (ALWAYS, "2 instances", True),
        (IDLE, "", True),
        (IDLE, "2 instances", False),
        (MANUAL, "", False),
    ],
)
def test_policies(policy: RebootOptions, busy: str, goes: bool):
    assert turn(NEEDS._replace(busy=busy), policy).reboot is goes


@pytest.mark.parametrize("policy", [MANUAL, IDLE, ALWAYS])
def test_every_policy_waits_for_every_other_hosts_grace(policy: RebootOptions):
    peers = {PEER: SETTLED._replace(settled=False, saw_lock_taken=1)}
    approvals = {ME: Approval(mark("boot 1"), WHY)} if policy == MANUAL else {}

    assert not turn(NEEDS, policy, peers=peers, cluster=Cluster(approvals=approvals)).reboot
    taken = Cluster(grant=1, taken={PEER: 1}, approvals=approvals)
    assert not turn(NEEDS, policy, peers=peers, cluster=taken).reboot, "also of one whose lock was released"


@pytest.mark.parametrize("policy", [MANUAL, IDLE, ALWAYS])
def test_an_approval_after_the_status_named_an_unsettled_host_goes_on_without_it(policy: RebootOptions):
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
def test_an_approved_host_goes_under_every_policy(policy: RebootOptions, busy: str):
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
