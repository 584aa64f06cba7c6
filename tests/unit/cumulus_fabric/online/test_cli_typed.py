# SPDX-License-Identifier: Apache-2.0
"""The command line with an Onyx switch beside the fabric: it is typed in after all others, or not at all."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from cli import ssh
from lab.nvue import Issue
from lab.sshswitch import ONYX, SshSwitch
from unit.cumulus_fabric.online.shell import Shell, here
from unit.cumulus_fabric.online.site import PASSWORD, USER
from unit.cumulus_fabric.online.unit import intent

pytestmark = pytest.mark.usefixtures("prompt_logins")


def with_onyx(content: dict[str, Any]) -> None:
    here(content)
    content["standalone"] = {"sn2410": {"platform": "onyx", "ports": "1/1-2", "management": "127.0.0.1"}}


@pytest.fixture
def onyx(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshSwitch]:
    """An Onyx switch in the intent, at a port of its own instead of SSH's."""
    real = ssh.push_config
    with SshSwitch(ONYX, "sn2410", user=USER, password=PASSWORD) as switch:

        def push_config(platform: str, address: str, script: ssh.Script, login: ssh.Login) -> None:
            real(platform, address, script, replace(login, port=switch.port))

        monkeypatch.setattr(ssh, "push_config", push_config)
        (shell.directory / "intent.yaml").write_text(intent(with_onyx))
        (shell.directory / "known").write_text(switch.known_host)
        yield switch


def apply(shell: Shell, *arguments: str) -> tuple[int, str, str]:
    return shell("apply", "--known-hosts", str(shell.directory / "known"), *arguments)


def test_it_is_configured_after_the_fabric(shell: Shell, onyx: SshSwitch) -> None:
    status, out, err = apply(shell)
    assert status == 0, out
    assert shell.rack.writes()
    assert err.splitlines()[-1].startswith("sn2410: typing ")
    assert onyx.shell.refused == []
    assert ("1/1", "switchport trunk allowed-vlan 9") in onyx.shell.taken
    assert ("", "dcb priority-flow-control priority 3 enable") in onyx.shell.taken


def test_alone_it_is_configured_without_the_others(shell: Shell, onyx: SshSwitch) -> None:
    assert apply(shell, "--switch", "sn2410")[0] == 0
    assert all(not server.calls for server in shell.rack.servers.values())
    assert onyx.shell.taken


def test_a_rolled_back_fabric_leaves_it_alone(shell: Shell, onyx: SshSwitch) -> None:
    shell.rack.wires.refuse["Spine0"] = Issue("config_invalid", "the ASIC does not take it")
    status, out, _ = apply(shell)
    assert (status, "fully rolled back" in out) == (1, True)
    assert onyx.shell.taken == []


def test_nothing_is_typed_if_the_audit_blocks(shell: Shell, onyx: SshSwitch) -> None:
    content = json.loads(intent(with_onyx))
    content["roce"] = {"priority": 0}
    (shell.directory / "intent.yaml").write_text(json.dumps(content))
    status, out, _ = apply(shell, "--switch", "sn2410")
    assert (status, "roce.priority" in out) == (1, True)
    assert onyx.shell.taken == []


def test_a_refused_command_ends_with_status_1(shell: Shell, onyx: SshSwitch) -> None:
    onyx.shell.broken = ("vlan 9",)
    status, out, _ = apply(shell, "--switch", "sn2410")
    assert (status, "127.0.0.1 refused 'vlan 9'" in out) == (1, True)


def test_without_its_host_key_it_is_not_contacted(shell: Shell, onyx: SshSwitch) -> None:
    (shell.directory / "known").write_text("# none\n")
    status, out, _ = apply(shell, "--switch", "sn2410")
    assert (status, "a host key that differs from the known one" in out) == (1, True)
    assert onyx.shell.taken == []


def test_host_keys_may_come_from_a_pipe(shell: Shell, onyx: SshSwitch) -> None:
    """As in --known-hosts <(ssh-keyscan sn2410); each login opens the keys again."""
    end, other = os.pipe()
    os.write(other, onyx.known_host.encode())
    os.close(other)
    status, out, _ = shell("apply", "--switch", "sn2410", "--known-hosts", f"/dev/fd/{end}")
    os.close(end)
    assert status == 0, out
    assert onyx.shell.taken


def test_it_gets_only_the_approved_commands(shell: Shell, onyx: SshSwitch) -> None:
    """Its commands are in the digest of the whole plan."""
    digest = json.loads(shell("plan", "--format", "json")[1])["findings"][-1]["what"]
    status, out, _ = apply(shell, "--switch", "sn2410", "--plan", "p0123456789abcdef")
    assert (status, "what would be done now is not" in out) == (1, True)
    assert onyx.shell.taken == []
    assert apply(shell, "--switch", "sn2410", "--plan", digest)[0] == 0
    assert onyx.shell.taken


@pytest.mark.parametrize("verb", ["rollback", "drain", "undrain", "decommission"])
def test_what_it_cannot_do_is_refused_and_not_left_out(shell: Shell, onyx: SshSwitch, verb: str) -> None:
    said = f"--switch: sn2410 runs onyx, for which there is no {verb}\n"
    assert shell(verb, "--switch", "sn2410")[::2] == (2, said)
