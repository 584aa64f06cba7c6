# SPDX-License-Identifier: Apache-2.0
"""Before a host with containers goes down, its clusters are asked whether all of their members are there."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from charmkit.containers import LXC
from charmkit.reboot.databag import KEY, decode_unit
from charmkit.reboot.lock import approve_all, arbitrate
from charmkit.reboot.peers import FRESH
from charmkit.reboot.services import FIND, SEEDS_FILE, SERVICES, Membership, missing_members, raft_suspects
from charmkit.reboot.state import Cluster, Probe, UnitState
from hostnic.system import failure
from lab.modelled import FakeHost

NB, SB, RABBIT, *_ = SERVICES
NAME = "juju-3f1a2b-0-lxd-1"
WHY = "8 VFs at the next boot"

RAFT = """3e81
Name: OVN_Southbound
Server ID: 3e81 (3e816124-8972-4046-a267-517b9fe7443c)
Address: ssl:10.0.0.31:6644
Status: cluster member
Role: {role}
Term: 3
Leader: {leader}
Election timer: 4000
Servers:
    3e81 (3e81 at ssl:10.0.0.31:6644) (self)
    68d9 (68d9 at ssl:10.0.0.32:6644) last msg {first} ms ago
    007f (007f at ssl:10.0.0.33:6644) last msg {second} ms ago
"""


def raft(first: int = 500, second: int = 500, *, leads: bool = False) -> str:
    """As a server prints it, with the times since its last message from each of the others."""
    role, leader = ("leader", "self") if leads else ("follower", "68d9")
    return RAFT.format(role=role, leader=leader, first=first, second=second)


def unheard(*, leads: bool = False) -> str:
    """The last server has sent nothing since this one started: ovsdb prints no time then (ovsdb/raft.c)."""
    return raft(leads=leads).replace("at ssl:10.0.0.33:6644) last msg 500 ms ago", "at ssl:10.0.0.33:6644)")


def rabbit(running: tuple[int, ...] = (0, 1, 2), partitions: Any = ()) -> str:
    nodes = [f"rabbit@juju-{n}" for n in range(3)]
    shown = {"disk_nodes": nodes, "running_nodes": [nodes[n] for n in running], "partitions": partitions}
    return json.dumps(shown)


SEEDS = json.dumps(
    {
        "Version": 2,
        "mysql_dynamic_variables": {
            "group_replication_group_seeds": {"Value": "10.0.0.42:33061,10.0.0.43:33061", "Metadata": {}}
        },
    }
)


def put(host: FakeHost, paths: Mapping[str, str], answering: tuple[str, ...] = ()) -> FakeHost:
    """One container with these services, and the addresses that accept a connection from it."""
    host.disk.install(LXC, b"", 0o755)
    running = [{"name": NAME, "status": "Running", "config": {"boot.autostart": "true"}}]
    host.answers[(LXC, "query", "/1.0/instances?recursion=1")] = json.dumps(running)
    inside = (LXC, "exec", NAME, "--")
    host.answers[(*inside, *FIND)] = "".join(f"{path}\n" for path in paths)
    for service in SERVICES:
        if service.data in paths:
            host.answers[(*inside, *service.command)] = paths[service.data]
    host.answers[(*inside, "cat", SEEDS_FILE)] = paths.get(SEEDS_FILE, "")
    host.answers = {key: value for key, value in host.answers.items() if "timeout" not in key}
    for address in answering:
        ip, port = address.split(":")
        script = f"exec 3<>/dev/tcp/{ip}/{port} && echo answers"
        host.answers[(*inside, "timeout", "4", "bash", "-c", script)] = "answers\n"
    host.answers[(*inside, "timeout")] = failure(["timeout"], 1, "", "Connection refused")
    return host


def asked(paths: Mapping[str, str], *answering: str) -> Membership:
    return missing_members(put(FakeHost(), paths, answering), [NAME])


def test_all_are_there() -> None:
    paths = {NB.data: raft(leads=True), SB.data: raft(), RABBIT.data: rabbit(), SEEDS_FILE: SEEDS}
    assert asked(paths, "10.0.0.42:33061", "10.0.0.43:33061") == ("", ())


@pytest.mark.parametrize(
    ("paths", "answering", "away"),
    [
        pytest.param(
            {NB.data: raft(second=900_000, leads=True)},
            ["10.0.0.33:6644"],
            f"OVN_Northbound in {NAME}: member 007f at ssl:10.0.0.33:6644 is missing",
            id="the leader does not hear a member, whatever its port says",
        ),
        pytest.param(
            {SB.data: raft(second=900_000)},
            [],
            f"OVN_Southbound in {NAME}: member 007f at ssl:10.0.0.33:6644 is missing",
            id="a follower does not hear another one, and cannot reach it",
        ),
        pytest.param({SB.data: raft(second=900_000)}, ["10.0.0.33:6644"], "", id="followers do not talk"),
        pytest.param(
            {SB.data: raft().replace("cluster member", "joining cluster")},
            [],
            f"OVN_Southbound in {NAME}: it has not joined",
            id="this one has not joined",
        ),
        pytest.param(
            {SB.data: unheard(leads=True)},
            ["10.0.0.33:6644"],
            f"OVN_Southbound in {NAME}: member 007f at ssl:10.0.0.33:6644 is missing",
            id="the leader has never heard a member",
        ),
        pytest.param(
            {SB.data: unheard()},
            [],
            f"OVN_Southbound in {NAME}: member 007f at ssl:10.0.0.33:6644 is missing",
            id="a follower has never heard another one, and cannot reach it",
        ),
        pytest.param({SB.data: unheard()}, ["10.0.0.33:6644"], "", id="a follower that has heard none"),
        pytest.param(
            {RABBIT.data: rabbit((0, 2))},
            [],
            f"RabbitMQ in {NAME}: member rabbit@juju-1 does not run",
            id="a node of RabbitMQ",
        ),
        pytest.param(
            {RABBIT.data: rabbit(partitions={"rabbit@juju-0": ["rabbit@juju-1"]})},
            [],
            f"RabbitMQ in {NAME}: the cluster is divided",
            id="RabbitMQ is divided",
        ),
        pytest.param(
            {SEEDS_FILE: SEEDS},
            ["10.0.0.42:33061"],
            f"MySQL in {NAME}: member 10.0.0.43:33061 does not answer",
            id="a member of MySQL",
        ),
        pytest.param({RABBIT.data: "?"}, [], f"what {NAME} tells cannot be read", id="nonsense"),
    ],
)
def test_a_missing_member_is_named_with_its_service(
    paths: dict[str, str], answering: list[str], away: str
) -> None:
    assert asked(paths, *answering).missing == away


def test_a_container_that_tells_something_else_is_no_reason_to_go_down() -> None:
    host = put(FakeHost(), {})
    host.answers[(LXC, "exec", NAME, "--", *FIND)] = raft()
    assert missing_members(host, [NAME]).missing.startswith(f"what {NAME} tells cannot be read")


def test_a_service_that_does_not_answer_is_no_reason_to_go_down() -> None:
    host = put(FakeHost(), {SB.data: ""})
    command = (LXC, "exec", NAME, "--", *SB.command)
    host.answers[command] = failure(list(command), 1, "", "no such file or directory")
    assert missing_members(host, [NAME]).missing == f"{NAME} does not tell (ovn-appctl failed)"


def test_a_database_of_one_server_has_no_members_to_miss() -> None:
    host = put(FakeHost(), {SB.data: ""})
    command = (LXC, "exec", NAME, "--", *SB.command)
    host.answers[command] = failure(list(command), 2, "", '"cluster/status" is not a valid command')
    assert missing_members(host, [NAME]) == ("", ())


def test_mysql_without_the_addresses_of_its_members_is_named_as_not_asked() -> None:
    assert asked({SEEDS_FILE: '{"Version": 2}'}) == ("", (f"MySQL in {NAME}",))


def test_the_leaders_time_without_a_message_follows_its_election_timer() -> None:
    slow = raft(second=100_000, leads=True)
    assert [what for what, _ in raft_suspects(slow)] == ["member 007f at ssl:10.0.0.33:6644 is missing"]
    assert [*raft_suspects(slow.replace("timer: 4000", "timer: 60000"))] == []


# In a charm.


def test_a_host_keeps_its_lock_and_waits_until_all_members_are_there(application: Any) -> None:
    app = application(1, "always")
    node = app.nodes[0]
    put(node.host, {SB.data: raft(second=900_000)})
    node.needs = (WHY,)

    out = app.hook(0)

    assert (node.reboots, app.holder) == (0, "sriov/0")
    assert out.unit_status.message.startswith(
        "bring the member back; reboot: waits, since a cluster misses a member (OVN_Southbound"
    )
    assert node.wakes_in == 60
    put(node.host, {SB.data: raft()})
    app.hook(0)
    assert node.reboots == 1


def test_approve_reboot_goes_on_without_the_member_that_was_named_and_without_no_other(
    application: Any,
) -> None:
    app = application(1)
    node = app.nodes[0]
    put(node.host, {RABBIT.data: rabbit((0, 2))})
    node.needs = (WHY,)
    app.hook(0)
    app.action(0, "approve-reboot")
    app.hook(0)
    assert node.reboots == 0
    put(node.host, {RABBIT.data: rabbit((0,))})
    app.action(0, "approve-reboot")
    app.hook(0)
    assert node.reboots == 0, "another one is missing now"
    app.action(0, "approve-reboot")
    app.hook(0)
    assert node.reboots == 1


@pytest.mark.parametrize("hook", ["hook", "changed"])
def test_a_host_asks_also_where_its_unit_does_not_lead(application: Any, hook: str) -> None:
    app = application(2, "always")
    node = app.nodes[1]
    put(node.host, {RABBIT.data: rabbit((0, 2))})
    node.needs = (WHY,)
    app.hooks(1, 0)
    assert app.holder == "sriov/1"

    out = getattr(app, hook)(1)

    assert (node.reboots, app.holder) == (0, "sriov/1")
    assert "waits, since a cluster misses a member (RabbitMQ in" in out.unit_status.message
    assert node.wakes_in == 60
    put(node.host, {RABBIT.data: rabbit()})
    app.hook(1)
    assert node.reboots == 1


@pytest.mark.parametrize("name", ["rabbit@b\0", "rabbit@\ud800", "two\nlines", "b" * 70_000])
def test_a_member_with_any_name_can_be_approved_away(application: Any, name: str) -> None:
    """The name goes into the unit's databag, which the other units read."""
    app = application(2)
    node = app.nodes[1]
    shown = {"disk_nodes": ["rabbit@a", name], "running_nodes": ["rabbit@a"], "partitions": []}
    put(node.host, {RABBIT.data: json.dumps(shown)})
    node.needs = (WHY,)
    app.hooks(1, 0)
    app.action(0, "approve-reboot")
    app.hook(1)
    assert node.reboots == 0
    assert "RabbitMQ" in decode_unit(node.data[KEY]).missing_members

    app.action(0, "approve-reboot")
    app.hook(1)

    assert node.reboots == 1


def test_a_host_without_containers_asks_nobody(application: Any) -> None:
    app = application(1, "always")
    app.need(0)
    assert app.nodes[0].reboots == 1
    assert not [argv for argv in app.nodes[0].host.spawned if argv[0] == LXC]


# Excuses.


def test_a_released_holder_that_comes_back_has_to_settle_before_the_next_goes(application: Any) -> None:
    app = application(3)
    app.need(1, 2)
    app.action(0, "approve-reboot")
    app.changed(1)
    assert app.nodes[1].reboots == 1
    app.nodes[1].down = True
    app.action(0, "release-reboot-lock")
    app.hooks(0, 2, 0, 2)
    assert app.nodes[2].reboots == 0, "nothing moves while it is down"

    app.nodes[1].down = False
    app.nodes[1].boot()
    app.nodes[1].has_stopped("juju-1-lxd-0", "juju-1-lxd-1")
    app.hooks(1, 0, 2, 0, 2)

    assert app.nodes[2].reboots == 0, "two of a quorum of three would be out"
    app.nodes[1].has_stopped()
    app.hook(1)
    app.nodes[1].host.sleep(300)
    app.hooks(1, 0, 2)
    assert app.nodes[2].reboots == 1


@pytest.mark.parametrize("settled", [True, False], ids=["it was down", "it had not settled"])
def test_an_approval_despite_a_host_covers_that_absence_and_no_later_one(settled: bool) -> None:
    known = UnitState(boot_id="a", answered="a", has_containers=False)
    needs = known._replace(reasons=(WHY,), ready=True)
    away = known._replace(boot_id="c", settled=settled)
    units = {"s/0": known, "s/1": needs._replace(boot_id="b"), "s/2": away}
    found = arbitrate("s/0", units, approve_all(units, Cluster()), 1000, ("s/2",))
    assert (found.holder, set(found.may_be_down)) == ("", {"s/2"})

    approved = approve_all(units, found)
    assert arbitrate("s/0", units, approved, 1001, ("s/2",)).holder == "s/1"
    for back in (
        away._replace(boot_id="d", settled=True),  # it booted, settled, and went down again
        away._replace(settled=True, answered="a@1000"),  # it ran a hook, and went down again
    ):
        again = arbitrate("s/0", {**units, "s/2": back}, approved, 40_000, ("s/2",))
        assert (again.holder, set(again.may_be_down)) == ("", {"s/2"})


def test_a_host_with_containers_waits_until_the_others_have_run_a_hook_in_their_present_boot() -> None:
    known = UnitState(boot_id="a", answered="a")
    needs = known._replace(reasons=(WHY,), ready=True, consent="always")
    units = {"s/0": known, "s/1": needs._replace(boot_id="b"), "s/2": known._replace(boot_id="c")}
    asked = arbitrate("s/0", units, Cluster(probe=Probe("a")), 1000)
    assert (asked.holder, asked.probe.with_containers) == ("", ("s/1", "s/2"))

    answered = {**units, "s/2": units["s/2"]._replace(answered=asked.probe.mark)}
    assert arbitrate("s/0", answered, asked, 1060).holder == "s/1"
    crashed = {**units, "s/2": units["s/2"]._replace(answered=asked.probe.mark, boot_id="d", settled=False)}
    assert arbitrate("s/0", crashed, asked, 1060).holder == ""
    late = arbitrate("s/0", answered, asked, 1000 + FRESH)
    assert (late.holder, late.probe.mark == asked.probe.mark) == ("", False), "it may have crashed since"


def test_a_host_without_containers_does_not_wait_for_that() -> None:
    known = UnitState(boot_id="a", answered="a")
    needs = known._replace(reasons=(WHY,), ready=True, consent="always", has_containers=False)
    units = {"s/0": known, "s/1": needs._replace(boot_id="b"), "s/2": known._replace(boot_id="c")}
    assert arbitrate("s/0", units, Cluster(probe=Probe("a")), 1000).holder == "s/1"
