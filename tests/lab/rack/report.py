# SPDX-License-Identifier: Apache-2.0
"""The results for people, for programs and for browsers."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.checks import Check
from lab.progress import seconds
from lab.rack import figures, highlights, hooks, layout, page
from lab.rack.build import Rack
from lab.site import PFS

DIFFERENT = (
    "The NIC is a kernel module: no PCIe, no speed; offloaded flows are accepted and counted as by hardware, "
    "the packets go through software.",
    "VFs belong to namespaces, not to virtual machines: the virtual NIC has no BARs for a driver to use.",
    "The switches are FRR and the Linux bridge behind NVUE's API: no ASIC and no buffers, so that lossless "
    "RoCE is configured and read back, but nothing is paused.",
    "OVN's databases speak without TLS, and no charm of OpenStack's runs: all that this repository's charms "
    "see of nova-compute's is its relation.",
)
"""The differences from real hardware."""


COLUMNS = 80
"""Of a terminal; a longer line goes on below its beginning."""


def text(said: Mapping[str, Any]) -> str:
    """As the terminal shows it.

    Args:
        said: the report as JSON, see :func:`as_json`.

    """
    checks = [Check(**check) for check in said["checks"]]
    width = max(len(check.subject) for check in checks)
    lines: list[str] = []
    area = ""
    for check in checks:
        if check.area != area:
            area = check.area
            lines += ["", area]
        lines += _wrapped(check.line(width), width + 8)
    lines += figures.text([figures.Figure(**each) for each in said["figures"]["all"]])
    lines += [part for line in hooks.text(said["hooks"]) for part in _wrapped(line, 4)]
    lines += ["", "Not as on real hardware"]
    lines += [part for line in said["different-on-hardware"] for part in _wrapped(f"  - {line}", 4)]
    lines += ["", "Time"]
    lines += [f"  {name.ljust(24)} {seconds(spent):>12}" for name, spent in said["seconds"].items()]
    lines += ["", "In short"]
    found = highlights.highlights(said)
    widest = max((len(each.figure) for each in found), default=0)
    lines += [
        f"  {'ok ' if each.holds else 'BAD'} {each.figure.rjust(widest)}  {each.about}" for each in found
    ]
    bad = sum(not check.holds for check in checks)
    verdict = "All holds" if not bad else f"{bad} of {len(checks)} do NOT hold"
    return "\n".join([*lines, "", f"{verdict}; {seconds(said['elapsed'])} in all."])


def _wrapped(line: str, indent: int) -> list[str]:
    """A line of the terminal's width, and what does not fit below it, where its last column begins."""
    rest = " " * (indent if indent < COLUMNS - 20 else 4)
    return textwrap.wrap(line, COLUMNS, subsequent_indent=rest, break_on_hyphens=False) or [""]


def as_json(rack: Rack, checks: Sequence[Check]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "holds": all(check.holds for check in checks),
        "checks": [vars(check) for check in checks],
        "figures": {"title": figures.TITLE, "why": figures.WHY, "all": [vars(each) for each in rack.figures]},
        "units": {
            name: {"machine": unit.machine.name, "status": unit.status[0], "message": unit.status[1]}
            for name, unit in rack.controller.units.items()
        },
        "hooks": {name: unit.hooks for name, unit in rack.controller.units.items()},
        "down": [
            {"machine": name, "seconds": round(to - since, 1)} for name, since, to in rack.controller.down
        ],
        "nodes": {
            name: [
                {"netdev": netdev, "address": address, "leaf": leaf, "port": layout.port(number)}
                for (address, netdev), leaf in zip(PFS.items(), layout.leaves(number))
            ]
            for name, number in rack.nodes.items()
        },
        "timeline": [
            {
                "machine": name,
                "what": done.what,
                "from": round(done.began - rack.display.began, 1),
                "to": round(done.began - rack.display.began + done.seconds, 1),
            }
            for name, machine in rack.floor.machines.items()
            for done in machine.done
            if done.what
        ],
        "elapsed": round(rack.display.elapsed, 1),
        "seconds": {name: round(spent, 1) for name, spent in rack.display.phases},
        "different-on-hardware": [*DIFFERENT, *rack.substituted],
    }


def write_html(path: Path, rack: Rack, checks: Sequence[Check], fabric: str) -> None:
    """One file, and beside it other tools' pages; ``fabric`` is the charm's own drawing of the switches."""
    path.write_text(page.page(as_json(rack, checks), fabric))
    for name, text in rack.pages.items():
        path.with_name(name).write_text(text)


def dump(path: Path, rack: Rack, checks: Sequence[Check]) -> None:
    """Write the JSON to a file."""
    path.write_text(json.dumps(as_json(rack, checks), indent=1) + "\n")
