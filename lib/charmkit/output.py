# SPDX-License-Identifier: Apache-2.0
"""Output that is the same for all charms: tables, and the sentence on the next event. Does not import ops."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from converge.render import table

from charmkit.options import check, option

MOST = 100_000
"""Bytes of an action's result. It becomes an argument of ``action-set``, and Linux takes 128 KiB at most."""

_END = 4
"""Lines at the end of a table that is cut."""

NEXT_HOOK = "the next hook of the charm does it"


@dataclass(frozen=True)
class Output:
    """The parameter of actions that print a table."""

    format: str = option("table", choices=("table", "json"))

    def __post_init__(self) -> None:
        check(self)


class Table(NamedTuple):
    """Rows with the same keys; ``nothing`` is printed when there is none."""

    rows: Sequence[Mapping[str, str]]
    nothing: str

    def text(self) -> str:
        """Columns as wide as their widest cell."""
        if not self.rows:
            return self.nothing
        return table(list(self.rows[0]), [list(row.values()) for row in self.rows])

    def shown(self, style: str) -> str:
        """Return the rows as ``format`` of :class:`Output` asks: a table for people, JSON for programs."""
        return json.dumps(self.rows) if style == "json" else self.text()


def shortened(text: str, whole: str) -> str:
    """A table that Juju takes, by leaving out lines before the last ones, which may be a wrapped digest."""
    lines = text.split("\n")
    lines, last = lines[:-_END], "\n".join(lines[-_END:])
    why = f"more lines, since Juju takes {MOST} bytes{f'; {whole}' if whole else ''}"
    room, kept = MOST - len(f"… {len(lines)} {why}\n{last}\n".encode()), 0
    for line in lines:
        room -= len(line.encode()) + 1
        kept += room >= 0
    return "\n".join([*lines[:kept], f"… {len(lines) - kept} {why}", last])


def beginning(text: str) -> str:
    """Cut a sentence to what Juju takes: it becomes an argument of ``action-fail`` or ``action-set``."""
    whole, end = text.encode(), "…"
    return text if len(whole) <= MOST else whole[: MOST - len(end.encode())].decode(errors="ignore") + end
