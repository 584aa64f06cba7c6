# SPDX-License-Identifier: Apache-2.0
"""A picture of a fabric with many racks: a tile for each, and its cables to the spines as one bundle. Pure.

In a tile, each host is a pair of halves: one for its leg to each leaf. What is not as intended has its name
below.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from converge import Severity
from intent import ports
from intent.model import Bond, Role, Switch, SwitchPort

from output.svg import (
    BAND,
    COLOURS,
    INK,
    LEAF,
    MARGIN,
    PAPER,
    QUIET,
    SPINE,
    UNUSED,
    WIRE,
    box,
    document,
    heading,
    host_name,
    legend,
    line,
    shade,
    short,
    text,
)
from output.told import Told, attached

TILE, GAP, INSET, ACROSS = 172, 16, 8, 8
"""Pixels: a tile, between tiles, inside its edge; and how many tiles a row has."""
HALF, CELL, TALL = 8, 19, 15
"""Pixels: the half of a host, from host to host, and from row to row."""
SPINE_BOX, SPINE_STEP = 92, 100
LINE, NAMED = 12, 5
"""Pixels of a line of text, and how many lines name what is wrong in a rack."""
BUNDLE = 34
"""Pixels above a row of tiles, for the bundles of cables."""


class Rack(NamedTuple):
    """The things that a tile shows of a rack."""

    leaves: Sequence[Switch]
    hosts: Sequence[SwitchPort]
    wrong: Sequence[str]  # in words, the worst first
    height: float


def as_svg(told: Told) -> str:
    """The picture as an SVG document."""
    racks = [_read(told, rack) for rack in told.fabric.racks]
    across = min(ACROSS, len(racks))
    width = max(2 * MARGIN + 12 + across * (TILE + GAP) - GAP, 640)
    return document(told.fabric.name, width, *_laid_out(told, racks, across, width))


def _laid_out(told: Told, racks: Sequence[Rack], across: int, width: float) -> tuple[float, Iterator[str]]:
    """The height, and all parts."""
    spines, y = _spines(told, width)
    drawn = [*heading(told, width), *spines]
    trunk = y
    for first in range(0, len(racks), across):
        row = racks[first : first + across]
        bus = y + 12
        drawn.append(line(MARGIN + 4, bus, _left(len(row) - 1) + TILE / 2, bus, WIRE, 2, "all spines"))
        y += BUNDLE
        for number, rack in enumerate(row):
            drawn += _bundle(told, rack, _left(number) + TILE / 2, bus, y)
            drawn += _tile(told, rack, _left(number), y, max(each.height for each in row))
        trunk = bus
        y += max(each.height for each in row) + 6
    drawn.insert(0, line(MARGIN + 4, 70, MARGIN + 4, trunk, WIRE, 4, "the spines' cables"))
    for number, switch in enumerate(told.fabric.by_role(Role.STANDALONE)):
        name = f"{switch.name}: {switch.platform}, {len(switch.single_homed)} ports {told.state(switch.name)}"
        drawn.append(text(MARGIN, y + 20 + number * 16, name, anchor="start"))
    y += 16 * len(told.fabric.by_role(Role.STANDALONE))
    return y + 36, iter([*drawn, *legend(told, y + 24)])


def _left(number: int) -> float:
    return MARGIN + 12 + number * (TILE + GAP)


def _read(told: Told, leaves: Sequence[Switch]) -> Rack:
    hosts = [*attached(tuple(leaves)).values()]
    wrong = [words for _, words in sorted(_wrong(told, leaves), key=lambda each: -each[0])]
    if len(wrong) > NAMED:
        wrong = [*wrong[: NAMED - 1], f"and {len(wrong) - NAMED + 1} more"]
    lines = -(-len(hosts) // ((TILE - 2 * INSET) // CELL))
    height = 22 + 22 * len(leaves) + TALL * lines + LINE * (1 + len(wrong)) + 10
    return Rack(leaves, hosts, wrong, height)


def _wrong(told: Told, leaves: Sequence[Switch]) -> Iterator[tuple[Severity, str]]:
    """All that is not as intended, or goes with an apply, at these leaves."""
    for leaf in leaves:
        links: dict[Severity, list[str]] = {}
        for link in leaf.links:
            worst = told.worst(f"{leaf.name} {link.port}", f"{link.peer} {link.peer_port}")
            links.setdefault(worst, []).append(link.port)
        for worst, names in links.items():
            if worst > Severity.INFO:
                yield worst, f"{leaf.name} {ports.compact(names)}: {worst.name.lower()}"
        for port in (*leaf.bonds, *leaf.single_homed):
            here, name = _subjects(leaf, port), host_name(told, leaf, port)
            if word := told.word(*here):
                yield told.worst(*here), f"{name} at {leaf.name}: {word}"
            if lost := told.toll.get(f"{leaf.name} {port.name}"):
                yield Severity.INFO, f"{name} at {leaf.name}: {lost}"


def _subjects(leaf: Switch, port: SwitchPort) -> list[str]:
    bond = leaf.bond(port.name) if isinstance(port, Bond) else None
    return [f"{leaf.name} {name}" for name in (port.name, *(bond.members if bond else ()))]


def _spines(told: Told, width: float) -> tuple[list[str], float]:
    """The spines' boxes, and the end of the last row."""
    drawn, a_row = list[str](), int((width - 2 * MARGIN - 12) // SPINE_STEP)
    spines = told.fabric.by_role(Role.SPINE)
    for number, spine in enumerate(spines):
        x, y = MARGIN + 12 + number % a_row * SPINE_STEP, 72 + number // a_row * 40
        drawn += _switch(told, spine, (x, y, SPINE_BOX, 32), SPINE)
    return drawn, 72 + 40 * -(-len(spines) // a_row)


def _switch(
    told: Told, switch: Switch, place: tuple[float, float, float, float], usual: str
) -> Iterator[str]:
    x, y, width, height = place
    unused, state = switch.name in told.drained, told.state(switch.name)
    colour = shade(told, usual, switch.name)
    ink = INK if unused else PAPER
    edge = (colour if told.word(switch.name) else QUIET) if unused else ""
    yield box(x, y, width, height, PAPER if unused else colour, stroke=edge, dashed=unused)
    about = state or f"AS {switch.asn}"
    if height > 24:
        yield text(x + width / 2, y + 14, short(switch.name, 13), colour=ink, size=10, bold=True)
        yield text(x + width / 2, y + 26, short(about, 16), colour=ink, size=8.5, bold=bool(state))
    else:
        yield text(x + 6, y + 13, short(switch.name, 13), colour=ink, size=10, bold=True, anchor="start")
        yield text(
            x + width - 6, y + 13, short(about, 14), colour=ink, size=8.5, bold=bool(state), anchor="end"
        )


def _bundle(told: Told, rack: Rack, x: float, top: float, bottom: float) -> Iterator[str]:
    """All cables of a rack's leaves to other switches: one line, and how many are as intended."""
    ends = [
        (f"{leaf.name} {link.port}", f"{link.peer} {link.peer_port}")
        for leaf in rack.leaves
        for link in leaf.links
    ]
    severities = [told.worst(*pair) for pair in ends]
    good = severities.count(Severity.INFO)
    worst = max(severities, default=Severity.INFO)
    count = f"{len(ends)} links" if good == len(ends) else f"{good} of {len(ends)} links"
    colour = WIRE if told.health is None else COLOURS[worst]
    title = f"{count} of {ports.compact(leaf.name for leaf in rack.leaves)}"
    yield line(x, top, x, bottom, colour, min(2 + len(ends) / 12, 8), title)
    word = "" if worst is Severity.INFO else f", {worst.name.lower()}"
    yield text(x + 8, bottom - 6, count + word, size=9, colour=colour if word else QUIET, anchor="start")


def _tile(told: Told, rack: Rack, x: float, y: float, height: float) -> Iterator[str]:
    yield box(x, y, TILE, height, BAND)
    names = ports.compact(host_name(told, rack.leaves[0], port) for port in rack.hosts)
    yield text(x + INSET, y + 15, f"rack {rack.leaves[0].rack}", bold=True, anchor="start")
    yield text(x + TILE - INSET, y + 15, f"{len(rack.hosts)} hosts", size=9, colour=QUIET, anchor="end")
    at = y + 22
    for leaf in rack.leaves:
        yield from _switch(told, leaf, (x + INSET, at, TILE - 2 * INSET, 18), LEAF)
        at += 22
    a_row = (TILE - 2 * INSET) // CELL
    for number, port in enumerate(rack.hosts):
        yield from _host(
            told, rack.leaves, port, x + INSET + number % a_row * CELL, at + number // a_row * TALL
        )
    at += TALL * -(-len(rack.hosts) // a_row) + LINE - 2
    yield text(x + INSET, at, short(names, 29), size=9, colour=QUIET, anchor="start")
    for number, words in enumerate(rack.wrong, 1):
        yield text(x + INSET, at + number * LINE, short(words, 31), size=8.5, anchor="start")


def _host(told: Told, leaves: Sequence[Switch], port: SwitchPort, x: float, y: float) -> Iterator[str]:
    """A half for each leg, in the order of the leaves; narrower ones where a rack has more than two."""
    wide = 2 * HALF / max(len(leaves), 2)
    for number, leaf in enumerate(leaves):
        if port not in leaf.single_homed and not (isinstance(port, Bond) and leaf.bond(port.name)):
            continue
        here = _subjects(leaf, port)
        unused, lost = leaf.name in told.drained, told.toll.get(here[0], "")
        colour = UNUSED if unused else shade(told, LEAF, *here)
        left = x + number * wide
        about = f"{host_name(told, leaf, port)} at {', '.join(here[1:] or here)}"
        about += f": {lost} with apply" if lost else ""
        hollow = unused or bool(lost)
        fill, edge = (PAPER, colour) if hollow else (colour, "")
        yield box(left, y, wide - 1, 12, fill, stroke=edge, dashed=bool(lost), title=about)
        if word := told.word(*here):
            ink = colour if hollow else PAPER
            yield text(left + wide / 2 - 0.5, y + 9, word[0], size=8, bold=True, colour=ink)
