# SPDX-License-Identifier: Apache-2.0
"""Drawings of a rack, made of its report: the nodes' NICs as found, who did what when, OpenStack's ladder.

What a drawing shows green was checked and holds; red is what was found instead. A thing that no check was
about is grey. Amber is a share in the NIC that is small: it may be as expected, and is nothing to be glad of.
"""

import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from lab.progress import seconds
from lab.rack import highlights

GOOD, BAD, UNKNOWN, INK, MUTED = "#18794e", "#b42318", "#7b8794", "#1f2933", "#616e7c"
PARTLY = "#9a5b00"
OFFLOADED = 0.9
"""The share in the NIC from which on a rung's traffic is offloaded."""
CHARMS = {
    "nic-firmware": "#7c5cc4",
    "sriov-switchdev": "#2f6fce",
    "roce-qos": "#c2720c",
    "cumulus-fabric": "#18794e",
}
TITLES = {
    "host": "host to host",
    "virtio": "virtio on Geneve",
    "vf": "VF on Geneve",
    "vf-group": "VF, security group",
    "vf-vlan": "VF on VLAN",
    "north-south": "VF, floating IP",
}
"""Of the ladder's rungs, short enough for a drawing."""
REBOOT, OTHER = "#1f2933", "#c3ccd5"
Said = Mapping[str, Any]

_NODE, _PORT, _VF, _HIGH = 340, 150, 13, 256  # widths of a node, a port and a VF; height of a node


def nodes(said: Said) -> str:
    """All nodes beside each other, each with its bond, its ports, their leaves and their VFs."""
    found = _by_subject(said)
    drawn = [line for n, name in enumerate(said["nodes"]) for line in _node(said, found, name, n * _NODE)]
    return _svg("Nodes as they were found", _NODE * len(said["nodes"]), _HIGH, drawn)


def node(said: Said, name: str) -> str:
    """One of them alone, which fits a phone's width."""
    return _svg(f"{name} as it was found", _NODE, _HIGH, [*_node(said, _by_subject(said), name, 0)])


Found = Mapping[tuple[str, str], Said]


def _by_subject(said: Said) -> Found:
    return {(check["area"], check["subject"]): check for check in said["checks"]}


def _node(said: Said, found: Found, name: str, x: int) -> Iterator[str]:
    """The cables come from above, into the bond; what is written beside them ends before the next one."""
    yield _box(x + 10, 40, _NODE - 20, _HIGH - 50, INK)
    yield _text(x + 20, 60, name, INK, bold=True)
    lossless = found.get(("QoS", f"{name} lossless priorities of both ports"))
    pairs = [("network", f"{name} bond0: aggregated ports"), ("fabric", f"{name} LACP partner")]
    said_of_bond = [found[pair] for pair in pairs if pair in found]
    partner = found.get(pairs[1], {}).get("found", "not checked")
    yield _box(x + 20, 70, _NODE - 40, 40, _colour(said_of_bond))
    yield _text(x + 28, 86, f"bond0, LACP partner {partner}", _colour(said_of_bond))
    yield _text(x + 28, 102, _priorities(_words(lossless)), _colour([lossless]))
    for number, port in enumerate(said["nodes"][name]):
        yield from _port(found, name, port, x + 20 + number * _PORT)


def _priorities(words: str) -> str:
    """The lossless priorities of both ports as `3 3` says them."""
    if len({*words.split()}) == 1:
        return f"priority {words.split()[0]} is lossless on both ports"
    return f"lossless priorities {words}"


def _port(found: Found, name: str, port: Mapping[str, str], x: int) -> Iterator[str]:
    subject = f"{name} {port['netdev']}"
    cable = x + _PORT - 28
    sessions = found.get(("fabric", f"{port['leaf']} EVPN sessions"))
    yield _box(x, 4, _PORT - 10, 24, _colour([sessions]))
    yield _text(x + 8, 20, f"{port['leaf']} {port['port']}", _colour([sessions]))
    aggregated = found.get(("network", f"{name} bond0: aggregated ports"))
    yield f'<path d="M{cable} 28V70" stroke="{_colour([aggregated])}" stroke-width="3" fill="none"/>'
    eswitch, lag = found.get(("eswitch", f"{subject}: eswitch")), found.get(("VF-LAG", f"{subject}: VF-LAG"))
    vfs, bound = found.get(("VFs", f"{subject}: VFs")), found.get(("VFs", f"{subject}: VFs bound"))
    yield _box(x, 118, _PORT - 10, 118, _colour([eswitch, lag, vfs, bound]))
    yield _text(x + 8, 134, port["netdev"], INK, bold=True)
    yield _text(x + 8, 149, port["address"], MUTED)
    yield _text(x + 8, 167, _words(eswitch).removeprefix("mode "), _colour([eswitch]))
    yield _text(x + 8, 182, f"VF-LAG {_words(lag).removesuffix(' switchdev')}", _colour([lag]))
    yield _text(x + 8, 200, f"{_words(vfs)} VFs, {_words(bound)} bound", _colour([vfs, bound]))
    count = _number(vfs)
    for vf in range(min(count, 10)):
        full = vf < _number(bound)
        fill = _colour([bound]) if full else "none"
        yield (
            f'<rect x="{x + 8 + vf * _VF}" y="208" width="9" height="16" fill="{fill}" '
            f'stroke="{_colour([bound])}"/>'
        )
    if count > 10:
        yield _text(x + 4 + 10 * _VF, 222, "…", MUTED)


def _number(check: Said | None) -> int:
    words = _words(check)
    return int(words) if words.isascii() and words.isdigit() else 0


def _words(check: Said | None) -> str:
    return str(check["found"]) if check else "not checked"


def _colour(checks: "list[Said | None] | list[Said]") -> str:
    known = [check for check in checks if check]
    return UNKNOWN if not known else GOOD if all(check["holds"] for check in known) else BAD


_RUNG = re.compile(r"rung ([\w-]+)")
_WITNESSES = re.compile(r"\w+: (?P<shares>past the kernel .*?) on \S+ \([^)]*\)")
"""The acceptance tool's words on a share in the NIC: each witness', of the worst node and measurement."""
_COLUMNS = (150, 550, 740)  # of the ladder: figures, the packet of the MTU, the share in the NIC


def ladder(said: Said) -> str:
    """A row for each rung of the acceptance test: its figures, the MTU, and how much ran in the NIC."""
    found = {check["subject"]: check for check in said["checks"] if check["area"] == "OpenStack"}
    rungs = [name[1] for subject in found if (name := _RUNG.fullmatch(subject))]
    if not rungs:
        return ""
    heads = zip(
        _COLUMNS, ("measured on emulated processors", "largest packet", "packets in the NIC, the least")
    )
    drawn = [_text(x, 16, words, MUTED) for x, words in heads]
    for row, rung in enumerate(rungs):
        y = 26 + row * _ROW
        cells = [found.get(f"rung {rung}{check}") for check in ("", ", mtu", ", in-nic")]
        colours = [*(_colour([cell]) for cell in cells[:2]), _in_nic(cells[2])]
        whole = next((each for each in (BAD, PARTLY) if each in colours), _colour(cells))
        drawn += [
            _box(6, y, 1098, 24, whole),
            _text(16, y + 16, TITLES.get(rung, rung), INK, bold=True),
        ]
        for x, cell, colour in zip(_COLUMNS, cells, colours):
            said = re.sub("^(passed|failed): ", "", _words(cell))
            said = _WITNESSES.sub(lambda found: f"{highlights.share(found['shares']):.2%}", said)
            drawn.append(_text(x, y + 16, said, colour))
    return _svg("The acceptance test's ladder", 1110, 30 + _ROW * len(rungs), drawn)


def _in_nic(check: Said | None) -> str:
    """The colour of a share: green is for what is offloaded, also where the lab expects something else."""
    part = highlights.share(_words(check))
    small = check is not None and check["holds"] and part is not None and part < OFFLOADED
    return PARTLY if small else _colour([check])


_LEFT, _WIDTH, _ROW = 90, 860, 30  # the timeline's names, its bars, and a row's height


def timeline(said: Said) -> str:
    """A row for each machine: hooks in their charm's colour, reboots in black, all else in grey."""
    jobs = said["timeline"]
    if not jobs:
        return ""
    end = max(job["to"] for job in jobs)
    scale = _WIDTH / max(end, 1.0)
    machines = list(dict.fromkeys(job["machine"] for job in jobs))
    bottom = 30 + _ROW * len(machines)
    drawn = [*_phases(said, scale, bottom)]
    for row, machine in enumerate(machines):
        y = 30 + row * _ROW
        drawn.append(_text(6, y + 16, machine, INK, bold=True))
        for job in (job for job in jobs if job["machine"] == machine):
            width = max(1.0, (job["to"] - job["from"]) * scale)
            told = f"{job['what']}: {seconds(job['to'] - job['from'])}, after {seconds(job['from'])}"
            x = _LEFT + job["from"] * scale
            drawn.append(
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_ROW - 8}" '
                f'fill="{_kind(job["what"])}"><title>{escape(told)}</title></rect>'
            )
    drawn += (
        _text(_LEFT + at * scale, bottom + 10, f"{at // 60} min", MUTED)
        for at in range(60, int(end) - 20, 60)
    )
    bottom += 18
    at = _LEFT
    for name, colour in {**CHARMS, "reboot": REBOOT, "deployment, checks": OTHER}.items():
        drawn.append(f'<rect x="{at}" y="{bottom + 10}" width="10" height="10" fill="{colour}"/>')
        drawn.append(_text(at + 15, bottom + 19, name, MUTED))
        at += 30 + 7 * len(name)
    return _svg("Who did what, and when", _LEFT + _WIDTH + 10, bottom + 30, drawn)


def _phases(said: Said, scale: float, bottom: int) -> Iterator[str]:
    began = 0.0
    for name, spent in said["seconds"].items():
        x = _LEFT + began * scale
        yield f'<path d="M{x:.1f} 6V{bottom}" stroke="#d9e0e7" fill="none"/>'
        if spent * scale > 7 * len(name):
            yield _text(x + 4, 18, name, MUTED)
        began += spent


def _kind(what: str) -> str:
    charm, _, event = what.partition("/")
    if what in ("reboot", "power on"):
        return REBOOT
    return CHARMS.get(charm, OTHER) if not event.endswith(" deploy") else OTHER


def _svg(title: str, width: int, height: int, drawn: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="DejaVu Sans, Verdana, sans-serif" font-size="11">'
        f'<title>{title}</title><rect width="{width}" height="{height}" fill="#ffffff"/>'
    )
    return "\n".join((head, *drawn, "</svg>\n"))


def _box(x: int, y: int, width: int, height: int, colour: str) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" fill="#ffffff" '
        f'stroke="{colour}" stroke-width="1.5"/>'
    )


def _text(x: float, y: float, words: str, colour: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}"{weight}>{escape(words)}</text>'


def main() -> None:
    """Draw the README's pictures again, of the racks in ``example.json`` and ``openstack.json``."""
    here = Path(__file__).parent
    said = json.loads((here / "example.json").read_text())
    (here / "nodes.svg").write_text(nodes(said))
    (here / "timeline.svg").write_text(timeline(said))
    (here / "openstack.svg").write_text(ladder(json.loads((here / "openstack.json").read_text())))


if __name__ == "__main__":
    main()
