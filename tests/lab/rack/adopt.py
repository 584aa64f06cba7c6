# SPDX-License-Identifier: Apache-2.0
"""A node that was converged by hand, with an instance on it, is handed to the charms."""

from functools import partial

from lab.checks import Check, equal
from lab.rack import byhand, checks, ovn
from lab.rack.build import Rack, deploy_node
from lab.rack.common import PATIENCE, no_more_reboots, on_nodes, power_cycled, settled, verify
from lab.rack.layout import FABRIC
from lab.rack.traffic import traffic

BESIDE = "juju config ovn-chassis sriov-numvfs="
"""The command that a unit asks for while ovn-chassis is the one that sets VFs."""


def adopt(rack: Rack) -> list[Check]:
    """A node as the RDG leaves it: no reboot, no VF that changes, no packet lost; then a boot of its own."""
    one, name = next(iter(rack.nodes)), f"node-{rack.count}"
    _by_hand(rack, name)
    rack.display.phase("adoption")
    down = len(rack.controller.down)
    with traffic(rack, one, name) as seen:
        before = rack.on(name, byhand.STATE)
        deploy_node(rack, name)
        found = [_beside(rack, name)]
        beside = rack.on(name, byhand.STATE)
        # juju config ovn-chassis sriov-numvfs=none:0
        rack.floor.each("", {name: lambda guest: guest.write(byhand.NETPLAN, byhand.SENTINEL, 0o600)})
        found.append(settled(rack))
        after = rack.on(name, byhand.STATE)
    found += [
        equal(
            "adoption",
            f"{name} beside ovn-chassis: VFs, modes, bond, boot",
            "as before",
            _same(before, beside),
        ),
        equal("adoption", f"{name} afterwards: VFs, modes, bond, boot", "as before", _same(before, after)),
        equal("adoption", f"{one} to {name} packets lost of {seen.sent}", "0", str(seen.lost)),
        no_more_reboots(rack, down),
        *verify(rack),
    ]
    # From here on the charm sets the VFs at boot, not netplan.
    return [*found, *power_cycled(rack, [name])]


def _by_hand(rack: Rack, name: str) -> None:
    """Firmware, reboot, VFs, QoS, OVN and an instance that answers, without any charm."""
    rack.display.phase("a node by hand")
    one, number, vfs = next(iter(rack.nodes)), rack.count, rack.option("num-vfs", 8)
    rack.count += 1
    for what, work in (
        ("Open vSwitch and OVN", partial(ovn.chassis, node=number)),
        ("mstconfig", partial(byhand.firmware, vfs=vfs)),
        ("reboot", lambda guest: guest.reboot(timeout=900)),
        ("VFs, switchdev, VF-LAG", partial(byhand.vfs, number=vfs)),
        ("QoS", byhand.qos),
    ):
        rack.floor.each(what, {name: work})
    rack.floor.each("instance", {FABRIC: partial(ovn.network, nodes=rack.count)})
    rack.floor.each("instance", {name: partial(ovn.instance, node=number)})
    address = ovn.address(number)
    rack.on(one, f"for i in $(seq 60); do {checks.PING} -c 1 -W 2 {address} && break; done", timeout=180)


def _beside(rack: Rack, name: str) -> Check:
    """As long as ovn-chassis sets VFs the charms say so, and wait."""
    units = on_nodes(rack, [name])
    told = rack.floor.work(lambda: any(BESIDE in unit.status[1] for unit in units), PATIENCE)
    said = "; ".join(unit.status[1] for unit in units if unit.status[0] == "blocked") or "nothing"
    return Check("adoption", f"{name} beside ovn-chassis says", BESIDE, said, told)


def _same(before: str, after: str) -> str:
    """The first line that is another one, or that there is none."""
    if before == after:
        return "as before"
    lines = set(before.splitlines())
    return next((line for line in after.splitlines() if line not in lines), "fewer than before")
