# SPDX-License-Identifier: Apache-2.0
"""Expands an intent to the whole fabric: numbered switches, leaves in their racks, overrides. Pure."""

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

from converge.shape import InvalidValue, at
from yamlfile import reader

from intent import ports, schema
from intent.attach import PROVIDER_VLANS, Attachments, named, preference
from intent.declaration import Intent
from intent.declared.racks import Rack
from intent.declared.switches import Asns, DeclaredUnmanaged, Leaves, Override, Spines
from intent.model import (
    API_PORT,
    SECTIONS,
    Breakout,
    Bridging,
    Dialect,
    Fabric,
    Network,
    PortSettings,
    Role,
    Segment,
    Switch,
    SwitchPort,
    Unmanaged,
)
from intent.vrfs import routing
from intent.wiring import setting, wire

MAX_VLAN = 4094


def read(text: str, file: str = schema.OPTION) -> Fabric:
    """The fabric of an intent, from the text that ``file`` has.

    Raises FileError about the first value that is wrong or does not fit to others, with its line.
    """
    return reader.read(text, file, lambda document: expand(schema.INTENT.read("", document)), schema.HOLDS)


def expand(intent: Intent) -> Fabric:
    """Every switch of the fabric.

    Raises InvalidValue if something in the intent does not exist or does not fit: an unknown network, too few
    ports for the links between switches, addresses beyond the last one.
    """
    networks = _networks(intent)
    # Where a rack or spine stands in its list says nothing once it has a number.
    spines = sorted(_spines(intent), key=lambda spine: spine.number)
    leaves = sorted(_leaves(intent, networks), key=lambda leaf: leaf.number)
    standalone = list(_standalone(intent, networks))
    _unique_names([*spines, *leaves, *standalone])
    known = [switch.name for switch in (*spines, *leaves)]
    for name in intent.switches:
        if name not in known:
            raise InvalidValue(at("switches", name), name, f"a spine or leaf: {_few(known)}")
    if leaves and not spines and (len(leaves) != 2 or leaves[0].rack != leaves[1].rack):
        wanted = "the spines that the leaves connect to; only the two leaves of a single rack need none"
        raise InvalidValue("spines", None, wanted)
    if routed := routing(intent, leaves):
        leaves = [replace(leaf, routing=routed[leaf.name]) for leaf in leaves]
    switches = (*wire(intent, spines, leaves), *standalone)
    declared = intent.leaves.df_preference if intent.leaves else None
    listed = declared if isinstance(declared, tuple) else ()
    return Fabric(intent.name, tuple(networks.values()), intent.mtu, intent.roce, switches, listed)


def _networks(intent: Intent) -> dict[str, Network]:
    natives = [name for name, network in intent.networks.items() if network.untagged]
    if len(natives) > 1:
        raise InvalidValue(
            f"networks.{natives[1]}.untagged", True, f"only one such network ({natives[0]} is)"
        )
    found: dict[str, Network] = {}
    for name, declared in intent.networks.items():
        vni = declared.vni or declared.vlan
        path = at("networks", name)
        found[name] = Network(
            name, declared.vlan, vni, declared.space, declared.subnets, path, untagged=declared.untagged
        )
    return found | {network.name: network for network in _provider_networks(intent)}


def _provider_networks(intent: Intent) -> Iterator[Network]:
    """One network for each VLAN of Neutron's; ``:`` is in no name that the intent can have."""
    if declared := intent.provider_vlans:
        for vlan in _vlans(PROVIDER_VLANS, declared.vlans):
            name = f"{PROVIDER_VLANS}:{vlan}"
            yield Network(name, vlan, vlan + declared.vni_base, "", (), PROVIDER_VLANS, provider=True)


def _vlans(path: str, declared: str | int) -> Iterator[int]:
    ranges = str(declared)
    for item in ports.expand(path, ranges):
        if not item.isdigit() or int(item) > MAX_VLAN:
            raise InvalidValue(path, ranges, f"VLANs from 1 to {MAX_VLAN}")
        yield int(item)


def _unmanaged(intent: Intent, switch: Switch, own: DeclaredUnmanaged | None) -> Unmanaged:
    """Return others' part of a switch; the ports and bonds that the whole intent names are the leaves'."""
    both = {"unmanaged": intent.unmanaged}
    if own:
        both[at(at("switches", switch.name), "unmanaged")] = own
    found: set[str] = set()
    for path, declared in both.items():
        if declared.vlans:
            found |= {f"vlan{vlan}" for vlan in _vlans(at(path, "vlans"), declared.vlans)}
        if declared is own or switch.role is Role.LEAF:
            found |= {*declared.bonds}
            found |= {*ports.expand(at(path, "ports"), declared.ports)} if declared.ports else set()
    settings = [each.replace(" ", "/") for declared in both.values() for each in declared.settings]
    return Unmanaged(frozenset(found), tuple(dict.fromkeys(settings)))


def _spines(intent: Intent) -> Iterator[Switch]:
    spines = intent.spines
    if spines is None:
        return
    listed = bool(spines.names or spines.numbers)
    if (spines.count is None) != listed:
        raise InvalidValue("spines.count", spines.count, "either count or names, or numbers")
    numbers = spines.numbers or tuple(range(len(spines.names) or spines.count or 0))
    _each_once("spines.numbers", numbers)
    if spines.names and len(numbers) != len(spines.names):
        wanted = f"one number for each of {len(spines.names)} names"
        raise InvalidValue("spines.numbers", list(numbers), wanted)
    names = spines.names or tuple(spines.name.format(n=number) for number in numbers)
    for number, name in zip(numbers, names, strict=True):
        yield _switch(intent, spines, Switch(name, Role.SPINE, "spines", number))


def _leaves(intent: Intent, networks: dict[str, Network]) -> Iterator[Switch]:
    scheme = intent.leaves
    if scheme is None:
        if intent.racks:
            raise InvalidValue("leaves", None, "the leaves of the racks")
        if intent.spines:
            raise InvalidValue("leaves", None, "the leaves of the spines")
        return
    anycast_mac = scheme.anycast_mac.upper() if scheme.anycast_mac else None
    every = tuple(sorted(networks.values(), key=lambda network: network.vlan))
    taken: dict[int, str] = {}
    for path, declared, repeat, rack in _racks(intent):
        names = _leaf_names(scheme, declared, path, rack)
        own, mac = _segment_mac(scheme, declared, path, rack, repeat)
        first = len(taken) if declared.number is None else _first_leaf(scheme, declared, rack, repeat)
        for leaf, name in enumerate(names):
            number = first + leaf
            if number in taken:
                wanted = f"numbers of leaves that {taken[number]} does not have (it has {number})"
                raise InvalidValue(at(path, "first-leaf"), first, wanted)
            taken[number] = path
            segment = Segment(mac, 0, preference(scheme.df_preference, leaf, len(names)), own)
            attached = Attachments(declared, path, leaf, len(names), networks, intent.mtu.host, segment)
            bonds, single_homed = attached.bonds(), tuple(attached.single_homed())
            switch = Switch(
                name, Role.LEAF, path, number, rack, declared.number is None,
                startup_delay=scheme.startup_delay, anycast_mac=anycast_mac, bonds=bonds,
                single_homed=single_homed, networks=every,
            )  # fmt: skip
            yield _switch(intent, scheme, switch)


def _first_leaf(scheme: Leaves, rack: Rack, number: int, repeat: int) -> int:
    """The number of the first leaf of a rack that has a number: its own, or that of racks which are alike."""
    if rack.first_leaf is None:
        return number * scheme.per_rack
    return rack.first_leaf + repeat * scheme.per_rack


def _racks(intent: Intent) -> Iterator[tuple[str, Rack, int, int]]:
    """Each rack's path, its entry, its place among those of that entry, and its number.

    Numbers are the racks' own, or all of them are places in the list: a rack that is named in neither way
    would get another number with each change of the list.
    """
    own = [entry for entry, rack in enumerate(intent.racks) if rack.number is not None]
    taken: dict[int, str] = {}
    for entry, rack in enumerate(intent.racks):
        path, where = at("racks", entry), at(at("racks", entry), "number")
        if own and rack.number is None:
            raise InvalidValue(where, None, f"a number of its own, as racks[{own[0]}] has one")
        if rack.number is None and rack.first_leaf is not None:
            raise InvalidValue(where, None, "a number of the rack, as it has a first-leaf")
        first = len(taken) if rack.number is None else rack.number
        for repeat in range(rack.count):
            number = first + repeat
            if (other := taken.setdefault(number, path)) != path:
                raise InvalidValue(where, rack.number, f"a number that {other} does not have")
            yield path, rack, repeat, number


def _leaf_names(scheme: Leaves, rack: Rack, path: str, number: int) -> tuple[str, ...]:
    if not rack.leaves:
        return tuple(scheme.name.format(rack=number, leaf=leaf) for leaf in range(1, scheme.per_rack + 1))
    if rack.count > 1:
        raise InvalidValue(at(path, "leaves"), list(rack.leaves), "no names where count is above 1")
    return rack.leaves


def _segment_mac(scheme: Leaves, rack: Rack, path: str, number: int, repeat: int) -> tuple[str, str]:
    """The path of a rack's segment MAC, and the MAC."""
    if rack.segment_mac:
        own = at(path, "segment-mac")
        return own, _mac(own, rack.segment_mac, repeat)
    common = "leaves.segment-mac"
    return common, _mac(common, scheme.segment_mac, number)


def _address(path: str, first: str | None, number: int) -> str:
    """The address ``number`` above ``first``; empty if there is no first one."""
    if first is None:
        return ""
    try:
        return str(ipaddress.ip_address(first) + number)
    except ipaddress.AddressValueError:
        raise InvalidValue(path, first, f"an address with {number} more above it") from None


def _spelled(management: str | None) -> str:
    """An IPv6 address in its one spelling, so that the same one is known as that; a name stays."""
    return str(ipaddress.IPv6Address(management)) if management and ":" in management else management or ""


def _asn(path: str, scheme: Asns, number: int) -> int:
    """The AS number of switch ``number`` of a role."""
    if scheme.all is not None and scheme.first is None:
        return scheme.all
    if scheme.first is not None and scheme.all is None:
        return scheme.first + number
    raise InvalidValue(path, scheme.first, "either first or all")


def _mac(path: str, first: str, number: int) -> str:
    """The MAC address ``number`` above ``first``, upper case."""
    value = int(first.replace(":", ""), 16) + number
    if value >= 1 << 48:
        raise InvalidValue(path, first, f"a MAC address with {number} more above it")
    return ":".join(f"{byte:02X}" for byte in value.to_bytes(6, "big"))


def _standalone(intent: Intent, networks: dict[str, Network]) -> Iterator[Switch]:
    for name, declared in intent.standalone.items():
        path = at("standalone", name)
        carried = named(networks, declared.networks, at(path, "networks"))
        names = ports.expand(at(path, "ports"), declared.ports)
        yield Switch(
            name,
            Role.STANDALONE,
            path,
            platform=declared.platform,
            management=declared.management or "",
            ports=len(names),
            roce=intent.roce.mode,
            bandwidth=declared.bandwidth or intent.roce.bandwidth,
            single_homed=tuple(
                SwitchPort(port, carried, None, None, "", "", at(path, "ports"), Bridging()) for port in names
            ),
            networks=carried,
        )


def _switch(intent: Intent, scheme: Spines | Leaves, switch: Switch) -> Switch:
    """The switch with its settings, by its number or of its own entry, but no links."""
    section, number = SECTIONS[switch.role], switch.number
    management = _address(at(section, "management"), scheme.management, number)
    loopback = _address(at(section, "loopback"), scheme.loopback, number)
    asn = _asn(at(section, "asn"), scheme.asn, number)
    own = intent.switches.get(switch.name, Override())
    dialect = own.dialect or intent.dialect
    return replace(
        switch,
        dialect=None if dialect == "auto" else Dialect(dialect),
        named=intent.host_names,
        management=_spelled(own.management) or management,
        api_port=own.api_port or scheme.api_port or API_PORT,
        asn=own.asn or asn,
        loopback=own.loopback or loopback,
        ports=own.ports or scheme.ports,
        breakouts=_breakouts(intent, switch),
        port_settings=_port_settings(intent, switch),
        underlay=intent.underlay,
        starts_drained=bool(own.starts_drained),
        roce=own.roce or intent.roce.mode,
        unmanaged=_unmanaged(intent, switch, own.unmanaged),
        overridden=frozenset(each.name for each in fields(own) if getattr(own, each.name) is not None),
    )


def _breakouts(intent: Intent, switch: Switch) -> dict[str, Breakout]:
    """The front-panel ports of a switch that are split; its own entry replaces that of its role."""
    path, modes = setting(intent, switch, "breakout")
    found: dict[str, Breakout] = {}
    for names, split in modes.items():
        for port in ports.expand(path, names):
            if port in found:
                raise InvalidValue(path, names, f"each port once instead of {port} twice")
            if split.lanes and split.lanes & (split.lanes - 1):
                raise InvalidValue(at(at(path, names), "lanes"), split.lanes, "1, 2, 4 or 8 lanes")
            found[port] = Breakout(split.mode, path, split.lanes)
    return found


def _port_settings(intent: Intent, switch: Switch) -> dict[str, PortSettings]:
    """The properties of a switch's ports: those of its role, and of its own entry, which come first."""
    section, own = SECTIONS[switch.role], intent.switches.get(switch.name)
    found: dict[str, PortSettings] = {}
    places = ((section, getattr(intent, section)), (at("switches", switch.name), own))
    for place, declared in places:
        path = at(place, "port-settings")
        here: dict[str, PortSettings] = {}
        for names, port in ((declared and declared.port_settings) or {}).items():
            for name in ports.expand(path, names):
                if name in here:
                    raise InvalidValue(path, names, f"each port once instead of {name} twice")
                settings = (port.speed, port.fec, port.auto_negotiate, port.shut, port.address)
                here[name] = PortSettings(*settings, at(path, names))
        found |= here
    return found


def _unique_names(switches: Sequence[Switch]) -> None:
    """Case does not tell two switches apart: it does not in host names."""
    seen: set[str] = set()
    for switch in switches:
        if switch.name.lower() in seen:
            raise InvalidValue(switch.path, switch.name, "each switch a name of its own")
        seen.add(switch.name.lower())


def _each_once(path: str, numbers: Sequence[int]) -> None:
    if len(set(numbers)) < len(numbers):
        raise InvalidValue(path, list(numbers), "each number once")


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:4])
    return f"{shown}, …" if len(names) > 4 else shown or "there is none"
