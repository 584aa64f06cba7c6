# SPDX-License-Identifier: Apache-2.0
"""The fabric as text: its switches, and what is attached where. Pure."""

from collections.abc import Collection, Iterator, Mapping

from converge import Severity
from converge.render import table
from intent import ports
from intent.attach import PROVIDER_VLANS
from intent.model import Bond, Fabric, Role, Switch, SwitchPort
from tree.seen import Neighbour

Health = Mapping[str, Severity]
"""The worst finding about a switch (``Leaf0-1``), a port or a bond (``Leaf0-1 swp31``)."""


Toll = Mapping[str, str]
"""The fate of a leg (``Leaf0-1 bond1``) with an apply, as attachments.toll has it."""

NO_TOLL: Toll = {}

Ends = Mapping[str, Neighbour]
"""The host and its port at the other end of a leaf's port (``Leaf0-1 swp9``), as LLDP or the host tells."""

NO_ENDS: Ends = {}


def as_text(
    fabric: Fabric,
    health: Health | None = None,
    toll: Toll = NO_TOLL,
    ends: Ends = NO_ENDS,
    drained: Collection[str] = (),
) -> str:
    """Spines, then each rack with its leaves and hosts, then standalone switches.

    The arguments are those of a picture.
    """
    states = {name: f" ({', '.join(words)})" for name, words in _states(fabric, health, drained) if words}
    return "\n\n".join(_parts(fabric, health, toll, ends, states)) + "\n"


def _states(
    fabric: Fabric, health: Health | None, drained: Collection[str]
) -> Iterator[tuple[str, list[str]]]:
    for each in fabric.switches:
        yield each.name, [*(["drained"] if each.name in drained else ()), *_word(each.name, health)]


def _parts(
    fabric: Fabric, health: Health | None, toll: Toll, ends: Ends, states: Mapping[str, str]
) -> Iterator[str]:
    spines, leaves = fabric.by_role(Role.SPINE), fabric.by_role(Role.LEAF)
    counts = f"{len(spines)} spines, {len(leaves)} leaves, {len(fabric.racks)} racks"
    rows = [
        (n.name, str(n.vlan), str(n.vni), n.space or "-", ", ".join(n.subnets) or "-")
        for n in fabric.networks
        if not n.provider
    ]
    if provider := [n for n in fabric.networks if n.provider]:
        vlans, vnis = (ports.compact(map(str, found)) for found in zip(*((n.vlan, n.vni) for n in provider)))
        rows.append((PROVIDER_VLANS, vlans, vnis, "-", "-"))
    networks = table(("network", "vlan", "vni", "space", "subnets"), rows)
    roce = f"RoCE {fabric.roce.mode} on priority {fabric.roce.priority}"
    yield f"Fabric {fabric.name}: {counts}, {roce}\n{networks}"
    if spines:
        yield "\n".join(["Spines", _switches(spines, health, states)])
    for rack in fabric.racks:
        yield "\n".join(_rack(rack, health, toll, ends, states))
    for switch in fabric.by_role(Role.STANDALONE):
        names = ports.compact(port.name for port in switch.single_homed)
        yield f"{switch.name}{states.get(switch.name, '')}: {switch.platform}, RoCE {switch.roce} on {names}"


def _switches(switches: tuple[Switch, ...], health: Health | None, states: Mapping[str, str]) -> str:
    rows = [
        (f"{s.name}{states.get(s.name, '')}", str(s.asn), s.loopback, s.management or "-", _links(s, health))
        for s in switches
    ]
    return table(("switch", "as", "loopback", "management", "links"), rows)


def _links(switch: Switch, health: Health | None) -> str:
    return ", ".join(
        f"{link.port} {link.peer}{_shut(link.shut)}{_state(f'{switch.name} {link.port}', health)}"
        for link in switch.links
    )


def _rack(
    rack: tuple[Switch, ...],
    health: Health | None,
    toll: Toll,
    known: Ends,
    states: Mapping[str, str],
) -> Iterator[str]:
    yield f"Rack {rack[0].rack}"
    yield _switches(rack, health, states)
    rows = [
        (
            name,
            _ends(rack, name, health, toll),
            _carried(port),
            _segment(port),
            next(filter(None, (host_of(leaf, port, known) for leaf in rack)), "-"),
        )
        for name, port in attached(rack).items()
    ]
    if rows:
        yield table(("host side", "ports", "networks (* untagged)", "segment", "host"), rows)


def attached(rack: tuple[Switch, ...]) -> dict[str, SwitchPort]:
    """Return the attachments of a rack's leaves, by bond or by leaf and port, as on the first leaf."""
    found: dict[str, SwitchPort] = {}
    for leaf in rack:
        for bond in leaf.bonds:
            found.setdefault(bond.name, bond)
        for port in leaf.single_homed:
            found[f"{leaf.name} {port.name}"] = port
    return found


def host_of(switch: Switch, port: SwitchPort, ends: Ends) -> str:
    """Who is at a port of a switch: as the intent says, as LLDP or the host tells, or as it is described."""
    bond = switch.bond(port.name) if isinstance(port, Bond) else None
    names = bond.members if bond else (port.name,)
    seen = [ends[end].name for end in (f"{switch.name} {name}" for name in names) if end in ends]
    return next(filter(None, (port.host, *seen, port.description)), "")


def _ends(rack: tuple[Switch, ...], name: str, health: Health | None, toll: Toll) -> str:
    ends: list[str] = []
    for leaf in rack:
        if bond := leaf.bond(name):
            end = f"{leaf.name} {name}"
            members = ports.compact(bond.members)
            shut = _shut(leaf.shuts(bond.members))
            ends.append(f"{leaf.name} {members}{shut}{_state(end, health)}{_lost(end, toll)}")
        elif any(f"{leaf.name} {port.name}" == name for port in leaf.single_homed):
            shut = _shut(leaf.shuts([name.rpartition(" ")[2]]))
            ends.append(f"{name}{shut}{_state(name, health)}{_lost(name, toll)}")
    return ", ".join(ends)


def _carried(port: SwitchPort) -> str:
    names = [f"{n.name}{'*' if n == port.untagged else ''}" for n in port.networks if not n.provider]
    return " ".join([*names, *dict.fromkeys(PROVIDER_VLANS for n in port.networks if n.provider)])


def _segment(port: SwitchPort) -> str:
    return port.segment.esi if isinstance(port, Bond) else "-"


def _word(subject: str, health: Health | None) -> list[str]:
    found = (health or {}).get(subject, Severity.INFO)
    return [found.name.lower()] if found > Severity.INFO else []


def _shut(shut: bool) -> str:
    return " (shut)" if shut else ""


def _state(subject: str, health: Health | None) -> str:
    return "".join(f" ({word})" for word in _word(subject, health))


def _lost(end: str, toll: Toll) -> str:
    return f" ({toll[end]} with apply)" if end in toll else ""
