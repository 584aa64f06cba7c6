# SPDX-License-Identifier: Apache-2.0
"""The ports of a rack's leaves for hosts: bonds to hosts with their segments, single-homed ports. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from converge.shape import InvalidValue, at

from intent import ports
from intent.declared import racks
from intent.model import Bond, Bridging, Network, Segment, SwitchPort

FIRST_PREFERENCE, PREFERENCE_STEP = 50000, 10000
"""Default df-preference of a rack's leaves: different, so that the forwarder is determined."""

NETDEV_NAME_LENGTH = 15
"""Characters of a netdev's name at most (IFNAMSIZ is 16 with the terminating zero)."""

PROVIDER_VLANS = "provider-vlans"
"""Stands for all provider VLANs in a list of networks."""

UNKNOWN = "none"
"""The host name of a host whose name is not known."""


_Bridged = racks.Hosts | racks.DeclaredBond | racks.SingleHomed


class _Place(NamedTuple):
    """One host's port with its number; ``host`` is empty if its name is not known."""

    port: str
    number: int
    host: str
    path: str


@dataclass(frozen=True)
class Attachments:
    """Makes the bonds and ports of one leaf."""

    rack: racks.Rack
    path: str  # of the rack
    leaf: int  # the leaf's number in the rack, from 0
    leaves: int  # of the rack
    networks: Mapping[str, Network]  # all of the fabric, by name
    mtu: int  # of bonds that declare none
    segment: Segment  # of each bond, but for its local-id

    def bonds(self) -> tuple[Bond, ...]:
        """The bonds to the rack's hosts, and its other ones."""
        found = [*self._hosts(self.rack.hosts, at(self.path, "hosts"))] if self.rack.hosts else []
        for name, bond in self.rack.bonds.items():
            where = at(at(self.path, "bonds"), name)
            if any(other.name == name for other in found):
                raise InvalidValue(where, name, "each bond of a rack a name of its own")
            members = self._members(bond.ports, at(where, "ports"))
            carried, how = self._carried(where, bond), _bridging(bond)
            mtu, segment = bond.mtu or self.mtu, replace(self.segment, local_id=bond.local_id)
            found.append(Bond(name, *carried, mtu, bond.description, bond.host, where, how, members, segment))
        return tuple(found)

    def _hosts(self, hosts: racks.Hosts, path: str) -> Iterator[Bond]:
        carried, how = self._carried(path, hosts, provider=True), _bridging(hosts)
        counted = not hosts.members
        for port, number, host, where in _places(hosts, self.rack.count, path):
            bond = hosts.bond.format(n=number)
            if len(bond) > NETDEV_NAME_LENGTH:
                wanted = f"a number that makes a bond's name of {NETDEV_NAME_LENGTH} characters at most"
                raise InvalidValue(at(where, "local-id"), number, wanted)
            mtu, segment = hosts.mtu or self.mtu, replace(self.segment, local_id=number)
            yield Bond(bond, *carried, mtu, "", host, where, how, (port,), segment, counted)

    def single_homed(self) -> Iterator[SwitchPort]:
        """The ports that this leaf has alone."""
        for name, port in self.rack.single_homed.items():
            where = at(at(self.path, "single-homed"), name)
            if port.leaf > self.leaves:
                raise InvalidValue(at(where, "leaf"), port.leaf, f"a leaf from 1 to {self.leaves}")
            if port.leaf == self.leaf + 1:
                carried, how = self._carried(where, port), _bridging(port)
                yield SwitchPort(port.port, *carried, port.mtu, port.description, name, where, how)

    def _access(self, path: str, port: _Bridged, name: str) -> tuple[tuple[Network, ...], Network | None]:
        for key, other in (("networks", list(port.networks)), ("untagged", port.untagged)):
            if other:
                raise InvalidValue(at(path, key), other, f"no {key} beside access, which is the only network")
        known = {each.name: each for each in self.networks.values() if not each.provider}
        if name not in known:
            raise InvalidValue(at(path, "access"), name, f"one of the networks {', '.join(known)}")
        return (known[name],), known[name]

    def _members(self, declared: str | tuple[str, ...], path: str) -> tuple[str, ...]:
        if isinstance(declared, str):
            return ports.expand(path, declared)
        if len(declared) != self.leaves:
            wanted = f"one range, or one for each of the rack's {self.leaves} leaves"
            raise InvalidValue(path, list(declared), wanted)
        return ports.expand(at(path, self.leaf), declared[self.leaf])

    def _carried(
        self, path: str, port: _Bridged, provider: bool = False
    ) -> tuple[tuple[Network, ...], Network | None]:
        """The networks of a port, and the one of them that it carries untagged."""
        if port.access is not None:
            return self._access(path, port, port.access)
        carried, untagged = named(self.networks, port.networks, at(path, "networks"), provider), port.untagged
        if untagged == "none":
            return carried, None
        if untagged is None:
            return carried, next((network for network in carried if network.untagged), None)
        native = next((network for network in carried if network.name == untagged), None)
        if native is None:
            raise InvalidValue(
                at(path, "untagged"), untagged, f"one of its networks ({_listed(carried)}), or none"
            )
        return carried, native


def _places(hosts: racks.Hosts, count: int, path: str) -> Iterator[_Place]:
    """The hosts in their order, by ``ports`` or by ``members``."""
    if bool(hosts.ports) == bool(hosts.members):
        raise InvalidValue(at(path, "ports"), hosts.ports, "either ports or members")
    if hosts.members:
        yield from _named_places(hosts, count, path)
        return
    names = ports.expand(at(path, "ports"), hosts.ports)
    if hosts.names and (len(hosts.names) != len(names) or count > 1):
        wanted = f"one name for each of {count * len(names)} ports, or none"
        raise InvalidValue(at(path, "names"), len(hosts.names), wanted)
    for number, port in enumerate(names, 1):
        yield _Place(port, number, hosts.names[number - 1] if hosts.names else "", path)


def _named_places(hosts: racks.Hosts, count: int, path: str) -> Iterator[_Place]:
    if hosts.names:
        raise InvalidValue(at(path, "names"), list(hosts.names), "no names beside members, which have theirs")
    taken: dict[int, str] = {}
    for key, member in hosts.members.items():
        where = at(at(path, "members"), key)
        other = taken.setdefault(member.local_id, key)
        if other != key:
            wanted = f"a local-id that {other} does not have"
            raise InvalidValue(at(where, "local-id"), member.local_id, wanted)
        host = member.host or key
        if count > 1 and host != UNKNOWN:
            raise InvalidValue(at(where, "host"), host, f"{UNKNOWN} where count is above 1")
        yield _Place(member.port, member.local_id, "" if host == UNKNOWN else host, where)


def _bridging(port: _Bridged) -> Bridging:
    return Bridging(port.access is not None, port.stp_edge, port.bpdu_guard)


def preference(declared: int | tuple[int, ...] | None, leaf: int, leaves: int) -> int:
    """The df-preference of leaf number ``leaf`` (from 0) of a rack."""
    if isinstance(declared, int):
        return declared
    if declared is None:
        return FIRST_PREFERENCE - PREFERENCE_STEP * leaf
    if len(declared) < leaves:  # a rack with fewer leaves has the first ones
        wanted = f"one number, or one for each of a rack's {leaves} leaves"
        raise InvalidValue("leaves.df-preference", list(declared), wanted)
    return declared[leaf]


def named(
    networks: Mapping[str, Network], names: Sequence[str], path: str, provider: bool = False
) -> tuple[Network, ...]:
    """The networks of these names by VLAN; without names all, the provider VLANs only if ``provider``.

    Raises InvalidValue if a name is unknown.
    """
    keys = {name: PROVIDER_VLANS if network.provider else name for name, network in networks.items()}
    known = tuple(dict.fromkeys(keys.values()))
    for number, name in enumerate(names):
        if name not in known:
            raise InvalidValue(at(path, number), name, f"one of the networks {', '.join(known)}")
    wanted = names or [name for name in known if provider or name != PROVIDER_VLANS]
    chosen = [network for name, network in networks.items() if keys[name] in wanted]
    return tuple(sorted(chosen, key=lambda network: network.vlan))


def _listed(networks: Sequence[Network]) -> str:
    return ", ".join(network.name for network in networks if not network.provider)
