# SPDX-License-Identifier: Apache-2.0
"""ethtool netlink (include/uapi/linux/ethtool_netlink.h): :class:`hostnic.system.Ethtool`."""

import errno
from functools import lru_cache

from hostnic.netlink.channel import Untyped, codec
from hostnic.netlink.generic import Family
from hostnic.system import Pause

FEATURES_GET, FEATURES_SET = 11, 12
PAUSE_GET, PAUSE_SET = 21, 22
HW_TC_OFFLOAD = "hw-tc-offload"
NESTED = 0x8000


@lru_cache(maxsize=1)
def _features() -> Untyped:
    nl = codec()

    class Header(nl.nla):
        nla_flags = NESTED
        nla_map = ((2, "DEV_NAME", "asciiz"),)

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
    Features.Header, Features.BitSet = Header, BitSet
    return Features


@lru_cache(maxsize=1)
def _pause() -> Untyped:
    nl = codec()

    class Header(nl.nla):
        nla_flags = NESTED
        nla_map = ((2, "DEV_NAME", "asciiz"),)

    class PauseMessage(nl.genlmsg):
        nla_map = ((1, "HEADER", "Header"), (2, "AUTONEG", "uint8"), (3, "RX", "uint8"), (4, "TX", "uint8"))

    PauseMessage.Header = Header
    return PauseMessage


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
        try:
            (answer,) = self._ask(_pause(), PAUSE_GET, link)
        except OSError as error:
            if error.errno == errno.EOPNOTSUPP:
                return None
            raise
        return Pause(bool(answer.get_attr("RX")), bool(answer.get_attr("TX")))

    def set_pause(self, link: str, rx: bool, tx: bool) -> None:
        """Turn global pause frames on or off."""
        self._ask(_pause(), PAUSE_SET, link, ("RX", int(rx)), ("TX", int(tx)))

    def _ask(self, message: Untyped, command: int, link: str, *attrs: tuple[str, object]) -> list[Untyped]:
        return self._family.ask(message, command, [("HEADER", {"attrs": [("DEV_NAME", link)]}), *attrs])


def _lists(bitset: bytes | None, name: str) -> bool:
    """Whether a verbose bit set lists a bit of this name; each name ends in a zero.

    Sought as text: decoded, an answer is an object for each attribute of some hundred bits.
    """
    return bitset is not None and name.encode() + b"\0" in bitset
