# SPDX-License-Identifier: Apache-2.0
"""The fabric's intent against the site file: VLANs, MTU, and the switch ports of each machine. Pure.

Both files are the operator's, and MAAS does not know the intent: what does not go together is found before a
machine is powered. Which ports a machine has follows from the host names in the intent; for machines without
a name there, any port that would do is enough.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from converge import Finding, Severity
from intent.model import Bond, Fabric, Network, Role, SwitchPort
from maas.sitefile.model import Machine, Site, Stack

Kind = tuple[int, frozenset[int]]
"""Ports of one kind: the width of their bond, 0 without one, and their VLANs."""
BOTH = "write the same in the intent and in the site file"


class Attachment(NamedTuple):
    """Where the intent attaches one host: a single port, or a bond with its members on all leaves."""

    place: str
    host: str
    ports: tuple[SwitchPort, ...]

    @property
    def width(self) -> int:
        """How many ports its LACP bond has; 0 without one."""
        return sum(len(port.members) for port in self.ports if isinstance(port, Bond))


def findings(site: Site, fabric: Fabric) -> list[Finding]:
    """Name the contradictions of the two files, and the machines without a suitable port in the intent."""
    attachments = [*_attachments(fabric)]
    # A VLAN that differs is told once, not of each machine.
    return [*_vlans(site, fabric, attachments)] or [*_machines(site, fabric, attachments)]


def _machines(site: Site, fabric: Fabric, attachments: list[Attachment]) -> Iterator[Finding]:
    names = {name.lower() for name in site.machines}
    others = [each for each in attachments if each.host.lower() not in names]
    # The ports of a standalone switch are not described one by one.
    complete = not fabric.by_role(Role.STANDALONE)
    wanted, offered = Counter[Kind](), Counter[Kind]()
    for machine in site.machines.values():
        own = [each for each in attachments if each.host.lower() == machine.name.lower()]
        for stack in site.stacks(machine):
            if stack.networks[0].fabric:
                continue  # the intent is that of the site's own fabric
            if own:
                yield from _named(machine, stack, own)
            elif complete:
                kind = len(stack.ports) if stack.bond else 0, frozenset(each.vid for each in stack.networks)
                wanted[kind] += 1
                offered[kind] = sum(not _difference(stack, each) for each in others)
                yield from _unnamed(machine, stack, others)
    for kind, count in wanted.items():
        if count > offered[kind] > 0:
            has = f"a bond of {kind[0]} ports" if kind[0] else "one port"
            what = f"{count} machines have {has}, and the intent has {offered[kind]} of these for them"
            yield Finding(Severity.WARNING, "intent", what, "add the ports of all hosts to the intent")


def _attachments(fabric: Fabric) -> Iterator[Attachment]:
    for ends in fabric.segments.values():
        names = " and ".join(switch.name for switch, _ in ends)
        bonds = tuple(bond for _, bond in ends)
        yield Attachment(f"{bonds[0].name} of {names}", bonds[0].host, bonds)
    for switch in fabric.switches:
        for port in switch.single_homed:
            yield Attachment(f"{port.name} of {switch.name}", port.host, (port,))


def _vlans(site: Site, fabric: Fabric, attachments: list[Attachment]) -> Iterator[Finding]:
    """Networks of a space of the site on another VLAN; the site's 0 is untagged on some port."""
    untagged = [port.untagged for each in attachments for port in each.ports if port.untagged]
    for network in fabric.networks:
        known = site.networks.get(network.space)
        allowed = {network.vlan, *((0,) if network.untagged or network in untagged else ())}
        if known and not known.fabric and known.vid not in allowed:
            has = f"VLAN {network.vlan}" + (", untagged for hosts" if network.untagged else "")
            what = f"it is {has} in the intent (network {network.name}), vid {known.vid} in the site file"
            yield Finding(Severity.BLOCKED, known.name, what, f"{BOTH}; what hosts get untagged is vid 0")


def _named(machine: Machine, stack: Stack, own: list[Attachment]) -> Iterator[Finding]:
    """The best of the machine's own attachments has to do."""
    said = [_difference(stack, each) for each in own]
    if all(said):
        # One of the right kind is meant; its difference tells more than that of another kind.
        _, what = min((kind, what) for kind, what in filter(None, said))
        yield Finding(Severity.BLOCKED, machine.name, what, BOTH)


def _unnamed(machine: Machine, stack: Stack, others: list[Attachment]) -> Iterator[Finding]:
    said = [_difference(stack, each) for each in others if _shares(stack, each)]
    if not all(said):
        return
    ports, remedy = ", ".join(stack.ports), "correct the intent, or name the host there"
    kind, closest = min(filter(None, said), default=(1, ""))
    if kind == 0:
        what = f"no port of the intent does for {ports}: {closest}"
        yield Finding(Severity.WARNING, machine.name, what, remedy)
    elif stack.bond:  # a single port may be on a switch that is in no intent
        what = f"the intent has no bond of {len(stack.ports)} ports for {ports}"
        yield Finding(Severity.WARNING, machine.name, what, remedy)


def _shares(stack: Stack, attachment: Attachment) -> bool:
    """Whether it carries any network of the stack: others, such as that of a router, are meant for others."""
    vids = {network.vid for network in stack.networks}
    return any(
        network.vlan in vids or (0 in vids and network == port.untagged)
        for port in attachment.ports
        for network in port.networks
    )


def _difference(stack: Stack, attachment: Attachment) -> tuple[int, str] | None:
    """Return the lack of an attachment for these ports, after 1 if it is of another kind, else after 0."""
    place, width = attachment.place, len(stack.ports) if stack.bond else 0
    if attachment.width != width:
        has = f"an LACP bond of {attachment.width} ports" if attachment.width else "a port without a bond"
        needs = f"{', '.join(stack.ports)} {'are bonded' if width else 'is not bonded'} in the site file"
        return 1, f"{place} is {has}, and {needs}"
    for port in attachment.ports:
        carried = {network.vlan: network for network in port.networks}
        for network in stack.networks:
            if what := _carried(network.name, network.vid, carried, port.untagged):
                return 0, f"{place} {what}"
            if port.mtu is not None and port.mtu < network.mtu:
                return 0, f"{place} carries {port.mtu} bytes, and {network.name} has an MTU of {network.mtu}"
    return None


def _carried(space: str, vid: int, carried: dict[int, Network], untagged: Network | None) -> str:
    """How a port does not carry the VLAN of a space; empty if it does."""
    if not vid:
        # A network without a space may be any of the site's.
        if untagged is None or untagged.space not in ("", space):
            return f"carries {untagged.name if untagged else 'nothing'} untagged, not {space}"
    elif vid not in carried:
        return f"does not carry VLAN {vid} of {space}"
    elif carried[vid] == untagged:
        return f"carries VLAN {vid} of {space} untagged, and the site file has it tagged"
    return ""
