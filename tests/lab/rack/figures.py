# SPDX-License-Identifier: Apache-2.0
"""The RDG's figures beside the rack's: its command and what it printed, ours and what that prints."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

TITLE = "The RDG's acceptance set: emulated, not a performance claim"
WHY = (
    "The rack's processors are emulated and shared by all machines, its NIC forwards in the kernel, and its "
    "cables are sockets of one host: the figures say that it works, not how fast a NIC is."
)
HEADINGS = ("what", "RDG's command", "RDG's figure", "command here", "figure here")


@dataclass(frozen=True)
class Figure:
    """One measurement, there and here."""

    what: str
    rdg_command: str
    rdg_figure: str
    command: str
    figure: str


def text(figures: Sequence[Figure]) -> Iterator[str]:
    """As the terminal shows it: commands are too long for a table."""
    if figures:
        yield from ("", TITLE, f"  {WHY}")
    for each in figures:
        yield f"  {each.what}"
        yield f"    RDG   {each.rdg_figure}"
        yield f"          {each.rdg_command}"
        yield f"    here  {each.figure}"
        yield f"          {each.command}"
