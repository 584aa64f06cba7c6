# SPDX-License-Identifier: Apache-2.0
"""Reading the desired state that the last hook left in a file for boot and for the next hook."""

from typing import Any

from converge.document import read_json
from converge.shape import Boolean, Integer, InvalidValue, JsonRecord, ListOf, OneOf, OrNull, Shape, Text
from desired import VERSION, Desired, WantedPort
from hostnic import shapes
from hostnic.cpus import MAX_QUEUES

_NAME = Text(r"[^\s/:]{1,15}", "the name of a network device")
_OF_PORT: dict[str, Shape[Any]] = {
    "bdf": shapes.ADDRESS,
    "netdev": _NAME,
    "num_vfs": Integer(0, 0xFFFF, "a number of VFs"),
    "bond": OrNull(_NAME),
    "lag": Boolean(),
    "mac": OrNull(shapes.PERMANENT_MAC),
}
_MAY: dict[str, Shape[Any]] = {
    "card": OrNull(shapes.SLOT),
    "former": ListOf(Text(r"[^\s/]{1,20}", "an earlier PCI address or name of a network device"), "names"),
}
_PORTS = ListOf(JsonRecord(WantedPort, {**_OF_PORT, **_MAY}, required=tuple(_OF_PORT)), "ports")
_OF_HOST: dict[str, Shape[Any]] = {
    "ports": _PORTS,
    "steering_mode": OrNull(OneOf(("smfs", "dmfs"))),
    "lag_required": Boolean(),
    "uplink_queues": Integer(0, MAX_QUEUES, "a number of queues"),
}
_HOST_MAY: dict[str, Shape[Any]] = {"absent": _PORTS, "follow_uplink": Boolean()}
_DESIRED = JsonRecord(Desired, {**_OF_HOST, **_HOST_MAY}, required=tuple(_OF_HOST))


def from_json(text: str) -> Desired:
    """Read what :meth:`Desired.to_json` wrote; unknown fields are ignored.

    Raises InvalidValue, which names the place, the value and what is allowed.
    """
    wanted = read_json(text, VERSION, _DESIRED)
    bdfs = [port.bdf for port in wanted.ports]
    if len(set(bdfs)) != len(bdfs):
        raise InvalidValue("ports", bdfs, "each port once")
    return wanted
