# SPDX-License-Identifier: Apache-2.0
"""The scenarios of a rack, and their checks; each starts from a converged rack and ends with one."""

import random
from collections.abc import Callable, Iterable

from lab.checks import Check, equal
from lab.rack import containers, layout, outage, ovn, writes
from lab.rack.acceptance import acceptance
from lab.rack.adopt import adopt
from lab.rack.build import Rack, deploy, deploy_node
from lab.rack.common import (
    PATIENCE,
    QUORUM,
    applied,
    by_hand,
    gap,
    more_vfs,
    one_at_a_time,
    power_cycled,
    settled,
    verify,
    with_option,
)
from lab.rack.observed import observed, used_before
from lab.rack.openstack import machines, openstack
from lab.rack.removed import node_removed
from lab.rack.traffic import traffic
from lab.site import BOND, PFS

CUT = 5.0  # seconds without an answer that a cut cable may cost under emulation
BLANK = 10.0  # … and a leaf that is replaced

Scenario = Callable[[Rack], list[Check]]


def converge(rack: Rack, scenarios: Iterable[str]) -> list[Check]:
    """From factory state to instances that reach each other through their NICs; one reboot per node.

    Some of the ``scenarios`` that follow want the machines otherwise than from the factory.
    """
    controller, display = rack.controller, rack.display
    for name in BEFORE.keys() & set(scenarios):
        BEFORE[name](rack)
    deploy(rack)
    held = [unit for unit in controller.units.values() if "apply" in (unit.app.meta.get("actions") or {})]
    rack.floor.work(lambda: all(unit.started for unit in held), PATIENCE)
    display.phase("switches")
    found = [applied(rack, unit) for unit in held]
    if not all(check.holds for check in found):
        return found  # the nodes would wait for their switches until patience ends
    display.phase("nodes")
    found.append(settled(rack))
    found += verify(rack)
    for name in rack.nodes:
        reboots = sum(machine == name for machine, _, _ in controller.down)
        found.append(Check("reboots", f"{name} reboots", "1", str(reboots), reboots == 1))
    found.append(one_at_a_time(rack))
    return found


def reboot_survival(rack: Rack) -> list[Check]:
    """Every node loses its power; what comes back is as it was, and no hook has changed it."""
    return power_cycled(rack, list(rack.nodes))


def link_cut(rack: Rack) -> list[Check]:
    """A cable of a node goes and comes back while its instance talks."""
    one, other = list(rack.nodes)[:2]
    fault = f"/sys/kernel/debug/vcx/{next(iter(PFS))}/fault_link_down"
    bond = f"grep 'Number of ports' /proc/net/bonding/{BOND} | cut -d: -f2 | tr -d ' \\t\\n'"
    until = f'for i in $(seq 120); do [ "$({bond})" = {{}} ] && break; sleep 0.5; done; {bond}'
    rack.display.phase("cable cut")
    with traffic(rack, one, other) as seen:
        rack.on(one, f"echo Y >{fault}")
        cut = rack.on(one, f"sleep 5; {until.format(1)}", timeout=120)
        lag = rack.on(one, f"cat /sys/kernel/debug/mlx5/{next(iter(PFS))}/lag/state").strip()
        rack.on(one, f"echo N >{fault}")
        back = rack.on(one, f"{until.format(2)}; sleep 5", timeout=120)
    return [
        equal("cut", f"{one} ports in the bond while cut", "1", cut),
        equal("cut", f"{one} VF-LAG while cut", "active", lag),
        equal("cut", f"{one} ports in the bond afterwards", "2", back),
        gap("cut", f"{one} to {other}", seen, CUT),
        *verify(rack),
    ]


def refresh(rack: Rack) -> list[Check]:
    """Every charm is refreshed under traffic, to the code that it has: no packet is lost, no node changed."""
    one, other = list(rack.nodes)[:2]
    rack.display.phase("refresh")
    before = writes.written(rack, rack.nodes)
    with traffic(rack, one, other) as seen:
        for name in rack.controller.units:
            rack.controller.refresh(name)
        found = [settled(rack)]
    after = writes.written(rack, rack.nodes)
    return [
        *found,
        equal("refresh", f"{one} to {other} packets lost of {seen.sent}", "0", str(seen.lost)),
        *writes.no_change("refresh", "refreshed", writes.since(before, after)),
        *verify(rack),
    ]


def config_changed(rack: Rack) -> list[Check]:
    """More VFs, by a rolling reboot; then another QoS policy of the fabric, that the hosts hear of."""
    controller, display = rack.controller, rack.display
    display.phase("more VFs")
    rack.floor.each("instances end", dict.fromkeys(rack.nodes, ovn.no_instance))
    before = len(controller.down)
    more_vfs(rack, 2)
    found = [settled(rack)]
    found.append(
        equal("reboots", "reboots for more VFs", str(len(rack.nodes)), str(len(controller.down) - before))
    )
    found += verify(rack)
    display.phase("another QoS policy")
    for name in with_option(rack, "intent"):
        intent = controller.deployment.applications[name].options["intent"]
        controller.configure(name, {"intent": intent.replace("mode: lossless", "mode: lossy")})
        found += [applied(rack, unit) for unit in controller.units.values() if unit.app.name == name]
    hosts = [unit for unit in controller.units.values() if "pfc-priorities" in unit.app.options]
    heard = rack.floor.work(lambda: all("fabric" in unit.status[1] for unit in hosts), 300)
    said = "; ".join(sorted({unit.status[1] for unit in hosts}))
    found.append(Check("QoS", "hosts say that the fabric's policy is another", "yes", said, heard))
    for name in with_option(rack, "pfc-priorities"):
        controller.configure(name, {"pfc-priorities": "none"})
    found.append(settled(rack))
    return [*found, *verify(rack)]


def rolling(rack: Rack) -> list[Check]:
    """A rolling reboot waits for the containers of the node that came back: the cloud's quorums."""
    controller, display = rack.controller, rack.display
    display.phase("rolling reboot")
    first = list(rack.nodes)[1]  # unit 0 leads, and its node goes last
    rack.floor.each("instances end", dict.fromkeys(rack.nodes, ovn.no_instance))
    containers.create(rack, [first])
    before = len(controller.down)
    more_vfs(rack, 1)

    def down_from_first() -> list[str]:
        """The nodes that went down since the change, beginning with the one that has the container."""
        names = [name for name, _, _ in controller.down[before:]]
        return names[names.index(first) :] if first in names else []

    rack.floor.work(lambda: bool(down_from_first()), PATIENCE)
    early = rack.floor.work(lambda: len(down_from_first()) > 1, QUORUM)
    down = " ".join(down_from_first())
    found = [Check("reboots", f"other nodes down while a container of {first} is", "none", down, not early)]
    rack.on(first, containers.RUN)
    found.append(settled(rack))
    containers.remove(rack, [first])
    found.append(equal("reboots", "reboots", str(len(rack.nodes)), str(len(controller.down) - before)))
    found += [one_at_a_time(rack), *verify(rack)]
    return [*found, *outage.of_one(rack)] if len(rack.nodes) > 1 else found


def switch_replaced(rack: Rack) -> list[Check]:
    """A leaf is blank again: its nodes go on over the other one, and it is configured anew."""
    rack.display.phase("blank leaf")
    leaf = layout.leaves(0)[0]
    one, other = list(rack.nodes)[:2]
    found: list[Check] = []
    with traffic(rack, one, other) as seen:
        state = rack.on(layout.FABRIC, by_hand(leaf), timeout=300).strip()
        found.append(
            Check("fabric", f"{leaf} takes the factory's configuration", "applied", state, "applied" in state)
        )
        units = [
            unit for unit in rack.controller.units.values() if unit.app.name in with_option(rack, "intent")
        ]
        for unit in units:
            rack.controller.queue(unit, "update_status")
        noticed = rack.floor.work(lambda: all(unit.status[0] != "active" for unit in units), 300)
        said = "; ".join(unit.status[1] for unit in units)
        found.append(Check("fabric", f"{leaf} is blank, and said to be", "yes", said, noticed))
        rack.display.phase("leaf configured")
        found += [applied(rack, unit) for unit in units]
        found.append(settled(rack))
    found.append(gap("fabric", f"{one} to {other}", seen, BLANK))
    return [*found, *verify(rack)]


def node_added(rack: Rack) -> list[Check]:
    """A node more: it converges with one reboot of its own, and nobody else notices."""
    before = len(rack.controller.down)
    rack.display.phase("a node more")
    one, other = list(rack.nodes)[:2]
    with traffic(rack, one, other) as seen:
        rack.count += 1
        new = list(rack.nodes)[-1]
        deploy_node(rack, new)
        found = [settled(rack)]
    down = [name for name, _, _ in rack.controller.down[before:]]
    return [
        *found,
        equal("reboots", "rebooted", new, " ".join(down)),
        equal("overlay", f"{one} to {other} packets lost of {seen.sent}", "0", str(seen.lost)),
        *verify(rack),
    ]


def fault(rack: Rack) -> list[Check]:
    """A random node loses its power in a random hook of a change, then all do; the rack ends converged."""
    seed = random.randrange(1000)
    chance = random.Random(seed)
    machine = rack.floor.machines[chance.choice(list(rack.nodes))]
    hooks = chance.randrange(1, 5)
    rack.display.phase(f"power of {machine.name} fails (seed {seed})")
    rack.floor.each("instances end", dict.fromkeys(rack.nodes, ovn.no_instance))
    more_vfs(rack, 1)
    before = len(machine.done)

    def in_the_hook() -> bool:
        ended = sum("/" in done.what for done in machine.done[before:])
        return ended >= hooks and machine.job is not None and "/" in machine.job.what

    hit = rack.floor.work(in_the_hook, PATIENCE)
    what = machine.job.what if machine.job else "no hook"
    machine.guest.cut_power()
    return [
        Check("fault", f"{machine.name} loses its power", "in a hook", what, hit),
        settled(rack),
        *verify(rack),
        *outage.of_all(rack),
    ]


SCENARIOS: dict[str, Scenario] = {
    "acceptance": acceptance,
    "reboot-survival": reboot_survival,
    "link-cut": link_cut,
    "refresh": refresh,
    "config-changed": config_changed,
    "rolling": rolling,
    "switch-replaced": switch_replaced,
    "fault": fault,
    "node-added": node_added,
    "adopt": adopt,
    "node-removed": node_removed,
    "observed": observed,
    "openstack": openstack,
    "machines": machines,
}
"""The scenarios that can follow ``converge``."""

BEFORE: dict[str, Callable[[Rack], None]] = {"observed": used_before}
"""The changes of machines before they are deployed."""

ONE_MORE = ("node-added", "adopt")
"""Those that want a node of their own, blank until then."""

CLOUD = ("openstack", "machines")
"""Those with a control plane, for which the rack's nodes have more memory."""

APART = ("observed", *CLOUD)
"""Those that are not part of `all`."""

TWO_NODES = (
    *("acceptance", "link-cut", "refresh", "switch-replaced", "node-added", "node-removed", "observed"),
    *CLOUD,
)
"""Those with traffic between two nodes that are there from the beginning, or a lock that one of two holds."""
