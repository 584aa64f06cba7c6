# SPDX-License-Identifier: Apache-2.0
"""Hosts that are down while their databags still read well: nothing else reboots without the operator."""

import time
from typing import Any

import pytest
from charmkit.reboot.databag import KEY, decode_cluster
from charmkit.reboot.lock import arbitrate
from charmkit.reboot.peers import (
    PROBES_APART,
    REPORTS_IN,
    SILENT,
    UNPROVEN,
    UNREPORTED,
    UNSETTLED,
    may_be_down,
    probe_boot,
    to_name,
)
from charmkit.reboot.state import Cluster, Probe, UnitState

WHY = "8 VFs at the next boot"
LEADER, PEER = "sriov/0", "sriov/1"


def missing_in(app: Any) -> dict[str, str]:
    return dict(decode_cluster(app.app_data[KEY]).may_be_down)


@pytest.mark.parametrize("mode", ["when-idle", "always"])
def test_a_crashed_peer_keeps_the_others_from_rebooting_until_it_is_back(application: Any, mode: str):
    app = application(3, mode)
    app.nodes[1].down = True
    app.nodes[0].needs = (WHY,)

    held = app.hook(0)

    assert (app.reboots, app.holder, missing_in(app)) == ([0, 0, 0], "", {"sriov/1": SILENT})
    assert held.unit_status.name == "waiting"
    assert held.unit_status.message.startswith(
        "look at those units; reboot: waits, since sriov/1 does not answer at port 22; needed f"
    )
    app.nodes[1].down = False
    app.hook(0)
    assert (app.reboots, missing_in(app)) == ([0, 0, 0], {"sriov/1": UNPROVEN}), "its databag is from before"
    app.hooks(1, 0)
    assert (app.reboots, missing_in(app)) == ([1, 0, 0], {})


def test_a_crashed_host_that_answers_again_has_to_settle_first(application: Any):
    app = application(3, "when-idle")
    app.nodes[0].needs = (WHY,)
    app.nodes[1].down = True
    app.hook(0)
    app.nodes[1].down = False
    app.nodes[1].boot()
    app.nodes[1].has_stopped("juju-1-lxd-0")

    app.hooks(0, 1, 2, 0)

    assert app.reboots == [0, 0, 0]


def test_under_manual_a_host_that_crashes_during_a_roll_has_to_settle_before_the_next_goes(application: Any):
    app = application(3)
    app.need(1, 2)
    app.action(0, "approve-reboot")
    app.changed(1)
    app.nodes[0].boot()  # a crash of the leader's host
    app.nodes[0].has_stopped("juju-0-lxd-1")
    app.hook(0)
    app.nodes[1].boot()
    app.hook(1)
    app.nodes[1].host.sleep(300)
    out = app.hooks(1, 0, 1, 2, 0, 2)

    assert app.reboots == [0, 1, 0], "a quorum of three has only sriov/1 and sriov/2"
    assert out.unit_status.name == "waiting"
    assert out.unit_status.message == (
        f"it goes on by itself; reboot: waits, since sriov/0 {UNSETTLED}… (see verify)"
    )
    app.nodes[0].has_stopped()
    app.hook(0)
    app.nodes[0].host.sleep(300)
    app.hooks(0, 2)
    assert app.reboots == [0, 1, 1]


def test_the_leader_wakes_when_the_host_that_nobody_asked_to_boot_has_settled(application: Any):
    app = application(3, "always")
    app.nodes[2].boot()
    app.hook(2)
    app.need(1)
    app.changed(0, of=1)
    assert (app.holder, missing_in(app)) == ("", {"sriov/2": UNSETTLED})
    app.nodes[2].host.sleep(300)
    app.hook(2)

    app.changed(0, of=2)

    assert (app.holder, missing_in(app)) == ("sriov/1", {})


def test_a_unit_that_runs_hooks_while_its_host_does_not_answer_is_not_asked_at_each_of_them(
    application: Any, monkeypatch: pytest.MonkeyPatch
):
    app = application(3, "always")
    app.nodes[0].needs = (WHY,)
    app.nodes[1].down = True  # a firewall drops port 22
    marks = set[str]()

    for now in range(1_000_000, 1_000_050, 10):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        app.hook(0)
        marks.add(decode_cluster(app.app_data[KEY]).probe.mark)
        app.changed(1)

    assert len(marks) == 1
    assert (app.reboots, missing_in(app)) == ([0, 0, 0], {"sriov/1": SILENT})


def test_under_manual_a_second_approval_goes_on_without_the_crashed_peer(application: Any):
    app = application(3)
    app.need(0)
    app.nodes[1].down = True
    app.action(0, "approve-reboot")

    held = app.hook(0)

    assert (app.reboots, held.unit_status.name) == ([0, 0, 0], "blocked")
    assert "waits, since sriov/1 does not answer at port 22" in held.unit_status.message
    app.action(0, "approve-reboot")
    app.hook(0)
    assert app.reboots == [1, 0, 0]


def test_the_second_approval_covers_only_the_hosts_that_were_named(application: Any):
    app = application(3)
    app.need(0)
    app.nodes[1].down = True
    app.action(0, "approve-reboot")
    app.hook(0)
    app.action(0, "approve-reboot")
    app.nodes[2].down = True

    app.hook(0)

    assert app.reboots == [0, 0, 0]
    assert missing_in(app) == {"sriov/1": SILENT, "sriov/2": SILENT}


def test_a_host_that_is_down_is_not_granted_the_lock_itself(application: Any):
    app = application(2, "always")
    app.need(1)
    app.nodes[1].down = True

    app.hook(0)

    assert app.holder == ""


def test_after_a_power_cut_of_all_hosts_the_leader_waits_for_a_hook_of_every_peer(application: Any):
    app = application(3, "always")
    for node in app.nodes:
        node.needs = (WHY,)
    for node in app.nodes:
        node.boot(changes_nothing=True)

    app.hooks(0, 1, 0)

    assert (app.reboots, app.holder) == ([0, 0, 0], ""), "sriov/2 still has its databag of before"
    assert app.nodes[0].host.contacted == [], "what is known already needs no look"
    for _ in range(2):
        for number in (2, 1, 0):
            app.hook(number)
            app.nodes[number].host.sleep(300)
    assert app.holder != ""


def test_the_first_grant_in_a_boot_of_the_leader_waits_for_the_reports(application: Any):
    app = application(2, "always")
    app.nodes[0].boot()
    app.nodes[0].needs = (WHY,)

    app.hook(0)
    before = app.reboots
    app.hooks(1, 0)

    assert (before, app.reboots) == ([0, 0], [1, 0])


def test_only_a_leader_that_is_about_to_grant_opens_sockets(application: Any):
    app = application(3, "always")
    contacted: list[list[str]] = []

    def hook(number: int) -> None:
        app.hook(number)
        contacted.append(app.nodes[number].host.contacted)

    hook(0)
    app.nodes[1].needs = app.nodes[2].needs = (WHY,)
    hook(1)
    hook(2)
    assert contacted == [[], [], []], "an idle leader, and units that are not the leader"
    app.changed(0, of=2)
    assert sorted(app.nodes[0].host.contacted) == ["192.168.25.11 22", "192.168.25.12 22"]
    app.nodes[1].boot()
    for number in (1, 0, 2, 0):
        hook(number)
    assert contacted[-4:] == [[], [], [], []], "the lock is held"


@pytest.mark.parametrize("address", ["", "node-1.maas"])
def test_a_peer_without_an_ip_address_counts_as_down(application: Any, address: str):
    app = application(2, "always")
    app.nodes[0].needs = (WHY,)
    app.databags[app.peers.id]["sriov/1"]["ingress-address"] = address

    app.hook(0)

    assert app.reboots == [0, 0]
    assert missing_in(app) == {"sriov/1": SILENT}


# As pure functions.

NEEDS = UnitState(boot_id="a", reasons=(WHY,), has_containers=False)


def test_without_a_grant_that_waits_the_peers_answer_with_what_they_publish_next():
    units = {LEADER: UnitState(boot_id="a"), PEER: UnitState(boot_id="b")}

    assert probe_boot(LEADER, units, Cluster(), 7, at_once=False) == Cluster(
        probe=Probe("a", 7, is_lazy=True)
    )


def test_the_peers_are_asked_once_in_a_boot_of_the_leader_and_once_more_for_a_grant():
    units = {LEADER: NEEDS, PEER: UnitState(boot_id="b", answered="before")}

    first = probe_boot(LEADER, units, Cluster(probe=Probe("before")), 7, at_once=False)
    urgent = probe_boot(LEADER, units, first, 8, at_once=True)

    assert probe_boot(LEADER, units, first, 8, at_once=False) == first
    assert urgent == Cluster(probe=Probe("a", 8))
    assert probe_boot(LEADER, units, urgent, 9, at_once=True) == urgent
    answered = {**units, PEER: UnitState(boot_id="b", answered="a")}
    assert probe_boot(LEADER, answered, first, 8, at_once=True) == first
    assert may_be_down(LEADER, answered, first, ()) == {}
    assert may_be_down(LEADER, units, first, ()) == {PEER: UNREPORTED}


def test_a_silent_peer_is_named_at_once_and_one_that_has_not_reported_after_five_minutes():
    found = {PEER: UNREPORTED, "sriov/2": SILENT}
    cluster = Cluster(probe=Probe("a", 1000))

    assert to_name(found, cluster, 1000 + REPORTS_IN - 1) == {"sriov/2": SILENT}
    assert to_name(found, cluster, 1000 + REPORTS_IN) == found
    assert to_name(found, cluster, 999) == found, "a clock that was set back hides nothing"


def test_a_host_that_did_not_answer_again_needs_a_later_hook_before_a_grant():
    units = {
        LEADER: NEEDS._replace(ready=True, consent="always", since=1),
        PEER: UnitState(boot_id="b", answered="a"),
    }

    def look(cluster: Cluster, now: int, silent: tuple[str, ...] = ()) -> Cluster:
        return arbitrate(LEADER, units, cluster, now, silent)

    def answers(cluster: Cluster) -> None:
        units[PEER] = units[PEER]._replace(answered=cluster.probe.mark)

    asked = look(Cluster(probe=Probe("a")), 1000, (PEER,))
    answers(asked)
    again = look(asked, 1010, (PEER,))
    assert (again.probe.mark, again.may_be_down) == ("a@1000", {PEER: SILENT})

    back = look(again, 1020)
    assert (back.grant, back.probe.mark, back.may_be_down) == (0, "a@1000", {PEER: SILENT}), (
        "it may have crashed at 1010"
    )

    later = look(back, 1000 + PROBES_APART)
    assert (later.grant, later.probe.mark, later.may_be_down) == (0, "a@1300", {PEER: UNPROVEN})
    answers(later)
    assert look(later, 1310).held.keys() == {LEADER}
