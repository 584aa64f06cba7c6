# SPDX-License-Identifier: Apache-2.0
"""`tox -e calibrate -- --host` in the guest: its own sshd, its own systemd, and the card that is put back."""

import shlex
from dataclasses import replace

import pytest
from functional.card.conftest import PFS, UPLINKS
from lab.calibrate import purposes, server
from lab.calibrate.__main__ import committed
from lab.calibrate.compare import compare
from lab.calibrate.guards import UNIT
from lab.calibrate.recording import read
from lab.calibrate.restore import SAVE, Held
from lab.calibrate.sequences import SEQUENCES
from lab.calibrate.shell import PREPARE, CardError, GuestShell, find

pytestmark = pytest.mark.thorough

SERIAL = "MT2116X0003B"
PYTHON = "cd /opt/ovn-offload && PYTHONPATH=tests python3 -B"
SSHD = """
set -e
umask 077
mkdir -p /root/.ssh /run/sshd
cd /root/.ssh
ssh-keygen -q -t ed25519 -N "" -f id_ed25519
cp id_ed25519.pub authorized_keys
cat >config <<END
Host server
    HostName 127.0.0.1
    ControlMaster auto
    ControlPath ~/.ssh/%C
    ControlPersist 60
END
ssh-keygen -A
systemctl start ssh
ssh-keyscan -t ed25519 127.0.0.1 >known_hosts
"""
"""One connection for all commands, as many users have it: a handshake takes seconds in an emulated guest."""
SETTINGS = """
ip link set enp59s0f0np0 up
ethtool -G enp59s0f1np1 rx 512
ethtool -C enp59s0f1np1 adaptive-rx off rx-usecs 33
ethtool -A enp59s0f1np1 rx off tx off
dcb pfc set dev enp59s0f1np1 prio-pfc 3:on
dcb app add dev enp59s0f1np1 dscp-prio 46:5
"""
"""Settings that no boot file has: they are lost unless the host puts them back; no sequence shows them."""
TO_SWITCHDEV = "devlink dev eswitch set pci/$PF0 mode switchdev"


@pytest.fixture
def server_card(prepared):
    """The card of a server that root reaches over SSH, and whose settings are not those of a boot."""
    card = prepared("card-server", lambda card: card.run(f"{PREPARE}{SSHD}{SETTINGS}"))
    assert "ethtool -G enp59s0f1np1 rx 512 tx 1024" in settings(card)
    assert "dcb app add dev enp59s0f1np1 dscp-prio 46:5" in settings(card)
    return card


def settings(card):
    """The commands that lead to the card's present settings."""
    return find(GuestShell(card.machine)).run(SAVE).stdout


def left(card):
    """List the rest of a calibration on the host: units that are not inactive, and folders."""
    units = card.run(f"systemctl is-active {UNIT}.timer {UNIT}.service", check=False).stdout.split()
    folders = card.run(f"ls -d /run/{UNIT}.*", check=False).stdout.split()
    return [unit for unit in units if unit != "inactive"] + folders


def await_the_end_of_the_timer(card):
    """Wait until the timer has gone off, and its script has ended."""
    card.await_output(f"ls -d /run/{UNIT}.* || echo none", "none", seconds=180)
    card.await_output(f"systemctl is-active {UNIT}.service", "inactive", seconds=60)


def test_a_node_in_use_is_refused(booted):
    booted.load("booted")
    with pytest.raises(CardError) as refused:
        server.record(find(GuestShell(booted), PFS[0]), SEQUENCES, lambda question: SERIAL, print)
    for name in UPLINKS:
        assert f"{name} is a member of bond0" in str(refused.value)
    assert booted.run(f"ls -d /run/{UNIT}.*", check=False).stdout == ""


SOME = ("mode-change", "mode-change-bound-vfs", "esw-multiport", "dcb")
"""Enough commands in quick succession; test_calibrate.py runs all sequences."""
RECORD = f"""
from pathlib import Path
from lab.calibrate import server
from lab.calibrate.sequences import SEQUENCES
from lab.calibrate.shell import find
from lab.calibrate.ssh import SshShell

some = tuple(each for each in SEQUENCES if each.name in {SOME})
card = find(SshShell("server"), "3b:00.1")
server.record(card, some, lambda question: "{SERIAL}", print).write(Path("/tmp/found.json"))
"""


def test_a_server_is_recorded_over_ssh_and_has_its_card_back(server_card, tmp_path):
    before = settings(server_card)
    done = server_card.run(f"{PYTHON} -c {shlex.quote(RECORD)} 2>&1", check=False, timeout=1200)
    assert done.returncode == 0, done.stdout
    copied = tmp_path / "found.json"
    copied.write_text(server_card.run("cat /tmp/found.json").stdout)
    found = read(copied)
    whole = read(committed(found))
    expected = replace(whole, sequences={name: whole.sequences[name] for name in SOME})
    comparison = compare(expected, found, purposes.read())
    assert comparison.unexplained == [], comparison.text()
    assert settings(server_card) == before
    assert left(server_card) == []


def test_a_server_with_another_serial_number_is_left_alone(server_card):
    before = settings(server_card)
    done = server_card.run(
        f"{PYTHON} -m lab.calibrate --host server --nic 3b:00.0", check=False, stdin="MT2116X0003C\n"
    )
    assert done.returncode == 1
    assert "That is not this card's serial number: nothing was changed." in done.stderr
    assert settings(server_card) == before
    assert left(server_card) == []


LOST = f"""
from lab.calibrate.restore import Held
from lab.calibrate.shell import find
from lab.calibrate.ssh import SshShell

with Held(find(SshShell("server"), "3b:00.0"), limit=60) as held:
    held.run("{TO_SWITCHDEV}; systemctl stop ssh; pkill -9 sshd")
"""


def test_a_server_whose_connection_is_lost_puts_its_card_back(server_card):
    before = settings(server_card)
    done = server_card.run(f"{PYTHON} -c {shlex.quote(LOST)}", check=False)
    assert "the connection was lost to server" in done.stderr
    assert "Connection refused" in done.stderr
    assert "the host puts the card back by itself" in done.stderr
    assert server_card.mode(PFS[0]) == "switchdev"
    await_the_end_of_the_timer(server_card)
    assert server_card.mode(PFS[0]) == "legacy"
    assert settings(server_card) == before
    assert left(server_card) == []


def test_the_timer_waits_as_long_as_commands_come_and_then_puts_the_card_back(server_card):
    before = settings(server_card)
    held = Held(find(GuestShell(server_card.machine), PFS[0]), limit=60)
    door = held.__enter__()
    for _ in range(3):  # in all longer than the limit; each begins long before it
        assert door.run(f"sleep 25; {TO_SWITCHDEV}").returncode == 0
    assert server_card.mode(PFS[0]) == "switchdev"
    await_the_end_of_the_timer(server_card)
    assert settings(server_card) == before
    with pytest.raises(CardError, match="the host has put its card back meanwhile"):
        door.run(TO_SWITCHDEV)
    assert server_card.mode(PFS[0]) == "legacy"
    held.__exit__(None, None, None)
    assert left(server_card) == []
