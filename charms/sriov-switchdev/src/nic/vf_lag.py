# SPDX-License-Identifier: Apache-2.0
"""Whether the driver can form VF-LAG of a NIC's ports as they are bonded, before any of it is tried. Pure."""

from collections.abc import Mapping

from hostnic.devices import lag
from hostnic.devices.model import Bond, Host, Pf
from hostnic.devices.port import MLX5, Port

BY_CARD = (5, 16)
"""The first kernel whose mlx5 pairs ports by the card's system image GUID, which is its switch id
(dev.c: mlx5_same_hw_devs); older ones by domain, bus and slot alone (mlx5_gen_pci_id)."""
LAG_BOND_MODES = ("802.3ad", "active-backup", "balance-xor")
"""Bond modes that mlx5 can offload: one active port, or a hash (mlx5 lag/lag.c)."""

OVS = "ovs-system"
"""The master of each port of Open vSwitch."""
BOTH_PORTS = "bond exactly the two ports of one NIC, or set vf-lag=disabled"


def prevented(pf: Pf, host: Host) -> tuple[str, str] | None:
    """Why VF-LAG cannot form with this port, and the remedy; None if it can."""
    if pf.bond is None and pf.port.bridge is not None:
        if pf.port.bridge != OVS:
            return f"the port itself is in {pf.port.bridge}, which is not a kernel bond", BOTH_PORTS
        return (
            f"the port itself is in {OVS}; a bond of Open vSwitch is not a kernel bond",
            "make a kernel bond of both ports and put it into the bridge; in MAAS that is Create Bond",
        )
    bond = host.bond(pf.bond)
    if bond is None:
        return "the port is in no kernel bond", BOTH_PORTS
    if bond.mode not in LAG_BOND_MODES:
        return f"{bond.name} has mode {bond.mode}", f"use one of {', '.join(LAG_BOND_MODES)}"
    of_nic = (each.subject for each in host.findings if each.subject.startswith(f"{pf.port.nic}."))
    if unread := next(of_nic, None):
        return f"{unread} of the same NIC cannot be read", "see the kernel log for it"
    members = {name: host.pf(name) for name in bond.members}
    own = {name for name, member in members.items() if member and pf.is_of_card(member)}
    if others := sorted(members.keys() - own):
        return _beside(bond, {name: members[name] for name in others})
    if apart := _apart(pf, host):
        return apart
    if few := _part_of_card(pf, host, bond):
        return few
    if pf.esw_multiport:
        return (
            "the devlink parameter esw_multiport is on, which excludes VF-LAG",
            f"turn it off; devlink dev param set pci/{pf.bdf} name esw_multiport value false cmode runtime",
        )
    return None


def _pair(pf: Pf, host: Host) -> list[Pf]:
    """The ports of the bond that it is in, by BDF, if they are at several PCI slots; else none."""
    bond = host.bond(pf.bond)
    members = [member for name in (bond.members if bond else ()) if (member := host.pf(name))]
    apart = len({member.port.nic for member in members}) > 1
    return sorted(members, key=lambda member: member.bdf) if apart else []


def card_of(pf: Pf, host: Host) -> str | None:
    """The slot by which a card at two PCI slots goes; None for a NIC in one."""
    pair = _pair(pf, host)
    return pair[0].port.nic if pair else None


def _apart(pf: Pf, host: Host) -> tuple[str, str] | None:
    """Why mlx5 does not bond the ports of a card at two PCI slots; None if it does, or for one slot."""
    pair = _pair(pf, host)
    if not pair:
        return None
    where = " and ".join(member.bdf for member in pair)
    if lag.release(host.kernel) < BY_CARD:
        what = f"kernel {host.kernel} looks for both ports in one PCI slot, and those of the card are {where}"
        return what, "deploy kernel 5.16 or later (hwe-22.04 on jammy), or set vf-lag=disabled"
    return None


def _part_of_card(pf: Pf, host: Host, bond: Bond) -> tuple[str, str] | None:
    """Why the ports of a card in this bond form no VF-LAG for their number; None if they do."""
    card = [other for other in host.pfs if pf.is_of_card(other)]
    most = lag.most_ports(host.kernel)
    apart = [other for other in card if other.netdev not in bond.members]
    if len(card) > 2 and apart:
        where = " and ".join(other.bdf for other in card if other not in apart)
        more = ", ".join(other.bdf for other in apart)
        what = f"the card of {where} also has {more}, and mlx5 bonds all ports of a card or none"
        bonded = f"bond all {len(card)} ports, which kernel 6.5 and later can"
        with_all = bonded if len(card) in lag.PORTS else f"give {bond.name} a card with two ports"
        return what, f"set vf-lag=disabled, or {with_all}"
    if len(card) == 1 or apart:
        return f"{bond.name} has only {pf.netdev} of the NIC", BOTH_PORTS
    if len(card) > most or len(card) not in lag.PORTS:
        what = f"{bond.name} has {len(card)} ports of the NIC, and kernel {host.kernel} bonds {most}"
        return what, "deploy kernel 6.5 or later, or set vf-lag=disabled" if most < 4 else BOTH_PORTS
    return None


def _beside(bond: Bond, others: Mapping[str, Pf | None]) -> tuple[str, str]:
    """Name the members of a bond beside the ports of this card, and the operator's choices."""
    listed = ", ".join(
        f"{name} ({driven_by(other.port)})" if other and other.port.driver != MLX5 else name
        for name, other in others.items()
    )
    return f"{bond.name} also has {listed}, which is not a port of the same NIC", BOTH_PORTS


def driven_by(port: Port) -> str:
    """The driver of a port in words: ``driver mlx5_core``, or ``no driver``."""
    return f"driver {port.driver}" if port.driver else "no driver"
