# SPDX-License-Identifier: Apache-2.0
"""Ubuntu 22.04 becomes 24.04 below the three host charms, as `juju upgrade-machine` guides it.

The packages and the kernel are those of another image. Every file of no package and each changed
configuration file goes along: the charms, their boot copies and units, netplan's files, Open vSwitch's
database, the card's firmware. What do-release-upgrade itself does to packages is not run.

Juju 3.6 (internal/worker/uniter: upgradeseries/resolver.go, reboot/resolver.go): `prepare` runs
pre-series-upgrade on each unit, and from then on nothing until `complete`, also not after the reboot.
`complete` runs post-series-upgrade; then comes the start hook of the reboot, and the refresh to the artifact
of the new base.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from functional.refresh.test_refresh import CARRIER, CHARMS, OWN, converge, settle
from functional.sriov_switchdev.node import OFFLOADING, STATE, is_converged, nic
from lab import carry, site
from lab.guest import Guest
from lab.juju.remote import Unit
from lab.releases import RELEASES

pytestmark = pytest.mark.thorough

FAILED = "systemctl list-units --failed --plain --no-legend"
PRE, POST = "pre_series_upgrade", "post_series_upgrade"


@dataclass
class Upgraded:
    """The node after its first boot of the new release, before any hook.

    Attributes:
        guest: the node.
        units: the units on it, by charm.
        carried: the paths of the files that it has from the old release.
        before: VFs, modes, LAG and bond on the old release.
        ran: the hooks of each unit before that boot, as the machine counts them.
        prepared: what the hooks of `prepare` wrote.

    """

    guest: Guest
    units: Mapping[str, Unit]
    carried: list[str]
    before: str
    ran: Mapping[str, dict[str, dict[str, int]]]
    prepared: list[str]


@pytest.fixture(scope="module", params=[("jammy", "noble"), ("jammy-5.15", "noble")], ids=" to ".join)
def node(request: pytest.FixtureRequest) -> Iterator[Upgraded]:
    """Converged on the old release; prepared; booted with the new one."""
    old, new = request.param
    with Guest(old) as guest:
        guest.run(OFFLOADING)
        assert site.reachable(guest, 120)
        units = converge(guest, {name: guest.unit(name, config=config) for name, config in CHARMS.items()})
        before = guest.run(STATE).stdout
        told = {"JUJU_TARGET_BASE": "ubuntu@24.04"}
        prepared = [line for unit in units.values() for line in unit.emit(PRE, told=told).writes]
        assert not any(unit.reboot_requested for unit in units.values())
        paths, archive = carry.packed(guest)
    with Guest(new) as guest:
        carry.unpacked(guest, archive)
        there = {name: unit.on(guest) for name, unit in units.items()}
        ran = {name: unit.known["hooks"] for name, unit in there.items()}
        guest.reboot()
        yield Upgraded(guest, there, paths, before, ran, prepared)


def test_the_hook_before_the_upgrade_writes_nothing_and_asks_for_no_reboot(node: Upgraded) -> None:
    assert is_converged(node.before), node.before
    assert node.prepared == []


def test_the_charms_files_go_along_and_the_packages_are_the_new_releases(node: Upgraded) -> None:
    for path in (
        "/etc/ovn-offload/sriov-switchdev.json",
        "/etc/systemd/system/ovn-offload-sriov-early.service",
        "/etc/netplan/50-cloud-init.yaml",
        "/usr/lib/ovn-offload/sriov-switchdev/boot.pyz",
        "/var/lib/juju/agents/unit-sriov-switchdev-0/charm/src/charm.py",
    ):
        assert path in node.carried
    release = RELEASES["noble"]
    assert "VERSION_CODENAME=noble" in node.guest.read("/etc/os-release")
    assert node.guest.run("python3 -V").stdout.startswith(f"Python {release.python}.")
    kernel = tuple(map(int, node.guest.run("uname -r").stdout.split(".")[:2]))
    assert kernel == release.linux


def test_the_boot_units_converge_the_node_before_any_hook(node: Upgraded) -> None:
    state = node.guest.run(STATE).stdout
    assert is_converged(state), state
    assert site.reachable(node.guest, 120)
    assert node.guest.run(FAILED).stdout == ""
    assert {name: unit.known["hooks"] for name, unit in node.units.items()} == node.ran


def test_the_hooks_of_complete_change_no_port_and_ask_for_no_reboot(node: Upgraded) -> None:
    state, carrier = node.guest.run(STATE).stdout, node.guest.run(CARRIER).stdout
    for event in (POST, "start"):
        for name, unit in node.units.items():
            result = unit.emit(event)
            assert nic(result.writes) == [], (name, event)
            assert not unit.reboot_requested, (name, event, result.status)
    found = settle(list(node.units.values()))
    assert {name: each.status[0] for name, each in found.items()} == dict.fromkeys(CHARMS, "active"), found
    assert {name: nic(each.writes) for name, each in found.items()} == {name: [] for name in CHARMS}
    assert (node.guest.run(STATE).stdout, node.guest.run(CARRIER).stdout) == (state, carrier)


def test_the_refresh_to_the_new_base_writes_only_what_the_charms_own(node: Upgraded) -> None:
    carrier = node.guest.run(CARRIER).stdout
    for name, unit in node.units.items():
        for event in ("upgrade_charm", "config_changed"):
            result = unit.emit(event)
            others = [line for line in result.writes if not line.startswith(OWN)]
            assert others == [], (name, event)
            assert not unit.reboot_requested, (name, event, result.status)
    assert node.guest.run(CARRIER).stdout == carrier
    assert node.guest.run(FAILED).stdout == ""


def test_everything_verifies_and_the_lag_is_known(node: Upgraded) -> None:
    for name, unit in node.units.items():
        said = unit.action("verify").results
        assert said["verified"] == "true", (name, said)
        assert "VF-LAG" not in said["findings"], said


def test_the_next_boot_is_converged_and_its_hooks_write_nothing(node: Upgraded) -> None:
    node.guest.reboot()
    state = node.guest.run(STATE).stdout
    assert is_converged(state), state
    for unit in node.units.values():
        unit.emit("start")
    settle(list(node.units.values()))
    found = settle(list(node.units.values()))
    assert {name: nic(each.writes) for name, each in found.items()} == {name: [] for name in CHARMS}
    assert not any(unit.reboot_requested for unit in node.units.values())
