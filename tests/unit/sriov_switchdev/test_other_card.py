# SPDX-License-Identifier: Apache-2.0
"""A port is known by its permanent MAC address: another card at its PCI address is left alone."""

import errno
import json
from collections.abc import Callable
from dataclasses import replace

import desired
import live
import pytest
import record
from boot import bootfile, files, main
from converge.execute import execute
from lab.modelled import FakeHost, card
from unit.sriov_switchdev.booting import modes
from unit.sriov_switchdev.node import PF0, PF1, PORT0, Node, compute_node, declare_bond, nic
from unit.sriov_switchdev.test_places import move

NEW = ("b8:3f:d2:00:00:00", "b8:3f:d2:00:00:01")
OTHER = "another card is at this address (MAC b8:3f:d2:00:00:00, not "


def replace_card(node: Node) -> None:
    for port, mac in zip(node.host.network.ports(), NEW, strict=True):
        port.mac = mac


def test_the_boot_file_has_each_ports_permanent_mac_even_while_the_bond_gives_it_another(node: Node) -> None:
    node.converge()
    kept = bootfile.from_json(node.host.files.read(desired.PATH))
    assert [port.mac for port in kept.ports] == [port.mac for port in node.host.network.ports()]
    members = [link for link in node.host.links.all() if link.master == "bond0"]
    assert {link.mac for link in members}.isdisjoint(link.permanent_mac for link in members)


def test_boot_leaves_another_card_alone_and_says_whose_address_it_has(small: Node) -> None:
    old = small.host.port(PF0).mac
    replace_card(small)
    status = small.boot()
    told = record.read_boot(small.host).phases["early"].problems
    assert [problem.subject for problem in told] == [PF0, PF1], "the journal says it, too"
    assert told[0].what == f"{OTHER}{old}), and is left alone"
    assert nic(small.boot_writes) == []
    assert modes(small.host) == [("legacy", 0), ("legacy", 0)]
    assert small.host.reachable
    assert status.name == "blocked"
    assert f"{PF0}: {OTHER}{old})" in small.log
    assert "run action accept-nic on this unit" in small.log
    assert "the next hook of the charm does it" not in small.log
    assert nic(small.writes) == []


@pytest.mark.parametrize("phase", [main.bind, main.fallback, main.restore])
def test_no_other_phase_touches_another_card(small: Node, phase: object) -> None:
    small.boot()
    replace_card(small)
    # early was cut off: the fallback has to look after the NIC
    small.host.port(PF0).eswitch_mode = "legacy"
    record_of_boot = json.loads(small.host.files.read("/run/ovn-offload/sriov-switchdev/boot.json"))
    record_of_boot["phases"]["early"]["state"] = "running"
    small.host.disk.install(
        "/run/ovn-offload/sriov-switchdev/boot.json", json.dumps(record_of_boot).encode(), 0o600
    )
    small.host.trace.clear()
    assert callable(phase)
    phase(small.host)
    assert nic(small.host.trace) == []


def changed_live(monkeypatch: pytest.MonkeyPatch) -> Node:
    """A node whose hook has died in the middle of a live change; the timer is armed."""
    host = compute_node(cards=[card(total_vfs=2)])
    declare_bond(host)
    node = Node(host, monkeypatch).configure(num_vfs=2, allow_live=True)
    planned = node.planned()
    keys = [step.key for step in planned.steps]
    execute(replace(planned, steps=planned.steps[: keys.index(f"{PF1}/switchdev")]), host)
    host.trace.clear()
    return node


def test_the_revert_of_a_live_change_leaves_another_card_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    node = changed_live(monkeypatch)
    old = [port.mac for port in node.host.network.ports()]
    replace_card(node)
    before = modes(node.host)
    said = [problem.what for problem in main.revert(node.host)]
    assert said == [
        f"{pf}: another card is at this address (MAC {new}, not {mac}), and is left alone; "
        "put the declared card there, or run action accept-nic on this unit"
        for pf, new, mac in zip((PF0, PF1), NEW, old, strict=True)
    ]
    assert nic(node.host.trace) == []
    assert modes(node.host) == before
    assert not record.armed(node.host), "nothing is left that the timer could restore"


def test_the_revert_restores_the_port_that_is_still_there(monkeypatch: pytest.MonkeyPatch) -> None:
    node = changed_live(monkeypatch)
    node.host.port(PF0).mac = NEW[0]
    assert [problem.what.partition(":")[0] for problem in main.revert(node.host)] == ["0000"]
    assert not any(PF0 in line for line in nic(node.host.trace))
    assert modes(node.host)[1] == ("legacy", 0)
    assert "enp59s0f1np1" in node.host.network.bonds["bond0"].members


@pytest.mark.parametrize("how", [main.revert, lambda host: live.after_failure(host)])
def test_a_card_at_another_address_gets_its_previous_state_back(
    monkeypatch: pytest.MonkeyPatch, how: Callable[[FakeHost], object]
) -> None:
    """It is found by its permanent MAC address, and has other names there."""
    node = changed_live(monkeypatch)
    assert node.host.network.bonds["bond0"].members == [PORT0]
    moved = [port.netdev for port in move(node.host, node.host.cards[0], "5e").ports]
    how(node.host)
    assert node.host.network.bonds["bond0"].members == moved
    assert not record.armed(node.host)


def test_a_step_that_fails_in_a_live_change_does_not_put_another_card_into_the_bond(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = changed_live(monkeypatch)
    node.host.network.set_master("enp59s0f1np1", None, node.host.clock)
    replace_card(node)
    asked: list[str] = []
    monkeypatch.setattr(node.host.devlink, "eswitch_mode", asked.append)
    live.after_failure(node.host)
    assert not any(line.startswith("set_master") for line in node.host.trace)
    assert asked == [], "a change of mode that still runs would be waited for"


def test_a_new_netdev_of_another_card_is_left_alone_and_the_charm_is_told(small: Node) -> None:
    small.boot()
    small.emit("update_status")
    assert small.state.unit_status.name == "active"
    old = small.host.port(PF0).mac
    replace_card(small)
    for port in small.host.network.ports():
        port.eswitch_mode = "legacy"
    small.host.trace.clear()
    said = [problem.what for problem in main.restore(small.host)]
    assert said[0] == f"{OTHER}{old}), and is left alone"
    assert len(said) == 2
    assert nic(small.host.trace) == []
    assert small.host.trace == [f"run systemctl start --no-block {files.DISPATCH}"]
    assert small.emit("update_status").name == "blocked"
    assert not any(files.RESTORE in line for line in small.writes), (
        "the unit and the charm would start each other endlessly"
    )


def test_after_accept_nic_the_new_card_is_configured_like_that_of_a_new_node(small: Node) -> None:
    assert small.boot().name == "active"
    replace_card(small)
    assert small.boot().name == "blocked"
    results = small.action("accept-nic")
    assert results["accepted"] == f"{PF0} with {NEW[0]}, {PF1} with {NEW[1]}"
    assert [line for line in small.writes if "start --no-block" in line], "no hook follows"
    assert nic([line for line in small.writes if desired.PATH not in line]) == []
    small.emit("update_status")
    assert small.boot().name == "active"
    assert modes(small.host) == [("switchdev", 2), ("switchdev", 2)]
    small.emit("update_status")
    assert small.writes == []


def test_accept_nic_without_another_card_writes_nothing(node: Node) -> None:
    node.converge()
    assert node.failure("accept-nic") == ("nothing to accept: every declared port is there")


def test_accept_nic_says_that_the_file_cannot_be_written(small: Node) -> None:
    replace_card(small)
    small.host.fail("install", desired.PATH, OSError(errno.EROFS, "Read-only file system"))
    assert small.failure("accept-nic") == f"cannot write {desired.PATH}: Read-only file system"


def test_boot_uses_a_port_whose_mac_is_not_known(small: Node) -> None:
    content = json.loads(small.host.files.read(desired.PATH))
    for port in content["ports"]:
        port["mac"] = None
    small.host.disk.install(desired.PATH, json.dumps(content).encode(), 0o600)
    assert small.boot().name == "active"
    assert modes(small.host) == [("switchdev", 2), ("switchdev", 2)]
    # The first hook adds the addresses.
    small.emit("update_status")
    assert bootfile.from_json(small.host.files.read(desired.PATH)).ports[0].mac == small.host.port(PF0).mac
