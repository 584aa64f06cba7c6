# SPDX-License-Identifier: Apache-2.0
"""The file with the state before a live change, which the hook that made it and the revert timer read."""

import json
from typing import NamedTuple

import record
from converge.shape import AnyText, Boolean, Integer, ListOf, OneOf, OrNull, Record, Text
from hostnic import shapes
from hostnic.system import System
from observed import PortState


class Previous(NamedTuple):
    """What the file has.

    Attributes:
        ports: the ports as they were.
        answering: addresses that answered a ping before the change.
        target: digest of the desired state that the change leads to.
        problem: why the file cannot be read; empty when it can.

    """

    ports: tuple[PortState, ...] = ()
    answering: tuple[str, ...] = ()
    target: str = ""
    problem: str = ""


REMEDY = f"check that this node answers on its network, then remove {record.PREVIOUS}, or reboot"
"""Of a file that cannot be read."""

_NAME = r"[^\s/:]{0,15}"
_PORT = Record(
    PortState,
    {
        "bdf": shapes.ADDRESS,
        "netdev": Text(_NAME, "the name of a network device"),
        "mode": OneOf(("legacy", "switchdev", "switchdev_inactive")),
        "num_vfs": Integer(0, 0xFFFF, "a number of VFs"),
        "autoprobe": Boolean(),
        "bond": OrNull(Text(_NAME, "the name of a bond")),
        "queues": Integer(0, 0xFFFF, "a number of queues"),
        "mac": OrNull(shapes.PERMANENT_MAC),
    },
    required=["bdf", "netdev", "mode", "num_vfs", "autoprobe", "bond"],
    lenient=True,
)
_PREVIOUS = Record(
    Previous,
    {
        "ports": ListOf(_PORT, "ports"),
        "answering": ListOf(Text(r"[0-9A-Fa-f.:%\w-]{1,64}", "an IP address"), "addresses"),
        "target": AnyText(),
    },
    required=["ports", "answering", "target"],
    lenient=True,
)


def read(system: System) -> Previous:
    """The state before the change; with a ``problem`` and nothing else if it cannot be read."""
    try:
        return _PREVIOUS.read("", json.loads(system.files.read(record.PREVIOUS)))
    except (OSError, ValueError, RecursionError) as error:
        return Previous(problem=f"{record.PREVIOUS}, the state before a live change, cannot be read: {error}")
