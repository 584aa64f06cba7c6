# SPDX-License-Identifier: Apache-2.0
"""States that cannot be read: none is written, and one that another revision or program left is replaced."""

import json
from typing import Any

import pytest
from charmkit.reboot import hook
from charmkit.reboot.databag import KEY, decode_cluster, decode_unit, encode
from charmkit.reboot.lock import GONE_FOR, cancel_all, replaced
from charmkit.reboot.policy import RebootOptions
from charmkit.reboot.state import LOST, Cluster, Slot, UnitNow, UnitState, clock
from charmkit.reboot.unit import decide
from converge import Finding
from converge.shape import InvalidValue
from lab.juju.peers import Given, Peers, databags, kept
from lib.reboot_decisions import ALWAYS, ME, NEEDS, PEER, SETTLED, WHY
from ops import testing

LATER = '{"version": 2, "held": {"some": "later format"}}'
RELEASE = "run: juju run sriov/leader release-reboot-lock"


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The hosts' clock, in seconds since the epoch."""
    clock_of_hosts = [1_700_000_000]
    monkeypatch.setattr("time.time", lambda: float(clock_of_hosts[0]))
    return clock_of_hosts


def published(app: Any) -> Cluster:
    return decode_cluster(app.app_data[KEY])


# The leader's state.


@pytest.mark.parametrize(
    "left",
    [
        LATER,
        "{",
        "[]",
        '{"version": 1, "grant": "many"}',
        '{"version": 1, "probe": {"mark": null}}',
        '{"version": 1, "grant": 1e9}',
        '{"version": 1, "held": {"-5": "3:1"}, "application": "sriov"}',  # a clock before 1970
    ],
)
def test_the_leader_replaces_a_state_that_cannot_be_read_and_the_roll_goes_on(
    application: Any, now: list[int], left: str
):
    app = application(3, "always")
    app.need(1, 2)
    app.app_data[KEY] = left

    said = app.hook(0).unit_status
    assert said.name == "blocked"
    assert said.message.startswith(f"{RELEASE}; reboot: no reboot is granted, since wh")
    assert app.app_data[KEY] == left, "another revision that can read it may lead again"

    now[0] += GONE_FOR
    app.hook(0)
    assert published(app).held.keys() == {"sriov/1", "sriov/2"}, "each may hold what was lost"
    app.changed(1)
    app.changed(0, of=1)
    assert app.reboots == [0, 0, 0], "sriov/2 has not answered"
    app.changed(2)
    app.changed(0, of=2)
    for number in (1, 2):
        app.changed(number)
    assert sum(app.reboots) == 1


def test_a_host_in_its_grace_keeps_the_lock_that_was_lost(application: Any, now: list[int]):
    app = application(3, "always")
    app.need(1, 2)
    app.changed(0, of=1)
    app.changed(1)
    assert app.reboots == [0, 1, 0]
    app.nodes[1].boot()
    app.hook(1)
    app.app_data[KEY] = LATER

    app.hook(0)
    now[0] += GONE_FOR
    app.hooks(0, 1, 2, 0, 2)
    assert app.reboots == [0, 1, 0]
    assert published(app).held.keys() == {"sriov/1"}

    app.nodes[1].host.sleep(300)
    app.hooks(1, 0, 2)
    assert app.reboots == [0, 1, 1]


def test_a_unit_that_asked_for_its_reboot_keeps_it_too(application: Any, now: list[int]):
    app = application(2, "always")
    app.need(1)
    app.changed(0, of=1)
    app.changed(1)
    app.nodes[0].needs = (WHY[0],)
    app.app_data[KEY] = LATER

    app.hook(0)
    now[0] += GONE_FOR
    app.hooks(0, 1, 0, 1, 0)

    assert app.reboots == [0, 1]
    assert published(app).held.keys() == {"sriov/1"}


def test_a_leader_at_rest_reads_all_of_its_peers_before_it_replaces_anything(
    application: Any, now: list[int]
):
    """It was at rest by what its peers told a later revision of this unit."""
    app = application(2)
    app.hook(0)
    bags = Peers("sriov/0", ["sriov/0", "sriov/1"], {"sriov/0": "", "sriov/1": "", "sriov": LATER})
    memory = kept()
    leader = databags("sriov/0", bags, memory, leader=True)
    leader.rest(True)
    memory.unreadable_since = str(now[0] - GONE_FOR)
    host = UnitNow("sriov/0", "boot 1", 5000, now[0], leader=True)

    hook.run(Given(leader, host), ALWAYS, periodic=True)

    assert "sriov/1" in decode_cluster(bags.text("sriov")).held


@pytest.mark.parametrize("since", ["", "1699999701", "1700000060"])
def test_a_clock_that_was_set_back_begins_the_wait_anew(now: list[int], since: str):
    peers = Peers(ME, [ME], {ME: "", "sriov": LATER})
    memory = kept()
    memory.unreadable_since = since
    bags = databags(ME, peers, memory, leader=True)

    assert bags.replace({ME: SETTLED}, now[0]) is None
    assert int(memory.unreadable_since) <= now[0]
    assert bags.replace({ME: SETTLED}, now[0] + GONE_FOR)


def test_a_unit_that_does_not_lead_replaces_nothing(now: list[int]):
    memory = kept()
    bags = databags(ME, Peers(ME, [ME], {ME: "", "sriov": LATER}), memory, leader=False)

    for _ in range(3):
        assert bags.replace({ME: SETTLED}, now[0]) is None
        now[0] += GONE_FOR


def test_once_it_can_be_read_again_the_wait_is_over(application: Any, now: list[int]):
    app = application(1)
    before = app.app_data[KEY] = encode(Cluster(grant=3))
    for left in (LATER, before, LATER):
        app.app_data[KEY] = left
        app.hook(0)
        now[0] += GONE_FOR - 1

    assert app.app_data[KEY] == LATER


def test_release_reboot_lock_replaces_it_at_once(application: Any, now: list[int]):
    app = application(2, "always")
    app.need(1)
    app.app_data[KEY] = LATER

    with pytest.raises(testing.ActionFailed, match=RELEASE):
        app.action(0, "approve-reboot")
    assert "free once answered by sriov/0, sriov/1" in app.action(0, "release-reboot-lock")["released"]
    app.hooks(0, 1, 0, 1)

    assert app.reboots == [0, 1]


def test_what_replaces_it_is_nobodys_to_use_and_follows_every_number_that_a_unit_knows():
    units = {ME: SETTLED._replace(released=7, approved_after=2), PEER: SETTLED._replace(saw_lock_taken=9)}

    found = replaced(units, NEEDS.now, stopped=False)

    assert found == Cluster(
        grant=10, lost=10, cancels=3, held={ME: Slot(10, NEEDS.now), PEER: Slot(10, NEEDS.now)}
    )
    alone = found._replace(held={ME: Slot(10, NEEDS.now)})
    decision = decide(NEEDS._replace(leader=False), ALWAYS, units[ME], {}, alone)
    assert (decision.reboot, decision.own.released) == (False, 10)


@pytest.mark.parametrize(
    ("left", "stopped"),
    [
        ('{"version": 2, "stopped": true}', True),
        ('{"version": 2, "stopped": false}', False),
        ('{"version": 2, "stopped": 1}', False),
        ("[true]", False),
        ("{", False),
        ("[" * 100_000, False),
    ],
)
def test_the_operators_stop_stays_where_it_can_be_read(now: list[int], left: str, stopped: bool):
    memory = kept()
    memory.unreadable_since = str(now[0] - GONE_FOR)
    bags = databags(ME, Peers(ME, [ME], {ME: "", "sriov": left}), memory, leader=True)

    found = bags.replace({ME: SETTLED}, now[0])

    assert found
    assert found.stopped is stopped


def test_an_approval_that_was_cancelled_does_not_count_again():
    approved = NEEDS._replace(leader=False), SETTLED._replace(approved=WHY, reasons=WHY, ready=True)
    cancelled = cancel_all(Cluster())
    instead = replaced({ME: approved[1]}, NEEDS.now, stopped=False)

    for cluster in (cancelled, instead):
        free = cluster._replace(grant=99, held={ME: Slot(99, NEEDS.now)})
        assert not decide(approved[0], RebootOptions("manual"), approved[1], {}, free).reboot


# A unit's own state.


def test_a_unit_that_cannot_read_its_own_state_settles_before_it_gives_a_lock_back(application: Any):
    app = application(2, "always")
    app.need(1)
    app.changed(0, of=1)
    app.changed(1)
    app.nodes[1].boot()
    app.hook(1)
    app.nodes[1].data[KEY] = LATER

    app.hook(1)
    assert decode_unit(app.nodes[1].data[KEY]).settled is False
    assert app.holder == "sriov/1"
    app.nodes[1].host.sleep(300)
    app.hooks(1, 0)

    assert app.holder == ""


def test_what_is_lost_of_a_unit_is_no_hook_of_another_boot():
    own = decide(NEEDS._replace(leader=False), ALWAYS, LOST, {}, Cluster()).own

    assert (own.boot_id, own.settled, own.reasons) == (NEEDS.boot_id, False, WHY)


# What is written.


@pytest.mark.parametrize(
    "state",
    [
        UnitState(missing_members="RabbitMQ in juju-0-lxd-1: member rabbit@b\0 does not run"),
        UnitState(contested="two\nlines"),
        UnitState(since=-1),
        UnitState(reasons=("x" * 65536,)),
        Cluster(grant=10**15),
        Cluster(held={"sriov/0": Slot(1, -5)}),
        Cluster(may_be_down={"sriov/0": "\ud800"}),
        Cluster(held_up_by=("sriov/1234567890",)),
    ],
)
def test_what_its_reader_refuses_is_not_written(state: UnitState | Cluster):
    with pytest.raises(InvalidValue):
        encode(state)


@pytest.mark.parametrize("grant", [10**9, 1234567890, 10**14])
def test_a_grant_of_many_digits_can_be_read_again(grant: int):
    cluster = Cluster(grant=grant, held={"sriov/0": Slot(grant, 10**14, 10**14)}, taken={"sriov/1": grant})

    assert decode_cluster(encode(cluster)) == cluster


def test_a_long_name_of_an_application_can_be_read_again():
    unit = f"{'sriov-' * 40}x/3"
    cluster = Cluster(held={unit: Slot(1, 5)}, missed_by=unit, held_up_by=(unit,), may_be_down={unit: "why"})

    assert decode_cluster(encode(cluster)) == cluster


def test_a_clock_before_1970_reads_as_1970(application: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("time.time", lambda: -86400.5)
    app = application(2, "always")
    app.need(0, 1)
    app.hooks(0, 1)

    assert clock() == 0
    assert sum(app.reboots) == 1


def test_a_decision_that_could_not_be_read_again_is_a_finding_and_no_reboot(now: list[int]):
    peers = Peers(ME, [ME], {ME: "", "sriov": encode(Cluster())})
    bags = databags(ME, peers, kept(), leader=True)
    host = NEEDS._replace(need=NEEDS.need._replace(reasons=("x" * 65536,)), now=now[0])

    found = hook.run(Given(bags, host), ALWAYS)

    assert isinstance(found, list)
    (finding,) = found
    assert isinstance(finding, Finding)
    assert finding.what.startswith("no reboot is asked for or granted: what this unit would publish")
    assert (peers.text(ME), json.loads(peers.text("sriov"))) == ("", {"version": 1})
