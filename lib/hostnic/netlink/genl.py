# SPDX-License-Identifier: Apache-2.0
"""devlink and ethtool through generic netlink (include/uapi/linux/{devlink,ethtool_netlink}.h)."""

import errno
from functools import lru_cache

from hostnic.netlink.channel import ACK, GENERIC, Channel, Untyped, codec
from hostnic.system import DeviceInfo, Pause

CONTROL, GET_FAMILY = 16, 3
ESWITCH_GET, ESWITCH_SET = 29, 30
PARAM_GET, PARAM_SET = 38, 39
INFO_GET = 51
FEATURES_GET, FEATURES_SET = 11, 12
PAUSE_GET, PAUSE_SET = 21, 22
ESWITCH_MODES = ("legacy", "switchdev", "switchdev_inactive")
INLINE_MODES = ("none", "link", "network", "transport")
RUNTIME = 0
HW_TC_OFFLOAD = "hw-tc-offload"
FLAG, STRING = 6, 5
WIDTHS = {1: 1, 2: 2, 3: 4}
"""Netlink attribute types of a parameter: NLA_U8, NLA_U16, NLA_U32 and their bytes."""


@lru_cache(maxsize=1)
def _control() -> Untyped:
    nl = codec()

    class Control(nl.genlmsg):
        nla_map = ((1, "FAMILY_ID", "uint16"), (2, "FAMILY_NAME", "asciiz"))

    return Control


@lru_cache(maxsize=1)
def _devlink() -> Untyped:
    nl = codec()

    class Value(nl.nla):
        nla_map = ((86, "VALUE_DATA", "cdata"), (87, "VALUE_CMODE", "uint8"))

    class Values(nl.nla):
        nla_map = ((85, "VALUE", "Value"),)

    class Param(nl.nla):
        nla_map = ((81, "NAME", "asciiz"), (83, "TYPE", "uint8"), (84, "VALUES", "Values"))

    class Version(nl.nla):
        nla_map = ((103, "NAME", "asciiz"), (104, "VALUE", "asciiz"))

    class Devlink(nl.genlmsg):
        nla_map = (
            (1, "BUS_NAME", "asciiz"),
            (2, "DEV_NAME", "asciiz"),
            (25, "ESWITCH_MODE", "uint16"),
            (26, "INLINE_MODE", "uint8"),
            (80, "PARAM", "Param"),
            (81, "PARAM_NAME", "asciiz"),
            (83, "PARAM_TYPE", "uint8"),
            (86, "VALUE_DATA", "cdata"),
            (87, "VALUE_CMODE", "uint8"),
            (100, "FIXED", "Version"),
            (101, "RUNNING", "Version"),
        )

    Values.Value, Param.Values = Value, Values
    Devlink.Param, Devlink.Version = Param, Version
    return Devlink


@lru_cache(maxsize=1)
def _features() -> Untyped:
    nl = codec()
    nested = 0x8000

    class Header(nl.nla):
        nla_flags = nested
        nla_map = ((2, "DEV_NAME", "asciiz"),)

    class Bit(nl.nla):
        nla_flags = nested
        nla_map = ((2, "NAME", "asciiz"), (3, "VALUE", "flag"))

    class Bits(nl.nla):
        nla_flags = nested
        nla_map = ((1, "BIT", "Bit"),)

    class BitSet(nl.nla):
        nla_flags = nested
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
        nla_flags = 0x8000
        nla_map = ((2, "DEV_NAME", "asciiz"),)

    class PauseMessage(nl.genlmsg):
        nla_map = ((1, "HEADER", "Header"), (2, "AUTONEG", "uint8"), (3, "RX", "uint8"), (4, "TX", "uint8"))

    PauseMessage.Header = Header
    return PauseMessage


class Families:
    """One generic netlink socket for both families."""

    def __init__(self) -> None:
        self._channel = Channel(GENERIC)
        self._ids: dict[str, int] = {}

    def _family(self, name: str) -> int:
        if name not in self._ids:
            message = _control()()
            message["cmd"], message["version"] = GET_FAMILY, 1
            message["attrs"] = [("FAMILY_NAME", name)]
            self._ids[name] = self._channel.request(message, CONTROL, ACK)[0].get_attr("FAMILY_ID")
        return self._ids[name]

    def _ask(self, command: int, bdf: str, *attrs: tuple[str, object]) -> list[Untyped]:
        message = _devlink()()
        message["cmd"], message["version"] = command, 1
        message["attrs"] = [("BUS_NAME", "pci"), ("DEV_NAME", bdf), *attrs]
        return self._channel.request(message, self._family("devlink"), ACK)

    def eswitch_mode(self, bdf: str) -> str | None:
        """Mode of the eswitch; None where the driver has none."""
        try:
            number: int | None = self._ask(ESWITCH_GET, bdf)[0].get_attr("ESWITCH_MODE")
        except OSError as error:
            if error.errno == errno.EOPNOTSUPP:
                return None
            raise
        return ESWITCH_MODES[number] if number is not None and number < len(ESWITCH_MODES) else None

    def set_eswitch_mode(self, bdf: str, mode: str) -> None:
        """Change the mode; takes as long as the NIC takes."""
        self._ask(ESWITCH_SET, bdf, ("ESWITCH_MODE", ESWITCH_MODES.index(mode)))

    def set_inline_mode(self, bdf: str, mode: str) -> None:
        """Change the inline mode."""
        self._ask(ESWITCH_SET, bdf, ("INLINE_MODE", INLINE_MODES.index(mode)))

    def device_info(self, bdf: str) -> DeviceInfo:
        """Running firmware and board id."""
        (answer,) = self._ask(INFO_GET, bdf)
        versions: dict[str, str] = {
            version.get_attr("NAME"): version.get_attr("VALUE")
            for group in ("FIXED", "RUNNING")
            for version in answer.get_attrs(group)
        }
        return DeviceInfo(versions.get("fw.version") or versions.get("fw"), versions.get("fw.psid"))

    def param(self, bdf: str, name: str) -> str | bool | int | None:
        """Runtime value of a parameter."""
        return self._param(bdf, name)[1]

    def set_param(self, bdf: str, name: str, value: str | bool | int) -> None:
        """Set the runtime value of a parameter, in the type that the driver declares."""
        kind = self._param(bdf, name)[0]
        attrs: list[tuple[str, object]] = [
            ("PARAM_NAME", name), ("PARAM_TYPE", kind), ("VALUE_CMODE", RUNTIME),
        ]  # fmt: skip
        if kind == STRING:
            attrs.append(("VALUE_DATA", str(value).encode() + b"\0"))
        elif kind in WIDTHS:
            attrs.append(("VALUE_DATA", int(value).to_bytes(WIDTHS[kind], "little")))
        elif value:
            attrs.append(("VALUE_DATA", b""))
        self._ask(PARAM_SET, bdf, *attrs)

    def _param(self, bdf: str, name: str) -> tuple[int, str | bool | int | None]:
        """A parameter's type and its runtime value; None when it has no runtime value."""
        param = self._ask(PARAM_GET, bdf, ("PARAM_NAME", name))[0].get_attr("PARAM")
        kind: int = param.get_attr("TYPE")
        for value in param.get_attr("VALUES").get_attrs("VALUE"):
            if value.get_attr("VALUE_CMODE") == RUNTIME:
                return kind, decoded(kind, value.get_attr("VALUE_DATA"))
        return kind, None

    def hw_tc_offload(self, netdev: str) -> bool | None:
        """Whether the feature is on; None where the device cannot have it."""
        message = _features()()
        message["cmd"], message["version"] = FEATURES_GET, 1
        message["attrs"] = [("HEADER", {"attrs": [("DEV_NAME", netdev)]})]
        (answer,) = self._channel.request(message, self._family("ethtool"), ACK)
        if not _lists(answer.get_attr("HW"), HW_TC_OFFLOAD):
            return None
        return _lists(answer.get_attr("ACTIVE"), HW_TC_OFFLOAD)

    def set_hw_tc_offload(self, netdev: str, on: bool) -> None:
        """Turn the feature on or off."""
        message = _features()()
        message["cmd"], message["version"] = FEATURES_SET, 1
        bit: list[tuple[str, object]] = [("NAME", HW_TC_OFFLOAD)]
        if on:
            bit.append(("VALUE", True))
        bits = {"attrs": [("BIT", {"attrs": bit})]}
        message["attrs"] = [
            ("HEADER", {"attrs": [("DEV_NAME", netdev)]}),
            ("WANTED", {"attrs": [("BITS", bits)]}),
        ]
        self._channel.request(message, self._family("ethtool"), ACK)

    def pause(self, netdev: str) -> Pause | None:
        """Global pause frames; None where the driver does not tell."""
        try:
            (answer,) = self._pause_request(PAUSE_GET, netdev)
        except OSError as error:
            if error.errno == errno.EOPNOTSUPP:
                return None
            raise
        return Pause(bool(answer.get_attr("RX")), bool(answer.get_attr("TX")))

    def set_pause(self, netdev: str, rx: bool, tx: bool) -> None:
        """Turn global pause frames on or off."""
        self._pause_request(PAUSE_SET, netdev, ("RX", int(rx)), ("TX", int(tx)))

    def _pause_request(self, command: int, netdev: str, *attrs: tuple[str, int]) -> list[Untyped]:
        message = _pause()()
        message["cmd"], message["version"] = command, 1
        message["attrs"] = [("HEADER", {"attrs": [("DEV_NAME", netdev)]}), *attrs]
        return self._channel.request(message, self._family("ethtool"), ACK)


def decoded(kind: int, data: bytes | None) -> str | bool | int | None:
    """A parameter's value from its attribute; a flag is true by being there at all."""
    if kind == FLAG:
        return data is not None
    if data is None:
        return None
    if kind == STRING:
        return data.rstrip(b"\0").decode(errors="replace")
    return int.from_bytes(data, "little")


def _lists(bitset: bytes | None, name: str) -> bool:
    """Whether a verbose bit set lists a bit of this name; each name ends in a zero.

    Sought as text: decoded, an answer is an object for each attribute of some hundred bits.
    """
    return bitset is not None and name.encode() + b"\0" in bitset
