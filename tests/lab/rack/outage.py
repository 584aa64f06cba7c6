# SPDX-License-Identifier: Apache-2.0
"""Nodes without power while the others, or they themselves, roll through a reboot."""

from lab.checks import Check, equal
from lab.rack import containers, ovn
from lab.rack.build import Rack
from lab.rack.common import PATIENCE, QUORUM, more_vfs, on_nodes, one_at_a_time, settled, verify
from lab.rack.controller import REBOOT


def of_one(rack: Rack) -> list[Check]:
    """A node is down before its turn, and again when its turn has come: no other one reboots meanwhile."""
    controller = rack.controller
    leader, *_, crashed = rack.nodes
    rack.floor.each("instances end", dict.fromkeys(rack.nodes, ovn.no_instance))
    before = len(controller.down)
    rack.display.phase(f"{crashed} is down before its turn")
    controller.cut_power([crashed])
    more_vfs(rack, 1)
    # A long status begins with the remedy and may end before the reason.
    silent = ["does not answer", "look at those units"]
    found = [*_waits(rack, leader, silent, "is down before its turn")]
    controller.power_on([crashed])
    rack.display.phase(f"{crashed} fails in its turn")
    turn = rack.floor.work(lambda: REBOOT in _asked(rack, crashed), PATIENCE)
    found.append(Check("reboots", f"{crashed} has its turn when it is back", "yes", str(turn), turn))
    controller.cut_power([crashed])
    more_vfs(rack, 1)  # a reason for the others to reboot once more
    holders = [f"waits for {unit.name}" for unit in on_nodes(rack, [crashed])]
    found += _waits(rack, leader, holders, "holds the lock and is down")
    rack.display.phase(f"{crashed} is back")
    controller.power_on([crashed])
    found.append(settled(rack))
    # The crashed node twice without power, and once for the VFs that it heard of when it was back.
    # The others once, or twice if they had their turn before the second change.
    down = [name for name, _, _ in controller.down[before:]]
    found.append(equal("reboots", f"boots of {crashed}", "3", str(down.count(crashed))))
    for name in (name for name in rack.nodes if name != crashed):
        times = down.count(name)
        found.append(Check("reboots", f"reboots of {name}", "1 or 2", str(times), times in (1, 2)))
    return [*found, one_at_a_time(rack, before), *verify(rack)]


def of_all(rack: Rack) -> list[Check]:
    """All nodes lose their power while one of them has its turn, and boot with their containers stopped."""
    controller, nodes = rack.controller, list(rack.nodes)
    rack.display.phase("the power of all nodes fails")
    rack.floor.each("instances end", dict.fromkeys(nodes, ovn.no_instance))
    containers.create(rack, nodes)
    more_vfs(rack, 1)
    turn = rack.floor.work(lambda: any(REBOOT in _asked(rack, name) for name in nodes), PATIENCE)
    before = len(controller.down)
    controller.cut_power(nodes)
    more_vfs(rack, 1)  # a reason for all of them to reboot after the outage
    controller.power_on(nodes)
    rack.display.phase("all nodes are back")
    back = rack.floor.work(lambda: _down(rack, before) >= set(nodes), PATIENCE)
    after = len(controller.down)
    rack.floor.work(lambda: len(_down(rack, after)) > 1, QUORUM)
    first = sorted(_down(rack, after))
    said = " ".join(first) or "none"
    found = [
        Check("fault", "all nodes lose their power", "in a node's turn", str(turn), turn),
        Check("fault", "all nodes boot", "yes", str(back), back),
        # The node whose turn it was may use it; its containers are down in any case.
        Check(
            "reboots", "nodes that reboot while all containers are down", "at most 1", said, len(first) < 2
        ),
    ]
    for name in nodes:
        rack.on(name, containers.START_AT_BOOT)
    found.append(settled(rack))
    containers.remove(rack, nodes)
    again = sorted(name for name, _, _ in controller.down[after:])
    found.append(equal("reboots", "reboots after the outage", " ".join(sorted(nodes)), " ".join(again)))
    return [*found, one_at_a_time(rack, after), *verify(rack)]


def _waits(rack: Rack, node: str, reasons: list[str], crashed: str) -> list[Check]:
    """The node needs a reboot, says for what it waits, and stays up."""
    controller, before = rack.controller, len(rack.controller.down)

    def says() -> list[str]:
        said = [unit.status[1] for unit in on_nodes(rack, [node])]
        return [text for text in said if any(reason in text for reason in reasons)]

    named = rack.floor.work(lambda: bool(says()), PATIENCE)
    early = rack.floor.work(lambda: len(controller.down) > before, QUORUM)
    down = " ".join(name for name, _, _ in controller.down[before:]) or "none"
    return [
        Check("reboots", f"{node} says for what it waits", reasons[0], "; ".join(says()) or "nothing", named),
        Check("reboots", f"nodes that reboot while another {crashed}", "none", down, not early),
    ]


def _asked(rack: Rack, node: str) -> list[str]:
    """Return the jobs that a node has still to do, in order, without the one that runs."""
    return [job.what for job in rack.floor.machines[node].queue]


def _down(rack: Rack, since: int) -> set[str]:
    """The nodes that went down and are back since there were this many entries in the controller's list."""
    return {name for name, _, _ in rack.controller.down[since:]}
