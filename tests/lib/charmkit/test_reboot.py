# SPDX-License-Identifier: Apache-2.0
"""The rolling reboot, decision by decision: a need is published, and one host at a time gets the lock."""

from charmkit.reboot.lock import arbitrate
from charmkit.reboot.state import Cluster, Need, Slot
from lib.reboot_decisions import HOST, ME, NEEDS, PEER, SETTLED, WANTS, WHY, turn

# Asking for it.


def test_a_host_that_needs_nothing_does_nothing():
    decision = turn(HOST)

    assert not decision.reboot
    assert decision.own == SETTLED
    assert decision.cluster == Cluster()


def test_the_leader_grants_itself_and_reboots_in_the_same_hook():
    decision = turn(NEEDS)

    assert decision.reboot
    assert decision.cluster == Cluster(grant=1, units=1, held={ME: Slot(1, HOST.now)})
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
    assert decision.cluster == Cluster(grant=8, units=2, held={ME: Slot(8, HOST.now)})


def test_an_older_grant_given_back_does_not_free_the_lock():
    cluster = Cluster(grant=7, held={PEER: Slot(7, 999_000)})

    assert turn(NEEDS, peers={PEER: SETTLED._replace(released=6)}, cluster=cluster).cluster == cluster
