# SPDX-License-Identifier: Apache-2.0
"""Real systemd does what no hook can: other charms, approved reboots and settled hosts wake a unit."""

import json
from collections.abc import Callable

import pytest
from charmkit.reboot.databag import KEY, decode_cluster
from functional.once import once
from lab.guest import Guest
from lab.juju.remote import Unit

CHARM = "/opt/ovn-offload/tests/functional/charmkit/roller"
NAME = "ovn-offload-roller-dispatch"
AGENT = "/var/lib/juju/agents/unit-roller-0"
NUM_OF_VFS = "NUM_OF_VFS is 8"
REQUEST = {
    "version": 1,
    "unit": "nic-firmware/0",
    "reboot_owner": "roller",
    "reboot": {"reasons": [NUM_OF_VFS], "since": 1, "ready": True},
}
PUBLISH = """
import sys
sys.path.insert(0, "/opt/ovn-offload/lib")
from hostnic.handover import Handover, RebootRequest, publish
from hostnic.machine import Machine
charm, reason = sys.argv[1:]
request = RebootRequest((reason,), since=1, ready=True)
publish(Machine(), Handover(charm, f"{charm}/0", "roller", reboot=request))
"""


@pytest.fixture
def unit(machine: Guest) -> Unit:
    """The unit, converged, and agents of nic-firmware and roce-qos beside it."""

    def make() -> Unit:
        machine.run("mkdir -p /var/lib/juju/agents/unit-nic-firmware-0 /var/lib/juju/agents/unit-roce-qos-0")
        unit = machine.unit("roller", path=CHARM)
        assert unit.start().status == ("active", "")
        return unit

    return once(machine, "roller", make)


def hand_over(machine: Guest, charm: str = "nic-firmware", reason: str = NUM_OF_VFS) -> None:
    machine.run(["python3", "-", charm, reason], stdin=PUBLISH)


def soon(machine: Guest, holds: Callable[[], bool]) -> bool:
    return machine.until(holds, 180, pause=0.5)


def status(unit: Unit) -> str:
    return unit.known["status"][1]


def says(unit: Unit, text: str) -> Callable[[], bool]:
    return lambda: text in status(unit)


def holder(unit: Unit) -> str:
    (peers,) = unit.known["relations"]
    return decode_cluster(peers["local_app_data"].get(KEY)).holder


def test_a_charm_that_hands_something_over_wakes_the_other(machine: Guest, unit: Unit) -> None:
    hand_over(machine)

    assert soon(machine, says(unit, f"nic-firmware: {NUM_OF_VFS}"))
    machine.run("rm /run/ovn-offload/nic-firmware.json")
    assert soon(machine, lambda: status(unit) == "")


@pytest.mark.thorough
def test_each_of_several_changes_wakes_it_while_another_watched_file_is_absent(
    machine: Guest, unit: Unit
) -> None:
    assert machine.run("ls /run/ovn-offload", check=False).stdout == ""
    for number in range(5):
        hand_over(machine, reason=f"reason {number}")
        assert soon(machine, says(unit, f"nic-firmware: reason {number}")), f"change {number} woke nobody"
    machine.run("rm /run/ovn-offload/nic-firmware.json")
    assert soon(machine, lambda: status(unit) == "")
    hand_over(machine, "roce-qos", "the other file")
    assert soon(machine, says(unit, "roce-qos: the other file"))
    machine.run("rm /run/ovn-offload/roce-qos.json")
    assert soon(machine, lambda: status(unit) == "")


def test_a_malformed_file_is_a_warning_of_the_reader(machine: Guest, unit: Unit) -> None:
    machine.run("mkdir -p /run/ovn-offload")
    machine.write("/run/ovn-offload/nic-firmware.json", json.dumps({**REQUEST, "version": 9}))

    assert soon(machine, says(unit, "refresh nic-firmware and this charm to one revision"))


@pytest.mark.thorough
def test_an_approved_reboot_rolls_without_a_hook_of_jujus(machine: Guest, unit: Unit) -> None:
    machine.run("touch /run/needs-reboot; mkdir -p /var/lib/ceph/osd/ceph-0")  # as of an OSD: it settles
    assert unit.emit("update_status").status[0] == "blocked"

    approved = unit.action("approve-reboot")
    assert (approved.results["approved"], approved.reboot_requested) == ("roller/0", False)
    assert soon(machine, lambda: unit.reboot_requested), "no hook was dispatched after the action"
    assert holder(unit) == "roller/0"

    machine.reboot()
    assert unit.emit("start").status[0] == "waiting"
    assert holder(unit) == "roller/0"
    assert soon(machine, lambda: holder(unit) == ""), "nobody came back when the host had settled"
    assert status(unit) == ""

    hand_over(machine)
    assert soon(machine, lambda: "NUM_OF_VFS" in status(unit)), "after a reboot nobody is woken any more"


def test_an_idle_hook_writes_and_starts_nothing(unit: Unit) -> None:
    assert unit.emit("update_status").writes == []


def wake_ups(machine: Guest) -> int:
    """How many units there are to wake the charm; none of any charm may have failed."""
    assert machine.run("systemctl list-units --failed --plain --no-legend").stdout == ""
    return machine.run("ls /etc/systemd/system /usr/lib/ovn-offload").stdout.count("roller-dispatch")


def test_the_stop_hook_leaves_no_unit_behind(machine: Guest, unit: Unit) -> None:
    unit.emit("stop")

    assert wake_ups(machine) == 0
    for watched in ("agent", "nic-firmware", "roce-qos"):
        assert machine.run(f"systemctl is-active {NAME}-{watched}.path", check=False).stdout == "inactive\n"


@pytest.mark.parametrize(
    "seen",
    ["at once", pytest.param("when another charm hands something over", marks=pytest.mark.thorough)],
)
def test_a_unit_that_juju_removes_without_its_stop_hook_leaves_nothing_that_wakes_it(
    machine: Guest, unit: Unit, seen: str
) -> None:
    assert unit.emit("update_status").writes == []
    machine.run(f"mkdir -p /run/ovn-offload && touch {AGENT}/agent.conf")
    machine.write("/run/ovn-offload/roller.json", json.dumps({**REQUEST, "unit": "roller/0"}, indent=1))
    assert wake_ups(machine) == 6
    if seen == "at once":
        machine.run(f"rm -r {AGENT}")
    else:
        machine.run(f"systemctl stop {NAME}-agent.path && rm -r {AGENT}")
        assert wake_ups(machine) == 6
        hand_over(machine, reason=seen)

    assert soon(machine, lambda: wake_ups(machine) == 0)
    assert "roller.json" not in machine.run("ls /run/ovn-offload").stdout
    said = ["journalctl", "--boot", "--output=cat", f"--identifier={NAME}"]
    # On a busy machine, the journal takes a message in after the files have gone.
    removed = "Juju has removed roller/0 without its stop hook"
    assert soon(machine, lambda: removed in machine.run(said).stdout)
    assert machine.run("ls /etc/systemd/system/multi-user.target.wants").stdout.count("roller") == 0
