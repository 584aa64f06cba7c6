# SPDX-License-Identifier: Apache-2.0
"""Audits of ports, bonds, Ethernet segments and the hosts behind them. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from converge import Finding, Severity
from converge.finding import few
from intent import ports
from intent.model import Bond, Fabric, Role, Switch


def duplicate_segments(fabric: Fabric) -> Iterator[Finding]:
    """Two bonds with the same ESI: the fabric treats two hosts as one and mixes their traffic."""
    owners: dict[str, tuple[Switch, Bond]] = {}
    clashes: dict[tuple[str, str], dict[str, Bond]] = defaultdict(dict)
    for leaf in fabric.by_role(Role.LEAF):
        for bond in leaf.bonds:
            first, other = owners.setdefault(bond.segment.esi, (leaf, bond))
            if (first.rack, other.name) != (leaf.rack, bond.name):
                pair = f"{bond.name} of rack {leaf.rack} and {other.name} of rack {first.rack}"
                clashes[bond.path, other.path].setdefault(pair, bond)
    for (path, _), pairs in clashes.items():
        pair, bond = next(iter(pairs.items()))
        more = f" (and {len(pairs) - 1} more pairs)" if len(pairs) > 1 else ""
        segment = bond.segment
        origin = f"from segment MAC {segment.mac} and local-id {segment.local_id}"
        what = f"{pair} have the same ESI {segment.esi}, {origin}{more}"
        remedy = "give one another local-id, or each rack a segment MAC of its own"
        yield Finding(Severity.BLOCKED, path, what, remedy)


def ports_used_twice(fabric: Fabric) -> Iterator[Finding]:
    """A front-panel port that is used twice, or both whole and split."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for switch in fabric.switches:
        used: dict[str, dict[str, str]] = defaultdict(dict)
        # By front-panel port: the whole or its parts, and what uses them.
        for port, path in switch.used_ports():
            whole, _ = ports.lane(port) or (port, None)
            users = used[whole]
            if taken := next((name for name in users if whole in (name, port) or name == port), None):
                by = f" by {users[taken]}" if users[taken] != path else ""
                other = "" if taken == port else f" as {taken}"
                found[path, f"{port} is also used{other}{by}"].append(switch.name)
            users.setdefault(port, path)
    for (path, what), switches in found.items():
        yield Finding(Severity.BLOCKED, path, f"{what}, on {few(switches)}", "give each a port of its own")


def unmanaged(fabric: Fabric) -> Iterator[Finding]:
    """Name the ports and bonds that the intent uses and also leaves to others."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for switch in fabric.switches:
        used = [
            *switch.used_ports(),
            *((port, each.path) for port, each in switch.breakouts.items()),
            *((port, each.path) for port, each in switch.port_settings.items()),
            *((bond.name, bond.path) for bond in switch.bonds),
            *((f"vlan{each.vlan}", each.path) for each in switch.networks),
        ]
        for name, path in used:
            if not switch.unmanaged.names.isdisjoint({name, *(ports.lane(name) or ("",))[:1]}):
                found[path, name].append(switch.name)
    for (path, name), switches in found.items():
        what = f"{name} is unmanaged, on {few(switches)}"
        yield Finding(Severity.BLOCKED, path, what, "take it out of unmanaged, or use another one here")


def ports_beyond_the_switch(fabric: Fabric) -> Iterator[Finding]:
    """A port that the switch does not have."""
    found: dict[tuple[str, int], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for switch in fabric.switches:
        if switch.role is Role.STANDALONE:
            continue
        for port, path in switch.used_ports():
            if ports.front(port) > switch.ports:
                found[path, switch.ports][port].append(switch.name)
    for (path, number), beyond in found.items():
        switches = {name: None for names in beyond.values() for name in names}
        what = f"{ports.compact(beyond)} exceeds the {number} ports of {few(list(switches))}"
        yield Finding(Severity.BLOCKED, path, what, "use ports that the switch has, or correct its ports")


def uplinks_without_tracking(fabric: Fabric) -> Iterator[Finding]:
    """A leaf that loses all uplinks must take its hosts' ports down; otherwise it drops their traffic.

    Two leaves without spines must not both do that: the hosts would lose all ports.
    """
    if not fabric.by_role(Role.SPINE):
        both = [leaf for leaf in fabric.by_role(Role.LEAF) if any(link.tracked for link in leaf.links)]
        if len(both) > 1:
            what = f"{both[0].name} and {both[1].name} both track the links between them: their loss would "
            what += "take down all ports to hosts"
            yield Finding(Severity.BLOCKED, "leaves.tracked", what, "leave tracked out")
        return
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for leaf in fabric.by_role(Role.LEAF):
        bare = [link for link in leaf.links if not link.tracked]
        if bare and leaf.bonds:
            found[bare[0].path, ports.compact(link.port for link in bare)].append(leaf.name)
    for (path, names), switches in found.items():
        what = f"uplinks {names} of {few(switches)} are not tracked: hosts would not notice their loss"
        yield Finding(Severity.BLOCKED, path, what, "list them under tracked, or leave tracked out")


def equal_preferences(fabric: Fabric) -> Iterator[Finding]:
    """Leaves of a rack with the same df-preference: the lowest address forwards for every segment."""
    equal = [
        [leaf.name for leaf in rack]
        for rack in fabric.racks
        if any(len(set(found)) < len(found) for found in _preferences(rack))
    ]
    if equal:
        others = f" ({len(equal)} racks in all)" if len(equal) > 1 else ""
        what = f"{' and '.join(equal[0])} share a df-preference{others}: the lowest loopback decides"
        remedy = "list one for each leaf, such as [50000, 40000]"
        yield Finding(Severity.WARNING, "leaves.df-preference", what, remedy)


def unused_preferences(fabric: Fabric) -> Iterator[Finding]:
    """More df-preferences than any rack has leaves: one of the two numbers is a mistake."""
    most = max((len(rack) for rack in fabric.racks), default=0)
    if unused := fabric.preferences[most:] if most else ():
        numbers = ", ".join(map(str, unused))
        leaves = f"{most} leaves" if most > 1 else "one leaf"
        what = f"{len(fabric.preferences)} numbers are listed, but no rack has more than {leaves}: "
        what += f"nothing gets {numbers}"
        remedy = "list one number for each leaf of a rack, or correct leaves.per-rack"
        yield Finding(Severity.WARNING, "leaves.df-preference", what, remedy)


def _preferences(rack: Sequence[Switch]) -> Iterable[list[int]]:
    by_bond: dict[str, list[int]] = defaultdict(list)
    for leaf in rack:
        for bond in leaf.bonds:
            by_bond[bond.name].append(bond.segment.df_preference)
    return by_bond.values()


def hosts_named_twice(fabric: Fabric) -> Iterator[Finding]:
    """A host that the intent expects in two places.

    A second bond of a host, under ``bonds``, may be that of another NIC. A regular host has one bond, and no
    host is wired to two racks. Case does not matter in host names.
    """
    first: dict[str, tuple[Bond, int | None, bool]] = {}
    switches = {switch.name.lower() for switch in fabric.switches}
    for rack in fabric.racks:
        for bond in {bond.name: bond for leaf in rack for bond in leaf.bonds if bond.host}.values():
            here = f"{bond.name} of rack {rack[0].rack}"
            if bond.host.lower() in switches:
                what = f"the host of {here} has the name of a switch, {bond.host}"
                yield Finding(Severity.BLOCKED, bond.path, what, "give the host a name of its own")
            regular = bond.path.startswith(f"{rack[0].path}.hosts")
            other, there, one = first.setdefault(bond.host.lower(), (bond, rack[0].rack, regular))
            if (other.name, there) == (bond.name, rack[0].rack):
                continue
            what = f"{bond.host} is expected at {other.name} of rack {there} and at {here}"
            certain = there != rack[0].rack or (one and regular)
            severity = Severity.BLOCKED if certain else Severity.WARNING
            remedy = "correct one of the names" if certain else "check that the host has two bonds"
            yield Finding(severity, bond.path, what, remedy)
