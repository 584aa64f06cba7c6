# SPDX-License-Identifier: Apache-2.0
"""Action apply with an Onyx switch beside the fabric: it is typed in after all others, or not at all."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from lab.nvue import Certificate, Issue
from lab.sshswitch import ONYX, SshSwitch
from standalone import ssh
from unit.cumulus_fabric.online.site import PASSWORD
from unit.cumulus_fabric.online.unit import Unit, intent, site

pytestmark = pytest.mark.usefixtures("prompt_logins")


def with_onyx(content: dict[str, Any]) -> None:
    content["standalone"] = {"sn2410": {"platform": "onyx", "ports": "1/1-2", "management": "127.0.0.1"}}


@pytest.fixture
def onyx(monkeypatch: pytest.MonkeyPatch) -> Iterator[SshSwitch]:
    """An Onyx switch at a port of its own instead of SSH's."""
    real = ssh.push_config
    with SshSwitch(ONYX, "sn2410", user="cumulus", password=PASSWORD) as switch:

        def push_config(platform: str, address: str, script: ssh.Script, login: ssh.Login) -> None:
            real(platform, address, script, replace(login, port=switch.port))

        monkeypatch.setattr(ssh, "push_config", push_config)
        yield switch


@pytest.fixture
def unit(certificate: Certificate, monkeypatch: pytest.MonkeyPatch, onyx: SshSwitch) -> Iterator[Unit]:
    with site(certificate, monkeypatch) as unit:
        yield unit.configure(intent=intent(with_onyx), known_hosts=onyx.known_host)


def test_the_ssh_switch_is_configured_after_the_fabric(unit: Unit, onyx: SshSwitch) -> None:
    results = unit.action("apply")
    assert results["applied"] == "true"
    assert unit.writes
    assert onyx.shell.refused == []
    assert ("1/1", "switchport trunk allowed-vlan 9") in onyx.shell.taken
    assert ("", "dcb priority-flow-control priority 3 enable") in onyx.shell.taken


def test_the_ssh_switch_alone_is_configured(unit: Unit, onyx: SshSwitch) -> None:
    assert unit.action("apply", switch="sn2410")["applied"] == "true"
    assert unit.writes == []
    assert onyx.shell.taken


def test_a_rolled_back_fabric_leaves_the_standalone_switch_alone(unit: Unit, onyx: SshSwitch) -> None:
    unit.rack.wires.refuse["Spine0"] = Issue("config_invalid", "the ASIC does not take it")
    assert "fully rolled back" in unit.failure("apply")
    assert onyx.shell.taken == []


def test_a_refused_command_fails_the_action(unit: Unit, onyx: SshSwitch) -> None:
    onyx.shell.broken = ("vlan 9",)
    failure = unit.failure("apply", switch="sn2410")
    assert "then sn2410: 127.0.0.1 refused 'vlan 9'" in failure
    assert PASSWORD not in failure + unit.log


def test_a_switch_without_a_known_host_key_is_not_contacted(unit: Unit, onyx: SshSwitch) -> None:
    unit.configure(known_hosts="")
    assert "presents a host key that differs from the known one" in unit.failure("apply", switch="sn2410")
    assert onyx.shell.taken == []


def test_the_ssh_switch_alone_gets_only_the_approved_commands(unit: Unit, onyx: SshSwitch) -> None:
    """Its commands are in the digest of the whole plan."""
    digest = json.loads(unit.action("plan", format="json")["plan"])["findings"][-1]["what"]
    failure = unit.failure("apply", switch="sn2410", plan="p0123456789abcdef")
    assert failure.startswith("nothing was sent to any switch: plan: what would be done now is not")
    assert onyx.shell.taken == []
    assert unit.action("apply", switch="sn2410", plan=digest)["applied"] == "true"
    assert onyx.shell.taken
