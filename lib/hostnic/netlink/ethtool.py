# SPDX-License-Identifier: Apache-2.0
"""ethtool netlink (include/uapi/linux/ethtool_netlink.h): :class:`hostnic.system.Ethtool`."""

import errno
from functools import lru_cache
from typing import TypeAlias

from hostnic.netlink.channel import Family, Untyped, codec
from hostnic.netlink.dcb import Coalescing, Rings
from hostnic.system import Channels, Pause, if_told

FEATURES_GET, FEATURES_SET = 11, 12
PAUSE_GET, PAUSE_SET = 21, 22
CHANNELS_GET, CHANNELS_SET = 17, 18
RINGS_GET, RINGS_SET = 15, 16
COALESCE_GET, COALESCE_SET = 19, 20
HW_TC_OFFLOAD = "hw-tc-offload"
NESTED = 0x8000


@lru_cache(maxsize=1)
def _header() -> Untyped:
    """The netdev that a message is about."""
    nl = codec()

    class Header(nl.nla):
        nla_flags = NESTED
        nla_map = ((2, "DEV_NAME", "asciiz"),)

    return Header


@lru_cache(maxsize=1)
def _features() -> Untyped:
    nl = codec()

    class Bit(nl.nla):
        nla_flags = NESTED
        nla_map = ((2, "NAME", "asciiz"), (3, "VALUE", "flag"))

    class Bits(nl.nla):
        nla_flags = NESTED
        nla_map = ((1, "BIT", "Bit"),)

    class BitSet(nl.nla):
        nla_flags = NESTED
        nla_map = ((3, "BITS", "Bits"),)

    class Features(nl.genlmsg):
        nla_map = (
            (1, "HEADER", "Header"),
            (2, "HW", "cdata"),
            (3, "WANTED", "BitSet"),
            (4, "ACTIVE", "cdata"),
        )

    Bits.Bit, BitSet.Bits = Bit, Bits
    Features.Header, Features.BitSet = _header(), BitSet
    return Features


Fields: TypeAlias = "tuple[tuple[int, str, str], ...]"


@lru_cache(maxsize=4)
def _flat(*fields: tuple[int, str, str]) -> Untyped:
    """A message of numbers."""
    nl = codec()

    class Flat(nl.genlmsg):
        nla_map = ((1, "HEADER", "Header"), *fields)

    Flat.Header = _header()
    return Flat


PAUSE = ((2, "AUTONEG", "uint8"), (3, "RX", "uint8"), (4, "TX", "uint8"))
CHANNELS = ((5, "COMBINED_MAX", "uint32"), (9, "COMBINED_COUNT", "uint32"))
RINGS = ((6, "RX", "uint32"), (9, "TX", "uint32"))
COALESCING = (
    (2, "RX_USECS", "uint32"),
    (3, "RX_MAX_FRAMES", "uint32"),
    (6, "TX_USECS", "uint32"),
    (7, "TX_MAX_FRAMES", "uint32"),
    (11, "USE_ADAPTIVE_RX", "uint8"),
    (12, "USE_ADAPTIVE_TX", "uint8"),
)


class EthtoolClient:
    """Each method is one request; :class:`hostnic.system.Ethtool` names the command that does the same."""

    def __init__(self) -> None:
        self._family = Family("ethtool")

    def hw_tc_offload(self, link: str) -> bool | None:
        """Whether the feature is on; None where the device cannot have it."""
        (answer,) = self._ask(_features(), FEATURES_GET, link)
        if not _lists(answer.get_attr("HW"), HW_TC_OFFLOAD):
            return None
        return _lists(answer.get_attr("ACTIVE"), HW_TC_OFFLOAD)

    def set_hw_tc_offload(self, link: str, on: bool) -> None:
        """Turn the feature on or off."""
        bit: list[tuple[str, object]] = [("NAME", HW_TC_OFFLOAD)]
        if on:
            bit.append(("VALUE", True))
        bits = {"attrs": [("BIT", {"attrs": bit})]}
        self._ask(_features(), FEATURES_SET, link, ("WANTED", {"attrs": [("BITS", bits)]}))

    def pause(self, link: str) -> Pause | None:
        """Global pause frames; None where the driver does not tell."""
        found = self._numbers(PAUSE, PAUSE_GET, link)
        return Pause(bool(found.get("RX")), bool(found.get("TX"))) if found is not None else None

    def set_pause(self, link: str, rx: bool, tx: bool) -> None:
        """Turn global pause frames on or off."""
        self._ask(_flat(*PAUSE), PAUSE_SET, link, ("RX", int(rx)), ("TX", int(tx)))

    def channels(self, link: str) -> Channels | None:
        """Combined queues; None where the driver has none, or does not tell."""
        found = self._numbers(CHANNELS, CHANNELS_GET, link)
        if not found or not found.get("COMBINED_MAX"):
            return None
        return Channels(found.get("COMBINED_COUNT", 0), found["COMBINED_MAX"])

    def set_channels(self, link: str, combined: int) -> None:
        """Set the number of combined queues."""
        self._ask(_flat(*CHANNELS), CHANNELS_SET, link, ("COMBINED_COUNT", combined))

    def rings(self, link: str) -> Rings | None:
        """Ring sizes; None where the driver does not tell."""
        found = self._numbers(RINGS, RINGS_GET, link)
        return Rings(found["RX"], found["TX"]) if found and {"RX", "TX"} <= found.keys() else None

    def set_rings(self, link: str, rings: Rings) -> None:
        """Set the ring sizes."""
        self._ask(_flat(*RINGS), RINGS_SET, link, ("RX", rings.rx), ("TX", rings.tx))

    def coalescing(self, link: str) -> Coalescing | None:
        """Interrupt moderation; None where the driver does not tell all of it."""
        found = self._numbers(COALESCING, COALESCE_GET, link)
        if not found or not {name for _, name, _ in COALESCING} <= found.keys():
            return None
        adaptive = bool(found["USE_ADAPTIVE_RX"]), bool(found["USE_ADAPTIVE_TX"])
        rx = found["RX_USECS"], found["RX_MAX_FRAMES"]
        tx = found["TX_USECS"], found["TX_MAX_FRAMES"]
        return Coalescing(*rx, *tx, *adaptive)

    def set_coalescing(self, link: str, wanted: Coalescing) -> None:
        """Set the interrupt moderation."""
        names = (name for _, name, _ in COALESCING)
        self._ask(_flat(*COALESCING), COALESCE_SET, link, *zip(names, map(int, wanted)))

    def statistics(self, link: str) -> dict[str, int]:
        """The driver's counters, by an interface of their own."""
        from hostnic.netlink import statistics  # only who judges a port's health needs them

        return statistics.read(link)

    def _numbers(
        self, fields: tuple[tuple[int, str, str], ...], command: int, link: str
    ) -> dict[str, int] | None:
        """The numbers in the answer, by name; None where the driver lacks the operation."""
        told = if_told(lambda: self._ask(_flat(*fields), command, link), [errno.EOPNOTSUPP])
        if told is None:
            return None
        values = {name: told[0].get_attr(name) for _, name, _ in fields}
        return {name: value for name, value in values.items() if value is not None}

    def _ask(self, message: Untyped, command: int, link: str, *attrs: tuple[str, object]) -> list[Untyped]:
        return self._family.ask(message, command, [("HEADER", {"attrs": [("DEV_NAME", link)]}), *attrs])


def _lists(bitset: bytes | None, name: str) -> bool:
    """Whether a verbose bit set lists a bit of this name; each name ends in a zero.

    Sought as text: decoded, an answer is an object for each attribute of some hundred bits.
    """
    return bitset is not None and name.encode() + b"\0" in bitset
