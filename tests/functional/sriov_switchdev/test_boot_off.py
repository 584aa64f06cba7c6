# SPDX-License-Identifier: Apache-2.0
"""A node is booted once with the kernel argument ovn-offload=off: no unit and no hook changes a NIC.

So its console is usable whatever a unit does wrong, and the boot after it is as declared again.
"""

import pytest
from functional.once import once
from functional.sriov_switchdev.node import Node, is_converged, nic, without_vfs
from hostnic.boot import off
from lab.guest import Guest
from lab.juju.remote import Unit

UNITS = (
    "ovn-offload-sriov-early.service",
    "ovn-offload-sriov-bind.service",
    "ovn-offload-roce-qos.service",
)

pytestmark = pytest.mark.thorough


@pytest.fixture
def off_now(machine: Guest, request: pytest.FixtureRequest) -> tuple[Node, Unit]:
    """A converged node with both charms, in a boot with the argument, before any hook; and roce-qos' unit."""

    def make() -> tuple[Node, Unit]:
        node = request.getfixturevalue("converged")
        roce = machine.unit("roce-qos", config={})
        roce.start()
        machine.reboot(arguments=off.ARGUMENT)
        return node, roce

    return once(machine, "boot-off", make)


def test_the_network_comes_up_over_nics_as_the_kernel_makes_them(
    machine: Guest, off_now: tuple[Node, Unit]
) -> None:
    node, _ = off_now
    assert off.ARGUMENT in machine.read("/proc/cmdline").split()
    assert without_vfs(node.state()) == 2, node.state()
    assert node.reachable()
    for unit in UNITS:
        shown = machine.run(f"systemctl is-enabled {unit}; systemctl show -P ConditionResult {unit}").stdout
        assert shown.split() == ["enabled", "no"], unit
    assert machine.run("systemctl list-units --failed --plain --no-legend 'ovn-offload-*'").stdout == ""


def test_a_unit_started_by_hand_or_by_udev_changes_nothing_either(
    machine: Guest, off_now: tuple[Node, Unit]
) -> None:
    node, _ = off_now
    machine.run(f"systemctl start {' '.join(UNITS)} ovn-offload-sriov-restore.service")
    machine.run("udevadm trigger --subsystem-match=net; udevadm settle")
    assert without_vfs(node.state()) == 2, node.state()


def test_hooks_change_no_nic_ask_for_no_reboot_and_say_how_it_ends(
    machine: Guest, off_now: tuple[Node, Unit]
) -> None:
    node, roce = off_now
    for result in (node.hook("start"), node.hook(), roce.emit("start")):
        assert nic(result.writes) == []
        assert result.status[0] == "blocked", result
        assert "reboot without the kernel argument ovn-offload=off" in result.status[1]
    assert not node.unit.reboot_requested


def test_the_boot_after_it_is_as_declared_before_any_hook(machine: Guest, off_now: tuple[Node, Unit]) -> None:
    node, _ = off_now
    node.hook("start")  # what hooks of that boot have left on disk counts
    machine.reboot()
    assert off.ARGUMENT not in machine.read("/proc/cmdline").split()
    assert is_converged(node.state()), node.state()
    assert node.reachable()
    result = node.hook("start")
    assert result.status[0] == "active", (result, node.findings())
    assert nic(result.writes) == []
