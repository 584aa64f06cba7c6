# SPDX-License-Identifier: Apache-2.0
"""How few hooks a rolling reboot takes: what is not published, and when a host that booted is looked at."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from charmkit.containers import LXC
from charmkit.reboot.databag import KEY, decode_cluster, decode_unit
from charmkit.reboot.lock import arbitrate
from charmkit.reboot.peers import probe_boot
from charmkit.reboot.policy import RebootOptions
from charmkit.reboot.relation import must_publish
from charmkit.reboot.services import FIND
from charmkit.reboot.state import Approval, Cluster, Probe, Slot, UnitState, mark
from ops import testing

WHY = ("8 VFs at the next boot",)
QUERY = (LXC, "query", "/1.0/instances?recursion=1")
CONTAINER = "juju-3f1a2b-0-lxd-1"


# The grace after a boot.


@pytest.fixture
def booted(application: Any) -> Any:
    """One unit, whose host has just rebooted for it."""
    app = application(1, "always")
    app.need(0)
    app.nodes[0].boot()
    return app


def test_a_host_in_order_is_looked_at_again_when_the_settle_time_is_over(booted: Any):
    node, host = booted.nodes[0], booted.nodes[0].host

    booted.hook(0)
    assert node.wakes_in == 300
    host.sleep(120)
    booted.hook(0)
    assert node.wakes_in == 180, "each look asks anew, for what is left"
    host.sleep(180)
    booted.hook(0)

    assert (booted.holder, host.spawned) == ("", [])


def test_the_settle_time_begins_anew_once_the_host_is_in_order_again(booted: Any):
    node, host = booted.nodes[0], booted.nodes[0].host
    booted.hook(0)
    host.sleep(200)
    node.unverified = "VF-LAG is not active"
    booted.hook(0)
    assert node.wakes_in == 60
    node.unverified = ""
    booted.hook(0)
    assert node.wakes_in == 300
    host.sleep(299)
    booted.hook(0)
    assert booted.holder == "sriov/0"
    host.sleep(1)
    booted.hook(0)

    assert booted.holder == ""


def runs_since(host: Any, time: str) -> None:
    """LXD has one container, which has run since then and has no clustered service that can be asked."""
    config = {"boot.autostart": "true"}
    container = {"name": CONTAINER, "status": "Running", "last_used_at": time, "config": config}
    host.answers[QUERY] = json.dumps([container])
    host.answers[(LXC, "exec", CONTAINER, "--", *FIND)] = ""


def test_a_container_that_starts_again_between_two_looks_begins_the_settle_time_anew(booted: Any):
    node = booted.nodes[0]
    node.host.disk.install(LXC, b"", 0o755)
    runs_since(node.host, "2026-11-23T20:04:00.1Z")
    booted.hook(0)
    runs_since(node.host, "2026-11-23T20:07:00.2Z")  # MySQL in it has two minutes less to join again
    node.host.sleep(300)

    booted.hook(0)

    assert booted.holder == "sriov/0"
    assert node.wakes_in == 300
    node.host.sleep(300)
    booted.hook(0)
    assert booted.holder == ""


def test_one_look_at_a_host_asks_lxd_once_for_its_containers(booted: Any):
    node = booted.nodes[0]
    node.host.disk.install(LXC, b"", 0o755)
    runs_since(node.host, "2026-11-23T20:04:00.1Z")
    node.needs, booted.policy = ("another reason",), RebootOptions("manual", 300, "2")

    booted.hook(0)

    assert [argv for argv in node.host.spawned if argv[0] == LXC] == [
        QUERY,
        (LXC, "exec", CONTAINER, "--", *FIND),  # what its operator has to see to
        (LXC, "exec", CONTAINER, "--", *FIND),  # whether its services have joined
    ]


# What goes out together, and what does not go out.


def test_the_first_grant_goes_out_with_the_approval(application: Any):
    app = application(3)
    app.need(0, 1, 2)

    results = app.action(0, "approve-reboot")

    assert (results["first"], app.holder) == ("sriov/1", "sriov/1")
    assert set(decode_cluster(app.app_data[KEY]).approvals) == {"sriov/0", "sriov/1", "sriov/2"}
    assert sorted(app.nodes[0].host.contacted) == ["192.168.25.11 22", "192.168.25.12 22"]


def test_an_approval_grants_nothing_while_a_host_does_not_answer(application: Any):
    app = application(3)
    app.need(0, 1, 2)
    app.nodes[2].down = True

    results = app.action(0, "approve-reboot")

    assert (results["first"], app.holder) == ("as the leader grants it", "")
    assert "waits, since sriov/2 does not answer at port 22" in app.hook(0).unit_status.message


def test_the_leader_keeps_what_it_needs_itself_until_another_unit_leads(application: Any):
    app = application(2)
    app.nodes[0].needs = WHY
    before = app.nodes[0].data[KEY]

    blocked = app.hook(0)
    assert isinstance(blocked.unit_status, testing.BlockedStatus)
    assert app.nodes[0].data[KEY] == before
    app.leader = 1
    app.hook(0)

    assert decode_unit(app.nodes[0].data[KEY]).reasons == WHY
    assert app.action(1, "approve-reboot")["approved"] == "sriov/0"


def test_an_approved_leader_that_no_longer_leads_still_reboots(application: Any):
    app = application(2)
    app.need(0)
    app.nodes[1].down = True
    app.action(0, "approve-reboot")
    app.nodes[1].down = False
    app.leader = 1
    app.hooks(1, 0)
    app.changed(1, of=0)
    app.hook(0)

    assert app.nodes[0].reboots == 1


IDLE = UnitState(boot_id="b", answered="l")
NEEDS = IDLE._replace(reasons=WHY, ready=True, approved=WHY)


def test_which_changes_a_leader_publishes_of_its_own():
    assert must_publish("u/0", IDLE, NEEDS, Cluster())
    assert not must_publish("u/0", IDLE, NEEDS, Cluster(), leads=True)
    assert must_publish("u/0", IDLE, NEEDS._replace(zone="zone-a"), Cluster(), leads=True)
    assert must_publish("u/0", IDLE, IDLE._replace(boot_id="c", settled=False), Cluster(), leads=True)
    assert must_publish("u/0", IDLE, NEEDS._replace(settled=False), Cluster(), leads=True)


def test_a_new_leader_asks_for_nothing_in_advance_while_a_unit_holds_the_lock():
    units = {"u/0": IDLE, "u/1": IDLE._replace(boot_id="n")}
    held = Cluster(grant=4, held={"u/0": Slot(4, 0)}, probe=Probe("l"))

    assert probe_boot("u/1", units, held, 7, at_once=False) == held
    assert probe_boot("u/1", units, held, 7, at_once=True).probe.mark == "n"
    assert probe_boot("u/1", units, held._replace(held={}), 7, at_once=False).probe.mark == "n"


def test_the_approval_of_a_holder_that_has_not_said_what_it_needs_stays_until_it_gives_the_lock_back():
    approval = Approval(mark("b"), WHY)
    held = Cluster(approvals={"u/0": approval}, probe=Probe("n"), grant=4)._replace(held={"u/0": Slot(4, 5)})
    units = {"u/0": IDLE, "u/1": IDLE._replace(boot_id="n")}

    assert arbitrate("u/1", units, held, 9) == held
    freed = arbitrate("u/1", {**units, "u/0": IDLE._replace(boot_id="c", released=4)}, held, 9)
    assert (freed.held, freed.approvals) == ({}, {})


# All hooks of a roll.


def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The simulation of Juju."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "bench")
    return importlib.import_module("reboots")


@pytest.mark.parametrize("count", [3, 8, 12])
def test_a_roll_takes_three_hooks_a_unit_for_each_unit(monkeypatch: pytest.MonkeyPatch, count: int):
    """And three in all: approve-reboot, the leader's hook after it, and the election while its host boots.

    A host without containers takes one hook less: it has settled when it is up. Before each of the three with
    containers goes down, the leader asks the other ones, and they answer.
    """
    roll = bench(monkeypatch).roll(count)

    answers = roll.hooks - (3 * count * count + 3) + (count - 3)
    assert 0 < answers <= 12 * count
    assert roll.from_approval <= 2 * count * count + 3 + 2 + 12 * count


@pytest.mark.parametrize("count", [3, 8])
def test_a_roll_that_nobody_approves_takes_two_writes_more(monkeypatch: pytest.MonkeyPatch, count: int):
    """The leader asks at once for its mark, and repeats it; there is no action and no hook after it."""
    roll = bench(monkeypatch).roll(count, mode="always")

    without = 3 * count * count + 1 + 2 * (count - 1) - (count - 3)
    assert 0 < roll.hooks - without <= 12 * count
