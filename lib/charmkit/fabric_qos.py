# SPDX-License-Identifier: Apache-2.0
"""How a port treats traffic, as both ends of the relation ``fabric`` say it. Imports no ops."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from charmkit import fabric_checks as check
from charmkit.fabric_checks import FabricError

STRICT = "strict"
Share = int | Literal["strict"]
"""Of a traffic class: percent of the bandwidth, or served before all others."""


@dataclass(frozen=True)
class Marking:
    """How one kind of packet is marked: DSCP 0 to 63, and the priority 0 to 7 that it maps to."""

    dscp: int
    priority: int

    def __post_init__(self) -> None:
        check.whole("dscp", self.dscp, 0, 63)
        check.whole("priority", self.priority, 0, 7)


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
        check.word("trust", self.trust, ("dscp", "pcp"))
        for index, priority in enumerate(self.pfc):
            check.whole(f"pfc[{index}]", priority, 0, 7)
        if tuple(sorted(set(self.pfc))) != self.pfc:
            raise FabricError("pfc", list(self.pfc), "each lossless priority once, in ascending order")
        for tc, share in self.ets.items():
            check.whole("ets", tc, 0, 7)
            if share != STRICT:
                check.whole(f"ets.{tc}", share, 1, 100, f' or "{STRICT}"')
        percent = [share for share in self.ets.values() if share != STRICT]
        if 0 not in self.ets or (percent and sum(percent) != 100):
            shown = {str(tc): share for tc, share in self.ets.items()}
            raise FabricError("ets", shown, "a share for class 0, and percentages that total 100")

    @staticmethod
    def from_plain(raw: object) -> "Qos":
        """Read it out of JSON that was loaded already.

        Raises:
            FabricError: see there.

        """
        item = check.an_object("", raw)
        ets: dict[int, Share] = {}
        for tc, share in check.an_object("ets", item.get("ets")).items():
            if tc not in tuple("01234567"):
                raise FabricError("ets", tc, "traffic classes 0 to 7")
            ets[int(tc)] = cast("Share", share)
        return Qos(
            trust=cast("str", item.get("trust")),
            pfc=cast("tuple[int, ...]", tuple(check.a_list("pfc", item.get("pfc")))),
            roce=check.within("roce", item.get("roce"), _marking),
            cnp=check.within("cnp", item.get("cnp"), _marking),
            ets=ets,
        )


def _marking(raw: object) -> Marking:
    item = cast("dict[str, Any]", check.an_object("", raw))
    return Marking(cast("int", item.get("dscp")), cast("int", item.get("priority")))
