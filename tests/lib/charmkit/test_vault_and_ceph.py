# SPDX-License-Identifier: Apache-2.0
"""Vault and Ceph in a reboot: asked where no secret is needed, else named before the approval."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from charmkit.containers import LXC
from charmkit.reboot.databag import KEY, decode_unit
from charmkit.reboot.interruption import VAULTS
from charmkit.reboot.services import (
    FIND,
    SERVICES,
    VAULT,
    missing_members,
    monitor_joined,
    monitor_suspects,
    not_joined,
    vault_closes,
    vault_open,
)
from hostnic.system import failure
from lab.modelled import FakeHost

*_, MONITOR, _ = SERVICES
ONE = "juju-3f1a2b-0-lxd-1"
WHY = "8 VFs at the next boot"
PATH = "/run/ovn-offload/sriov.members"


def seal(**fields: Any) -> str:
    """``/v1/sys/seal-status`` of an open Vault, as 1.8 answers, but for these fields."""
    shown = {"type": "shamir", "initialized": True, "sealed": False, "t": 3, "n": 5, "progress": 0}
    return json.dumps({**shown, **fields})


def mon_status(state: str = "leader", quorum: tuple[int, ...] = (0, 1, 2)) -> str:
    """``mon_status`` of three monitors, as Ceph 17 answers at the admin socket."""
    monitors = [{"rank": rank, "name": f"juju-{rank}", "addr": f"10.0.0.{rank}:6789/0"} for rank in range(3)]
    return json.dumps({"name": "juju-0", "state": state, "quorum": quorum, "monmap": {"mons": monitors}})


def put(host: FakeHost, answers: dict[Any, str]) -> FakeHost:
    """One container with these services and what they tell."""
    host.disk.install(LXC, b"", 0o755)
    running = [{"name": ONE, "status": "Running", "config": {"boot.autostart": "true"}}]
    host.answers[(LXC, "query", "/1.0/instances?recursion=1")] = json.dumps(running)
    host.answers[(LXC, "exec", ONE, "--", *FIND)] = "".join(f"{each.data}\n" for each in answers)
    for service, text in answers.items():
        host.answers[(LXC, "exec", ONE, "--", *service.command)] = text
    return host


def runs(host: FakeHost, *osds: int) -> None:
    """These OSDs run on the host itself, and no others."""
    for number in range(8):
        socket = f"/run/ceph/ceph-osd.{number}.asok"
        if number in osds:
            host.disk.install(socket, b"", 0o600)
        elif host.files.exists(socket):
            host.disk.remove(socket)


@pytest.mark.parametrize(
    ("text", "is_open", "closes"),
    [
        (seal(), True, True),
        (seal(sealed=True, progress=2), False, False),
        (seal(initialized=False, sealed=True), True, False),
        (seal(type="transit", recovery_seal=True), True, False),
        (seal(type="awskms", sealed=True), False, False),
        (json.dumps({"type": "shamir", "sealed": True}), True, False),
    ],
)
def test_whether_a_vault_is_open_and_whether_a_restart_closes_it(text: str, is_open: bool, closes: bool):
    assert (vault_open(text), vault_closes(text)) == (is_open, closes)


@pytest.mark.parametrize("text", ["", "<html>", "[]", "{}", '{"sealed": true}', "[" * 100_000])
@pytest.mark.parametrize("read", [vault_open, vault_closes])
def test_what_is_not_vaults_answer_is_a_value_error(read: Any, text: str):
    with pytest.raises(ValueError, match="cannot be read"):
        read(text)


@pytest.mark.parametrize(
    ("text", "joined", "missing"),
    [
        (mon_status(), True, []),
        (mon_status("peon"), True, []),
        (mon_status("peon", (0, 2)), True, ["member juju-1 is not in the quorum"]),
        (mon_status("probing", ()), False, ["it has not joined"]),
        (mon_status("electing", (0, 1, 2)), False, ["it has not joined"]),
        ("", True, []),
    ],
)
def test_a_monitor_tells_of_its_quorum(text: str, joined: bool, missing: list[str]):
    """The charms install all of Ceph's programs everywhere: a container without a monitor prints nothing."""
    assert monitor_joined(text) is joined
    assert [suspect.what for suspect in monitor_suspects(text)] == missing
    assert {suspect.address for suspect in monitor_suspects(text)} <= {""}


@pytest.mark.parametrize(
    "text", ["?", "[]", "{}", '{"monmap": 3}', '{"monmap": {"mons": [3]}}', "[" * 100_000]
)
def test_what_is_not_a_monitors_answer_is_a_value_error(text: str):
    with pytest.raises(ValueError, match="cannot be read"):
        monitor_joined(text)


def test_a_sealed_vault_and_a_monitor_outside_the_quorum_are_not_back():
    host = put(FakeHost(), {VAULT: seal(sealed=True), MONITOR: mon_status("probing", ())})

    assert not_joined(host, [ONE], PATH, "") == (
        f"Ceph's monitor in {ONE} has not joined, Vault in {ONE} is sealed: unseal it"
    )


def test_a_sealed_vault_does_not_keep_its_host_up_and_a_missing_monitor_does():
    host = put(FakeHost(), {VAULT: seal(sealed=True), MONITOR: mon_status(quorum=(0, 1))})

    assert missing_members(host, [ONE]).missing == (
        f"Ceph's monitor in {ONE}: member juju-2 is not in the quorum"
    )


@pytest.mark.parametrize(
    ("answers", "printed"),
    [
        ({"http://127.0.0.1:8220": seal()}, seal()),
        ({"https://127.0.0.1:8200": seal(sealed=True)}, seal(sealed=True)),
        ({"http://127.0.0.1:8200": "x" * 200_000}, "x" * 65536),
        ({}, ""),
    ],
)
def test_vault_is_asked_without_a_token_and_its_answer_is_bounded(
    tmp_path: Path, answers: dict[str, str], printed: str
):
    """As the container's shell runs it, with a curl that knows these addresses."""
    for number, (address, text) in enumerate(answers.items()):
        (tmp_path / f"{number}").write_text(text)
        case = f'case "$*" in *" {address}/v1/sys/seal-status") cat {tmp_path}/{number}; exit 0;; esac\n'
        (tmp_path / "cases").write_text(case)
    curl = tmp_path / "curl"
    curl.write_text(f"#!/bin/sh\n{(tmp_path / 'cases').read_text() if answers else ''}exit 7\n")
    curl.chmod(0o755)

    ran = subprocess.run(
        VAULT.command,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )

    assert ran.stdout == printed
    assert "token" not in VAULT.command[2].lower()


# In a charm.


def test_what_the_operator_has_to_see_to_is_named_before_the_approval(application: Any):
    app = application(2)
    node = app.nodes[1]
    put(node.host, {VAULT: seal()})
    runs(node.host, 0, 3)
    node.needs = (WHY,)

    said = app.hook(1).unit_status.message
    results = app.action(0, "approve-reboot")

    told = (
        "osd.0, osd.3 of Ceph stop: see that its health is good, and set noout before; "
        f"Vault in {ONE} comes back sealed: unseal it after"
    )
    assert said.startswith(f"see what it stops, then run approve-reboot; reboot: needed for {WHY}")
    assert results["prepare"] == f"sriov/1: {told}"
    assert decode_unit(node.data[KEY]).prepare == told


CLUSTER = "9c8f2d04-58a1-11ee-8f11-5254001b2c3d"


@pytest.mark.parametrize("folder", ["/run/ceph", "/var/snap/microceph/current/run", f"/run/ceph/{CLUSTER}"])
def test_osds_of_packages_of_microceph_and_of_cephadm_are_named_before_the_approval(
    application: Any, folder: str
):
    app = application(2)
    node = app.nodes[1]
    for name in ("ceph-osd.7.asok", "ceph-mon.node1.asok"):
        node.host.disk.install(f"{folder}/{name}", b"", 0o600)
    node.needs = (WHY,)
    app.hook(1)
    told = "osd.7 of Ceph stop: see that its health is good, and set noout before"
    assert app.action(0, "approve-reboot")["prepare"] == f"sriov/1: {told}"


@pytest.mark.parametrize("path", VAULTS)
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (seal(), "Vault on this host comes back sealed: unseal it after"),
        (seal(type="transit"), ""),
        (seal(sealed=True), ""),
        ("", ""),
    ],
)
def test_a_vault_outside_of_containers_is_asked_before_the_approval(
    application: Any, path: str, answer: str, told: str
):
    app = application(2)
    node = app.nodes[1]
    node.host.disk.install(path, b"", 0o600)
    node.host.answers[VAULT.command] = answer
    node.needs = (WHY,)
    app.hook(1)
    assert decode_unit(node.data[KEY]).prepare == told


def test_a_host_settles_once_its_own_vault_is_open(application: Any):
    app = application(1, "always")
    node = app.nodes[0]
    node.host.disk.install(VAULTS[0], b"", 0o600)
    node.host.answers[VAULT.command] = seal()
    node.needs = (WHY,)
    app.hook(0)
    node.boot()
    node.host.answers[VAULT.command] = seal(sealed=True)
    node.host.sleep(600)
    said = app.hook(0).unit_status.message
    assert said == "reboot: rebooted; settles once all is back: Vault on this host is sealed: unseal it"
    node.host.answers[VAULT.command] = seal()
    for seconds in (60, 300):
        node.host.sleep(seconds)
        app.hook(0)
    assert app.holder == ""


def test_containers_are_asked_once_for_a_need(application: Any):
    app = application(1)
    node = app.nodes[0]
    put(node.host, {VAULT: seal()})
    node.needs = (WHY,)
    app.hook(0)
    assert (LXC, "exec", ONE, "--", *VAULT.command) in node.host.spawned

    app.hook(0)
    assert not [argv for argv in node.host.spawned if argv[0] == LXC]
    node.needs = ()
    app.hook(0)
    assert decode_unit(node.data[KEY]).prepare == ""
    put(node.host, {VAULT: seal(type="transit")})
    node.needs = (WHY,)
    app.hook(0)
    assert decode_unit(node.data[KEY]).prepare == ""


@pytest.mark.parametrize("answers", [{}, {VAULT: seal(sealed=True)}, {VAULT: "?"}])
def test_nothing_is_named_where_there_is_nothing_to_see_to(application: Any, answers: dict[Any, str]):
    app = application(1)
    put(app.nodes[0].host, answers)
    app.nodes[0].needs = (WHY,)

    app.hook(0)

    assert decode_unit(app.nodes[0].data[KEY]).prepare == ""
    assert "prepare" not in app.action(0, "approve-reboot")


def test_a_vault_that_does_not_answer_names_nothing_and_a_command_that_fails_neither(application: Any):
    app = application(1)
    host = put(app.nodes[0].host, {VAULT: ""})
    argv = (LXC, "exec", ONE, "--", *VAULT.command)
    host.answers[argv] = failure(argv, 127, "", "sh: curl: not found")
    app.nodes[0].needs = (WHY,)

    app.hook(0)

    assert decode_unit(app.nodes[0].data[KEY]).prepare == ""


def test_after_the_reboot_the_host_settles_once_its_osds_run_and_vault_is_open(application: Any):
    app = application(1, "always")
    node = app.nodes[0]
    put(node.host, {VAULT: seal()})
    runs(node.host, 0, 3)
    node.needs = (WHY,)
    app.hook(0)
    assert node.reboots == 1
    node.boot()
    runs(node.host, 0)

    for osds, vault, waits in (
        ((0,), seal(sealed=True), "osd.3 of Ceph not running"),
        ((0, 3), seal(sealed=True), f"Vault in {ONE} is sealed: unseal it"),
    ):
        runs(node.host, *osds)
        put(node.host, {VAULT: vault})
        node.host.sleep(600)
        said = app.hook(0).unit_status.message
        assert said == f"reboot: rebooted; settles once all is back: {waits}"
        assert app.holder == "sriov/0"
    put(node.host, {VAULT: seal()})
    node.host.sleep(60)
    app.hook(0)
    node.host.sleep(300)
    app.hook(0)

    assert app.holder == ""
    assert decode_unit(node.data[KEY]).settled


def test_an_osd_that_was_removed_before_the_reboot_is_not_waited_for(application: Any):
    app = application(1)
    node = app.nodes[0]
    runs(node.host, 0, 3)
    node.needs = (WHY,)
    app.hook(0)
    runs(node.host, 0)
    app.hook(0)
    app.action(0, "approve-reboot")
    app.hook(0)
    node.boot()
    runs(node.host, 0)

    app.hook(0)
    node.host.sleep(300)
    app.hook(0)

    assert app.holder == ""
