# SPDX-License-Identifier: Apache-2.0
"""The desired state as the file that a hook leaves for the boot units, and for the next hook."""

import json
from dataclasses import asdict
from typing import Any, cast

from charmkit.fabric import QOS
from converge.document import read_json
from converge.shape import (
    LINE,
    AnyText,
    Boolean,
    Integer,
    InvalidValue,
    JsonRecord,
    ListOf,
    OneOf,
    OrNull,
    Shape,
    Text,
    at,
)
from desired import Desired
from hostnic import shapes
from hostnic.devices.rdma import MODES

PATH = "/etc/ovn-offload/roce-qos.json"
VERSION = 1


class _Pair:
    """A list of a name or number and the value that goes with it."""

    def __init__(self, first: Shape[Any], second: Shape[Any], what: str) -> None:
        self.first, self.second = first, second
        self.allowed = f"a list of {what}"

    def read(self, where: str, value: object) -> tuple[Any, Any]:
        pair = cast("list[object]", value)
        if not isinstance(value, list | tuple) or len(pair) != 2:
            raise InvalidValue(where, pair, self.allowed)
        return self.first.read(at(where, 0), pair[0]), self.second.read(at(where, 1), pair[1])

    def schema(self) -> dict[str, Any]:
        parts = [self.first.schema(), self.second.schema()]
        return {"type": "array", "prefixItems": parts, "minItems": 2, "maxItems": 2}


_PARAMETER = Text(r"[a-z0-9_]+", "a parameter as debugfs names it")
_KEYS: dict[str, Shape[Any]] = {
    "ports": ListOf(shapes.ADDRESS, "PCI addresses"),
    "qos": QOS,
    "cable": Integer(0, 999),
    "tos": Integer(0, 255),
    "mode": OneOf(tuple(MODES)),
    "vlans": ListOf(_Pair(Integer(1, 4094, "a VLAN"), Integer(0, 7, "a PCP"), "a VLAN and its PCP"), "VLANs"),
    "cc_params": ListOf(_Pair(_PARAMETER, Integer(0, 0xFFFFFFFF), "a parameter and its value"), "parameters"),
    "ecn": OrNull(Boolean()),
    "takeover": Boolean(),
    "lldp": Boolean(),
    "encap_tos": OrNull(LINE),
    "devices": AnyText(),
    "macs": ListOf(_Pair(shapes.ADDRESS, shapes.PERMANENT_MAC, "a PCI address and a MAC address"), "ports"),
}
_DESIRED = JsonRecord(Desired, _KEYS, required=tuple(_KEYS))


def to_json(wanted: Desired) -> str:
    """The text of the file at ``PATH``."""
    content = {"version": VERSION, **wanted._asdict(), "qos": asdict(wanted.qos)}
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


def from_json(text: str) -> Desired:
    """Read what :func:`to_json` wrote; fields that this version does not know are ignored.

    Raises InvalidValue, which names the place, the value and what is allowed.
    """
    wanted = read_json(text, VERSION, _DESIRED)
    if len(set(wanted.ports)) != len(wanted.ports):
        raise InvalidValue("ports", list(wanted.ports), "each port once")
    return wanted
