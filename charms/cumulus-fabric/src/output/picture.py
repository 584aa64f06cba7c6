# SPDX-License-Identifier: Apache-2.0
"""The fabric as an SVG picture: spines above, racks below, hosts between the leaves they connect to. Pure.

Each leaf is a column down its rack. A host is a row across the columns of its leaves; dots are its ports.
With health, colours show the worst finding of a switch, link or port. A dashed leg, with a word beside it, is
one that an apply would take.
"""

from collections.abc import Iterator, Sequence
from html import escape

from converge import Severity
from intent import ports
from intent.attach import PROVIDER_VLANS
from intent.model import Bond, Fabric, Link, Role, Switch, SwitchPort

from output.tables import NO_TOLL, Health, Toll, attached

INK, QUIET, PAPER, BAND = "#1f2933", "#616e7c", "#ffffff", "#f0f4f8"
SPINE, LEAF, HOST, WIRE = "#243b53", "#486581", "#d9e2ec", "#829ab1"
COLOURS = {
    Severity.INFO: "#2e7d32",
    Severity.WARNING: "#d99000",
    Severity.HELD: "#1565c0",
    Severity.WAITING: "#8e24aa",
    Severity.BLOCKED: "#c62828",
}
LEGEND = {Severity.INFO: "as intended", **{s: s.name.lower() for s in COLOURS if s is not Severity.INFO}}

MARGIN, ROW, BOX, SPINES = 24, 24, 40, 76
"""Pixels; SPINES is from the top to the middle of the spines' boxes."""

MAX_LABELLED_LEAVES = 8
"""Leaves up to which ports are labelled and columns are wide."""


def as_svg(fabric: Fabric, health: Health | None = None, toll: Toll = NO_TOLL) -> str:
    """The picture as an SVG document, with colours for health, and the legs that an apply takes, if given."""
    return "\n".join(_Picture(fabric, health, toll).document()) + "\n"


class _Picture:
    def __init__(self, fabric: Fabric, health: Health | None, toll: Toll) -> None:
        self.fabric, self.health, self.toll = fabric, health, toll
        leaves = fabric.by_role(Role.LEAF)
        self.roomy = len(leaves) <= MAX_LABELLED_LEAVES
        self.column = 150 if self.roomy else 80
        self.leaves = SPINES + (150 if self.roomy else 300)
        self.gap = 44 if self.roomy else 16
        self.leaf_x: dict[str, float] = {}
        x = MARGIN + 8
        for rack in fabric.racks:
            for leaf in rack:
                self.leaf_x[leaf.name] = x + self.column / 2
                x += self.column
            x += self.gap
        spines = fabric.by_role(Role.SPINE)
        standalone = len(fabric.by_role(Role.STANDALONE))
        self.spine_step = 160 if self.roomy else 120
        self.width = max(x - self.gap + MARGIN + 8, len(spines) * self.spine_step, standalone * 240, 640)
        first = self.width / 2 - (len(spines) - 1) * self.spine_step / 2
        self.spine_x = {spine.name: first + n * self.spine_step for n, spine in enumerate(spines)}
        self.ends: dict[tuple[str, str], float] = {}
        for switch in (*spines, *leaves):
            middle = (self.spine_x | self.leaf_x)[switch.name]
            step = 2 * self._half(switch) / (len(switch.links) or 1)
            for number, link in enumerate(switch.links):
                self.ends[switch.name, link.port] = middle - self._half(switch) + step * (number + 0.5)
        rows = max((len(attached(rack)) for rack in fabric.racks), default=0)
        self.bottom = (self.leaves + BOX / 2 + 38 + rows * ROW) if leaves else SPINES - BOX / 2

    def document(self) -> Iterator[str]:
        height = self.bottom + (90 if self.fabric.by_role(Role.STANDALONE) else 0) + 58
        size = f'viewBox="0 0 {self.width:g} {height:g}" width="{self.width:g}" height="{height:g}"'
        font = 'font-family="DejaVu Sans, Verdana, sans-serif" font-size="11"'
        yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>'
        yield f"<title>Fabric {escape(self.fabric.name, quote=False)}</title>"
        yield f'<rect width="{self.width:g}" height="{height:g}" fill="{PAPER}"/>'
        yield from self._heading()
        for rack in self.fabric.racks:
            yield self._band(rack)
        for leaf in self.fabric.by_role(Role.LEAF):
            yield from self._links(leaf)
        for spine in self.fabric.by_role(Role.SPINE):
            yield from self._switch(spine, self.spine_x[spine.name], SPINES, SPINE)
        for rack in self.fabric.racks:
            yield from self._rack(rack)
        for number, switch in enumerate(self.fabric.by_role(Role.STANDALONE)):
            yield from self._standalone(switch, MARGIN + 110 + number * 240)
        if self.health is not None:
            yield from self._legend(height - 18)
        yield "</svg>"

    def _heading(self) -> Iterator[str]:
        roce = self.fabric.roce
        mode = f"RoCE {roce.mode}, priority {roce.priority}" if roce.mode != "off" else "no RoCE"
        yield _text(MARGIN, 24, f"Fabric {self.fabric.name}", size=15, bold=True, anchor="start")
        told = f"MTU {self.fabric.mtu.host} for hosts, {self.fabric.mtu.fabric} between switches; {mode}"
        yield _text(MARGIN, 42, told, colour=QUIET, anchor="start")
        names = [f"{n.name} {n.vlan}" for n in self.fabric.networks if not n.provider]
        if provider := [str(n.vlan) for n in self.fabric.networks if n.provider]:
            names.append(f"{PROVIDER_VLANS} {ports.compact(provider)}")
        networks = " · ".join(names)
        yield _text(MARGIN, self.bottom + 22, f"VLANs: {networks}", colour=QUIET, anchor="start")

    def _band(self, rack: Sequence[Switch]) -> str:
        left = self.leaf_x[rack[0].name] - self.column / 2 - 4
        top = self.leaves - BOX / 2 - 10
        width = len(rack) * self.column + 8
        label = _text(left + width / 2, self.bottom - 9, f"rack {rack[0].rack}", colour=QUIET)
        shape = f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{self.bottom - top:g}" rx="6"'
        return f'{shape} fill="{BAND}"/>{label}'

    def _links(self, leaf: Switch) -> Iterator[str]:
        labels: list[str] = []
        for link in leaf.links:
            ends = (f"{leaf.name} {link.port}", f"{link.peer} {link.peer_port}")
            colour = self._colour(WIRE, *ends)
            strong = 1.6 if self.roomy or colour not in (WIRE, COLOURS[Severity.INFO]) else 0.6
            if link.peer not in self.spine_x:
                yield from self._between(leaf, link, colour)
                continue
            x, y = self.ends[leaf.name, link.port], self.leaves - BOX / 2
            far_x, far_y = self.ends[link.peer, link.peer_port], SPINES + BOX / 2
            yield _line(x, y, far_x, far_y, colour, strong, f"{ends[0]} to {ends[1]}")
            for at, name in (((x, y - 5), link.port), ((far_x, far_y + 11), link.peer_port)):
                labels.append(_text(*at, name, colour=QUIET, size=8, halo=True))
        if self.roomy:
            yield from labels

    def _between(self, leaf: Switch, link: Link, colour: str) -> Iterator[str]:
        """A link between two leaves, drawn once, from side to side."""
        x, far_x = self.leaf_x[leaf.name] + self._half(leaf), self.leaf_x[link.peer] - self._half(leaf)
        if x < far_x:
            step = BOX / (len(leaf.links) + 1)
            y = self.leaves - BOX / 2 + step * (1 + leaf.links.index(link))
            title = f"{leaf.name} {link.port} to {link.peer} {link.peer_port}"
            yield _line(x, y, far_x, y, colour, 1.6, title)

    def _half(self, switch: Switch) -> float:
        """Half the width of a switch's box."""
        return 62 if self.roomy else 37 if switch.role is Role.LEAF else 52

    def _rack(self, rack: Sequence[Switch]) -> Iterator[str]:
        hanging = attached(tuple(rack))
        last = self.leaves + BOX / 2 + 6 + len(hanging) * ROW
        for leaf in rack:
            x = self.leaf_x[leaf.name]
            if hanging:
                yield _line(x, self.leaves, x, last - ROW / 2 + 4, LEAF, 3, leaf.name)
            yield from self._switch(leaf, x, self.leaves, LEAF)
        for number, port in enumerate(hanging.values()):
            yield from self._host(rack, port, self.leaves + BOX / 2 + 18 + number * ROW)

    def _host(self, rack: Sequence[Switch], port: SwitchPort, y: float) -> Iterator[str]:
        """One row: the host's box in the middle of the rack, and a line to each of its leaves."""
        middle = (self.leaf_x[rack[0].name] + self.leaf_x[rack[-1].name]) / 2
        half = (len(rack) - 1) * self.column / 2 - 12 if len(rack) > 1 else self.column / 2 - 12
        dots: list[str] = []
        for leaf in rack:
            bond = leaf.bond(port.name) if isinstance(port, Bond) else None
            single = bond is None and port in leaf.single_homed
            if bond is None and not single:
                continue
            names = bond.members if bond else (port.name,)
            colour = self._colour(LEAF, *(f"{leaf.name} {name}" for name in {*names, port.name}))
            x = self.leaf_x[leaf.name]
            lost = self.toll.get(f"{leaf.name} {port.name}", "")
            title = f"{leaf.name} {', '.join(names)}" + (f": {lost} with apply" if lost else "")
            yield _line(x, y, middle, y, colour, 1.6, title, dashed=bool(lost))
            dots.append(f'<circle cx="{x:g}" cy="{y:g}" r="4.5" fill="{colour}" stroke="{PAPER}"/>')
            if self.roomy:
                outer = x - 9 if x < middle else x + 9
                anchor = "end" if x < middle else "start"
                shown = " · ".join(filter(None, (",".join(names), lost)))
                dots.append(_text(outer, y + 4, shown, size=9, colour=QUIET, anchor=anchor))
        left, top = middle - half, y - ROW / 2 + 3
        yield f'<rect x="{left:g}" y="{top:g}" width="{2 * half:g}" height="{ROW - 6}" rx="3" fill="{HOST}"/>'
        label = port.host or port.name
        yield _text(middle, y + 4, label if self.roomy else label[:9], size=11 if self.roomy else 9)
        yield from dots

    def _switch(self, switch: Switch, x: float, y: float, usual: str) -> Iterator[str]:
        half = self._half(switch)
        colour = self._colour(usual, switch.name)
        box = f'x="{x - half:g}" y="{y - BOX / 2:g}" width="{2 * half:g}" height="{BOX}"'
        yield f'<rect {box} rx="5" fill="{colour}"/>'
        yield _text(x, y - 4, switch.name, colour=PAPER, bold=True, size=12 if self.roomy else 10)
        told = f"AS {switch.asn}" if not self.roomy else f"AS {switch.asn} · {switch.loopback}"
        yield _text(x, y + 12, told, colour=PAPER, size=8.5)

    def _standalone(self, switch: Switch, x: float) -> Iterator[str]:
        y = self.bottom + 70
        box = f'x="{x - 100:g}" y="{y - BOX / 2:g}" width="200" height="{BOX}"'
        yield f'<rect {box} rx="5" fill="{self._colour(LEAF, switch.name)}"/>'
        yield _text(x, y - 4, switch.name, colour=PAPER, bold=True, size=12)
        told = f"{switch.platform}, {len(switch.single_homed)} ports, RoCE {switch.roce}"
        yield _text(x, y + 12, told, colour=PAPER, size=9)

    def _legend(self, y: float) -> Iterator[str]:
        for number, (severity, word) in enumerate(LEGEND.items()):
            x = MARGIN + number * 105
            yield f'<circle cx="{x + 5:g}" cy="{y - 4:g}" r="5" fill="{COLOURS[severity]}"/>'
            yield _text(x + 15, y, word, colour=QUIET, anchor="start")
        if self.toll:
            x = MARGIN + len(LEGEND) * 105
            yield _line(x, y - 4, x + 24, y - 4, LEAF, 1.6, "", dashed=True)
            yield _text(x + 30, y, "leg that apply takes", colour=QUIET, anchor="start")

    def _colour(self, usual: str, *subjects: str) -> str:
        if self.health is None:
            return usual
        found = [self.health[subject] for subject in subjects if subject in self.health]
        return COLOURS[max(found, default=Severity.INFO)]


def _text(
    x: float,
    y: float,
    text: str,
    *,
    colour: str = INK,
    size: float = 11,
    bold: bool = False,
    anchor: str = "middle",
    halo: bool = False,
) -> str:
    """Text; with a ``halo`` it can be read on top of a cable."""
    weight = ' font-weight="bold"' if bold else ""
    place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size:g}"{weight} fill="{colour}"'
    place += f' stroke="{PAPER}" stroke-width="3" paint-order="stroke"' if halo else ""
    return f"<text {place}>{escape(text, quote=False)}</text>"


def _line(
    x: float,
    y: float,
    far_x: float,
    far_y: float,
    colour: str,
    width: float,
    title: str,
    *,
    dashed: bool = False,
) -> str:
    ends = f'x1="{x:g}" y1="{y:g}" x2="{far_x:g}" y2="{far_y:g}"'
    dashes = ' stroke-dasharray="3 3"' if dashed else ""
    line = f'<line {ends} stroke="{colour}" stroke-width="{width:g}"{dashes}>'
    return f"{line}<title>{escape(title, quote=False)}</title></line>"
