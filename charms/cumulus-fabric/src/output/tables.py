# SPDX-License-Identifier: Apache-2.0
"""The fabric as text: its switches, and what is attached where. Pure."""

from collections.abc import Iterator

from converge.render import table
from intent import ports
from intent.attach import PROVIDER_VLANS
from intent.model import Bond, Role, Switch, SwitchPort

from output.told import Told, attached


def as_text(told: Told) -> str:
    """Spines, then each rack with its leaves and hosts, then standalone switches."""
    return "\n\n".join(_parts(told)) + "\n"


def _parts(told: Told) -> Iterator[str]:
    fabric = told.fabric
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
        yield "\n".join(["Spines", _switches(told, spines)])
    for rack in fabric.racks:
        yield "\n".join(_rack(told, rack))
    for switch in fabric.by_role(Role.STANDALONE):
        names = ports.compact(port.name for port in switch.single_homed)
        yield f"{_named(told, switch)}: {switch.platform}, RoCE {switch.roce} on {names}"


def _named(told: Told, switch: Switch) -> str:
    state = told.state(switch.name)
    return f"{switch.name} ({state})" if state else switch.name


def _switches(told: Told, switches: tuple[Switch, ...]) -> str:
    rows = [(_named(told, s), str(s.asn), s.loopback, s.management or "-", _links(told, s)) for s in switches]
    return table(("switch", "as", "loopback", "management", "links"), rows)


def _links(told: Told, switch: Switch) -> str:
    return ", ".join(
        f"{link.port} {link.peer}{_shut(link.shut)}{_state(told, f'{switch.name} {link.port}')}"
        for link in switch.links
    )


def _rack(told: Told, rack: tuple[Switch, ...]) -> Iterator[str]:
    yield f"Rack {rack[0].rack}"
    yield _switches(told, rack)
    rows = [
        (
            name,
            _ends(told, rack, name),
            _carried(port),
            _segment(port),
            next(filter(None, (told.host(leaf, port) for leaf in rack)), "-"),
        )
        for name, port in attached(rack).items()
    ]
    if rows:
        yield table(("host side", "ports", "networks (* untagged)", "segment", "host"), rows)


def _ends(told: Told, rack: tuple[Switch, ...], name: str) -> str:
    ends: list[str] = []
    for leaf in rack:
        if bond := leaf.bond(name):
            end = f"{leaf.name} {name}"
            members = ports.compact(bond.members)
            shut = _shut(leaf.shuts(bond.members))
            ends.append(f"{leaf.name} {members}{shut}{_state(told, end)}{_lost(told, end)}")
        elif any(f"{leaf.name} {port.name}" == name for port in leaf.single_homed):
            shut = _shut(leaf.shuts([name.rpartition(" ")[2]]))
            ends.append(f"{name}{shut}{_state(told, name)}{_lost(told, name)}")
    return ", ".join(ends)


def _carried(port: SwitchPort) -> str:
    names = [f"{n.name}{'*' if n == port.untagged else ''}" for n in port.networks if not n.provider]
    return " ".join([*names, *dict.fromkeys(PROVIDER_VLANS for n in port.networks if n.provider)])


def _segment(port: SwitchPort) -> str:
    return port.segment.esi if isinstance(port, Bond) else "-"


def _shut(shut: bool) -> str:
    return " (shut)" if shut else ""


def _state(told: Told, subject: str) -> str:
    word = told.word(subject)
    return f" ({word})" if word else ""


def _lost(told: Told, end: str) -> str:
    return f" ({told.toll[end]} with apply)" if end in told.toll else ""
