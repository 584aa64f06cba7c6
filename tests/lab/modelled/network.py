# SPDX-License-Identifier: Apache-2.0
"""The modelled host's netdevs: uplinks, VFs, representors, bonds and what stands on them."""

import errno
from collections.abc import Iterable
from dataclasses import dataclass, field

from hostnic.devices.port import IPOIB
from hostnic.system import Link

from lab.modelled.nic.mlx5 import refuse
from lab.modelled.nic.model import FakeCard, FakePort, FakeVf

LACP_TIME = 1.0
"""Seconds that the bond needs to find its partner."""

BOND_MAC = "10:70:fd:00:00:00"
"""A bond gives its address to its members (bond_main.c: bond_enslave, fail_over_mac=none)."""

FLAP_BEGINS, FLAP_TIME = 0.3, 0.5
"""Seconds from a change of the PFC priorities until the link goes down, and seconds without carrier."""


def _represented(port: FakePort, now: float) -> list[FakeVf]:
    """The VFs whose representors are there in mode switchdev."""
    there = [vf for vf in port.present(now) if vf.ready + port.netdevs_delay <= now]
    return there if now >= port.netdevs_at else []


def _stem(port: FakePort) -> str:
    """Return the beginning of the names of a port's representors."""
    return port.netdev.rpartition("np")[0] or port.netdev


@dataclass
class FakeBond:
    """A kernel bond."""

    name: str = "bond0"
    mode: str = "802.3ad"
    bridge: str | None = "ovs-system"
    members: list[str] = field(default_factory=list[str])  # netdevs in it now, sorted
    partner: str = "44:38:39:ff:00:01"
    since: float = 0.0  # when a member last joined; LACP takes its time from then
    declared: tuple[str, ...] = ()  # members that the network configuration names; they are back after a boot

    def __post_init__(self) -> None:
        self.declared = tuple(self.members)


@dataclass
class FakeNetwork:
    """Links by name; everything that is not a NIC's own is in ``bonds`` and ``others``."""

    cards: list[FakeCard]
    bonds: dict[str, FakeBond] = field(default_factory=dict[str, FakeBond])
    others: dict[str, Link] = field(default_factory=dict[str, Link])
    # What else stands on a netdev, a VLAN or a macvlan: its name to the netdev's
    uppers: dict[str, str] = field(default_factory=dict[str, str])
    # Of a netdev, besides the IPv6 link-local one that each has while it is up and in no bond
    addresses: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    down: set[str] = field(default_factory=set[str])
    # Representors that somebody has set up, such as os-vif; they are down at first
    raised: set[str] = field(default_factory=set[str])
    unplugged: set[str] = field(default_factory=set[str])
    flaps: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])

    carrier_changes: dict[str, int] = field(default_factory=dict[str, int])

    def ports(self) -> Iterable[FakePort]:
        """All PFs."""
        return (port for card in self.cards for port in card.ports)

    def uplink(self, netdev: str) -> FakePort | None:
        """The PF whose Ethernet netdev this is."""
        ports = ((card, port) for card in self.cards for port in card.ports if port.netdev == netdev)
        return next((port for card, port in ports if not card.is_infiniband(port)), None)

    def bond_of(self, netdev: str) -> FakeBond | None:
        """The bond that ``netdev`` is a member of."""
        return next((bond for bond in self.bonds.values() if netdev in bond.members), None)

    def standing_on(self, netdev: str) -> list[str]:
        """Names of the netdevs that have ``netdev`` below them."""
        bond = self.bond_of(netdev)
        above = [each.bridge for each in self.bonds.values() if each.name == netdev and each.bridge]
        return [
            *above,
            *([bond.name] if bond else []),
            *(up for up, low in self.uppers.items() if low == netdev),
        ]

    def addresses_of(self, netdev: str) -> list[str]:
        """Return the addresses of ``netdev`` as rtnetlink would report them."""
        own = [] if netdev in self.down or self.bond_of(netdev) else ["fe80::1270:fdff:fe00:1"]
        return [*own, *self.addresses.get(netdev, ())]

    def flap(self, name: str, now: float, time: float = FLAP_TIME, begins: float = FLAP_BEGINS) -> None:
        """The link goes down ``begins`` seconds from now, and comes up again by itself.

        A link that is down already stays down the longer.
        """
        begin, end = self.flaps.get(name, (0.0, 0.0))
        self.carrier_changes[name] = self.carrier_changes.get(name, 1) + 2
        self.flaps[name] = (begin if begin <= now < end else now + begins, max(end, now + begins + time))

    def has_carrier(self, name: str, now: float) -> bool:
        """Up, wired, and not in the middle of a flap."""
        begin, end = self.flaps.get(name, (0.0, 0.0))
        return name not in self.down | self.unplugged and not begin <= now < end

    def joined(self, bond: FakeBond, name: str, now: float) -> bool:
        """LACP has had its time since the member joined and since its link last came up."""
        begin, end = self.flaps.get(name, (0.0, 0.0))
        since = max(bond.since, end) if now >= begin else bond.since
        return now >= since + (LACP_TIME if bond.mode == "802.3ad" else 0.0)

    def set_up(self, name: str, up: bool) -> None:
        """``ip link set … up|down``."""
        if up:
            self.down.discard(name)
            self.raised.add(name)
        else:
            self.down.add(name)
            self.raised.discard(name)

    def set_master(self, name: str, master: str | None, now: float) -> None:
        """``ip link set … master`` and ``nomaster`` (drivers/net/bonding/bond_main.c)."""
        old = self.bond_of(name)
        if old is not None:
            old.members.remove(name)
            self.down.add(name)
        if master is None:
            return
        bond = self.bonds.get(master)
        if bond is None:
            raise refuse(errno.EOPNOTSUPP)
        if name not in self.down:
            raise refuse(errno.EPERM, "Device can not be enslaved while up")
        self.down.discard(name)
        bond.members = sorted([*bond.members, name])
        bond.since = now

    def bond_mode_of(self, card: FakeCard) -> str | None:
        """Mode of the bond whose members are exactly the ports of ``card``; None without one."""
        ports = sorted(port.netdev for port in card.ports)
        return next((bond.mode for bond in self.bonds.values() if bond.members == ports), None)

    def carries(self, bond: FakeBond, now: float) -> bool:
        """Frames get through: a member is up and wired, and LACP has had its time."""
        return any(self.has_carrier(name, now) and self.joined(bond, name, now) for name in bond.members)

    def links(self, now: float) -> list[Link]:
        """Return the netdevs as rtnetlink would report them."""
        found: list[Link] = []
        for card in self.cards:
            for port in card.ports:
                if port.driver not in (None, "vfio-pci") and not port.gone:
                    found += self._links_of(card, port, now)
        for bond in self.bonds.values():
            up = bond.name not in self.down
            partnered = bond.mode == "802.3ad" and self.carries(bond, now)
            carrier = self.carries(bond, now) if up else None
            found.append(
                Link(
                    bond.name, 0, BOND_MAC, None, 9000, up, carrier, "bond",
                    bond.bridge, None, None, None, bond.mode, bond.partner if partnered else None,
                )
            )  # fmt: skip
        found += self.others.values()
        return [link._replace(ifindex=index) for index, link in enumerate(found, 2)]

    def representors(self, now: float) -> Iterable[tuple[str, FakeVf]]:
        """Each representor's name, and its VF."""
        for port in self.ports():
            if port.eswitch_mode == "switchdev" and port.driver and not port.gone:
                for vf in _represented(port, now):
                    yield f"{_stem(port)}_{vf.index}", vf

    def _links_of(self, card: FakeCard, port: FakePort, now: float) -> list[Link]:
        up = port.netdev not in self.down
        bond = self.bond_of(port.netdev)
        uplink = Link(
            port.netdev, 0, BOND_MAC if bond else port.mac, port.mac, 9000, up,
            self.has_carrier(port.netdev, now) if up else None,
            None, bond.name if bond else None, card.switch_id if now >= port.netdevs_at else None,
            f"p{port.number}", port.bdf,
            altnames=port.altnames,
        )  # fmt: skip
        if card.is_infiniband(port):
            uplink = uplink._replace(kind=IPOIB, switch_id=None, port_name=None)
        found = [uplink] if card.has_netdev(port) else []
        stem = _stem(port)
        for vf in port.present(now):
            if port.eswitch_mode == "switchdev" and vf in _represented(port, now):
                name = f"{stem}_{vf.index}"
                up = name in self.raised
                found.append(
                    Link(
                        name, 0, None, None, 9000, up, True if up else None, None, None,
                        card.switch_id, f"pf{port.number}vf{vf.index}", port.bdf,
                    )
                )  # fmt: skip
            if vf.driver == "mlx5_core" and not vf.netns:
                name = f"{stem}v{vf.index}"
                found.append(Link(name, 0, vf.mac, vf.mac, 1500, False, None, None, None, None, None, vf.bdf))
        return found
