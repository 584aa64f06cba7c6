# SPDX-License-Identifier: Apache-2.0
"""The host charms of one node are refreshed, one after the other, and back, on a real kernel.

The previous revision is this one under another path, with other code in its boot copies.
tests/unit/refreshed.py reads what each release left.
"""

from collections.abc import Sequence

import pytest
from functional.once import once
from functional.sriov_switchdev.node import STATE, is_converged
from lab import site
from lab.code import MOUNTED
from lab.guest import Guest
from lab.juju.remote import Result, Unit

pytestmark = pytest.mark.thorough

OLD, NEW = "/opt/previous", MOUNTED
MAKE_OLD = f"""
mkdir -p {OLD}/charms
cp -r {NEW}/lib {OLD}/
cp -r {NEW}/charms/nic-firmware {NEW}/charms/sriov-switchdev {NEW}/charms/roce-qos {OLD}/charms/
echo '# the previous revision' >> {OLD}/lib/hostnic/__init__.py
"""
POLICY = {"reboot-policy": "always", "reboot-settle": 0}
CHARMS = {
    "nic-firmware": {"profile": "", "num-vfs": 2, "reboot-owner": "sriov-switchdev", **POLICY},
    "sriov-switchdev": {"num-vfs": 2, **POLICY},
    "roce-qos": {},
}
ORDER = tuple(CHARMS)
CARRIER = "cat /sys/class/net/enp59s0f?np?/carrier_changes"
OWN = ("install ", "remove ", "run systemctl ")
"""Writes to what belongs to the charms: their files and units."""


def settle(units: Sequence[Unit]) -> dict[str, Result]:
    """Hooks of all, as often as they still tell each other something."""
    for _ in range(2):
        results = {unit.app: unit.emit("update_status") for unit in units}
    return results


def converge(machine: Guest, units: dict[str, Unit]) -> dict[str, Unit]:
    """New units of the three charms, through the one reboot that they ask for."""
    for event in ("install", "leader_elected", "config_changed", "start"):
        for unit in units.values():
            unit.emit(event)
    settle(list(units.values()))
    assert units["sriov-switchdev"].reboot_requested
    machine.reboot()
    for unit in units.values():
        unit.emit("start")
    found = settle(list(units.values()))
    assert {name: each.status[0] for name, each in found.items()} == dict.fromkeys(CHARMS, "active"), found
    return units


@pytest.fixture
def old(machine: Guest) -> dict[str, Unit]:
    """The three charms of the previous revision on a converged node."""

    def make() -> dict[str, Unit]:
        machine.run(MAKE_OLD)
        assert site.reachable(machine, 120)
        units = {
            name: machine.unit(name, path=f"{OLD}/charms/{name}", lib=f"{OLD}/lib", config=config)
            for name, config in CHARMS.items()
        }
        return converge(machine, units)

    return once(machine, "refresh-old", make)


def refresh(unit: Unit, root: str) -> list[str]:
    """List the writes of the two hooks of a refresh outside of the charm's own files."""
    result = unit.emit("upgrade_charm", path=f"{root}/charms/{unit.app}", lib=f"{root}/lib")
    writes = [*result.writes, *unit.emit("config_changed").writes]
    return [line for line in writes if not line.startswith(OWN)]


@pytest.mark.parametrize("order", [ORDER, ORDER[::-1]], ids=["documented", "reverse"])
def test_a_refresh_and_the_way_back_touch_no_port(
    machine: Guest, old: dict[str, Unit], order: Sequence[str]
) -> None:
    state, carrier = machine.run(STATE).stdout, machine.run(CARRIER).stdout
    assert is_converged(state)
    for root, names in ((NEW, order), (OLD, order[::-1]), (NEW, order)):
        for name in names:
            assert refresh(old[name], root) == []
            # Half-way, charms of both revisions read each other's files.
            found = settle(list(old.values()))
            assert {each.status[0] for each in found.values()} == {"active"}, found
    assert (machine.run(STATE).stdout, machine.run(CARRIER).stdout) == (state, carrier)
    for unit in old.values():
        assert unit.action("verify").results["verified"] == "true"
    assert machine.run("systemctl list-units --failed --plain --no-legend").stdout == ""
    machine.reboot()
    for unit in old.values():
        unit.emit("start")
    assert {each.status[0] for each in settle(list(old.values())).values()} == {"active"}
    # The ports enter the bond in the order in which they appear, which differs from boot to boot.
    after = machine.run(STATE).stdout
    assert [sorted(line.split()) for line in after.splitlines()] == [
        sorted(line.split()) for line in state.splitlines()
    ]
