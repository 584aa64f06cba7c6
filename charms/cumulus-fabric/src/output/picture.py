# SPDX-License-Identifier: Apache-2.0
"""The fabric as an SVG picture: spines above, racks below, hosts between the leaves they connect to. Pure.

Each leaf is a column down its rack. A host is a box between the columns of its leaves, with a leg to each:
a dot and the leaf's port at one end, the host's port at the other one where LLDP or the host tells it.
With health, colours and words show the worst finding of a switch, link or leg. A drained switch is an empty
box. A dashed leg, with a word beside it, is one that an apply would take. Ports that the intent has shut say
so. Many racks have `overview`.
"""

from collections.abc import Iterator, Sequence

from intent.model import Bond, Link, Role, Switch, SwitchPort

from output import overview
from output.svg import (
    BAND,
    HOST,
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

HALF, GAP, SPINES = 62, 36, 112
"""Pixels: half a switch's box, between racks, and from the top to the spines' middle."""
LEG = 26
"""Pixels from a leaf's column to the box of a host."""
MAX_LABELLED_LEAVES = 8
"""Leaves up to which each cable and each port is drawn."""


def as_svg(told: Told) -> str:
    """The picture as an SVG document."""
    if len(told.fabric.by_role(Role.LEAF)) > MAX_LABELLED_LEAVES:
        return overview.as_svg(told)
    picture = _Picture(told)
    return document(told.fabric.name, picture.width, picture.height, picture.drawn())


class _Picture:
    def __init__(self, told: Told) -> None:
        self.told, self.fabric = told, told.fabric
        looked = told.health is not None or bool(told.drained)
        self.tall = 52 if looked else 40  # with a line for the state
        # With a line for the host's ports, and one for what is wrong with a leg
        self.row, self.column = (36, 200) if told.ends or told.toll or looked else (24, 176)
        leaves = self.fabric.by_role(Role.LEAF)
        self.leaves = SPINES + 150
        self.leaf_x: dict[str, float] = {}
        x: float = MARGIN + 8
        for rack in self.fabric.racks:
            for number, leaf in enumerate(rack):
                self.leaf_x[leaf.name] = x + (number + 0.5) * self.column
            x += self._width(rack) + GAP
        spines = self.fabric.by_role(Role.SPINE)
        standalone = len(self.fabric.by_role(Role.STANDALONE))
        self.width = max(x - GAP + MARGIN + 8, len(spines) * 160, standalone * 240, 640)
        first = self.width / 2 - (len(spines) - 1) * 80
        self.spine_x = {spine.name: first + n * 160 for n, spine in enumerate(spines)}
        self.ends: dict[tuple[str, str], float] = {}
        for switch in (*spines, *leaves):
            middle = (self.spine_x | self.leaf_x)[switch.name]
            step = 2 * HALF / (len(switch.links) or 1)
            for number, link in enumerate(switch.links):
                self.ends[switch.name, link.port] = middle - HALF + step * (number + 0.5)
        rows = max((len(attached(rack)) for rack in self.fabric.racks), default=0)
        self.bottom = (self.leaves + self.tall / 2 + 38 + rows * self.row) if leaves else 70
        self.height = self.bottom + (90 if standalone else 0) + (40 if looked or told.toll else 14)

    def _width(self, rack: Sequence[Switch]) -> float:
        """A rack's width; the hosts of a single leaf stand beside its column."""
        return len(rack) * self.column if len(rack) > 1 else 1.5 * self.column

    def drawn(self) -> Iterator[str]:
        yield from heading(self.told, self.width)
        for rack in self.fabric.racks:
            yield from self._band(rack)
        labels: list[str] = []
        for leaf in self.fabric.by_role(Role.LEAF):
            yield from self._links(leaf, labels)
        for spine in self.fabric.by_role(Role.SPINE):
            yield from self._switch(spine, self.spine_x[spine.name], SPINES, SPINE)
        for rack in self.fabric.racks:
            yield from self._rack(rack)
        yield from labels
        for number, switch in enumerate(self.fabric.by_role(Role.STANDALONE)):
            yield from self._standalone(switch, MARGIN + 110 + number * 240)
        yield from legend(self.told, self.height - 16)

    def _band(self, rack: Sequence[Switch]) -> Iterator[str]:
        left = self.leaf_x[rack[0].name] - self.column / 2 - 4
        top = self.leaves - self.tall / 2 - 10
        width = self._width(rack) + 8
        yield box(left, top, width, self.bottom - top, BAND)
        yield text(left + width / 2, self.bottom - 9, f"rack {rack[0].rack}", colour=QUIET)

    def _links(self, leaf: Switch, labels: list[str]) -> Iterator[str]:
        """The cables of a leaf, and on top of all cables the names of both ends and what is wrong."""
        for link in leaf.links:
            ends = (f"{leaf.name} {link.port}", f"{link.peer} {link.peer_port}")
            unused = leaf.name in self.told.drained or link.peer in self.told.drained
            colour = UNUSED if unused else shade(self.told, WIRE, *ends)
            if link.peer not in self.spine_x:
                yield from self._between(leaf, link, colour)
                continue
            x, y = self.ends[leaf.name, link.port], self.leaves - self.tall / 2
            far_x, far_y = self.ends[link.peer, link.peer_port], SPINES + self.tall / 2
            shut = ": shut" if link.shut else ""
            yield line(x, y, far_x, far_y, colour, 1.6, f"{ends[0]} to {ends[1]}{shut}")
            here = f"{link.port} · shut" if link.shut else link.port
            for at, name in (((x, y - 5), here), ((far_x, far_y + 11), link.peer_port)):
                labels.append(text(*at, name, colour=QUIET, size=8, halo=PAPER))
            if word := self.told.word(*ends):
                at = (x * 3 + far_x) / 4, (y * 3 + far_y) / 4
                labels.append(text(*at, word, colour=colour, size=9, bold=True, halo=PAPER))

    def _between(self, leaf: Switch, link: Link, colour: str) -> Iterator[str]:
        """A link between two leaves, drawn once, from side to side."""
        x, far_x = self.leaf_x[leaf.name] + HALF, self.leaf_x[link.peer] - HALF
        if x < far_x:
            ends = f"{leaf.name} {link.port}", f"{link.peer} {link.peer_port}"
            step = self.tall / (len(leaf.links) + 1)
            y = self.leaves - self.tall / 2 + step * (1 + leaf.links.index(link))
            yield line(x, y, far_x, y, colour, 1.6, f"{ends[0]} to {ends[1]}")
            if word := self.told.word(*ends):
                yield text((x + far_x) / 2, y + 3, word, colour=colour, size=9, bold=True, halo=BAND)

    def _rack(self, rack: Sequence[Switch]) -> Iterator[str]:
        hanging = attached(tuple(rack))
        last = self.leaves + self.tall / 2 + 6 + len(hanging) * self.row
        for leaf in rack:
            x = self.leaf_x[leaf.name]
            if hanging:
                yield line(x, self.leaves, x, last - self.row / 2 + 4, LEAF, 3, leaf.name)
            yield from self._switch(leaf, x, self.leaves, LEAF)
        for number, port in enumerate(hanging.values()):
            yield from self._host(
                rack, port, self.leaves + self.tall / 2 + 18 + (number + 0.5) * self.row - 12
            )

    def _host(self, rack: Sequence[Switch], port: SwitchPort, y: float) -> Iterator[str]:
        """One row: the host's box, and a leg to each of its leaves."""
        left = self.leaf_x[rack[0].name] + LEG
        right = self.leaf_x[rack[-1].name] - LEG if len(rack) > 1 else left + self.column * 0.85
        top, middle = y - self.row / 2 + 3, (left + right) / 2
        yield box(left, top, right - left, self.row - 6, HOST)
        first = next(leaf for leaf in rack if self._members(leaf, port))
        name = host_name(self.told, first, port)
        both = f"{name} · {port.name}" if name != port.name and isinstance(port, Bond) else name
        most = (right - left) / 6.8
        known = [each for leaf in rack for each in self._far(leaf, self._members(leaf, port))]
        label = both if len(both) <= most else short(name, most)
        yield text(middle, y - 2 if known else y + 4, label)
        for leaf in rack:
            if members := self._members(leaf, port):
                yield from self._leg(leaf, port, members, y, (left, right))

    def _members(self, leaf: Switch, port: SwitchPort) -> Sequence[str]:
        """The ports of a leaf that belong to a bond, or the port of a single-homed host; none elsewhere."""
        bond = leaf.bond(port.name) if isinstance(port, Bond) else None
        return bond.members if bond else (port.name,) if port in leaf.single_homed else ()

    def _far(self, leaf: Switch, names: Sequence[str]) -> list[str]:
        """The host's ports at the other ends of these, as far as they are told."""
        known = (self.told.ends.get(f"{leaf.name} {name}") for name in names)
        return [each.port for each in known if each and each.port]

    def _leg(
        self, leaf: Switch, port: SwitchPort, names: Sequence[str], y: float, edges: tuple[float, float]
    ) -> Iterator[str]:
        """From a leaf's column to the side of a host's box."""
        told, x, (left, right) = self.told, self.leaf_x[leaf.name], edges
        subjects = [f"{leaf.name} {name}" for name in {*names, port.name}]
        colour = UNUSED if leaf.name in told.drained else shade(told, LEAF, *subjects)
        lost = told.toll.get(f"{leaf.name} {port.name}", "")
        shut = "shut" if leaf.shuts(names) else ""
        about = ", ".join(filter(None, (shut, f"{lost} with apply" if lost else "")))
        title = f"{leaf.name} {', '.join(names)}{f': {about}' if about else ''}"
        side = left if x < left else right if x > right else x
        yield line(x, y, side, y, colour, 2.4, title, dashed=bool(lost))
        yield f'<circle cx="{x:g}" cy="{y:g}" r="4.5" fill="{colour}" stroke="{PAPER}"/>'
        anchor, outer = ("end", x - 9) if side == left else ("start", x + 9)
        word = told.word(*subjects)
        said = " · ".join(filter(None, (word, shut, lost)))
        most, at = (self.column / 2 - 12) / 5.2, y - 2 if said else y + 4
        yield text(outer, at, short(",".join(names), most), size=9, colour=QUIET, anchor=anchor)
        if said:
            ink = colour if word else QUIET
            yield text(outer, y + 9, short(said, most), size=9, colour=ink, anchor=anchor, bold=bool(word))
        if side != x and (far := self._far(leaf, names)):
            inner = ("start", side + 5) if side == left else ("end", side - 5)
            yield text(inner[1], y + 11, short(",".join(far), 14), size=8, colour=QUIET, anchor=inner[0])

    def _switch(self, switch: Switch, x: float, y: float, usual: str) -> Iterator[str]:
        told = self.told
        unused = switch.name in told.drained
        colour = shade(told, usual, switch.name)
        fill, ink = (PAPER, INK) if unused else (colour, PAPER)
        edge = colour if told.word(switch.name) else QUIET
        top = y - self.tall / 2
        yield box(x - HALF, top, 2 * HALF, self.tall, fill, stroke=edge if unused else "", dashed=unused)
        yield text(x, top + 16, switch.name, colour=ink, bold=True, size=12)
        yield text(x, top + 31, f"AS {switch.asn} · {switch.loopback}", colour=ink, size=8.5)
        if state := told.state(switch.name):
            yield text(x, top + 45, state, colour=ink, size=10, bold=True)

    def _standalone(self, switch: Switch, x: float) -> Iterator[str]:
        top = self.bottom + 36
        yield box(x - 100, top, 200, self.tall, shade(self.told, LEAF, switch.name))
        yield text(x, top + 16, switch.name, colour=PAPER, bold=True, size=12)
        about = f"{switch.platform}, {len(switch.single_homed)} ports, RoCE {switch.roce}"
        yield text(x, top + 31, about, colour=PAPER, size=9)
        if state := self.told.state(switch.name):
            yield text(x, top + 45, state, colour=PAPER, size=10, bold=True)
