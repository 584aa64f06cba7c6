# SPDX-License-Identifier: Apache-2.0
"""How the network of a deployed machine differs from its tag, and whether that matters. Pure.

MAAS changes nothing of a deployed machine, and its system may be right as it is: the charms work with the
network that the node has. What differs is therefore told, and set at the machine's next deployment.
"""

from collections.abc import Iterator
from typing import Any

from converge import Finding, Severity
from maas.client import Values, stored
from maas.sitefile.model import BASES, Machine, Site, Stack, Tag

BOND: Values = {"bond_mode": "802.3ad", "bond_lacp_rate": "fast", "bond_xmit_hash_policy": "layer3+4"}
"""VF-LAG takes 802.3ad; a fast rate notices a dead leaf in three seconds. MAAS' own miimon is 100 ms."""
LAG_MODES = ("802.3ad", "active-backup", "balance-xor")
"""Modes of a bond over which mlx5 builds a VF-LAG (drivers/net/ethernet/mellanox/mlx5/core/lag/lag.c)."""
ONE_PORT = ("layer2", "vlan+srcmac")
"""Hash policies that send all between two hosts through one port."""
ADDRESSED = ("auto", "static", "dhcp")
"""Modes of a link to a subnet that give an address in it."""
LATER = "leave it running, and run apply before it is deployed again"
LEAVING = ("Releasing", "Disk erasing", "Entering rescue mode", "Exiting rescue mode")
"""Statuses of a machine with a system that end by themselves."""
BY_OWNER = ("Deployed", "Deploying", "Allocated")
"""Statuses of a machine that somebody has taken, and that works or will."""

Difference = tuple[bool, str]
"""Whether it matters, and what it is."""


def addressed(interface: Any) -> list[str]:
    """The subnets in which an interface has an address."""
    links = interface.get("links", ())
    return [link["subnet"]["cidr"] for link in links if link["mode"] in ADDRESSED and link.get("subnet")]


def bond_values(found: Any) -> Values:
    """Return the values to set of a bond: all of a new one; else only those that keep it from working."""
    if found is None:
        return BOND
    wrong = [field for field in BOND if _matters(field, stored(found, field))]
    return {field: BOND[field] for field in wrong}


def _matters(field: str, value: Any) -> bool:
    """Whether a bond of LACP ports does not work, or not over both ports, with this value."""
    return value in ONE_PORT or (field == "bond_mode" and value not in ("", BOND[field]))


def _small_mtus(site: Site, machine: Machine, body: Any) -> Iterator[str]:
    """Interfaces whose own MTU is below that of their network: MAAS takes it instead of the VLAN's."""
    for network in (network for stack in site.stacks(machine) for network in stack.networks):
        for each in body["interface_set"]:
            has = stored(each, "mtu") and each.get("effective_mtu")
            if network.cidr in addressed(each) and has and has < network.mtu:
                yield f"the MTU of {each['name']} is {has}, and that of {network.name} is {network.mtu}"


def _twice(site: Site, machine: Machine, body: Any) -> Iterator[Finding]:
    """Addresses of interfaces that the site file does not have, in networks of those that it has."""
    stacks = site.stacks(machine)
    own = {name for stack in stacks for name in (*stack.ports, stack.bond, stack.bridge)}
    cidrs = {network.cidr for stack in stacks for network in stack.networks}
    for each in body["interface_set"]:
        found = sorted(cidrs.intersection(addressed(each)))
        if found and own.isdisjoint((each["name"], *each["parents"])):
            what = f"{each['name']}, which the site file does not have, has an address in {found[0]}, too"
            remedy = "describe it in nics of the tag, or take its address away in MAAS"
            yield Finding(Severity.WARNING, machine.name, what, remedy)


def other_values(site: Site, machine: Machine, body: Any) -> Iterator[Finding]:
    """Name the own settings of a machine without a system: addresses, MTUs, bonds that work as they are."""
    yield from _twice(site, machine, body)
    for what in _small_mtus(site, machine, body):
        yield Finding(Severity.WARNING, machine.name, what, "take its own MTU away in MAAS")
    own = {stack.bond for stack in site.stacks(machine)}
    for bond in body["interface_set"]:
        for field, wanted in BOND.items() if bond["name"] in own else ():
            has = stored(bond, field)
            if has not in ("", wanted) and not _matters(field, has):
                what = f"{field} of {bond['name']} is {has}, not {wanted}: it is left as it is"
                yield Finding(Severity.INFO, machine.name, what)


def unusual(machine: Machine, status: str) -> Finding | None:
    """A machine with a system that nobody works with now, such as in rescue mode."""
    if status in BY_OWNER:
        return None
    if status in LEAVING:
        return Finding(Severity.WAITING, machine.name, f"it is {status}", "wait, then apply again")
    remedy = "look in MAAS why, and apply again once that has changed"
    if "escue mode" in status:  # also one that failed: its system may still be there
        remedy = "exit rescue mode in MAAS, then apply again"
    elif "ailed" in status:
        remedy = "see its log in MAAS; once nobody needs what is on it, release it there, then apply again"
    return Finding(Severity.HELD, machine.name, f"it is {status}", remedy)


def findings(site: Site, machine: Machine, body: Any) -> Iterator[Finding]:
    """One finding for what matters, one for what does not."""
    found: list[Difference] = []
    for stack in site.stacks(machine):
        top, layers = _layers(stack, body["interface_set"])
        found += [*layers, *_addresses(stack, top, body["interface_set"])]
    found += (*_release(site, body), *_kernel(site.tags[machine.tag], body))
    found += ((True, what) for what in _small_mtus(site, machine, body))
    status, later = body["status_name"], LATER
    if status == "Allocated":
        status, later = f"Allocated to {body.get('owner') or 'somebody'}", "apply again once it is released"
    for matters, severity, about, remedy in (
        (True, Severity.HELD, "it lacks something", later),
        (False, Severity.INFO, "it differs, and works as it is", ""),
    ):
        if said := [what for counts, what in found if counts is matters]:
            what = f"it is {status}, and {about}: {'; '.join(said)}"
            yield Finding(severity, machine.name, what, remedy)


def _release(site: Site, body: Any) -> Iterator[Difference]:
    """The release; of an image of the operator's own, MAAS does not tell it."""
    has = body.get("distro_series")
    if body.get("osystem") not in (None, "", "custom") and has and has != site.series:
        if has in BASES.values():
            yield False, f"it runs {has}, which the charms are built for; the site is for {site.series}"
        else:
            yield True, f"it runs {has}, and the site is for {site.series}"


def _kernel(tag: Tag, body: Any) -> Iterator[Difference]:
    """The kernel that MAAS installed; an upgrade of the system may have replaced it."""
    has = body.get("hwe_kernel")
    if tag.hwe_kernel and has and has != tag.hwe_kernel:
        yield False, f"it was deployed with kernel {has}, not {tag.hwe_kernel}"


def _on(interfaces: Any, kind: str, below: set[str]) -> Any:
    """The bond or bridge on these interfaces, whatever its name is."""
    return next((each for each in interfaces if each["type"] == kind and set(each["parents"]) & below), None)


def _layers(stack: Stack, interfaces: Any) -> tuple[str, list[Difference]]:
    """The uppermost of ports, bond and bridge, which the VLANs are on, and what is different about them."""
    found: list[Difference] = []
    top, ports = stack.ports[0], set(stack.ports)
    if stack.bond:
        bond = _on(interfaces, "bond", ports)
        if bond is None or set(bond["parents"]) != ports:
            has = f"bond {bond['name']} has {', '.join(bond['parents'])}" if bond else "they are in no bond"
            needs = "VF-LAG needs a" if stack.bridge else "its tag has a"
            found.append((True, f"{needs} bond of {', '.join(stack.ports)} alone: {has}"))
        if bond:
            top = bond["name"]
            found += [*_named(bond, "bond", stack.bond), *_bond(bond)]
    if stack.bridge:
        bridge = _on(interfaces, "bridge", ports | {top})
        if bridge is None:
            found.append((True, f"{top} is in no bridge, and Open vSwitch needs {stack.bridge}"))
        else:
            top = bridge["name"]
            found += _named(bridge, "bridge", stack.bridge)
            if (kind := stored(bridge, "bridge_type")) not in ("ovs", ""):
                what = f"bridge {top} is of type {kind}, and Open vSwitch needs one of type ovs"
                found.append((True, what))
    return top, found


def _named(found: Any, kind: str, name: str) -> Iterator[Difference]:
    if found["name"] != name:
        has = found["name"]
        yield False, f"its {kind} is {has}, not {name} (write {kind}: {has} in its tag for the overlay)"


def _bond(bond: Any) -> Iterator[Difference]:
    mode = stored(bond, "bond_mode")
    for field, wanted in BOND.items():
        has = stored(bond, field)
        if has in ("", wanted) or (field != "bond_mode" and mode == "active-backup"):
            continue
        if field == "bond_mode" and has not in LAG_MODES:
            yield True, f"VF-LAG takes bond mode {', '.join(LAG_MODES)}, and {bond['name']} has {has}"
        elif has in ONE_PORT:
            what = f"{bond['name']} has hash policy {has}, which sends all between two hosts through one port"
            yield True, what
        else:
            yield False, f"{field} of {bond['name']} is {has}, not {wanted}"


def _addresses(stack: Stack, top: str, interfaces: Any) -> Iterator[Difference]:
    for network in stack.networks:
        wanted = f"{top}.{network.vid}" if network.vid else top
        has = [each for each in interfaces if network.cidr in addressed(each)]
        # A VLAN interface may have any name; its VLAN and what it is on count.
        right = [each for each in has if each["name"] == wanted or (network.vid and top in each["parents"])]
        if not has:
            yield True, f"it has no address in {network.cidr} of {network.name}"
        elif not right:
            what = f"its address in {network.cidr} of {network.name} is on {has[0]['name']}, not on {wanted}"
            yield True, what
        elif any(link["mode"] != "auto" for each in right for link in each["links"]):
            yield False, f"its address in {network.cidr} is {right[0]['links'][0]['mode']}, not auto"
