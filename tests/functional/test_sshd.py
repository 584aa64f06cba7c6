# SPDX-License-Identifier: Apache-2.0
"""Calibration of a server's card through OpenSSH's own server, on the modelled host; no guest is needed.

ssh starts sshd as its ProxyCommand, so that no port is opened and every user may run it.
"""

import os
import shutil
import subprocess

import pytest
from lab.calibrate import server
from lab.calibrate.__main__ import main
from lab.calibrate.restore import Held
from lab.calibrate.sequence import Operation, Sequence
from lab.calibrate.shell import Card, find
from lab.calibrate.ssh import SshError, SshShell
from lib.lab.calibrate.modelled import PORTS, SERIAL, Server

P0, P1 = PORTS
NET0, NET1 = PORTS.values()
SSH = shutil.which("ssh")
SSHD = shutil.which("sshd", path=os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"]))
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not (SSH and SSHD), reason="OpenSSH's client and server are not both installed"),
]

SERVER = """
HostKey {keys}/server
AuthorizedKeysFile {keys}/mine.pub
StrictModes no
UsePAM no
PermitRootLogin yes
Banner {keys}/banner
ForceCommand {root}/outside/remote "$SSH_ORIGINAL_COMMAND"
"""
CLIENT = """
Host switched-off
    ProxyCommand false
Host stranger
    HostKeyAlias stranger
Host *
    ProxyCommand {sshd} -i -f {keys}/sshd_config -E {keys}/log
    HostKeyAlias server
    UserKnownHostsFile {keys}/known_hosts
    IdentitiesOnly yes
Host wrong-key
    IdentityFile {keys}/other
Host server stranger
    IdentityFile {keys}/mine
"""
TO_SWITCHDEV = "devlink dev eswitch set pci/$PF0 mode switchdev"
OWN = Sequence("own", "What comes of it?", (Operation("to switchdev", TO_SWITCHDEV),))
KILL_SSHD = """
process=$PPID
while ! grep -q "^Name:.sshd" /proc/$process/status; do
    process=$(awk '/^PPid/ {print $2}' /proc/$process/status)
done
kill -9 $process
"""


@pytest.fixture
def host(tmp_path, monkeypatch):
    """The modelled host behind sshd, which has a banner and a talkative login shell."""
    modelled, keys = Server(tmp_path / "host"), tmp_path / "keys"
    keys.mkdir()
    for name in ("server", "mine", "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / name], check=True)
    (keys / "known_hosts").write_text(f"server {(keys / 'server.pub').read_text()}")
    (keys / "banner").write_text("Authorized use only\n")
    places = {"keys": keys, "root": modelled.root, "sshd": SSHD}
    (keys / "sshd_config").write_text(SERVER.format(**places))
    (keys / "config").write_text(CLIENT.format(**places))
    modelled.set("greeting", "Welcome to server-7\n")
    modelled.script("outside/ssh", f'#!/bin/sh\nexec {SSH} -F {keys}/config "$@"\n')
    monkeypatch.setenv("PATH", f"{modelled.root / 'outside'}:/usr/bin:/bin")
    return modelled


def test_a_card_is_recorded_and_put_back(host):
    card = find(SshShell("server"), P0)
    recording = server.record(card, (OWN,), lambda question: SERIAL, print)
    (switched,) = recording.sequences["own"]
    assert (switched.status, switched.message, switched.output) == (0, [], [])
    assert switched.state["port0"]["eswitch"].startswith("mode switchdev")
    timer, *others = host.trace
    assert timer.startswith("systemd-run --quiet --collect --unit=ovn-offload-calibrate --on-active=900")
    assert others[-1] == "systemctl stop ovn-offload-calibrate.timer"
    assert host.left == []
    assert (host.state / f"eswitch-{P0}").read_text().startswith(f"pci/{P0}: mode legacy")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("wrong-key", "no connection to wrong-key: "),
        ("stranger", "no connection to stranger: Host key verification failed."),
        ("switched-off", "no connection to switched-off: "),
    ],
)
def test_a_server_that_lets_nobody_in_is_named(host, capsys, name, reason):
    assert main(["--host", name, "--nic", "3b:00.0"]) == 1
    said = capsys.readouterr().err
    assert reason in said
    assert ("Permission denied (publickey" in said) == (name == "wrong-key")
    assert host.trace == []


def test_a_host_that_is_not_fit_is_refused_before_anything_is_written(host, capsys):
    host.set("uid", "1000\n")
    (host.root / "var/lib/juju/agents/machine-7").mkdir(parents=True)
    assert main(["--host", "server", "--nic", "3b:00.0"]) == 1
    said = capsys.readouterr().err
    assert "operator is not root there: name root@HOST." in said
    assert "a Juju agent, machine-7, is on the host" in said
    assert host.trace == []


def test_a_command_that_loses_its_connection_is_not_taken_for_done_and_the_card_is_put_back(host):
    card = Card(SshShell("server"), (P0, P1), (NET0, NET1))
    with pytest.raises(SshError, match="the connection was lost to server"), Held(card) as held:
        held.run(f"{TO_SWITCHDEV}\n{KILL_SSHD}")
    assert host.trace.count(TO_SWITCHDEV.replace("$PF0", P0)) == 1
    assert host.trace[-1] == "systemctl stop ovn-offload-calibrate.timer"
    assert (host.state / f"eswitch-{P0}").read_text().startswith(f"pci/{P0}: mode legacy")


def test_a_command_that_does_not_end_is_ended_there(host):
    with pytest.raises(SshError, match="a command on server did not end within 1 s"):
        SshShell("server").run("sleep 30", 1)
