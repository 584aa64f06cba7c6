# SPDX-License-Identifier: Apache-2.0
"""The virtual card answers as its committed recording says, and systemd puts a server's card back."""

import pytest
from functional.card.conftest import PFS, UPLINKS
from lab.calibrate import purposes, server
from lab.calibrate.__main__ import PREPARE, VIRTUAL
from lab.calibrate.compare import compare
from lab.calibrate.eswitch import SWITCHDEV
from lab.calibrate.recorder import Recorder
from lab.calibrate.recording import read
from lab.calibrate.restore import SAVE, Held
from lab.calibrate.sequence import Operation, Sequence
from lab.calibrate.sequences import SEQUENCES
from lab.calibrate.shell import CardError, GuestShell, find
from lib.lab.calibrate.modelled import SERIAL, vpd


@pytest.mark.thorough
@pytest.mark.parametrize("booted", ["trixie"], indirect=True)  # the release that the recording is from
def test_the_virtual_card_answers_as_its_recording_says(card):
    card.run(PREPARE)
    found = Recorder(find(GuestShell(card.machine))).record(SEQUENCES)
    comparison = compare(read(VIRTUAL), found, purposes.read())
    assert comparison.unexplained == [], comparison.text()


class Door(GuestShell):
    """The guest as a server with a real card's product data, which the virtual card has none of."""

    def __init__(self, guest):
        super().__init__(guest)
        guest.run("mkdir -p /run/lab-vpd")
        for bdf in PFS:
            guest.write(f"/run/lab-vpd/{bdf}", vpd(SERIAL))

    def run(self, script, timeout):
        return super().run(script.replace("$device/vpd", "/run/lab-vpd/${device##*/}"), timeout)


TIMER = "systemctl is-active ovn-offload-calibrate.timer; ls -d /run/ovn-offload-calibrate.*"
CHANGES = Sequence(
    "changes",
    "What is put back?",
    (
        *SWITCHDEV,
        Operation("one channel", "ethtool -L $NET0 combined 1"),
        Operation("no pause frames", "ethtool -A $NET0 rx off tx off"),
        Operation("PFC", "dcb pfc set dev $NET0 prio-pfc all:off 3:on"),
        Operation("trust DSCP", "dcb app add dev $NET1 dscp-prio 26:3"),
    ),
)


def settings(card):
    """What the timer's script would set."""
    return card.run(SAVE).stdout


@pytest.mark.thorough
@pytest.mark.parametrize("booted", ["trixie"], indirect=True)
def test_a_node_in_use_is_refused_as_a_server(booted):
    booted.load("booted")
    with pytest.raises(CardError) as refused:
        server.record(find(Door(booted), PFS[0]), (CHANGES,), lambda question: SERIAL, print)
    for name in UPLINKS:
        assert f"{name} is a member of bond0" in str(refused.value)
    assert "inactive" in booted.run(TIMER, check=False).stdout


@pytest.mark.thorough
@pytest.mark.parametrize("booted", ["trixie"], indirect=True)
def test_a_servers_card_is_put_back_by_systemd(card):
    card.run(
        "ip link set enp59s0f0np0 up; ethtool -L enp59s0f1np1 combined 1; "
        "dcb app add dev enp59s0f0np0 dscp-prio 46:5"
    )
    found = find(Door(card.machine), "3b:00.1")
    before = settings(found)
    recording = server.record(found, (CHANGES,), lambda question: SERIAL, print)
    assert [result.status for result in recording.sequences["changes"]] == [0] * 6
    assert settings(found) == before
    assert "dcb app add dev enp59s0f0np0 dscp-prio 46:5" in before
    assert "ethtool -L enp59s0f1np1 combined 1" in before
    assert card.run(TIMER, check=False).stdout == "inactive\n"


@pytest.mark.thorough
@pytest.mark.parametrize("booted", ["trixie"], indirect=True)
def test_the_timer_waits_for_commands_and_puts_a_lost_card_back(card):
    found = find(Door(card.machine), PFS[0])
    before = settings(found)
    held = Held(found, limit=20)
    door = held.__enter__()
    for _ in range(3):  # longer than the limit in all
        assert door.run("sleep 10; devlink dev eswitch set pci/$PF0 mode switchdev").returncode == 0
    assert card.mode(PFS[0]) == "switchdev"
    card.await_output(TIMER, "inactive\n", seconds=120)
    card.await_output("systemctl is-active ovn-offload-calibrate.service", "inactive", seconds=60)
    assert settings(found) == before
    assert card.run(TIMER, check=False).stdout == "inactive\n"
    with pytest.raises(CardError, match="the host has put its card back meanwhile"):
        door.run("devlink dev eswitch set pci/$PF0 mode switchdev")
    held.__exit__(None, None, None)  # finds nothing to do
