# SPDX-License-Identifier: Apache-2.0
"""Scenario observed: parts of the rack fail, one at a time, watched by Prometheus and Alertmanager."""

import math
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from cos.dashboards import picture
from exporter.install import CHARMS

from lab.checks import Check, equal
from lab.observed.faults import IN_USE, NODE, OF_A_NODE, Fault, quiet, try_out
from lab.observed.panels import empty
from lab.observed.watch import Target, Watch, watching
from lab.rack import containers, layout, ovn
from lab.rack.build import Rack
from lab.rack.common import applied, by_hand, on_nodes, settled, verify, with_option
from lab.rack.units import Unit
from lab.site import PFS

AREA = "observed"
LEAF, OTHER = layout.leaves(0)
INSIDE = f"ip netns exec {LEAF}"
VTYSH = f"vtysh -N {LEAF} -c 'configure terminal' -c \"interface $bond\" -c"
BOND = f"bond=$({INSIDE} sh -c 'basename $(readlink /sys/class/net/{layout.port(0)}/master)')"
SEGMENT = "/run/segment-of-node-0"
LOST = f"""set -e
{BOND}
vtysh -N {LEAF} -c 'show running-config' | sed -n "/^interface $bond$/,/^exit$/p" |
    sed -n 's/^ *\\(evpn mh es-id .*\\)/\\1/p' >{SEGMENT}
{VTYSH} "no $(cat {SEGMENT})"
"""
"""FRR of the leaf no longer has the segment; the switch's configuration still has it."""
FOUND = f"""set -e
{BOND}
{VTYSH} "$(cat {SEGMENT})"
sleep 10
"""
EXCHANGED = f"""set -e
told() {{ lldpcli -u /run/lldpd-$1.socket -f keyvalue show neighbors; }}
heard() {{
    told {LEAF} | grep 'swp3[12].chassis.name' || true
    for spine in Spine0 Spine1; do
        told $spine | grep -A 20 chassis.name={LEAF} | grep -m 1 port.ifname | sed "s/^/$spine /"
    done
}}
before=$(heard)
for port in swp31 swp32; do ip -n {LEAF} link set $port down; done
ip -n {LEAF} link set swp31 name other
ip -n {LEAF} link set swp32 name swp31
ip -n {LEAF} link set other name swp32
for port in swp31 swp32; do ip -n {LEAF} link set $port up; done
for attempt in $(seq 60); do
    sleep 1
    now=$(heard)
    up=$(vtysh -N {LEAF} -c 'show bgp l2vpn evpn summary json' | grep -c '"state":"Established"' || true)
    [ "$(echo "$now" | wc -l) $up" = "4 2" ] && ! echo "$now" | grep -qxF "$before" && break
done
"""
"""The leaf's ports to the spines change their cables, and back, until LLDP and BGP of both ends have noticed.

They change their names instead: new interfaces in place of the old ones end FRR 10.3's zebra on a spine.
"""
PICTURES = {"OffloadRoceOutOfSequence": ("site", "node"), "OffloadFabricSegmentsMissing": ("fabric",)}
"""The dashboards that are drawn while an alert fires."""
SHOWN = 10
"""Minutes of a picture: about as long as the faults take."""
DRIFT = '{"qos": {"roce": {"mode": "lossy"}}}'
PATIENCE = 600
TURN = 1.5
"""A node holds the lock for so many times as long as its reboot, at most: hooks come before and after it."""
EARLIER = "CQE_COMPRESSION"
"""No profile declares it. The holder's NIC has it from an earlier owner: the default needs a reboot there."""


class Observed:
    """The rack as :mod:`lab.observed` wants it; while it waits, units go on with their hooks."""

    def __init__(self, rack: Rack) -> None:
        self._rack = rack

    def run(self, machine: str, script: str) -> object:
        """On a machine, behind what this one has to do."""
        return self._rack.on(machine, script, timeout=300)

    def until(self, holds: Callable[[], bool], limit: float) -> bool:
        """While the machines work."""
        return self._rack.floor.work(holds, limit)


def holder(rack: Rack) -> str:
    """The node that will keep the reboot lock; unit 0 of the charms, which leads, is on another one."""
    return list(rack.nodes)[1]


def used_before(rack: Rack) -> None:
    """Set a parameter before the charms come: see :data:`EARLIER`. Their own reboot makes it current."""
    rack.on(holder(rack), f"mstconfig -d {next(iter(PFS))} -y set {EARLIER}=AGGRESSIVE", timeout=300)


def observed(rack: Rack) -> list[Check]:
    """Each fault's alert fires, it alone, and clears; the dashboards show it; the rack ends converged."""
    rack.display.phase("before the faults")
    rack.floor.each("instances end", dict.fromkeys(rack.nodes, ovn.no_instance))
    rack.on_nodes(IN_USE)
    look(rack, list(rack.controller.units.values()))
    machines = rack.floor.machines
    targets = [
        Target(name, exporting(rack, name), machines[name].guest) for name in (*rack.nodes, layout.FABRIC)
    ]
    turn = TURN * max((up - since for _, since, up in rack.controller.down), default=0.0)
    found: list[Check] = []
    with (
        tempfile.TemporaryDirectory() as directory,
        watching(Observed(rack), targets, Path(directory), turn) as watch,
    ):
        calm = quiet(watch)
        why = "; ".join(watch.restless()) or "quiet"
        found.append(Check(AREA, "before the first fault", "quiet", why, calm))
        for fault in (*OF_A_NODE, *faults_of(rack)) if calm else ():
            rack.display.phase(fault.name)
            seen = try_out(watch, fault, lambda fault: found.extend(drawn(rack, watch, fault)))
            told = f"{fault.alert} {seen.told}"
            found.append(Check(AREA, fault.name, f"{fault.alert} alone, and clears", told, seen.holds))
    return [*found, settled(rack), *verify(rack)]


def drawn(rack: Rack, watch: Watch, fault: Fault) -> Iterator[Check]:
    """The dashboards that show the fault, as pages beside the report; no panel of theirs is empty."""
    for name in PICTURES.get(fault.alert, ()):
        # A whole second later: the alert that fires may be younger than the last whole second.
        shown = picture.draw(name, NODE, watch.series, math.ceil(time.time()), SHOWN)
        rack.pages[f"dashboard-{name}.svg"] = shown
        without = "; ".join(empty(watch, (name,), NODE))
        yield equal(AREA, f"dashboard {name}: queries without data", "none", without or "none")


def look(rack: Rack, units: list[Unit]) -> None:
    """Juju's update-status, which a cloud has every five minutes, and all that follows from it."""
    for unit in units:
        rack.controller.queue(unit, "update_status")
    rack.floor.work(lambda: not any(unit.machine.job or unit.machine.queue for unit in units), PATIENCE)


def exporting(rack: Rack, machine: str) -> str:
    """The unit whose copy of the machine's exporter runs."""
    return min(on_nodes(rack, [machine]), key=lambda unit: CHARMS.index(unit.app.charm)).name


def faults_of(rack: Rack) -> list[Fault]:
    """Those of switches, which are seen at a look of the fabric's unit, and the one of a rolling reboot."""
    units = [unit for unit in rack.controller.units.values() if unit.app.name in with_option(rack, "intent")]
    keeps = holder(rack)
    its = on_nodes(rack, [keeps])

    def seen_by_hook(script: str) -> Callable[[object], object]:
        def act(_: object) -> None:
            rack.floor.each("", {layout.FABRIC: lambda guest: guest.run(script, timeout=300)})
            look(rack, units)

        return act

    def drained(verb: str) -> Callable[[object], object]:
        def act(_: object) -> None:
            for unit in units:
                rack.controller.action([unit.name], verb, patience=PATIENCE, switch=OTHER)
            look(rack, units)

        return act

    def held(_: object) -> None:
        containers.create(rack, [keeps])
        for name in with_option(rack, "profile"):
            rack.controller.configure(name, {"parameters": f"{EARLIER}=BALANCED"})

    def released(_: object) -> None:
        rack.on(keeps, containers.RUN)
        look(rack, its)
        settled(rack)
        containers.remove(rack, [keeps])

    return [
        Fault(
            "a leaf has lost a node's Ethernet segment",
            "OffloadFabricSegmentsMissing",
            tuple(f"{layout.FABRIC} {leaf}" for leaf in layout.leaves(0)),
            seen_by_hook(LOST),
            seen_by_hook(FOUND),
        ),
        Fault(
            "a leaf's cables to the spines are exchanged",
            "OffloadFabricWrongCable",
            tuple(f"{layout.FABRIC} {switch}" for switch in (LEAF, "Spine0", "Spine1")),
            seen_by_hook(EXCHANGED),
            seen_by_hook(EXCHANGED),
        ),
        Fault(
            "somebody has set a leaf's RoCE mode to lossy",
            "OffloadFabricDrift",
            (f"{layout.FABRIC} {LEAF}",),
            seen_by_hook(by_hand(LEAF, DRIFT)),
            lambda _: [applied(rack, unit) for unit in units],
        ),
        # Its hosts lose a leg each, which pages nobody. The other leaf has ports of machines with one leg.
        Fault(
            "a leaf was drained, and stays so",
            "OffloadFabricSwitchDrained",
            (f"{layout.FABRIC} {OTHER}",),
            drained("drain"),
            drained("undrain"),
        ),
        Fault(
            "a host's container does not start after its reboot, so that the host keeps the lock",
            "OffloadRebootLockStuck",
            tuple(unit.name for unit in its),
            held,
            released,
        ),
    ]
