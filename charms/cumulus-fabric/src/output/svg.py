# SPDX-License-Identifier: Apache-2.0
"""The shapes, colours and words of the fabric's picture. Pure.

A colour never tells alone: what it is about has the severity's word, or its first letter, beside it.
"""

from collections.abc import Iterator
from html import escape

from converge import Severity
from intent import ports
from intent.attach import PROVIDER_VLANS
from intent.model import Switch, SwitchPort

from output.told import Told

INK, QUIET, PAPER, BAND = "#1f2933", "#52606d", "#ffffff", "#f0f4f8"
SPINE, LEAF, HOST, WIRE, UNUSED = "#243b53", "#486581", "#d9e2ec", "#829ab1", "#9fb3c8"
COLOURS = {
    Severity.INFO: "#2e7d32",
    Severity.WARNING: "#b26a00",
    Severity.HELD: "#1565c0",
    Severity.WAITING: "#8e24aa",
    Severity.BLOCKED: "#c62828",
}
MARGIN = 24


def shade(told: Told, usual: str, *subjects: str) -> str:
    """The colour of the worst finding about any of these, the usual one if nobody has looked."""
    return usual if told.health is None else COLOURS[told.worst(*subjects)]


def host_name(told: Told, switch: Switch, port: SwitchPort) -> str:
    """Who is at a port, as far as anybody knows; else the name of the bond or port."""
    return told.host(switch, port) or port.name


def heading(told: Told, width: float) -> Iterator[str]:
    """The fabric's name, its MTUs and RoCE, and the VLANs; 66 pixels high."""
    fabric, roce = told.fabric, told.fabric.roce
    mode = f"RoCE {roce.mode}, priority {roce.priority}" if roce.mode != "off" else "no RoCE"
    names = [f"{n.name} {n.vlan}" for n in fabric.networks if not n.provider]
    if provider := [str(n.vlan) for n in fabric.networks if n.provider]:
        names.append(f"{PROVIDER_VLANS} {ports.compact(provider)}")
    about = f"MTU {fabric.mtu.host} for hosts, {fabric.mtu.fabric} between switches; {mode}"
    yield text(MARGIN, 24, f"Fabric {fabric.name}", size=15, bold=True, anchor="start")
    yield text(MARGIN, 42, about, colour=QUIET, anchor="start")
    vlans = short(f"VLANs: {' · '.join(names)}", (width - 2 * MARGIN) / 6.4)
    yield text(MARGIN, 58, vlans, colour=QUIET, anchor="start")


def legend(told: Told, y: float) -> Iterator[str]:
    """The meaning of the colours and dashes that the picture has."""
    x: float = MARGIN
    worst = {Severity.INFO, *(told.health or {}).values()}
    for severity in sorted(worst) if told.health is not None else ():
        word = "as intended" if severity is Severity.INFO else severity.name.lower()
        yield f'<circle cx="{x + 5:g}" cy="{y - 4:g}" r="5" fill="{COLOURS[severity]}"/>'
        yield text(x + 15, y, word, colour=QUIET, anchor="start")
        x += 105
    if told.drained:
        yield box(x, y - 11, 24, 13, PAPER, stroke=QUIET, dashed=True)
        yield text(x + 30, y, "drained: out of use", colour=QUIET, anchor="start")
        x += 160
    if told.toll:
        yield line(x, y - 4, x + 24, y - 4, LEAF, 1.6, "", dashed=True)
        yield text(x + 30, y, "leg that apply takes", colour=QUIET, anchor="start")


def short(words: str, most: float) -> str:
    """Words of so many characters at most."""
    return words if len(words) <= most else f"{words[: max(int(most) - 1, 1)]}…"


def document(name: str, width: float, height: float, drawn: Iterator[str]) -> str:
    """The whole SVG."""
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    font = 'font-family="DejaVu Sans, Verdana, sans-serif" font-size="11"'
    paper = f'<rect width="{width:g}" height="{height:g}" fill="{PAPER}"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>'
    return "\n".join((head, f"<title>Fabric {escape(name, quote=False)}</title>", paper, *drawn, "</svg>\n"))


def text(
    x: float,
    y: float,
    words: str,
    *,
    colour: str = INK,
    size: float = 11,
    bold: bool = False,
    anchor: str = "middle",
    halo: str = "",
) -> str:
    """Text; with a ``halo`` of this colour it can be read on top of a cable."""
    weight = ' font-weight="bold"' if bold else ""
    place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size:g}"{weight} fill="{colour}"'
    place += f' stroke="{halo}" stroke-width="3" paint-order="stroke"' if halo else ""
    return f"<text {place}>{escape(words, quote=False)}</text>"


def line(
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
    """A line with a title that a browser shows beside the pointer."""
    ends = f'x1="{x:g}" y1="{y:g}" x2="{far_x:g}" y2="{far_y:g}"'
    dashes = ' stroke-dasharray="3 3"' if dashed else ""
    drawn = f'<line {ends} stroke="{colour}" stroke-width="{width:g}"{dashes}>'
    return f"{drawn}<title>{escape(title, quote=False)}</title></line>"


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    *,
    stroke: str = "",
    dashed: bool = False,
    title: str = "",
) -> str:
    """A box with round corners."""
    place = (
        f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{min(4, width / 4):g}" fill="{fill}"'
    )
    edge = f' stroke="{stroke}" stroke-width="1.5"' if stroke else ""
    edge += ' stroke-dasharray="5 3"' if dashed else ""
    return f"<rect {place}{edge}>{f'<title>{escape(title, quote=False)}</title>' if title else ''}</rect>"
