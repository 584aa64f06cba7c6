# SPDX-License-Identifier: Apache-2.0
"""Judges what LLDP shows at a port by what the intent has there, for the report and for verify. Pure.

A name that the intent does not have is unknown, not wrong: a switch is called cumulus until it gets a name,
an installer has a name of its own, and an LLDP agent in a NIC's firmware sends its MAC or the chip's name.
"""

import enum
from collections.abc import Sequence
from typing import NamedTuple

from intent.model import Fabric, Link, same_system
from tree.seen import Neighbour

NOBODY = Neighbour("", "")


class State(enum.Enum):
    """The state of a cable."""

    WRONG = "wrong"  # another neighbour than the intent's
    EXTRA = "extra"  # a neighbour at a port that the intent does not use
    NO_LINK = "no link"
    NOT_READ = "not read"
    UNKNOWN = "unknown"  # a neighbour that the intent does not have
    SILENT = "silent"  # a link, and no LLDP
    SHUT = "shut"  # on purpose, by the intent
    OK = "ok"


class Judged(NamedTuple):
    """The state of a cable, and the neighbour that makes it wrong or unknown."""

    state: State
    near: Neighbour = NOBODY


def at_link(fabric: Fabric, link: Link, near: Sequence[Neighbour]) -> Judged:
    """Judge a link to another switch: one that is not known by its name is known by its port alone."""
    ends = [each for each in near if each.port in (link.peer_port, "")]
    if not near:
        return Judged(State.SILENT)
    if any(same_system(each.name, link.peer) for each in ends):
        return Judged(State.OK)
    known = [each for each in near if fabric.has(each.name)]
    return Judged(State.WRONG, (known or near)[0]) if known or not ends else Judged(State.UNKNOWN, ends[0])


def at_host(fabric: Fabric, host: str, near: Sequence[Neighbour]) -> Judged:
    """Judge a host's port; at one without a host's name anything may be, but for a switch of the fabric."""
    if not near:
        return Judged(State.SILENT)
    if host and any(same_system(each.name, host) for each in near):
        return Judged(State.OK)
    known = [each for each in near if (fabric.has(each.name) if host else fabric.of_system(each.name))]
    if known:
        return Judged(State.WRONG, known[0])
    return Judged(State.UNKNOWN, near[0]) if host else Judged(State.OK)
