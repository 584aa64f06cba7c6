# SPDX-License-Identifier: Apache-2.0
"""systemd's units that set VFs or modes at boot: those that an administrator or a former tool has enabled."""

import re
from collections.abc import Collection, Iterator

from converge import Finding
from hostnic.boot import units
from hostnic.devices.model import Pf
from hostnic.system import System, list_names
from observed import Setting, Writer

from writers import netplan
from writers.ports import ports_named
from writers.texts import SPEAKING, files_in, of_text, read

SHIM = "/etc/sriov-netplan-shim/interfaces.yaml"
"""Of the tool that charms used before netplan had its keys (openstack-charmers/sriov-netplan-shim)."""

UNITS = (units.DIRECTORY, "/run/systemd/system", "/usr/local/lib/systemd/system")

PACKAGED_UNITS = ("/usr/lib/systemd/system", "/lib/systemd/system")

WANTS = re.compile(r"^\s*(?:Wants|Requires|BindsTo|Unit)\s*=(.*)", re.MULTILINE)

OWN = ("ovn-offload-", "netplan-")
"""Units of these charms, and those that netplan makes of the files that netplan.py reads."""


def of_units(system: System, pfs: Collection[Pf], findings: list[Finding]) -> Iterator[Writer]:
    """Enabled units that do it themselves, or whose program does."""
    names = sorted(_enabled(system))
    for name in names:  # which grows
        if name.startswith(OWN):
            continue
        path, text = unit(system, name)
        names += dict.fromkeys(each for each in " ".join(WANTS.findall(text)).split() if each not in names)
        if "sriov-netplan-shim" in text or name.startswith("sriov-netplan-shim"):
            yield from _shim(system, name, pfs, findings)
            continue
        yield from of_text(system, path, text, pfs, name, "a unit", instance=instance_of(name))
    for place in (f"{directory}/{name}" for directory in UNITS for name in list_names(system, directory)):
        unit_name = place.rpartition("/")[2].removesuffix(".d")
        for path in files_in(system, place) if place.endswith(".d") else ():
            for instance in _instances(unit_name, names):
                text = _of_instance(read(system, path), instance)
                yield from of_text(system, path, text, pfs, path, "a drop-in of a unit", instance=instance)


def _instances(unit_name: str, names: Collection[str]) -> list[str]:
    """For which instances a drop-in is read: those enabled of a template, or that of its unit."""
    stem, at, rest = unit_name.partition("@")
    if at and rest.startswith("."):
        found = [instance_of(name) for name in names if name.startswith(f"{stem}@") and name.endswith(rest)]
        return found or [""]
    return [instance_of(unit_name)]


def instance_of(name: str) -> str:
    """``eno1`` of ``vfs@eno1.service``; empty for a unit without one."""
    return name.partition("@")[2].rpartition(".")[0]


def _of_instance(text: str, instance: str) -> str:
    """A unit's text with its instance put in; %j is what follows its last dash (systemd.unit(5))."""
    text = re.sub(r"%[iI]", lambda _: instance, text)
    return re.sub(r"%[jJ]", lambda _: instance.rpartition("-")[2], text) if instance else text


def _enabled(system: System) -> set[str]:
    """Units that something wants or requires at boot; for a timer or path unit, its service."""
    found: set[str] = set()
    for directory in (units.DIRECTORY, *PACKAGED_UNITS[:1]):
        for entry in list_names(system, directory):
            if entry.endswith((".wants", ".requires")):
                names = list_names(system, f"{directory}/{entry}")
                found.update(n for n in names if directory == units.DIRECTORY or SPEAKING.search(n))
    return found | {re.sub(r"\.(timer|path)$", ".service", name) for name in found}


def unit(system: System, name: str) -> tuple[str, str]:
    """Where a unit is and what it says, with its instance put in; empty for one that does not count."""
    stem, at, rest = name.partition("@")
    template = f"{stem}@.{rest.rpartition('.')[2]}" if at else name
    for directory in (*UNITS, *(PACKAGED_UNITS if SPEAKING.search(name) else ())):
        for path in dict.fromkeys((f"{directory}/{name}", f"{directory}/{template}")):
            if system.files.exists(path):  # an empty one, or a link to /dev/null, masks others
                return path, _of_instance(read(system, path), instance_of(name))
    return name, ""


def _shim(system: System, unit: str, pfs: Collection[Pf], findings: list[Finding]) -> Iterator[Writer]:
    """sriov-netplan-shim's file: a mapping ``interfaces`` of names, each with ``num_vfs``."""
    try:
        settings = tuple(
            Setting(name, (unit,), ports_named(f"/sys/class/net/{name}/ {' '.join(told)}", pfs))
            for name, told in netplan.interfaces(system.files.read(SHIM))
        )
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        findings.append(netplan.unreadable(SHIM, error, f"fix it, or systemctl disable {unit}"))
        return
    yield Writer(SHIM, settings, "sriov-netplan-shim")
