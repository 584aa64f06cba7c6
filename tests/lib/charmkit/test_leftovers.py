# SPDX-License-Identifier: Apache-2.0
"""A charm that Juju removed without its stop hook: what another charm removes, and what stays."""

import errno

import pytest
from charmkit.dispatch import leftovers
from charmkit.dispatch.dispatcher import Dispatcher
from converge import Severity
from exporter import facts, install
from hostnic import handover
from hostnic.boot import units
from hostnic.handover import AGENTS, Handover
from lab.modelled import FakeHost

STAYS, GONE = "roce-qos", "sriov-switchdev"
BOOT = units.path("ovn-offload-sriov-early.service")


def agent(host: FakeHost, unit: str) -> None:
    host.disk.install(f"{AGENTS}/unit-{unit.replace('/', '-')}/agent.conf", b"", 0o600)


def deployed(unit: str = f"{GONE}/3") -> FakeHost:
    """Units of two charms; the first selects no port."""
    host = FakeHost()
    for each in (f"{STAYS}/3", unit):
        agent(host, each)
    for charm, each in ((STAYS, f"{STAYS}/3"), (GONE, unit)):
        install.install(host, charm)
        handover.publish(host, Handover(charm, each, "nic-firmware"))
        facts.publish(host, facts.Facts(charm, each, 1))
        Dispatcher(host, each, charm).install(wakes=False)
    return host


def lose(host: FakeHost, unit: str = f"{GONE}/3", *, rebooted: bool = False) -> None:
    """Juju deletes the agent, perhaps before a boot, which empties /run."""
    host.disk.remove(f"{AGENTS}/unit-{unit.replace('/', '-')}/agent.conf")
    host.disk.directories.discard(f"{AGENTS}/unit-{unit.replace('/', '-')}")
    if rebooted:
        host.reboot()


def left(host: FakeHost) -> list[str]:
    found = [*host.disk.content, *host.disk.links]
    return sorted(path for path in found if GONE in path)


@pytest.mark.parametrize("rebooted", [False, True])
@pytest.mark.parametrize("unit", [f"{GONE}/3", "vfs/3"], ids=["called as its charm", "another name"])
def test_the_next_hook_of_another_charm_removes_it(unit: str, rebooted: bool) -> None:
    host = deployed(unit)
    lose(host, unit, rebooted=rebooted)
    assert left(host)
    assert [*leftovers.clear(host, STAYS)] == []
    assert left(host) == []
    assert host.files.exists(install.copy_of(STAYS).path)
    assert f"run systemctl restart {install.UNIT}" in host.trace
    host.trace.clear()
    host.spawned.clear()
    assert [*leftovers.clear(host, STAYS)] == []
    assert (host.trace, host.spawned) == ([], [])


def test_what_cumulus_fabric_left_on_a_machine_of_others_is_removed() -> None:
    host = deployed()
    host.disk.install(BOOT, b"[Service]\n", 0o644)  # of sriov-switchdev, which stays
    agent(host, "cumulus-fabric/0")
    install.install(host, "cumulus-fabric")
    facts.publish(host, facts.Facts("cumulus-fabric", "cumulus-fabric/0", 1))
    assert [*leftovers.clear(host, STAYS)] == []
    lose(host, "cumulus-fabric/0")
    assert [*leftovers.clear(host, STAYS)] == []
    assert not [path for path in host.disk.content if "cumulus-fabric" in path]
    assert host.files.exists(BOOT)


@pytest.mark.parametrize("unit", [f"{GONE}/3", "vfs/3"])
def test_what_a_living_unit_has_stays(unit: str) -> None:
    host = deployed(unit)
    before = left(host)
    assert [*leftovers.clear(host, STAYS)] == []
    assert left(host) == before


def test_a_newer_unit_of_the_charm_keeps_what_is_there() -> None:
    host = deployed()
    lose(host)
    agent(host, f"{GONE}/4")
    before = left(host)
    assert [*leftovers.clear(host, STAYS)] == []
    assert left(host) == before


def test_without_agents_nothing_is_removed() -> None:
    host = deployed()
    for unit in (f"{GONE}/3", f"{STAYS}/3"):
        lose(host, unit)
    before = left(host)
    assert [*leftovers.clear(host, STAYS)] == []
    assert left(host) == before


def test_boot_units_stay_with_what_they_run_and_are_named() -> None:
    host = deployed()
    host.disk.install(BOOT, b"[Service]\n", 0o644)
    copy = f"/usr/lib/ovn-offload/{GONE}/boot.pyz"
    host.disk.install(copy, b"", 0o644)
    lose(host)
    (finding,) = leftovers.clear(host, STAYS)
    assert finding.severity is Severity.INFO
    assert "still acts at each boot: ovn-offload-sriov-early.service" in finding.what
    assert finding.remedy == leftovers.GUIDE
    assert left(host) == [copy]
    host.trace.clear()
    assert [*leftovers.clear(host, STAYS)] == [finding]
    assert host.trace == []


def test_a_boot_copy_without_boot_units_goes() -> None:
    host = deployed()
    for path in (f"/usr/lib/ovn-offload/{GONE}/boot.pyz", f"/etc/ovn-offload/{GONE}.json"):
        host.disk.install(path, b"", 0o600)
    lose(host)
    assert [*leftovers.clear(host, STAYS)] == []
    assert left(host) == []


def test_what_cannot_be_removed_is_a_warning() -> None:
    host = deployed()
    lose(host)
    host.fail("remove", handover.path_of(GONE), OSError(errno.EROFS, "Read-only file system"), times=None)
    (finding,) = leftovers.clear(host, STAYS)
    assert finding.severity is Severity.WARNING
    assert "cannot be removed: Read-only file system" in finding.what


@pytest.mark.parametrize("damaged", [b"", b"[]", b"null", b'{"unit": 3}', b"\xff"])
def test_a_damaged_file_names_no_unit(damaged: bytes) -> None:
    host = deployed()
    lose(host)
    host.disk.install(handover.path_of(GONE), damaged, 0o600)
    assert [*leftovers.clear(host, STAYS)] == []
    assert left(host) == []
