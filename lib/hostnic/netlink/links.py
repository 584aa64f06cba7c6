# SPDX-License-Identifier: Apache-2.0
"""Netdevs and their addresses through rtnetlink (include/uapi/linux/if_link.h, if_addr.h)."""

import ipaddress
import struct
import sys
from functools import lru_cache

from hostnic.netlink.channel import ACK, DUMP, HEADER, ROUTE, Channel, LinkNews, Untyped, attributes, codec
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


ADDRESS, IFNAME, MTU, MASTER, LINKINFO, CARRIER = 1, 3, 4, 10, 18, 33
SWITCH_ID, PORT_NAME, PROP_LIST, PERM_ADDRESS, PARENT_NAME, PARENT_BUS = 36, 38, 52, 54, 56, 57
INFO_KIND, INFO_DATA, BOND_MODE, AD_INFO, PARTNER_MAC, ALT_IFNAME = 1, 2, 1, 23, 5, 53
"""Attributes of a netdev. They are read here: pyroute2 takes ten times as long, and a node may have 500."""
IFINFO = struct.Struct("=4xiI4x")
"""ifinfomsg: index and flags."""


@lru_cache(maxsize=1)
def _message() -> Untyped:
    nl = codec()

    class LinkMessage(nl.nlmsg):
        fields = (
            ("family", "B"),
            ("pad", "x"),
            ("type", "H"),
            ("index", "i"),
            ("flags", "I"),
            ("change", "I"),
        )
        nla_map = ((3, "IFNAME", "asciiz"), (10, "MASTER", "uint32"), (29, "EXT_MASK", "uint32"))

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
        self._news: LinkNews | None = None

    def all(self) -> list[Link]:
        """Every netdev, by index."""
        message = _message()()
        message["attrs"] = [("EXT_MASK", SKIP_STATS)]
        found: list[tuple[int, int, dict[int, bytes]]] = []
        for answer in self._channel.answers(message, GETLINK, DUMP):
            index, flags = IFINFO.unpack_from(answer, HEADER.size)
            found.append((index, flags, dict(attributes(answer[HEADER.size + IFINFO.size :]))))
        names = {index: _text(held[IFNAME]) for index, _, held in found}
        return [_link(*netdev, names) for netdev in sorted(found, key=lambda netdev: netdev[0])]

    def addresses(self, link: str) -> list[str]:
        """IPv4 and IPv6 addresses of ``link``, link-local ones included."""
        index = self._index(link)
        found = self._channel.request(_address_message()(), GETADDR, DUMP)
        return [_address(_held(item)) for item in found if item["index"] == index]

    def traffic(self) -> dict[int, Traffic]:
        """By index, the traffic of netdevs whose driver tells what the kernel handled: representors."""
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

    def await_change(self) -> None:
        """Wait for news of netdevs; the first call has the kernel keep it from now on."""
        if self._news is None:
            self._news = LinkNews()
        else:
            self._news.wait()

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
    """Return the attributes of the message's map by name. ``get_attr`` looks through all forty for each."""
    return {slot.name: slot.value for slot in item["attrs"] if slot.name != UNKNOWN}


def _link(index: int, flags: int, held: dict[int, bytes], names: dict[int, str]) -> Link:
    info = dict(attributes(held.get(LINKINFO, b"")))
    kind = _word(info, INFO_KIND)
    bond = dict(attributes(info.get(INFO_DATA, b""))) if kind == "bond" else {}
    partner = _mac(dict(attributes(bond.get(AD_INFO, b""))).get(PARTNER_MAC))
    up, switch_id = bool(flags & IFF_UP), held.get(SWITCH_ID)
    return Link(
        name=names[index],
        ifindex=index,
        mac=_mac(held.get(ADDRESS)),
        permanent_mac=_mac(held.get(PERM_ADDRESS)),
        mtu=_number(held.get(MTU)) or 0,
        up=up,
        carrier=_number(held.get(CARRIER)) == 1 if up else None,
        kind=kind,
        master=names.get(_number(held.get(MASTER)) or 0),
        switch_id=switch_id.hex() if switch_id else None,
        port_name=_word(held, PORT_NAME),
        pci=_word(held, PARENT_NAME) if _word(held, PARENT_BUS) == "pci" else None,
        bond_mode=_mode(_number(bond.get(BOND_MODE))),
        partner_mac=partner if partner != NO_PARTNER else None,
        altnames=tuple(
            _text(name) for kind, name in attributes(held.get(PROP_LIST, b"")) if kind == ALT_IFNAME
        ),
    )


def _text(content: bytes) -> str:
    return content.rstrip(b"\0").decode(errors="replace")


def _word(held: dict[int, bytes], kind: int) -> str | None:
    return _text(held[kind]) if kind in held else None


def _number(content: bytes | None) -> int | None:
    return None if content is None else int.from_bytes(content, sys.byteorder)


def _address(held: dict[str, Untyped]) -> str:
    """The host's own address: on a point-to-point link ADDRESS is the other end's."""
    return str(ipaddress.ip_address(held.get("LOCAL") or held["ADDRESS"]))


def _mac(address: bytes | None) -> str | None:
    return address.hex(":") if address is not None else None


def _mode(number: int | None) -> str | None:
    return BOND_MODES[number] if number is not None and number < len(BOND_MODES) else None
