# SPDX-License-Identifier: Apache-2.0
"""devlink through generic netlink (include/uapi/linux/devlink.h): :class:`hostnic.system.Devlink`."""

import errno
from functools import lru_cache

from hostnic.netlink.channel import Family, Untyped, codec
from hostnic.netlink.measured import Health
from hostnic.system import MODE_CHANGE_TIME, DeviceInfo, if_told

ESWITCH_GET, ESWITCH_SET = 29, 30
PARAM_GET, PARAM_SET = 38, 39
INFO_GET, HEALTH_GET = 51, 52
UNKNOWN_REPORTER = (errno.EINVAL, errno.EOPNOTSUPP)
"""The kernel's answers if a driver has no reporter of this name (net/devlink/health.c)."""
ESWITCH_MODES = ("legacy", "switchdev", "switchdev_inactive")
ENCAP_MODES = ("none", "basic")
INLINE_MODES = ("none", "link", "network", "transport")
RUNTIME = 0
FLAG, STRING = 6, 5
WIDTHS = {1: 1, 2: 2, 3: 4}
"""Netlink attribute types of a parameter: NLA_U8, NLA_U16, NLA_U32 and their bytes."""


@lru_cache(maxsize=1)
def _message() -> Untyped:
    nl = codec()

    class Value(nl.nla):
        nla_map = ((86, "VALUE_DATA", "cdata"), (87, "VALUE_CMODE", "uint8"))

    class Values(nl.nla):
        nla_map = ((85, "VALUE", "Value"),)

    class Param(nl.nla):
        nla_map = ((81, "NAME", "asciiz"), (83, "TYPE", "uint8"), (84, "VALUES", "Values"))

    class Version(nl.nla):
        nla_map = ((103, "NAME", "asciiz"), (104, "VALUE", "asciiz"))

    class Reporter(nl.nla):
        nla_map = ((116, "STATE", "uint8"), (117, "ERRORS", "uint64"), (118, "RECOVERIES", "uint64"))

    class Devlink(nl.genlmsg):
        nla_map = (
            (1, "BUS_NAME", "asciiz"),
            (2, "DEV_NAME", "asciiz"),
            (25, "ESWITCH_MODE", "uint16"),
            (26, "INLINE_MODE", "uint8"),
            (62, "ENCAP_MODE", "uint8"),
            (80, "PARAM", "Param"),
            (81, "PARAM_NAME", "asciiz"),
            (83, "PARAM_TYPE", "uint8"),
            (86, "VALUE_DATA", "cdata"),
            (87, "VALUE_CMODE", "uint8"),
            (100, "FIXED", "Version"),
            (101, "RUNNING", "Version"),
            (114, "REPORTER", "Reporter"),
            (115, "REPORTER_NAME", "asciiz"),
        )

    Values.Value, Param.Values = Value, Values
    Devlink.Param, Devlink.Version, Devlink.Reporter = Param, Version, Reporter
    return Devlink


class DevlinkClient:
    """Each method is one request; :class:`hostnic.system.Devlink` names the command that does the same."""

    def __init__(self) -> None:
        self._family = Family("devlink", MODE_CHANGE_TIME)

    def _ask(self, command: int, bdf: str, *attrs: tuple[str, object]) -> list[Untyped]:
        device = [("BUS_NAME", "pci"), ("DEV_NAME", bdf)]
        return self._family.ask(_message(), command, [*device, *attrs])

    def eswitch_mode(self, bdf: str) -> str | None:
        """Mode of the eswitch; None where the driver has none."""
        return self._eswitch(bdf, "ESWITCH_MODE", ESWITCH_MODES)

    def encap_mode(self, bdf: str) -> str | None:
        """Whether the eswitch takes tunnels."""
        return self._eswitch(bdf, "ENCAP_MODE", ENCAP_MODES)

    def _eswitch(self, bdf: str, attribute: str, names: tuple[str, ...]) -> str | None:
        """An attribute of the eswitch by its name; None where the driver has no eswitch or does not tell."""
        answer = if_told(lambda: self._ask(ESWITCH_GET, bdf), [errno.EOPNOTSUPP])
        number: int | None = answer[0].get_attr(attribute) if answer else None
        return names[number] if number is not None and number < len(names) else None

    def set_eswitch_mode(self, bdf: str, mode: str) -> None:
        """Change the mode; takes as long as the NIC takes."""
        self._ask(ESWITCH_SET, bdf, ("ESWITCH_MODE", ESWITCH_MODES.index(mode)))

    def set_inline_mode(self, bdf: str, mode: str) -> None:
        """Change the inline mode."""
        self._ask(ESWITCH_SET, bdf, ("INLINE_MODE", INLINE_MODES.index(mode)))

    def info(self, bdf: str) -> DeviceInfo:
        """Running firmware and board id."""
        (answer,) = self._ask(INFO_GET, bdf)
        versions: dict[str, str] = {
            version.get_attr("NAME"): version.get_attr("VALUE")
            for group in ("FIXED", "RUNNING")
            for version in answer.get_attrs(group)
        }
        return DeviceInfo(versions.get("fw.version") or versions.get("fw"), versions.get("fw.psid"))

    def health(self, bdf: str, reporter: str) -> Health | None:
        """State and counts of a health reporter."""
        answer = if_told(lambda: self._ask(HEALTH_GET, bdf, ("REPORTER_NAME", reporter)), UNKNOWN_REPORTER)
        if answer is None:
            return None
        found = answer[0].get_attr("REPORTER")
        errors, recoveries = found.get_attr("ERRORS"), found.get_attr("RECOVERIES")
        return Health(found.get_attr("STATE") == 0, errors or 0, recoveries or 0)

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
                return kind, _decoded(kind, value.get_attr("VALUE_DATA"))
        return kind, None


def _decoded(kind: int, data: bytes | None) -> str | bool | int | None:
    """A parameter's value from its attribute; a flag is true by being there at all."""
    if kind == FLAG:
        return data is not None
    if data is None:
        return None
    if kind == STRING:
        return data.rstrip(b"\0").decode(errors="replace")
    return int.from_bytes(data, "little")
