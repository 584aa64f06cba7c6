# SPDX-License-Identifier: Apache-2.0
"""The verbs from a shell on simulated switches, at the intent's addresses; then the charm adopts them."""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import cli
import pytest
from client import PORT
from nvue import Certificate, Server, Switch
from nvue.rules import Issue
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import PASSWORD, USER, wired
from unit.cumulus_fabric.online.unit import Unit, intent, managed, site

NET = f"127.{64 + os.getpid() % 64}.{os.getpid() // 64 % 250}"
"""Addresses of this machine that no other run of these tests uses."""

ADDRESSES = {"Spine0": f"{NET}.1", "Leaf0-1": f"{NET}.11", "Leaf0-2": f"{NET}.12"}


def here(content: dict[str, Any]) -> None:
    content["spines"]["management"] = ADDRESSES["Spine0"]
    content["leaves"]["management"] = ADDRESSES["Leaf0-1"]


class Shell:
    """A directory with an intent and credentials, and the command line."""

    def __init__(
        self, directory: Path, certificate: Certificate, servers: dict[str, Server], wires: Any
    ) -> None:
        self.directory, self.servers, self.wires = directory, servers, wires
        (directory / "intent.yaml").write_text(intent(here))
        self.credentials = directory / "credentials"
        self.credentials.write_text(f"{USER}:{PASSWORD}\n")
        self.credentials.chmod(0o600)
        self.ca = certificate.certificate

    def __call__(self, verb: str, *arguments: str) -> int:
        common = ["--intent", str(self.directory / "intent.yaml"), "--credentials", str(self.credentials)]
        return cli.main([verb, *common, "--ca", str(self.ca), *arguments])


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    certificate = Certificate.make(tmp_path, names=tuple(f"IP:{each}" for each in ADDRESSES.values()))
    wires = wired(fabric(change=managed))
    servers: dict[str, Server] = {}
    with ExitStack() as stack:
        for name, address in ADDRESSES.items():
            box = Switch(name, backend=wires.member(name))
            server = Server(box, certificate, address=address, port=PORT, user=USER, password=PASSWORD)
            servers[name] = stack.enter_context(server)
        yield Shell(tmp_path, certificate, servers, wires)


def test_plan_apply_verify_rollback(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert shell("plan", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["steps"]
    assert shell("apply", "--canary", "Leaf0-2") == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[-1] == "fully applied: 3 switches changed"
    assert said.err.splitlines()[0] == "applying on Leaf0-2"
    assert shell("verify") == 0
    assert shell("plan") == 0
    assert "Nothing to do" in capsys.readouterr().out
    assert shell("rollback") == 0
    assert all("bond1" not in server.switch.applied["interface"] for server in shell.servers.values())


def test_a_failing_apply_says_so_and_its_exit_status_too(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.wires.refuse["Leaf0-1"] = Issue("systemctl", "frr.service failed")
    for server in shell.servers.values():
        server.switch.haste = 100.0
    assert shell("apply", "--canary", "Leaf0-1") == 1
    assert capsys.readouterr().out.splitlines()[-1] == (
        "fully rolled back: every switch runs what it ran before"
    )


def test_credentials_that_others_can_read_are_refused(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.credentials.chmod(0o644)
    assert shell("plan") == 2
    assert "chmod 600" in capsys.readouterr().err
    assert all(not server.calls for server in shell.servers.values())


def test_the_charm_adopts_what_the_command_line_has_applied(
    shell: Shell, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shell("apply") == 0
    with site(certificate, monkeypatch) as unit:
        adopt(unit, shell)
        assert unit.action("plan")["plan"].startswith("Nothing to do")
        assert unit.emit().name == "active"
        assert unit.writes == []


def adopt(unit: Unit, shell: Shell) -> None:
    """Put the charm in front of the switches of the command line."""
    unit.rack.servers = shell.servers
    unit.configure(ca_certificate=shell.ca.read_text(), intent=intent(here))
    unit.addresses = ADDRESSES
