# SPDX-License-Identifier: Apache-2.0
"""Which hosts may reboot at once: the option, zones, containers, and hosts that are down."""

import re
from dataclasses import replace
from typing import Any

import pytest
from charmkit.containers import DIRECTORY, LXC
from charmkit.reboot.databag import KEY, decode_cluster, decode_unit
from charmkit.reboot.lock import arbitrate, release
from charmkit.reboot.peers import SILENT, UNREPORTED
from charmkit.reboot.policy import PARALLEL, RebootOptions, slots
from charmkit.reboot.state import Cluster, Need, Probe, Slot, UnitNow, UnitState
from charmkit.reboot.status import STUCK, report
from charmkit.reboot.unit import decide
from converge.shape import InvalidValue

WHY = ("8 VFs at the next boot",)
LEADER = "sriov/0"
NOW = 1_000_000
IDLE = UnitState(boot_id="a", answered="a")
WANTS = UnitState(
    boot_id="b",
    answered="a",
    reasons=WHY,
    since=999_000,
    ready=True,
    consent="always",
    zone="zone-a",
    has_containers=False,
)


def units(*states: UnitState) -> dict[str, UnitState]:
    """The leader, which needs nothing, and its peers."""
    return {LEADER: IDLE, **{f"sriov/{number}": state for number, state in enumerate(states, 1)}}


def granted(found: dict[str, UnitState], most: int, *, silent: tuple[str, ...] = ()) -> list[str]:
    return sorted(arbitrate(LEADER, found, Cluster(), NOW, silent, most).held)


# The option.


@pytest.mark.parametrize(
    ("parallel", "count", "most"),
    [("1", 256, 1), ("4", 256, 4), ("5%", 256, 12), ("5%", 8, 1), ("100%", 3, 3), ("34%", 3, 1)],
)
def test_a_percentage_is_rounded_down_to_at_least_one(parallel: str, count: int, most: int):
    assert slots(RebootOptions(reboot_parallel=parallel).reboot_parallel, count) == most


@pytest.mark.parametrize("wrong", ["", "0", "-1", "0%", "101%", "5 %", "1.5", "all", "01", "5%%", "٣", "1\n"])
def test_another_value_is_one_sentence(wrong: str):
    with pytest.raises(InvalidValue) as refused:
        RebootOptions(reboot_parallel=wrong)
    assert str(refused.value).startswith("reboot-parallel: ")
    assert str(refused.value).endswith(f"expected {PARALLEL}")


# Who goes together.


def test_several_hosts_of_one_zone_reboot_at_once_up_to_the_limit():
    found = units(*[WANTS._replace(since=999_000 + number) for number in range(4)])

    assert granted(found, 3) == ["sriov/1", "sriov/2", "sriov/3"]
    assert granted(found, 1) == ["sriov/1"]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(WANTS._replace(zone="zone-b"), id="another zone"),
        pytest.param(WANTS._replace(zone=""), id="an unknown zone"),
        pytest.param(WANTS._replace(has_containers=True), id="containers"),
    ],
)
def test_hosts_that_may_not_go_together_go_one_after_the_other(other: UnitState):
    assert granted(units(WANTS, other._replace(since=999_001)), 9) == ["sriov/1"]
    assert granted(units(other, WANTS._replace(since=999_001)), 9) == ["sriov/1"]


def test_hosts_without_a_zone_go_one_at_a_time():
    nowhere = WANTS._replace(zone="")

    assert granted(units(nowhere, nowhere), 9) == ["sriov/1"]


def test_the_one_that_waits_longest_decides_on_the_zone_and_the_leader_goes_last():
    found = units(WANTS._replace(since=9), WANTS._replace(since=7, zone="zone-b"), WANTS._replace(since=8))
    found[LEADER] = WANTS._replace(boot_id="a", since=1, zone="zone-b")

    assert granted(found, 1) == ["sriov/2"]
    assert granted(found, 9) == [LEADER, "sriov/2"]


def test_a_slot_that_is_given_back_is_granted_again_while_the_others_are_held():
    found = units(WANTS, WANTS._replace(since=999_001), WANTS._replace(since=999_002))
    first = arbitrate(LEADER, found, Cluster(), NOW, slots=2)
    assert first.held == {"sriov/1": Slot(1, NOW), "sriov/2": Slot(2, NOW)}

    found["sriov/1"] = WANTS._replace(reasons=(), released=1)
    second = arbitrate(LEADER, found, first, NOW + 60, slots=2)

    assert second.held == {"sriov/2": Slot(2, NOW), "sriov/3": Slot(3, NOW + 60)}
    assert second.holder == "sriov/2"
    found["sriov/2"] = found["sriov/3"] = WANTS._replace(reasons=(), released=3)
    assert arbitrate(LEADER, found, second, NOW + 90, slots=2).held == {}


def test_a_holder_is_not_granted_a_second_lock():
    first = arbitrate(LEADER, units(WANTS), Cluster(), NOW, slots=3)

    assert arbitrate(LEADER, units(WANTS), first, NOW + 60, slots=3) == first


def test_a_container_that_came_after_the_grant_makes_the_holder_give_the_lock_back():
    both = Cluster(grant=2)._replace(held={"sriov/1": Slot(1, NOW), "sriov/2": Slot(2, NOW)})
    host = UnitNow(
        "sriov/2", "b", 5000, NOW, leader=False, need=Need(WHY), zone="zone-a", has_containers=True
    )
    always = RebootOptions("always", 300, "2")

    decision = decide(host, always, WANTS, {}, both)
    assert (decision.reboot, decision.own.released) == (False, 2)

    assert decide(host._replace(has_containers=False), always, WANTS, {}, both).reboot


# Hosts that are down.


def test_a_host_that_is_down_takes_a_slot_in_its_zone():
    down = WANTS._replace(reasons=())
    found = units(down, WANTS, WANTS, WANTS)

    assert granted(found, 3, silent=("sriov/1",)) == ["sriov/2", "sriov/3"]
    assert granted(found, 1, silent=("sriov/1",)) == []


def test_a_host_in_its_grace_takes_a_slot_in_its_zone():
    booted = WANTS._replace(reasons=(), settled=False)
    found = units(booted, WANTS, WANTS, WANTS)

    assert granted(found, 3) == ["sriov/2", "sriov/3"]
    assert granted(found, 1) == []
    assert granted(units(booted._replace(has_containers=True), WANTS), 3) == []


def test_a_host_in_its_grace_is_not_in_its_own_way():
    assert granted(units(WANTS._replace(settled=False), IDLE), 1) == ["sriov/1"]


@pytest.mark.parametrize("crashed", [{"zone": "zone-b"}, {"zone": ""}, {"has_containers": True}])
def test_nothing_is_granted_beside_a_host_that_is_down_and_has_containers_or_is_elsewhere(crashed: Any):
    found = units(WANTS._replace(reasons=(), **crashed), WANTS)

    after = arbitrate(LEADER, found, Cluster(), NOW, ("sriov/1",), 9)

    assert (after.holder, after.may_be_down) == ("", {"sriov/1": SILENT})


def test_a_host_that_has_not_reported_in_this_boot_of_the_leader_is_not_known_to_share():
    found = units(WANTS._replace(reasons=(), answered="before"), WANTS)

    after = arbitrate(LEADER, found, Cluster(probe=Probe("a")), NOW, ("sriov/1",), 9)
    assert (after.holder, set(after.may_be_down)) == ("", {"sriov/1"})
    after = arbitrate(LEADER, found, Cluster(probe=Probe("a")), NOW, (), 9)
    assert (after.holder, after.may_be_down) == ("", {"sriov/1": UNREPORTED})


# Releases.


def test_the_lock_of_one_of_several_holders_is_released():
    both = Cluster(grant=6)._replace(held={"sriov/1": Slot(5, 5), "sriov/2": Slot(6, 6)})

    after = release(both, "sriov/1")

    assert (dict(after.held), dict(after.taken)) == ({"sriov/2": Slot(6, 6)}, {"sriov/1": 5})


def test_each_holder_that_is_stuck_is_named_with_the_action_that_releases_it():
    both = Cluster(grant=6)._replace(held={"sriov/1": Slot(5, 5), "sriov/2": Slot(6, NOW)})
    host = UnitNow(LEADER, "a", 5000, NOW + STUCK, leader=True)

    (stuck,) = report(host, RebootOptions(), IDLE, both)

    assert stuck.what.startswith("sriov/1 has held the lock for ")
    assert stuck.remedy.endswith("release-reboot-lock unit=sriov/1")


# In charms.


def fleet(application: Any, parallel: str, *zones: str) -> Any:
    """A leader that needs nothing, and units in these zones that need a reboot."""
    app = application(len(zones) + 1, "always")
    app.policy = replace(app.policy, reboot_parallel=parallel)
    for number, zone in enumerate(zones, 1):
        app.nodes[number].zone = zone
        app.nodes[number].needs = WHY
        app.hook(number)
    return app


def test_two_nodes_of_a_zone_are_down_at_once_and_the_third_follows(application: Any):
    app = fleet(application, "2", "zone-a", "zone-a", "zone-a")
    app.hook(0)
    for number in (1, 2, 3):
        app.changed(number)
    assert app.reboots == [0, 1, 1, 0]
    for number in (1, 2):
        app.nodes[number].boot()
    for number in (1, 2):
        app.hook(number)
        app.nodes[number].host.sleep(300)
        app.hook(number)
        app.changed(0, of=number)
        app.changed(3)
    assert app.reboots == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("containers", "has_containers"),
    [([], False), (["juju-1-lxd-0"], True)],
)
def test_a_host_shares_its_time_only_without_containers_and_no_process_is_asked(
    application: Any, containers: list[str], has_containers: bool
):
    app = application(1, "always")
    node = app.nodes[0]
    node.host.disk.install(LXC, b"", 0o755)
    for name in containers:
        node.host.disk.install(f"{DIRECTORY}/{name}/metadata.yaml", b"", 0o600)

    app.hook(0)

    assert decode_unit(node.data[KEY]).has_containers is has_containers
    assert node.host.spawned == []


def test_a_host_whose_containers_cannot_be_listed_goes_alone(application: Any):
    app = application(1, "always")
    app.nodes[0].host.fail("listdir", DIRECTORY, OSError(5, "Input/output error"), times=None)

    app.hook(0)

    assert decode_unit(app.nodes[0].data[KEY]).has_containers


def test_with_several_holders_release_reboot_lock_wants_a_unit(application: Any):
    app = fleet(application, "2", "zone-a", "zone-a")
    app.hook(0)
    assert set(decode_cluster(app.app_data[KEY]).held) == {"sriov/1", "sriov/2"}

    with pytest.raises(Exception, match=re.escape("several units hold the reboot lock: sriov/1, sriov/2")):
        app.action(0, "release-reboot-lock")
    with pytest.raises(Exception, match=re.escape("parameter unit: 'sriov/7' does not hold the reboot lock")):
        app.action(0, "release-reboot-lock", unit="sriov/7")

    assert app.action(0, "release-reboot-lock", unit="sriov/2")["released"] == "sriov/2"
    assert set(decode_cluster(app.app_data[KEY]).held) == {"sriov/1"}


def test_a_host_with_containers_goes_at_once_where_only_the_leader_has_others():
    """The leader asks its own containers itself: there is nobody whose answer it waits for."""
    found = {**units(WANTS._replace(has_containers=True)), LEADER: IDLE._replace(has_containers=True)}

    cluster = arbitrate(LEADER, found, Cluster(), NOW, (), 1)

    assert (sorted(cluster.held), cluster.probe) == (["sriov/1"], Probe())


def test_an_unresponsive_host_whose_unit_was_removed_is_not_waited_for():
    probe = Probe(unresponsive=("sriov/1", "sriov/9"), mark="mark", at=NOW - 60)

    cluster = arbitrate(LEADER, units(WANTS), Cluster(probe=probe), NOW, (), 1)

    assert "sriov/9" not in {**cluster.may_be_down, **cluster.held}
