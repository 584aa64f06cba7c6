# SPDX-License-Identifier: Apache-2.0
"""Netdevs and their addresses through rtnetlink (include/uapi/linux/if_link.h, if_addr.h)."""

import ipaddress
import struct
from functools import lru_cache

from hostnic.netlink.channel import ACK, DUMP, ROUTE, Channel, Untyped, codec
from hostnic.netlink.measured import Traffic
from hostnic.system import Link

GETLINK, SETLINK, GETADDR, GETSTATS = 18, 19, 22, 94
LINK_STATS, OFFLOAD_STATS = 1 << 0, 1 << 3
"""Parts that GETSTATS is asked for; IFLA_STATS_FILTER_BIT of IFLA_STATS_LINK_64, LINK_OFFLOAD_XSTATS."""
IFF_UP = 1
SKIP_STATS = 1 << 3
UNKNOWN = "UNKNOWN"
"""pyroute2's name of each attribute that a message's map does not have."""
BOND_MODES = (
    "balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb",
)  # fmt: skip
NO_PARTNER = "00:00:00:00:00:00"


@lru_cache(maxsize=1)
def _message() -> Untyped:
    """The link message with the attributes that matter here; pyroute2's own decodes all of them."""
    nl = codec()

    class Info(nl.nla):
        class Bond(nl.nla):
            class AdInfo(nl.nla):
                nla_map = ((5, "PARTNER_MAC", "l2addr"),)

            nla_map = ((1, "MODE", "uint8"), (23, "AD_INFO", "AdInfo"))

        nla_map = ((1, "KIND", "asciiz"), (2, "DATA", "Bond"))

    class Names(nl.nla):
        nla_map = ((53, "ALT_IFNAME", "asciiz"),)

    class LinkMessage(nl.nlmsg):
        fields = (
            ("family", "B"),
            ("pad", "x"),
            ("type", "H"),
            ("index", "i"),
            ("flags", "I"),
            ("change", "I"),
        )
        nla_map = (
            (1, "ADDRESS", "cdata"),
            (3, "IFNAME", "asciiz"),
            (4, "MTU", "uint32"),
            (10, "MASTER", "uint32"),
            (18, "LINKINFO", "Info"),
            (29, "EXT_MASK", "uint32"),
            (33, "CARRIER", "uint8"),
            (36, "PHYS_SWITCH_ID", "cdata"),
            (38, "PHYS_PORT_NAME", "asciiz"),
            (52, "PROP_LIST", "Names"),
            (54, "PERM_ADDRESS", "cdata"),
            (56, "PARENT_DEV_NAME", "asciiz"),
            (57, "PARENT_DEV_BUS_NAME", "asciiz"),
        )

    LinkMessage.Info, LinkMessage.Names = Info, Names
    return LinkMessage


@lru_cache(maxsize=1)
def _address_message() -> Untyped:
    nl = codec()

    class AddressMessage(nl.nlmsg):
        fields = (("family", "B"), ("prefixlen", "B"), ("flags", "B"), ("scope", "B"), ("index", "I"))
        nla_map = ((1, "ADDRESS", "cdata"), (2, "LOCAL", "cdata"))

    return AddressMessage


@lru_cache(maxsize=1)
def _statistics_message() -> Untyped:
    nl = codec()

    class Offload(nl.nla):
        nla_map = ((1, "CPU_HIT", "cdata"),)

    class StatisticsMessage(nl.nlmsg):
        fields = (("family", "B"), ("pad", "3x"), ("index", "i"), ("parts", "I"))
        nla_map = ((1, "LINK", "cdata"), (4, "OFFLOAD", "Offload"))

    StatisticsMessage.Offload = Offload
    return StatisticsMessage


class LinksClient:
    """Reads and changes the netdevs of this network namespace."""

    def __init__(self) -> None:
        self._channel = Channel(ROUTE)

    def all(self) -> list[Link]:
        """Every netdev, by index."""
        message = _message()()
        message["attrs"] = [("EXT_MASK", SKIP_STATS)]
        found = [(item, _held(item)) for item in self._channel.request(message, GETLINK, DUMP)]
        names: dict[int, str] = {item["index"]: held["IFNAME"] for item, held in found}
        return sorted((_link(item, held, names) for item, held in found), key=lambda link: link.ifindex)

    def addresses(self, link: str) -> list[str]:
        """IPv4 and IPv6 addresses of ``link``, link-local ones included."""
        index = self._index(link)
        found = self._channel.request(_address_message()(), GETADDR, DUMP)
        return [_address(_held(item)) for item in found if item["index"] == index]

    def traffic(self) -> dict[int, Traffic]:
        """Of netdevs whose driver tells what the kernel handled, by index: representors."""
        message = _statistics_message()()
        message["parts"] = LINK_STATS | OFFLOAD_STATS
        found: dict[int, Traffic] = {}
        for item in self._channel.request(message, GETSTATS, DUMP):
            held = _held(item)
            offload = held.get("OFFLOAD")
            if software := offload.get_attr("CPU_HIT") if offload else None:
                found[item["index"]] = Traffic(*_both(held["LINK"]), *_both(software))
        return found

    def rdma(self) -> dict[tuple[str, int], str]:
        """Netdevs of RDMA devices' ports."""
        from hostnic.netlink import rdmalinks  # only the exporter asks

        return rdmalinks.read()

    def set_master(self, link: str, master: str | None) -> None:
        """Enslave ``link``, or release it."""
        self._change(link, attrs=[("MASTER", self._index(master) if master else 0)])

    def set_up(self, link: str, up: bool) -> None:
        """Set ``link`` up or down."""
        self._change(link, flags=IFF_UP if up else 0, change=IFF_UP)

    def _change(self, name: str, attrs: list[tuple[str, int]] | None = None, **fields: int) -> None:
        message = _message()()
        message["index"] = self._index(name)
        message["attrs"] = attrs or []
        for field, value in fields.items():
            message[field] = value
        self._channel.request(message, SETLINK, ACK)

    def _index(self, name: str) -> int:
        message = _message()()
        message["attrs"] = [("IFNAME", name), ("EXT_MASK", SKIP_STATS)]
        return self._channel.request(message, GETLINK, ACK)[0]["index"]


def _both(statistics: bytes) -> tuple[int, int]:
    """Packets and bytes of both directions: the first four numbers of struct rtnl_link_stats64."""
    received, sent, bytes_received, bytes_sent = struct.unpack_from("4Q", statistics)
    return received + sent, bytes_received + bytes_sent


def _held(item: Untyped) -> dict[str, Untyped]:
    """What the attributes in the message's map hold. ``get_attr`` looks through all forty for each."""
    return {slot.name: slot.value for slot in item["attrs"] if slot.name != UNKNOWN}


def _link(item: Untyped, held: dict[str, Untyped], names: dict[int, str]) -> Link:
    info = held.get("LINKINFO")
    kind: str | None = info.get_attr("KIND") if info else None
    bond = info.get_attr("DATA") if info and kind == "bond" else None
    up = bool(item["flags"] & IFF_UP)
    switch_id: bytes | None = held.get("PHYS_SWITCH_ID")
    return Link(
        name=held["IFNAME"],
        ifindex=item["index"],
        mac=_mac(held.get("ADDRESS")),
        permanent_mac=_mac(held.get("PERM_ADDRESS")),
        mtu=held.get("MTU") or 0,
        up=up,
        carrier=held.get("CARRIER") == 1 if up else None,
        kind=kind,
        master=names.get(held.get("MASTER") or 0),
        switch_id=switch_id.hex() if switch_id else None,
        port_name=held.get("PHYS_PORT_NAME"),
        pci=held.get("PARENT_DEV_NAME") if held.get("PARENT_DEV_BUS_NAME") == "pci" else None,
        bond_mode=_mode(bond.get_attr("MODE")) if bond else None,
        partner_mac=_partner(bond),
        altnames=tuple(held["PROP_LIST"].get_attrs("ALT_IFNAME")) if "PROP_LIST" in held else (),
    )


def _address(held: dict[str, Untyped]) -> str:
    """The host's own address: on a point-to-point link ADDRESS is the other end's."""
    return str(ipaddress.ip_address(held.get("LOCAL") or held["ADDRESS"]))


def _mac(address: bytes | None) -> str | None:
    return address.hex(":") if address is not None else None


def _mode(number: int | None) -> str | None:
    return BOND_MODES[number] if number is not None and number < len(BOND_MODES) else None


def _partner(bond: Untyped) -> str | None:
    lacp = bond.get_attr("AD_INFO") if bond else None
    mac: str | None = lacp.get_attr("PARTNER_MAC") if lacp else None
    return mac if mac != NO_PARTNER else None
