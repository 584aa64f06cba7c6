# SPDX-License-Identifier: Apache-2.0
"""The cables as a table, what is wrong first, and as JSON. Pure."""

import json
from collections import Counter
from collections.abc import Sequence

from cables.judged import State
from cables.rows import Cable
from converge.render import cut_table

HEADS = ("state", "switch", "port", "intent", "seen", "module", "link")
NEXT = "cables --all shows them"


def ordered(found: Sequence[Cable]) -> list[Cable]:
    """The cables that need somebody's hand first, and then as the fabric is listed."""
    order = [*State]
    return sorted(found, key=lambda each: order.index(each.state))


def as_table(found: Sequence[Cable], most: int | None = None) -> str:
    """A row for each cable, and how many there are of each state."""
    rows = [
        (each.state.value, each.switch, *(part or "-" for part in (each.port, *each[2:4], *each[5:])))
        for each in ordered(found)
    ]
    counted = Counter(each.state for each in found)
    counts = ", ".join(f"{counted[state]} {state.value}" for state in State if counted[state])
    return f"{cut_table(HEADS, rows, most, 'cables', NEXT)}\n\n{counts or 'the intent has no cables'}"


def as_json(found: Sequence[Cable]) -> str:
    """A list of objects, one for each cable."""
    return json.dumps([{**each._asdict(), "state": each.state.value} for each in ordered(found)], indent=2)


def well(found: Sequence[Cable]) -> bool:
    """Whether no cable goes elsewhere than the intent says, and every switch was read."""
    return all(each.state not in (State.WRONG, State.NOT_READ) for each in found)
