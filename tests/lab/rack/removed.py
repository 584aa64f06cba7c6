# SPDX-License-Identifier: Apache-2.0
"""A node whose units are removed: what remains there, and what the others do."""

from dataclasses import replace
from functools import partial

from lab.checks import Check, equal
from lab.rack import checks, layout, ovn, writes
from lab.rack.build import Rack
from lab.rack.common import PATIENCE, more_vfs, no_more_reboots, on_nodes, settled, verify
from lab.rack.traffic import traffic
from lab.site import PFS

AREA = "removal"
"""Of the scenario's checks."""

FILES = (
    "find /etc /usr/lib /run -path '*ovn-offload*' ! -type d ! -name changing.lock "
    "! -path '/run/systemd/units/*' ! -path '/run/udev/*' | sort | tr '\\n' ' '"
)
"""Also links, but for those of systemd and udev. What stays is in docs/reference/files-on-a-host.md."""

MODE = "devlink dev eswitch show pci/{bdf} | grep -o 'mode [a-z]*' | head -1"
PORTS = "; ".join(f"cat /sys/bus/pci/devices/{bdf}/sriov_numvfs; {MODE.format(bdf=bdf)}" for bdf in PFS)
ANSWERS = (
    f"for i in $(seq 60); do ping -q -n -c 1 -W 2 {layout.CONTROLLER} >/dev/null && echo yes && break; done"
)


def node_removed(rack: Rack) -> list[Check]:
    """The last node's units lead their applications, and are removed while its instance talks."""
    controller, (*stay, gone) = rack.controller, rack.nodes
    rack.display.phase(f"{gone} leads")
    leaving = on_nodes(rack, [gone])
    for unit in leaving:
        controller.lead(unit.name)
    found = [settled(rack)]
    rack.display.phase(f"{gone} is removed")
    before, down = writes.written(rack, stay), len(controller.down)
    with traffic(rack, stay[0], gone) as seen:
        for unit in leaving:
            controller.remove(unit.name)
        rack.floor.work(lambda: not on_nodes(rack, [gone]), PATIENCE)
        found.append(settled(rack))
    still = " ".join(unit.name for unit in on_nodes(rack, [gone])) or "none"
    found += [
        equal(AREA, f"{stay[0]} to {gone} packets lost of {seen.sent}", "0", str(seen.lost)),
        equal(AREA, f"units on {gone}", "none", still),
        equal(AREA, f"files of the charms on {gone}", "none", rack.on(gone, FILES).strip() or "none"),
        no_more_reboots(rack, down),
        *writes.no_change(AREA, f"{gone} is removed", writes.since(before, writes.written(rack, stay))),
    ]
    for unit in leaving:
        leads = [name for name, each in controller.units.items() if each.app is unit.app and each.elected]
        found.append(Check(AREA, f"{unit.app.name} is led by", "one unit", " ".join(leads), len(leads) == 1))
    state = rack.floor.each("", {gone: partial(checks.node, vfs=rack.option("num-vfs", 0))})[gone]
    found += [replace(each, area=AREA, subject=f"{gone} {each.subject}") for each in state]
    found += _boots_without(rack, gone)
    rack.count -= 1
    return [*found, *_others_reboot(rack)]


def _boots_without(rack: Rack, gone: str) -> list[Check]:
    """Its next boot has neither VFs nor switchdev, and the network."""
    rack.display.phase(f"{gone} boots without the charms")
    rack.floor.each("instances end", {gone: ovn.no_instance})
    rack.floor.each("power cycle", {gone: lambda guest: guest.power_cycle()})
    ports = " ".join(rack.on(gone, PORTS).split())
    failed = "systemctl list-units --failed --plain --no-legend | cut -d' ' -f1"
    return [
        equal(
            AREA,
            f"{gone} reaches controller after a boot",
            "yes",
            rack.on(gone, ANSWERS, timeout=300).strip(),
        ),
        equal(AREA, f"{gone} VFs and modes after a boot", " ".join(["0 mode legacy"] * len(PFS)), ports),
        equal(
            AREA, f"{gone} failed systemd units after a boot", "none", rack.on(gone, failed).strip() or "none"
        ),
    ]


def _others_reboot(rack: Rack) -> list[Check]:
    """The others roll through a reboot: nobody waits for the unit that is gone, which led."""
    rack.display.phase("the others reboot")
    before = len(rack.controller.down)
    rack.floor.each("instances end", dict.fromkeys(rack.nodes, ovn.no_instance))
    more_vfs(rack, 1)
    found = [settled(rack)]
    down = sorted(name for name, _, _ in rack.controller.down[before:])
    return [*found, equal("reboots", "rebooted", " ".join(rack.nodes), " ".join(down)), *verify(rack)]
