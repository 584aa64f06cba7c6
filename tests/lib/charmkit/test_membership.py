# SPDX-License-Identifier: Apache-2.0
"""Whether OVN's databases and RabbitMQ in a host's containers are members of their clusters again."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from charmkit.containers import LXC, autostarting
from charmkit.reboot.services import (
    FIND,
    IN_ALL,
    KEPT_FOR,
    SERVICES,
    not_joined,
    rabbit_joined,
    raft_joined,
)
from hostnic.system import CommandError, failure
from hypothesis import given
from hypothesis import strategies as st
from lab.modelled import FakeHost

PATH = "/run/ovn-offload/sriov.members"
NB, SB, RABBIT, *_ = SERVICES
ONE, TWO = "juju-3f1a2b-0-lxd-1", "juju-3f1a2b-0-lxd-2"

# As ovsdb-server 3.3 prints it: a follower, and what differs in other states.
FOLLOWER = """3e81
Name: OVN_Northbound
Cluster ID: 6be2 (6be21888-7f5e-48c9-b1d6-3a30571d6a02)
Server ID: 3e81 (3e816124-8972-4046-a267-517b9fe7443c)
Address: ssl:10.0.0.31:6643
Status: cluster member
Role: follower
Term: 3
Leader: 68d9
Vote: 68d9

Election timer: 4000
Log: [2, 141]
Entries not yet committed: 0
Entries not yet applied: 0
Connections: ->68d9 ->007f <-68d9 <-007f
Disconnections: 1
Servers:
    3e81 (3e81 at ssl:10.0.0.31:6643) (self)
    68d9 (68d9 at ssl:10.0.0.32:6643) last msg 1543 ms ago
    007f (007f at ssl:10.0.0.33:6643) last msg 1084 ms ago
"""
LEADER = FOLLOWER.replace("Role: follower", "Role: leader").replace("Leader: 68d9", "Leader: self")
CANDIDATE = FOLLOWER.replace("Role: follower", "Role: candidate").replace("Leader: 68d9", "Leader: unknown")
LOST = FOLLOWER.replace("Leader: 68d9", "Leader: unknown")
JOINING = FOLLOWER.replace("cluster member", "joining cluster")
CUT_OFF = FOLLOWER.replace("cluster member", "disconnected from the cluster (election timeout)")

NODES = [f"rabbit@juju-3f1a2b-{n}-lxd-2" for n in range(3)]


def rabbit(running: Sequence[str] = NODES, partitions: Any = None) -> str:
    """As rabbitmqctl 3.9 prints it with ``--formatter json``."""
    return json.dumps(
        {
            "alarms": [],
            "cluster_name": NODES[0],
            "disk_nodes": NODES,
            "feature_flags": [{"name": "quorum_queue", "state": "enabled"}],
            "listeners": {},
            "maintenance_status": dict.fromkeys(NODES, "not under maintenance"),
            "partitions": partitions or {},
            "ram_nodes": [],
            "running_nodes": list(running),
            "versions": {NODES[0]: {"erlang_version": "24.2.1", "rabbitmq_version": "3.9.27"}},
        }
    )


@pytest.fixture
def host() -> FakeHost:
    host = FakeHost()
    host.disk.install(LXC, b"", 0o755)
    put(host, ONE, {NB: FOLLOWER, SB: FOLLOWER.replace("North", "South")}, TWO, {RABBIT: rabbit()})
    return host


def put(host: FakeHost, *named: Any) -> None:
    """Containers and what their services print."""
    names, states = named[::2], named[1::2]
    config = {"boot.autostart": "true"}
    running = [{"name": name, "status": "Running", "config": config} for name in names]
    host.answers[(LXC, "query", "/1.0/instances?recursion=1")] = json.dumps(running)
    for name, state in zip(names, states, strict=True):
        there = "".join(f"{service.data}\n" for service in state)
        host.answers[(LXC, "exec", name, "--", *FIND)] = there
        for service, text in state.items():
            host.answers[(LXC, "exec", name, "--", *service.command)] = text


def executed(host: FakeHost) -> list[tuple[str, ...]]:
    return [argv[2:3] + argv[4:] for argv in host.spawned if argv[1] == "exec"]


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        (FOLLOWER, True),
        (LEADER, True),
        (CANDIDATE, False),
        (LOST, False),
        (JOINING, False),
        (CUT_OFF, False),
        ("", False),
    ],
)
def test_a_database_is_back_when_it_is_a_member_that_knows_its_leader(text: str, joined: bool):
    assert raft_joined(text) is joined


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        (rabbit(), True),
        (rabbit(NODES[:2]), True),
        (rabbit(NODES[:1]), False),
        (rabbit([]), False),
        (rabbit(partitions={NODES[0]: [NODES[1]]}), False),
    ],
)
def test_rabbitmq_is_back_when_it_is_in_an_undivided_majority(text: str, joined: bool):
    assert rabbit_joined(text) is joined


@given(st.text() | st.sampled_from(["[" * 5000, "[]", "3", '{"disk_nodes": 3}', '{"disk_nodes": [[]]}']))
def test_what_cannot_be_read_is_a_value_error(text: str):
    with pytest.raises(ValueError, match="cannot be read"):
        rabbit_joined(text)


def outside(host: FakeHost) -> str:
    """Return the services in the host's running containers that have not joined."""
    here = autostarting(host)
    return not_joined(host, here.running, PATH, here.started)


def test_only_services_that_are_there_are_asked_and_all_are_members(host: FakeHost):
    assert outside(host) == ""
    assert executed(host) == [
        (ONE, *FIND),
        (ONE, *NB.command),
        (ONE, *SB.command),
        (TWO, *FIND),
        (TWO, *RABBIT.command),
    ]


def test_each_service_is_asked_with_its_own_tool():
    assert [" ".join(service.command) for service in (NB, SB, RABBIT)] == [
        "ovn-appctl -t /var/run/ovn/ovnnb_db.ctl cluster/status OVN_Northbound",
        "ovn-appctl -t /var/run/ovn/ovnsb_db.ctl cluster/status OVN_Southbound",
        "rabbitmqctl --quiet cluster_status --formatter json",
    ], "Vault and Ceph's monitors: see test_vault_and_ceph.py"
    assert FIND[2].startswith(
        "ls -d /var/lib/ovn/ovnnb_db.db /var/lib/ovn/ovnsb_db.db /var/lib/rabbitmq/mnesia "
    )


def test_a_container_that_does_not_run_is_not_asked(host: FakeHost):
    stopped = json.loads(host.answers[(LXC, "query", "/1.0/instances?recursion=1")])
    stopped[1]["status"] = "Stopped"
    host.answers[(LXC, "query", "/1.0/instances?recursion=1")] = json.dumps(stopped)

    assert outside(host) == ""
    assert {name for name, *_ in executed(host)} == {ONE}


def test_a_service_that_has_not_joined_is_named_with_its_container(host: FakeHost):
    put(host, ONE, {NB: JOINING, SB: FOLLOWER}, TWO, {RABBIT: rabbit(NODES[:1])})

    assert outside(host) == f"OVN_Northbound in {ONE} has not joined, RabbitMQ in {TWO} has not joined"


def test_a_host_without_containers_runs_and_writes_nothing():
    host = FakeHost()

    assert outside(host) == ""
    assert (host.spawned, host.trace) == ([], [])


def test_a_command_that_fails_is_no_member(host: FakeHost):
    argv = (LXC, "exec", TWO, "--", *RABBIT.command)
    host.answers[argv] = failure(argv, 69, "", "Error: unable to perform an operation on node")

    assert outside(host) == f"{TWO} does not tell (rabbitmqctl failed)"


def test_a_database_that_is_not_clustered_is_not_waited_for(host: FakeHost):
    argv = (LXC, "exec", ONE, "--", *NB.command)
    host.answers[argv] = failure(argv, 2, "", '"cluster/status" is not a valid command (use "list-commands")')

    assert outside(host) == ""


def test_a_database_that_is_not_clustered_hides_no_other_one_in_its_container(host: FakeHost):
    put(host, ONE, {NB: "", SB: JOINING})
    argv = (LXC, "exec", ONE, "--", *NB.command)
    host.answers[argv] = failure(argv, 2, "", '"cluster/status" is not a valid command (use "list-commands")')

    assert outside(host) == f"OVN_Southbound in {ONE} has not joined"


def test_a_name_that_lxd_would_not_allow_reaches_no_command(host: FakeHost):
    put(host, "-c;reboot", {NB: JOINING})

    assert outside(host) == ""
    assert executed(host) == []


def test_an_answer_holds_for_a_minute(host: FakeHost):
    put(host, ONE, {NB: JOINING})
    first = outside(host)
    host.spawned.clear()
    put(host, ONE, {NB: FOLLOWER})

    host.sleep(KEPT_FOR - 1)
    assert (outside(host), executed(host)) == (first, [])
    host.sleep(1)
    assert outside(host) == ""


def test_an_answer_ends_when_a_container_starts_again(host: FakeHost):
    """It ends whatever the option reboot-settle is: the container's services have not joined again."""
    put(host, ONE, {NB: FOLLOWER})
    assert outside(host) == ""
    put(host, ONE, {NB: JOINING})
    query = (LXC, "query", "/1.0/instances?recursion=1")
    again = json.loads(host.answers[query])
    again[0]["last_used_at"] = "2026-11-29T12:00:00Z"
    host.answers[query] = json.dumps(again)

    assert outside(host) == f"OVN_Northbound in {ONE} has not joined"


@pytest.mark.parametrize(
    "kept",
    [
        *("", "{", "[]", '{"at": 0, "said": ""}', '{"at": "x", "of": "", "said": ""}'),
        *('{"at": 1e99, "of": "", "said": ""}', '{"at": 0, "of": 3, "said": ""}'),
        f'{{"at": {"9" * 400}, "of": "", "said": ""}}',
    ],
)
def test_a_kept_answer_that_cannot_be_used_is_asked_anew(host: FakeHost, kept: str):
    host.disk.install(PATH, kept.encode(), 0o600)
    put(host, ONE, {NB: JOINING})

    assert "has not joined" in outside(host)


def test_containers_that_hang_cost_twenty_seconds_in_all(host: FakeHost, monkeypatch: pytest.MonkeyPatch):
    names = [f"juju-0-lxd-{n}" for n in range(9)]
    put(host, *(each for name in names for each in (name, {NB: FOLLOWER})))
    answers, asked = host.query, list[float]()

    def hang(argv: Sequence[str], timeout: float = 60.0) -> str:
        if argv[1] != "exec":
            return answers(argv, timeout)
        asked.append(timeout)
        host.sleep(timeout)
        raise CommandError(argv, f"{argv[0]} did not end within {timeout:g} s")

    monkeypatch.setattr(host, "query", hang)
    began = host.now()

    said = outside(host)

    assert host.now() - began == sum(asked) == IN_ALL
    silent = ", ".join(f"{name} does not answer" for name in names[:3])
    assert said == f"{silent} and 6 more"


# In the rolling reboot.


def test_a_rebooted_host_settles_after_its_database_has_joined_again(application: Any):
    app = application(1, "always")
    node = app.nodes[0]
    node.host.disk.install(LXC, b"", 0o755)
    put(node.host, ONE, {NB: FOLLOWER})
    node.needs = ("8 VFs at the next boot",)
    app.hook(0)
    asked = [tuple(words) for _, *words in executed(node.host)]
    assert asked == [FIND, FIND, NB.command], "what to see to; and right before the reboot: all members"
    put(node.host, ONE, {NB: JOINING})
    node.boot()

    out = app.hook(0)
    node.host.sleep(600)
    app.hook(0)

    assert out.unit_status.message == (
        f"reboot: rebooted; settles once all is back: OVN_Northbound in {ONE} has not joined"
    )
    assert app.holder == "sriov/0"
    put(node.host, ONE, {NB: FOLLOWER})
    for seconds in (60, 300):
        node.host.sleep(seconds)
        app.hook(0)
    assert app.holder == ""
    app.hook(0)
    assert executed(node.host) == [], "a settled host asks nothing"
