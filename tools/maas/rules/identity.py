# SPDX-License-Identifier: Apache-2.0
"""Whether a machine that MAAS has, or a name that it has given, is the site's. Pure."""

from collections.abc import Mapping
from typing import Any

from converge import Finding
from maas.client import Objects, every
from maas.sitefile.addresses import same_address
from maas.sitefile.model import Machine, Site
from maas.unmanaged import blocked, bmc, other_nodes, settled


def machines(site: Site, objects: Objects) -> dict[str, Finding]:
    """Why MAAS' machine of a name, or of a BMC, cannot be taken as the site's; by the site's name."""
    by_address: dict[str, list[Any]] = {}
    for body in every(objects, "machine"):
        by_address.setdefault(bmc(body), []).append(body)
    return {name: found for name in site.machines if (found := _machine(objects, by_address, site, name))}


def _machine(objects: Objects, by_address: Mapping[str, list[Any]], site: Site, name: str) -> Finding | None:
    wanted = site.machines[name]
    address = same_address(wanted.power_address)
    for body in by_address.get(address, ()) if wanted.has_own_bmc else ():
        if body["hostname"] != name:
            where = f"machine {body['hostname']} ({body['status_name']})"
            what = f"MAAS has its BMC {wanted.power_address} at {where}"
            remedy = f"rename that machine to {name} in MAAS, or use its name here"
            if f"machine {name}" in objects:
                remedy = f"MAAS has {name}, too: correct the power address of one of them there"
            elif settled(body["status_name"]):
                remedy = "use its name in the site file"
            return blocked(name, what, remedy)
    body = objects.get(f"machine {name}")
    if body is None:
        return _taken(objects, wanted)
    if (has := bmc(body)) == address:
        return None
    status = body["status_name"]
    # One of these is as it may be: MAAS has enlisted it, its BMC has moved, or it is deployed by hand.
    if sum((has != "", settled(status), wanted.tag not in body["tag_names"])) > 1:
        known = f"BMC {has}" if has else "no BMC"
        what = f"MAAS' machine of that name ({status}) has {known}, not {wanted.power_address}"
        remedy = "correct power-address or name in the site file; if it is that machine, set its BMC in MAAS"
        return blocked(name, what, remedy)
    return None


def _taken(objects: Objects, wanted: Machine) -> Finding | None:
    """A name or a MAC address of a machine to be made that MAAS has given to something else."""
    others = [(body["hostname"], body) for body in every(objects, "rack")] + other_nodes(objects)
    if wanted.name.lower() in [name.lower() for name, _ in others]:
        what = "MAAS has a controller or a device of that name"
        return blocked(wanted.name, what, "write another name in the site file, or rename that one in MAAS")
    if not wanted.mac:
        return None
    for body in every(objects, "machine"):
        if _has(body, wanted.mac):
            what = f"MAAS has its MAC address {wanted.mac} at machine {body['hostname']}"
            return blocked(
                wanted.name, what, f"rename that machine to {wanted.name} in MAAS, or use its name here"
            )
    for name, body in others:
        if _has(body, wanted.mac):
            what = f"MAAS has its MAC address {wanted.mac} at {name}, a controller or a device"
            return blocked(wanted.name, what, "correct mac in the site file, or take that one out of MAAS")
    return None


def _has(body: Any, mac: str) -> bool:
    """Whether a node has an interface with a MAC address."""
    found = [str(port.get("mac_address")).lower() for port in body.get("interface_set", ())]
    return mac.lower() in found
