# SPDX-License-Identifier: Apache-2.0
"""VFs lose their carrier while the bond of their ports has none, with option follow-uplink, and get it back.

In the model as in mlx5, a representor that is up is its VF's carrier.
"""

import errno
from collections.abc import Callable

import pytest
import record
from boot import files, follow
from desired import PATH
from hostnic.boot import units
from lab.modelled import FakeHost
from unit.sriov_switchdev.node import PORT0, PORT1, REFUSED, Node, nic

USED = ("enp59s0f0_0", "enp59s0f1_1")
"""The representors of VFs that instances have: os-vif has set them up. All others are down."""
Event = Callable[[FakeHost], object]


@pytest.fixture
def following(node: Node) -> Node:
    """A converged node with the option, on which two instances have VFs."""
    node.converge(num_vfs=2, reboot_settle=0, follow_uplink=True)
    assert node.emit("update_status").name == "active", node.findings()
    for name in USED:
        node.host.links.set_up(name, True)
    node.forget()
    return node


def up(host: FakeHost) -> list[str]:
    """The representors that are up: whose VFs have carrier."""
    return [link.name for link in host.links.all() if "vf" in (link.port_name or "") and link.up]


def cut(*ports: str) -> Event:
    return lambda host: host.network.unplugged.update(ports)


def plug(*ports: str) -> Event:
    return lambda host: host.network.unplugged.difference_update(ports)


def put(name: str, *, up: bool) -> Event:
    return lambda host: host.links.set_up(name, up)


def played(node: Node, *events: Event) -> list[list[str]]:
    """The representors that are up after each event, while the service runs; it is then stopped."""
    seen: list[list[str]] = []
    host = node.host

    def then(event: Event) -> Event:
        def happen(host: FakeHost) -> None:
            event(host)
            host.sleep(2.0)  # LACP

        return happen

    def look(host: FakeHost) -> None:
        seen.append(up(host))

    host.meanwhile = [each for event in events for each in (then(event), look)]
    assert follow.follow(host) == ()
    return seen


def test_both_cables_cut_take_the_carrier_and_the_first_that_returns_gives_it_back(following: Node) -> None:
    assert played(following, cut(PORT0, PORT1), plug(PORT1)) == [[], [*USED]]


def test_one_cable_changes_nothing(following: Node) -> None:
    assert played(following, cut(PORT0), plug(PORT0), cut(PORT1)) == [[*USED]] * 3
    assert nic(following.host.trace) == []


def test_only_what_was_up_is_set(following: Node) -> None:
    played(following, cut(PORT0, PORT1), plug(PORT0))
    downs, ups = ([f"set_up {name} {state}" for name in USED] for state in ("down", "up"))
    assert nic(following.host.trace) == [*downs, *ups]


def test_a_bond_that_is_set_down_is_a_way_out_that_is_closed(following: Node) -> None:
    assert played(following, put("bond0", up=False), put("bond0", up=True)) == [[], [*USED]]


def test_a_bond_that_is_not_there_takes_no_carrier(following: Node) -> None:
    assert played(following, lambda host: host.network.bonds.clear()) == [[*USED]]


def test_a_port_without_a_bond_is_its_vfs_way_out(node: Node) -> None:
    node.host.network.bonds.clear()
    node.host.members_changed()
    ports = f"{PORT0} {PORT1}"
    node.converge(num_vfs=2, reboot_settle=0, follow_uplink=True, devices=ports, vf_lag="disabled")
    for name in USED:
        node.host.links.set_up(name, True)
    assert played(node, cut(PORT0), plug(PORT0)) == [[USED[1]], [*USED]]


def test_an_instance_that_starts_meanwhile_has_no_carrier_until_a_cable_is_back(following: Node) -> None:
    new = "enp59s0f0_1"
    start = put(new, up=True)
    assert played(following, cut(PORT0, PORT1), start, plug(PORT0)) == [[], [], sorted([*USED, new])]


def test_what_somebody_sets_up_again_stays_up_and_is_set_no_more(following: Node) -> None:
    again = put(USED[0], up=True)
    seen = played(following, cut(PORT0, PORT1), again, lambda _: None, plug(PORT0), cut(PORT0, PORT1))
    assert seen == [[], [USED[0]], [USED[0]], [*USED], []]


def test_vfs_that_are_gone_when_the_cable_returns_are_left(following: Node) -> None:
    def made_anew(host: FakeHost) -> None:
        for port in host.network.ports():
            host.files.write(f"/sys/bus/pci/devices/{port.bdf}/sriov_numvfs", "0")
        host.network.raised.clear()  # with the netdevs

    assert played(following, cut(PORT0, PORT1), made_anew, plug(PORT0)) == [[], [], []]


def test_the_end_of_the_service_sets_up_what_it_has_set_down(following: Node) -> None:
    assert played(following, cut(PORT0, PORT1)) == [[]]
    assert up(following.host) == [*USED]
    assert not following.host.files.exists(record.FOLLOWER)


def test_a_process_that_was_killed_is_led_on_by_the_next_one(following: Node) -> None:
    host = following.host
    host.fail("links", "", REFUSED, skip=3)  # the reading of what it has just set down
    host.meanwhile = [cut(PORT0, PORT1)]
    (problem,) = follow.follow(host)
    assert problem.what == "the host cannot be read: Input/output error"
    assert up(host) == []
    host.watching.clear()
    assert played(following, lambda _: None, plug(PORT0)) == [[], [*USED]]


def test_what_a_killed_process_only_meant_to_set_down_is_not_taken_for_its_own(following: Node) -> None:
    host = following.host
    follower = follow.begin(host)
    index = next(link.ifindex for link in host.links.all() if link.name == USED[0])
    record.write_follower(host, follower._replace(lowered={index: USED[0]}))
    assert played(following, cut(PORT0, PORT1), plug(PORT0)) == [[], [*USED]]


def test_a_representor_that_cannot_be_set_is_tried_again_and_named_once(
    following: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    following.host.fail("set_up", f"{USED[0]} down", OSError(errno.EBUSY, "Device or resource busy"), times=2)
    assert played(following, cut(PORT0, PORT1), plug(PORT0)) == [[], [*USED]]
    said = capsys.readouterr().out
    assert said.count(f"{USED[0]} is not down: Device or resource busy") == 1


def test_a_declared_state_that_cannot_be_read_ends_it_with_the_reason(following: Node) -> None:
    following.host.disk.install(PATH, b"{", 0o600)
    (problem,) = follow.follow(following.host)
    assert problem.subject == PATH
    assert problem.remedy == "the next hook of the charm rewrites it"


def test_without_the_option_nothing_of_it_is_on_the_host(converged: Node) -> None:
    assert not converged.host.files.exists(units.path(files.FOLLOW))
    assert '"follow_uplink"' not in converged.host.disk.read(PATH)


def test_the_option_starts_the_service_at_once_and_a_second_hook_writes_nothing(converged: Node) -> None:
    assert converged.configure(follow_uplink=True).emit().name == "active"
    assert units.enabled(converged.host, files.FOLLOW)
    assert converged.writes[-2] == f"run systemctl restart {files.FOLLOW}"
    assert nic(converged.writes) == []
    assert converged.emit("update_status").name == "active"
    assert converged.writes == []


def test_a_boot_starts_it_and_the_hook_after_it_does_not(following: Node) -> None:
    following.boot()
    following.emit("update_status")
    assert following.writes == []
    assert record.read_follower(following.host) is not None


def test_a_service_with_older_code_or_none_is_started_anew(following: Node) -> None:
    for left in (None, record.Follower("0000")):
        if left:
            record.write_follower(following.host, left)
        else:
            record.forget_follower(following.host)
        assert "start ovn-offload-sriov-follow.service" in following.findings()
        following.emit("update_status")
        assert f"run systemctl restart {files.FOLLOW}" in following.writes
        following.emit("update_status")
        assert following.writes == []


def test_a_service_that_does_not_start_is_named(converged: Node) -> None:
    converged.host.services[files.FOLLOW] = lambda _: None
    assert converged.configure(follow_uplink=True).emit().name == "blocked"
    assert f"{files.FOLLOW} left no record within 20 s" in converged.log


@pytest.mark.parametrize("how", ["option", "removal"])
def test_what_a_killed_service_left_down_goes_up_when_it_is_taken_away(following: Node, how: str) -> None:
    host = following.host
    host.network.unplugged.update((PORT0, PORT1))
    host.sleep(2.0)
    host.fail("links", "", REFUSED, skip=2)
    host.meanwhile = []
    host.watching.clear()
    follow.follow(host)
    assert up(host) == []
    if how == "option":
        following.configure(follow_uplink=False).emit()
    else:
        following.emit("stop")
    assert up(host) == [*USED]
    assert not host.files.exists(units.path(files.FOLLOW))
    assert not host.files.exists(record.FOLLOWER)
    assert not units.enabled(host, files.FOLLOW)


@pytest.mark.parametrize("step", ["disable", "stop", "remove"])
def test_taking_it_away_is_led_on_after_a_failure_at_each_step(following: Node, step: str) -> None:
    host = following.host
    verb, target = ("remove", units.path(files.FOLLOW)) if step == "remove" else ("run", f"systemctl {step}")
    host.fail(verb, target, REFUSED)
    following.configure(follow_uplink=False).emit()
    assert host.files.exists(units.path(files.FOLLOW))
    following.emit("update_status")
    assert not host.files.exists(units.path(files.FOLLOW))
    following.emit("update_status")
    assert following.writes == []
