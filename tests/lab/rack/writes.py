# SPDX-License-Identifier: Apache-2.0
"""The writes of hooks to their machines, where nothing should have been left for them to do."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from lab.checks import Check, equal
from lab.juju import service
from lab.rack.build import Rack

Writes = Mapping[str, Sequence[str]]
"""By unit, in order: ``write /sys/… 8``."""

NOTE = re.compile(
    r"install /run/ovn-offload/[a-z-]+\.json"
    r"|run systemctl stop ovn-offload-[a-z-]+-dispatch-later\.timer"
    r"|run systemd-run .* systemctl start --no-block ovn-offload-[a-z-]+-dispatch\.service"
)
"""The writes that change no machine: the charms' notes to each other in each boot, and wake-ups."""

TOLD = re.compile(r"install /run/ovn-offload/facts/[a-z-]+\.json")
"""The write of a look for the exporter: it is repeated when it is some minutes old."""


def written(rack: Rack, machines: Collection[str]) -> Writes:
    """By all hooks of units on these machines since their boot, also hooks that charms have dispatched."""
    look = f"grep -H . {service.TRACES}/lab-*.trace"
    said = rack.floor.each("", dict.fromkeys(machines, lambda guest: guest.run(look, check=False).stdout))
    found: dict[str, list[str]] = {}
    for name, each in rack.controller.units.items():
        if each.machine.name in machines:
            trace = f"{service.TRACES}/lab-{each.app.name}.trace:"
            lines = [line for line in said[each.machine.name].splitlines() if line.startswith(trace)]
            writes = [json.loads(line.removeprefix(trace)) for line in lines]
            told = [" ".join([write["verb"], *write["arguments"]]) for write in writes]
            found[name] = [line for line in told if not TOLD.fullmatch(line)]
    return found


def since(before: Writes, now: Writes) -> Writes:
    """Those that have come in the same boot."""
    return {name: lines[len(before[name]) :] for name, lines in now.items()}


def none(area: str, what: str, writes: Writes) -> Iterator[Check]:
    """No unit has written anything."""
    for name, lines in writes.items():
        # The first one says where to look.
        found = f"{len(lines)}, first: {lines[0]}" if lines else "0"
        yield equal(area, f"{name}, {what}: writes", "0", found)


def no_change(area: str, what: str, writes: Writes) -> Iterator[Check]:
    """No unit has written anything that changes its machine."""
    changes = {name: [line for line in lines if not NOTE.fullmatch(line)] for name, lines in writes.items()}
    return none(area, what, changes)
