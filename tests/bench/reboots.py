# SPDX-License-Identifier: Apache-2.0
"""A rolling reboot of 8, 64 and 256 nodes, and a power cut of all of them.

``PYTHONPATH=lib:tests python tests/bench/reboots.py`` prints the tables in a minute; no real time passes for
the nodes, and each run prints the same. :mod:`lab.juju.agents` is Juju, as for the whole site (:mod:`site`).
A hook, however, is not the charm's, with ops and a modelled host: it is only the code of ``charmkit.reboot``,
which takes less than a millisecond. A third of the 200,000 hooks of a roll of 256 nodes would load ops
otherwise, which takes 5 ms. Not counted are update-status hooks during a roll: they come every five minutes
with or without one.

One node at a time, approved on the leader::

    nodes                                              8      64     256
    dispatches a unit for the roll, mean            32.5   201.9   778.0
    of which look at the host, mean                  4.5     4.1     4.0
    of which look at the host, most                    6       5       5
    application databag, bytes at most               404     907   2,792
    machine lock, seconds a node, mean                20      63     215
    machine lock, seconds a node, most                27     219   2,306
    hours                                            0.9     5.8    22.7

    20 minutes after a power cut of all
    dispatches a unit, most                           20     132     516
    of which look at the host, most                    6       6       6

With reboot-parallel, 256 nodes in four zones, three of them with containers: 6.1 hours for 4, 1.6 hours for
10%. If all of them settled for 300 seconds, it would take 11.5 and 2.6 hours.

Without containers a roll of N nodes takes 3 N² - N + 3 dispatches, 3 N - 1 + 3/N a unit. Juju wakes all
other units for each write, N - 1 dispatches, and the roll needs these: the need of each unit but the leader,
whose own nobody else reads (N - 1 writes); the grant for each unit, the first one together with the approval
(N); the release of each unit (N); and the mark of the leader that was elected while the first leader's host
booted, with the free lock (1): 3 N writes, 3 N² - 3 N dispatches. Each unit has two of its own: the change
of the option, and the start of its host, which has settled in that look. A node with containers is looked at
once more, at the end of its settle time. The last three are the
action approve-reboot, the leader's hook after it, and the election. The last write is the only one of the 3 N
that a unit could do without: the next roll would then begin with N answers to that mark, N² dispatches more.

The first N² - N + 1 of these dispatches follow the change of the option, whether or not the operator approves
the reboots then. From approve-reboot on there are 2 N² + 2, which are 16.2, 128.0 and 512.0 a unit.

Before a node with containers goes down, the leader asks the others with containers for a hook in their
present boot. With three such nodes, as in the tables, these questions and answers are about eleven writes for
the whole roll, which are eleven dispatches a unit whatever N is.

Under ``always`` nobody approves, and the leader needs a reboot itself before it has read what the others
need: it asks all units at once to repeat its mark, and repeats it itself. With these two writes, and without
the action and the hook after it, a roll takes 3 N² + N - 1 dispatches.
"""

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from charmkit.reboot import hook as reboot
from charmkit.reboot.databag import KEY
from charmkit.reboot.lock import approve_all
from charmkit.reboot.policy import RebootOptions
from charmkit.reboot.relation import Databags
from charmkit.reboot.state import Cluster, Need, UnitNow
from charmkit.reboot.unit import approve_one, next_look_in
from lab.juju.agents import BOOT, STATUS, Agents, Costs, Does, Machine, Spent
from lab.juju.hooktools import Controller, Ran, Tools
from lab.juju.model import Event, Relation
from lab.juju.peers import Given, Peers, databags, kept

SIZES = (8, 64, 256)
WHY = "8 VFs at the next boot"
APPLICATION = "sriov-switchdev"
SETTLE = 300
QUORUM = 3
"""Nodes with containers, which reboot alone."""

ZONES = 4
AFTER_CUT = 20 * 60.0
COSTS = Costs(tool=0.03, early=0.1, start=0.5, look=2.0)


class Unit:
    """One unit with the charms' code for reboots; its host verifies as soon as it is up."""

    def __init__(self, number: int, policy: RebootOptions, zone: str) -> None:
        self.number = number
        self.needs = False
        self.wake: float | None = None
        self._policy = policy
        self._zone = zone
        self.kept = kept()

    def boot(self) -> None:
        """Its host boots; that is all that a reboot is needed for."""
        self.needs = False

    def run(self, hook: str, of: str, bags: Databags, cloud: "Cloud") -> Ran:
        """One hook, or the action ``approve-reboot``."""
        self.wake = None
        now, machine = int(cloud.agents.now), cloud.agents.machines[bags.unit]
        host = UnitNow(
            unit=bags.unit,
            boot_id=f"6f3a4519-89ba-4c58-876c-{self.number:06d}{machine.boots:06d}",
            uptime=now - int(machine.booted),
            now=now,
            leader=bags.leader,
            need=Need((WHY,) if self.needs else ()),
            zone=self._zone,
            has_containers=self.number < QUORUM,
            has_members=self.number < QUORUM,
        )
        inputs = Seen(bags, host, parallel_is=self._policy.reboot_parallel, cloud=cloud)
        if hook == "action":
            return self._approve(inputs)
        if hook == "relation-changed" and not reboot.follow(inputs, of):
            return Ran()
        result = reboot.run(inputs, self._policy)
        assert isinstance(result, reboot.Result), result
        decision = result.decision
        if not decision.reboot:
            self.wake = next_look_in(result.host, self._policy, decision.own)
        return Ran(looked=True, reboot=decision.reboot)

    def _approve(self, inputs: "Seen") -> Ran:
        bags = inputs.bags
        units, _ = bags.units()
        cluster = bags.cluster()
        assert isinstance(cluster, Cluster), cluster
        units[bags.unit] = own = approve_one(units[bags.unit], 0, cluster.cancels)
        approved = approve_all(units, cluster)
        bags.publish(own, reboot.with_first_grant(inputs, units, approved))
        self.wake = 0.0
        return Ran()


@dataclass
class Seen(Given):
    """The inputs of one hook of a unit; the cloud's machines are gone through only where they matter."""

    cloud: "Cloud" = field(kw_only=True)

    def silent(self) -> tuple[str, ...]:
        """The units whose machines do not answer."""
        return self.cloud.silent()


class Cloud(Controller):
    """An application whose units, each on a machine of its own, run the code for reboots without ops."""

    def __init__(self, units: list[Unit]) -> None:
        super().__init__(Path())
        self.nodes = {name(each.number): each for each in units}
        self.leaders[APPLICATION] = name(0)
        self.peers = self.relate({APPLICATION: "reboot"})
        does = Does(
            spent=lambda unit: Spent(wake=self.nodes[unit].wake), boot=lambda unit: self.nodes[unit].boot()
        )
        self.agents = Agents(self, {APPLICATION: does}, COSTS)
        for unit in self.nodes:
            self.databags[self.peers.id][unit] = {}
            self.agents.place(unit, Machine())

    @property
    def leader(self) -> str:
        """The unit that leads."""
        return self.leaders[APPLICATION]

    def silent(self) -> tuple[str, ...]:
        """The units whose machines do not answer."""
        return tuple(unit for unit, machine in self.agents.machines.items() if not machine.up)

    def begin(
        self, unit: str, hook: str, relation: Relation | None = None, remote: str = "", **_: Any
    ) -> Tools:
        """A hook, or the action ``approve-reboot``."""
        tools, leads, node = Tools(self, unit, {}), self.leader == unit, self.nodes[unit]
        of = remote if "/" in remote else ""
        if hook == "relation-changed" and of and not leads:
            tools.ran.early = True
            return tools
        bags = self.databags[self.peers.id]
        seen = bags if leads else (unit, APPLICATION)  # only the leader reads its peers
        peers = Peers(unit, self.nodes if leads else (), {each: bags[each].get(KEY, "") for each in seen})
        tools.ran = node.run(hook, of, databags(unit, peers, node.kept, leader=leads), self)
        tools.ran.tools["relation-get"] = len(peers.data.read)
        for owner in (unit, APPLICATION) if leads else (unit,):
            tools.write(self.peers, owner, {KEY: peers.text(owner)})
        return tools

    @property
    def hooks(self) -> list[int]:
        """The dispatches of each unit."""
        return [count.hooks.total() for count in self.agents.counts.values()]

    @property
    def looks(self) -> list[int]:
        """Those of them that look at the host."""
        return [count.looks for count in self.agents.counts.values()]

    @property
    def busy(self) -> list[float]:
        """For how many seconds each machine was locked."""
        return [count.busy for count in self.agents.counts.values()]


def name(number: int) -> str:
    """The unit with this number."""
    return f"{APPLICATION}/{number}"


def deployed(count: int, policy: RebootOptions, zones: int = 1) -> Cloud:
    """An application that has been idle for a while."""
    cloud = Cloud([Unit(number, policy, f"zone-{number % zones}") for number in range(count)])
    for unit in cloud.nodes:
        cloud.agents.emit(unit, Event("config-changed"))
    cloud.agents.settle()
    cloud.agents.reset()
    return cloud


class Roll(NamedTuple):
    """A change of an option that all nodes have to reboot for, until all have settled.

    Attributes:
        cloud: the nodes, with what they counted from the change on.
        hours: from the approval on; under ``always`` from the change on.
        hooks: dispatches of all units.
        from_approval: those of them from the action approve-reboot on.

    """

    cloud: Cloud
    hours: float
    hooks: int
    from_approval: int


def roll(count: int, parallel: str = "1", zones: int = 1, mode: str = "manual") -> Roll:
    """Change the option and, under ``manual``, approve the reboots once all nodes have published theirs."""
    cloud = deployed(count, RebootOptions(mode, SETTLE, parallel), zones)
    agents = cloud.agents
    for unit, node in cloud.nodes.items():
        node.needs = True
        agents.emit(unit, Event("config-changed"))
    if mode == "manual":
        agents.settle()
    before = sum(cloud.hooks)
    if mode == "manual":
        agents.emit(cloud.leader, Event("action"))
    hours = agents.settle() / 3600
    boots = [machine.boots for machine in agents.machines.values()]
    assert boots == [1] * count, boots
    total = sum(cloud.hooks)
    return Roll(cloud, hours, total, total - before)


def power_cut(count: int) -> Cloud:
    """The first minutes after a power cut of all nodes, which come up one after the other."""
    cloud, chance = deployed(count, RebootOptions("manual", SETTLE)), random.Random(21)
    for unit, machine in cloud.agents.machines.items():
        cloud.agents.later(chance.uniform(0, STATUS), lambda unit=unit: cloud.agents.update_status(unit))
        cloud.agents.down(machine, BOOT + chance.uniform(0, 120))
    cloud.agents.settle(AFTER_CUT)
    return cloud


ROWS: dict[str, Callable[[Roll], str]] = {
    "dispatches a unit for the roll, mean": lambda roll: f"{fmean(roll.cloud.hooks):.1f}",
    "dispatches a unit for the roll, most": lambda roll: f"{max(roll.cloud.hooks):.0f}",
    "of which from approve-reboot on, mean": lambda roll: f"{roll.from_approval / len(roll.cloud.nodes):.1f}",
    "of which look at the host, mean": lambda roll: f"{fmean(roll.cloud.looks):.1f}",
    "of which look at the host, most": lambda roll: f"{max(roll.cloud.looks):.0f}",
    "application databag, bytes at most": lambda roll: str(roll.cloud.agents.largest["application's"]),
    "machine lock, seconds a node, mean": lambda roll: f"{fmean(roll.cloud.busy):.0f}",
    "machine lock, seconds a node, most": lambda roll: f"{max(roll.cloud.busy):.0f}",
    "hours": lambda roll: f"{roll.hours:.1f}",
}
AFTER: dict[str, Callable[[Cloud], str]] = {
    "power cut: dispatches a unit in 20 minutes, most": lambda cloud: f"{max(cloud.hooks):.0f}",
    "power cut: of which look at the host, mean": lambda cloud: f"{fmean(cloud.looks):.1f}",
    "power cut: of which look at the host, most": lambda cloud: f"{max(cloud.looks):.0f}",
}


def show(what: str, values: list[str]) -> None:
    """One line of a table."""
    print(f"{what:50}" + "".join(f"{value:>9}" for value in values), flush=True)


def main(sizes: tuple[int, ...] = SIZES) -> None:
    """Print the tables."""
    show("nodes that reboot one at a time", [str(size) for size in sizes])
    rolls = [roll(size) for size in sizes]
    for what, value in ROWS.items():
        show(what, [value(each) for each in rolls])
    cuts = [power_cut(size) for size in sizes]
    for what, value in AFTER.items():
        show(what, [value(each) for each in cuts])
    for parallel in ("4", "10%"):
        show(f"\nreboot-parallel={parallel}, {ZONES} zones", [str(size) for size in sizes])
        rolls = [roll(size, parallel, ZONES) for size in sizes]
        for what, value in ROWS.items():
            show(what, [value(each) for each in rolls])


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
