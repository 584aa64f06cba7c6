# SPDX-License-Identifier: Apache-2.0
"""How a port treats traffic, as both ends of the relation ``fabric`` say it. Imports no ops."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from converge.shape import Either, InvalidValue, Listing, Named, Record, Whole, Word

STRICT = "strict"
Share = int | Literal["strict"]
"""Of a traffic class: percent of the bandwidth, or served before all others."""


@dataclass(frozen=True)
class Marking:
    """How one kind of packet is marked: DSCP 0 to 63, and the priority 0 to 7 that it maps to."""

    dscp: int
    priority: int

    def __post_init__(self) -> None:
        MARKING.check(self)


@dataclass(frozen=True)
class Qos:
    """How a port treats traffic.

    Attributes:
        trust: which marking decides the priority: ``dscp`` or ``pcp``.
        pfc: lossless priorities, ascending; none means lossy.
        roce: the mark of RoCE packets.
        cnp: the mark of congestion notification packets.
        ets: by traffic class, its share. Class N has priority N; priorities without a class of their own are
            in class 0. The percentages total 100.

    """

    trust: str
    pfc: tuple[int, ...]
    roce: Marking
    cnp: Marking
    ets: Mapping[int, Share]

    def __post_init__(self) -> None:
        QOS.check(self)
        if tuple(sorted(set(self.pfc))) != self.pfc:
            raise InvalidValue("pfc", list(self.pfc), "each lossless priority once, in ascending order")
        percent = [share for share in self.ets.values() if share != STRICT]
        if 0 not in self.ets or (percent and sum(percent) != 100):
            shown = {str(tc): share for tc, share in self.ets.items()}
            raise InvalidValue("ets", shown, "a share for class 0, and percentages that total 100")


class _TrafficClass:
    """The number of a traffic class; as a key of a JSON object it is text."""

    allowed = "a traffic class from 0 to 7"

    def read(self, where: str, value: object) -> int:
        number = int(str(value)) if value in tuple("01234567") else value
        return Whole(0, 7, "a traffic class").read(where, number)

    def schema(self) -> dict[str, Any]:
        return {"enum": list("01234567")}


PRIORITY = Whole(0, 7)
MARKING = Record(
    Marking, {"dscp": Whole(0, 63), "priority": PRIORITY}, required=["dscp", "priority"], lenient=True
)
SHARE = Either[Any]({int: Whole(1, 100), str: Word((STRICT,))})
QOS = Record(
    Qos,
    {
        "trust": Word(("dscp", "pcp")),
        "pfc": Listing(PRIORITY, "priorities"),
        "roce": MARKING,
        "cnp": MARKING,
        "ets": Named(_TrafficClass(), SHARE, "traffic classes and their shares"),
    },
    required=["trust", "pfc", "roce", "cnp", "ets"],
    lenient=True,
)
