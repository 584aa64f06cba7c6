# SPDX-License-Identifier: Apache-2.0
"""What was found, for people, for programs and for browsers."""

import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.checks import Check
from lab.progress import seconds
from lab.rack import figures, hooks
from lab.rack.build import Rack

DIFFERENT = (
    "The NIC is a kernel module: no PCIe, no speed; offloaded flows are accepted and counted as by hardware, "
    "the packets go through software.",
    "VFs belong to namespaces, not to virtual machines: the virtual NIC has no IOMMU group for vfio-pci.",
    "The switches are FRR and the Linux bridge behind NVUE's API: no ASIC and no buffers, so that lossless "
    "RoCE is configured and read back, but nothing is paused.",
    "OVN's databases speak without TLS, and there is no nova-compute: all that the charms see of it is its "
    "relation.",
)
"""What on real hardware would be different."""


def text(rack: Rack, checks: Sequence[Check]) -> str:
    """As the terminal shows it."""
    width = max(len(check.subject) for check in checks)
    lines: list[str] = []
    area = ""
    for check in checks:
        if check.area != area:
            area = check.area
            lines += ["", area]
        lines.append(check.line(width))
    lines += figures.text(rack.figures)
    lines += hooks.text({name: unit.hooks for name, unit in rack.controller.units.items()})
    lines += ["", "Not as on real hardware"]
    lines += [f"  - {line}" for line in DIFFERENT]
    lines += ["", "Time"]
    lines += [f"  {name.ljust(24)} {seconds(spent):>12}" for name, spent in rack.display.phases]
    bad = sum(not check.holds for check in checks)
    verdict = "All holds" if not bad else f"{bad} of {len(checks)} do NOT hold"
    return "\n".join([*lines, "", f"{verdict}; {seconds(rack.display.elapsed)} in all."])


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
        "seconds": {name: round(spent, 1) for name, spent in rack.display.phases},
        "different-on-hardware": list(DIFFERENT),
    }


def write_html(path: Path, rack: Rack, checks: Sequence[Check], picture: str) -> None:
    """One file with the fabric's picture; it needs nothing else."""
    said = as_json(rack, checks)
    rows = "".join(
        f"<tr class={'ok' if c.holds else 'bad'}><td>{c.area}<td>{html.escape(c.subject)}"
        f"<td>{html.escape(c.found)}<td>{'' if c.holds else html.escape(c.wanted)}"
        for c in checks
    )
    units = "".join(
        f"<tr><td>{name}<td>{u['machine']}<td>{u['status']}<td>{html.escape(u['message'])}"
        for name, u in said["units"].items()
    )
    phases = "".join(
        f"<tr><td>{html.escape(name)}<td>{seconds(spent)}" for name, spent in rack.display.phases
    )
    different = "".join(f"<li>{html.escape(line)}" for line in DIFFERENT)
    path.write_text(
        "<!doctype html><meta charset=utf-8><title>Virtual rack</title><style>body{font:14px sans-serif;"
        "margin:2em}td,th{padding:2px 12px 2px 0;text-align:left}.bad{color:#b00}svg{max-width:100%;"
        "height:auto}</style>"
        f"<h1>Virtual rack: {'all holds' if said['holds'] else 'NOT all holds'}</h1>{picture}"
        f"<h2>Units</h2><table>{units}</table>"
        f"<h2>Checks</h2><table><tr><th>area<th>what<th>found<th>wanted{rows}</table>{figures.as_html(rack.figures)}"
        f"<h2>Time</h2><table>{phases}</table><h2>Not as on real hardware</h2><ul>{different}</ul>\n"
    )


def dump(path: Path, rack: Rack, checks: Sequence[Check]) -> None:
    """Write the JSON to a file."""
    path.write_text(json.dumps(as_json(rack, checks), indent=1) + "\n")
