# SPDX-License-Identifier: Apache-2.0
"""The part of a model that would be undone: applications, VFs, firmware. Reads, and never writes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from check.facts import own
from converge import StepError
from hostnic.firmware import mstconfig
from operate import computes
from operate.adopt.hypervisors import NUMVFS
from operate.client import Juju, mapping
from operate.computes import Place
from operate.fleet import lost_agents, own_units
from operate.together import all_of

DRIVER, FIRMWARE, QOS, FABRIC = "sriov-switchdev", "nic-firmware", "roce-qos", "cumulus-fabric"
CHASSIS = "ovn-chassis"
NOBODY = "none:0"
"""The value of sriov-numvfs with which ovn-chassis creates no VF."""
HAD = "# flash had "
"""How the line of `backup before=true` begins that has the version before the first burn."""


class App(NamedTuple):
    """An application of this project's charms."""

    name: str
    charm: str
    lost: tuple[str, ...]  # units of it whose agents Juju does not hear from


class Chassis(NamedTuple):
    """An application of ovn-chassis beside sriov-switchdev."""

    name: str
    numvfs: str | None  # its option sriov-numvfs; None if it is not set
    vfs: Mapping[str, frozenset[int]]  # by port of sriov-switchdev, the numbers of VFs that hosts have there

    @property
    def entries(self) -> list[str]:
        """The ports that the option names; empty where it has a word for all ports."""
        return [word for word in (self.numvfs or "").split() if ":" in word and word != NOBODY]

    @property
    def creates(self) -> bool:
        """It creates VFs: of ports that it names, or of all."""
        return self.numvfs is None or bool(self.entries) or ":" not in self.numvfs


class Firmware(NamedTuple):
    """The firmware of the NICs of one unit of nic-firmware, beside what was there before the charm."""

    unit: str
    host: str
    former: tuple[tuple[str, str], ...]  # port, and the former values that the next boot lacks: `A=1 B=2`
    flash: tuple[tuple[str, str], ...]  # port, and the version that its flash had before the first burn
    beside_chassis: bool  # an ovn-chassis is on the machine


class Found(NamedTuple):
    """A model, as it was read."""

    apps: tuple[App, ...] = ()
    chassis: tuple[Chassis, ...] = ()
    bare: tuple[str, ...] = ()  # hosts with VFs of sriov-switchdev, and without ovn-chassis
    firmware: tuple[Firmware, ...] = ()
    places: tuple[Place, ...] = ()

    def of(self, charm: str) -> list[App]:
        """The applications of a charm."""
        return [each for each in self.apps if each.charm == charm]


def observe(juju: Juju) -> Found:
    """Read the model. Raises StepError if a unit that has to say something does not."""
    status = juju.data("status")
    applications = {name: mapping(body) for name, body in mapping(status.get("applications")).items()}
    units, lost = own_units(status, own()), {*lost_agents(status)}
    charms = {name: str(applications[name].get("charm-name")) for name in units}
    apps = tuple(
        App(name, charms[name], tuple(sorted(lost.intersection(each)))) for name, each in units.items()
    )
    places = tuple(computes.places(status))
    having = [place for place in places if DRIVER in place.units and place.units[DRIVER] not in lost]
    found = all_of(lambda place: _vfs(juju, place.units[DRIVER]), having, "units asked")
    vfs = {place.machine: ports for place, ports in zip(having, found) if ports}
    bare = tuple(each.host for each in having if each.machine in vfs and CHASSIS not in each.units)
    answering = [
        unit for name, each in units.items() if charms[name] == FIRMWARE for unit in each if unit not in lost
    ]
    beside = {place.units[FIRMWARE]: place for place in places if FIRMWARE in place.units}
    firmware = all_of(lambda unit: _firmware(juju, unit, beside.get(unit)), answering, "units asked")
    return Found(apps, tuple(_chassis(juju, places, vfs)), bare, tuple(firmware), places)


def of_place(juju: Juju, place: Place) -> Firmware | None:
    """The firmware of one node; None without nic-firmware there. Raises as :func:`observe`."""
    return _firmware(juju, place.units[FIRMWARE], place) if FIRMWARE in place.units else None


def _vfs(juju: Juju, unit: str) -> dict[str, int]:
    """The VFs that sriov-switchdev keeps on a host, by port."""
    said = juju.results(unit, "list-devices", "format=json")
    try:
        rows: list[dict[str, str]] = json.loads(str(said["devices"]))
        kept = [row for row in rows if row["wanted"] != "not selected"]
        found = {row["port"] if row["netdev"] == "-" else row["netdev"]: int(row["vfs"]) for row in kept}
    except (ValueError, TypeError, KeyError, RecursionError):
        more = f"juju run {unit} list-devices"
        raise StepError(f"the devices of {unit} cannot be read", more) from None
    return {port: count for port, count in found.items() if count}


def _chassis(juju: Juju, places: Sequence[Place], vfs: Mapping[str, dict[str, int]]) -> Iterator[Chassis]:
    machines: dict[str, list[str]] = {}
    for place in places:
        if CHASSIS in place.units:
            machines.setdefault(place.units[CHASSIS].partition("/")[0], []).append(place.machine)
    for name, numbers in machines.items():
        settings = mapping(juju.data("config", name).get("settings"))
        value = mapping(settings.get(NUMVFS)).get("value")
        counts: dict[str, set[int]] = {}
        for port, count in (item for number in numbers for item in vfs.get(number, {}).items()):
            counts.setdefault(port, set()).add(count)
        yield Chassis(
            name, None if value is None else str(value), {p: frozenset(c) for p, c in counts.items()}
        )


def _firmware(juju: Juju, unit: str, place: Place | None) -> Firmware:
    former, now = juju.results(unit, "backup", "before=true"), juju.results(unit, "backup")
    differing, flash = list[tuple[str, str]](), list[tuple[str, str]]()
    for result, text in sorted(former.items()):
        if not result.startswith("backup-"):  # such as Juju's own return-code
            continue
        port, has = str(text).partition("\n")[0].removeprefix("# "), str(now.get(result, ""))
        flash += [(port, line.split()[-1]) for line in str(text).splitlines() if line.startswith(HAD)]
        try:
            kept, runs = mstconfig.parse_backup(str(text)), mstconfig.parse_backup(has)
        except ValueError as error:
            raise StepError(
                f"the backup of {unit} cannot be read: {error}", f"juju run {unit} backup"
            ) from None
        words = [f"{name}={value}" for name, value in kept.items() if runs.get(name, value) != value]
        differing += [(port, " ".join(words))] if words else []
    host = place.host if place else unit
    return Firmware(unit, host, tuple(differing), tuple(flash), place is not None and CHASSIS in place.units)
