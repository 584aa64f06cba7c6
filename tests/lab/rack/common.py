# SPDX-License-Identifier: Apache-2.0
"""The common steps of several scenarios, and the checks with which all of them must end."""

import shlex
from itertools import pairwise

from lab.checks import Check
from lab.progress import seconds
from lab.rack import checks, layout, writes
from lab.rack.build import Rack
from lab.rack.traffic import Traffic
from lab.rack.units import Unit

PATIENCE = 1800  # seconds until a rack must have settled
QUORUM = 90.0  # seconds for which another node could wrongly go down


def verify(rack: Rack) -> list[Check]:
    """All that must hold of a converged rack."""
    rack.display.phase("verification")
    found = [*checks.charms(rack), *checks.nodes(rack), *checks.fabric(rack), *checks.overlay(rack)]
    rack.display.phase("")
    return found


def power_cycled(rack: Rack, names: list[str]) -> list[Check]:
    """These nodes lose their power; what comes back is as it was, and no hook has changed it."""
    rack.display.phase("power cycle")
    rack.floor.each("power cycle", {name: lambda guest: guest.power_cycle() for name in names})
    before = len(rack.controller.down)
    for unit in on_nodes(rack, names):
        rack.controller.queue(unit, "start")
    found = [settled(rack), no_more_reboots(rack, before), *verify(rack)]
    return [*found, *writes.no_change("boot", "since the boot", writes.written(rack, names))]


def no_more_reboots(rack: Rack, before: int) -> Check:
    """No machine went down since there were this many entries in the controller's list."""
    again = " ".join(name for name, _, _ in rack.controller.down[before:])
    return Check("reboots", "more reboots", "none", again or "none", not again)


def applied(rack: Rack, unit: Unit) -> Check:
    """Approve what a charm waits for with ``apply``, again as long as each run changes some of what is left.

    A run takes settle-timeout at most, so that on a slow machine it may leave switches for the next one.
    """
    while True:
        (result,) = rack.controller.action([unit.name], "apply", patience=PATIENCE)
        done = not result.failure and result.results["applied"] == "true"
        if done or result.failure or ": applied" not in result.results["switches"]:
            said = "applied" if done else result.failure or result.results["result"]
            return Check("fabric", f"{unit.name} apply", "applied", said, done)


def settled(rack: Rack) -> Check:
    """Every unit is active, and nothing is left to do."""
    began = rack.display.elapsed
    quiet = rack.settle(PATIENCE)
    spent = seconds(rack.display.elapsed - began)
    return Check("charms", "all units settle", "yes", f"after {spent}" if quiet else "no", quiet)


def more_vfs(rack: Rack, more: int) -> None:
    """Change the option that makes every node reboot."""
    vfs = rack.option("num-vfs", 0) + more
    for name in with_option(rack, "num-vfs"):
        rack.controller.configure(name, {"num-vfs": vfs})


def gap(area: str, way: str, seen: Traffic, limit: float) -> Check:
    """The longest time for which traffic had no answer, against what it may be."""
    silent = f"{seen.gap:.1f} s, {seen.lost} of {seen.sent} packets"
    return Check(area, f"{way} without an answer", f"at most {limit:.0f} s", silent, seen.gap <= limit)


def one_at_a_time(rack: Rack, before: int = 0) -> Check:
    """No node went down while another was, since there were this many entries in the controller's list."""
    down = sorted(rack.controller.down[before:], key=lambda each: each[1])
    both = [f"{a[0]} and {b[0]}" for a, b in pairwise(down) if b[1] < a[2]]
    return Check("reboots", "down at the same time", "none", ", ".join(both) or "none", not both)


def by_hand(switch: str, patch: str = "") -> str:
    """A command on the fabric's machine: a switch is blank again or, with JSON, differs in these settings."""
    path = "/opt/ovn-offload/charms/cumulus-fabric/src:/opt/ovn-offload/lib"
    # -P: beside the program lies an operator.py, which is not Python's own.
    program = f"PYTHONPATH={path} python3 -P /opt/ovn-offload/tests/lab/rack/leaf.py"
    address = layout.wiring().switches[switch].partition("/")[0]
    return f"{program} {switch} {address} {layout.CERTIFICATE} {shlex.quote(patch) if patch else ''}".rstrip()


def with_option(rack: Rack, option: str) -> list[str]:
    """The applications whose option this deployment sets."""
    return [name for name, app in rack.deployment.applications.items() if option in app.options]


def on_nodes(rack: Rack, names: list[str]) -> list[Unit]:
    """The units on these machines."""
    return [unit for unit in rack.controller.units.values() if unit.machine.name in names]
