# SPDX-License-Identifier: Apache-2.0
"""A rolling reboot of 8, 64 and 256 nodes, and a power cut of all of them, with the charms' own code.

``PYTHONPATH=lib:tests python tests/bench/reboots.py`` prints the tables within a few minutes; no real time
passes for the nodes, and each run prints the same. :mod:`cloud` says what is modelled of Juju, and with
which times. Not counted are update-status hooks during a roll: they come every five minutes with or without
one.

One node at a time, approved on the leader::

    nodes                                              8      64     256
    dispatches a unit for the roll, mean            33.1   202.9   779.0
    of which look at the host, mean                  5.1     5.0     5.0
    of which look at the host, most                    6       6       6
    application databag, bytes at most               388     890   2,774
    machine lock, seconds a node, mean                22      66     217
    machine lock, seconds a node, most                27     219   2,306
    hours                                            1.4    10.9    44.0

    20 minutes after a power cut of all
    dispatches a unit, most                           20     132     516
    of which look at the host, most                    6       6       6

With reboot-parallel, 256 nodes in four zones, three of them with containers: 11.5 hours for 4, 2.6 hours for
10%.

Without containers a roll of N nodes takes 3 N² + 3 dispatches, which are 3 N + 3/N a unit. Juju wakes all
other units for each write, N - 1 dispatches, and the roll needs these: the need of each unit but the leader,
whose own nobody else reads (N - 1 writes); the grant for each unit, the first one together with the approval
(N); the release of each unit (N); and the mark of the leader that was elected while the first leader's host
booted, with the free lock (1): 3 N writes, 3 N² - 3 N dispatches. Each unit has three of its own: the change
of the option, the start of its host, and the look at the end of its settle time. The last three are the
action approve-reboot, the leader's hook after it, and the election. The last write is the only one of the 3 N
that a unit could do without: the next roll would then begin with N answers to that mark, N² dispatches more.

The first N² - N + 1 of these dispatches follow the change of the option, whether or not the operator approves
the reboots then. From approve-reboot on there are 2 N² + N + 2, which are 17.2, 129.0 and 513.0 a unit.

Before a node with containers goes down, the leader asks the others with containers for a hook in their
present boot. With three such nodes, as in the tables, these questions and answers are about eleven writes for
the whole roll, which are eleven dispatches a unit whatever N is.

Under ``always`` nobody approves, and the leader needs a reboot itself before it has read what the others
need: it asks all units at once to repeat its mark, and repeats it itself. With these two writes, and without
the action and the hook after it, a roll takes 3 N² + 2 N - 1 dispatches.
"""

import sys
from collections.abc import Callable
from typing import NamedTuple

from charmkit.reboot import hook
from charmkit.reboot.lock import approve_all
from charmkit.reboot.policy import Mode, RebootPolicy
from charmkit.reboot.relation import Databags
from charmkit.reboot.state import Cluster, Need, UnitNow, UnitState
from charmkit.reboot.unit import approve_one, next_look_in
from cloud import EARLY, LIGHT, LOOK, Cloud, Done, Event
from lab.peers import Peers, databags, kept

SIZES = (8, 64, 256)
WHY = "8 VFs at the next boot"
APPLICATION = "sriov-switchdev"
SETTLE = 300
QUORUM = 3
"""Nodes with containers, which reboot alone."""

ZONES = 4
AFTER_CUT = 20 * 60.0
FAR = 1e9


class Unit:
    """One unit with the charms' code for reboots; its host verifies as soon as it is up."""

    def __init__(self, number: int, policy: RebootPolicy, zone: str) -> None:
        self.number = number
        self.boots = 1
        self.needs = False
        self._policy = policy
        self._zone = zone
        self._kept = kept()

    def boot(self) -> None:
        """Its host boots; that is all that a reboot is needed for."""
        self.boots += 1
        self.needs = False

    def run(self, event: Event, cloud: Cloud) -> Done:
        """One hook, or the action ``approve-reboot``."""
        me, leads = name(self.number), cloud.leader == self.number
        if event.kind == "relation-changed" and event.of >= 0 and not leads:
            return Done(EARLY)
        seen = range(len(cloud.bags)) if leads else (self.number,)  # only the leader reads its peers
        texts = {name(number): cloud.bags[number] for number in seen}
        peers = Peers(me, texts, {**texts, APPLICATION: cloud.application})
        done = self._do(event, databags(me, peers, self._kept, leader=leads), cloud)
        # What another unit read of the application's databag may be old when its hook ends.
        application = peers.text(APPLICATION) if leads else None
        return done._replace(reads=len(peers.data.read), unit=peers.text(me), application=application)

    def _do(self, event: Event, bags: Databags, cloud: Cloud) -> Done:
        def silent() -> tuple[str, ...]:
            return tuple(name(n) for n, machine in enumerate(cloud.machines) if not machine.up)

        now = 1_000_000 + int(cloud.now)
        if event.kind == "approve-reboot":
            return self._approve(bags, now, silent)
        if event.kind == "relation-changed":
            of = name(event.of) if event.of >= 0 else ""
            if not hook.follow(bags, self._boot_id, now, of, silent):
                return Done(LIGHT)
        result = hook.run(
            bags, self._policy, lambda own: self._host(own, cloud, now, leads=bags.leader), silent
        )
        assert isinstance(result, hook.Result), result
        decision = result.decision
        again = None if decision.reboot else next_look_in(result.host, self._policy, decision.own)
        return Done(LOOK, reboot=decision.reboot, wake=again)

    def _approve(self, bags: Databags, now: int, silent: Callable[[], tuple[str, ...]]) -> Done:
        units, _ = bags.units()
        cluster = bags.cluster()
        assert isinstance(cluster, Cluster), cluster
        units[bags.unit] = own = approve_one(units[bags.unit], 0, cluster.cancels)
        bags.publish(own, hook.with_first_grant(bags, units, approve_all(units, cluster), now, silent))
        return Done(LIGHT, wake=0.0)

    def _host(self, own: UnitState, cloud: Cloud, now: int, *, leads: bool) -> UnitNow:
        return UnitNow(
            unit=name(self.number),
            boot_id=self._boot_id,
            uptime=int(cloud.now - cloud.machines[self.number].booted),
            now=now,
            leader=leads,
            need=Need((WHY,) if self.needs else ()),
            zone=self._zone,
            has_containers=self.number < QUORUM,
        )

    @property
    def _boot_id(self) -> str:
        return f"6f3a4519-89ba-4c58-876c-{self.number:06d}{self.boots:06d}"


def name(number: int) -> str:
    """The unit with this number."""
    return f"{APPLICATION}/{number}"


def deployed(count: int, policy: RebootPolicy, *, zones: int = 1, periodic: bool = False) -> Cloud:
    """An application that has been idle for a while."""
    units = [Unit(number, policy, f"zone-{number % zones}") for number in range(count)]
    cloud = Cloud(units, periodic=periodic)
    for number in range(count):
        cloud.emit(number, Event("config-changed"))
    cloud.run(36_000)
    cloud.reset()
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


def roll(count: int, parallel: str = "1", zones: int = 1, mode: Mode = "manual") -> Roll:
    """Change the option and, under ``manual``, approve the reboots once all nodes have published theirs."""
    cloud = deployed(count, RebootPolicy(mode, SETTLE, parallel), zones=zones)
    for number, unit in enumerate(cloud.units):
        unit.needs = True
        cloud.emit(number, Event("config-changed"))
    if mode == "manual":
        cloud.run(cloud.now + 1200)
    began, before = cloud.now, total(cloud)
    if mode == "manual":
        cloud.emit(cloud.leader, Event("approve-reboot"))
    cloud.run(FAR)
    assert all(machine.boots == 1 for machine in cloud.machines), [each.boots for each in cloud.machines]
    return Roll(cloud, (cloud.now - began) / 3600, total(cloud), total(cloud) - before)


def total(cloud: Cloud) -> int:
    """The dispatches of all units."""
    return sum(machine.hooks for machine in cloud.machines)


def power_cut(count: int) -> Cloud:
    """The first minutes after a power cut of all nodes."""
    cloud = deployed(count, RebootPolicy("manual", SETTLE), periodic=True)
    cloud.power_cut()
    cloud.run(cloud.now + AFTER_CUT)
    return cloud


ROWS: dict[str, Callable[[Roll], str]] = {
    "dispatches a unit for the roll, mean": lambda roll: f"{mean(roll.cloud, 'hooks'):.1f}",
    "dispatches a unit for the roll, most": lambda roll: f"{most(roll.cloud, 'hooks'):.0f}",
    "of which from approve-reboot on, mean": lambda roll: f"{roll.from_approval / len(roll.cloud.units):.1f}",
    "of which look at the host, mean": lambda roll: f"{mean(roll.cloud, 'looks'):.1f}",
    "of which look at the host, most": lambda roll: f"{most(roll.cloud, 'looks'):.0f}",
    "application databag, bytes at most": lambda roll: str(roll.cloud.largest),
    "machine lock, seconds a node, mean": lambda roll: f"{mean(roll.cloud, 'locked'):.0f}",
    "machine lock, seconds a node, most": lambda roll: f"{most(roll.cloud, 'locked'):.0f}",
    "hours": lambda roll: f"{roll.hours:.1f}",
}
AFTER: dict[str, Callable[[Cloud], str]] = {
    "power cut: dispatches a unit in 20 minutes, most": lambda cloud: f"{most(cloud, 'hooks'):.0f}",
    "power cut: of which look at the host, mean": lambda cloud: f"{mean(cloud, 'looks'):.1f}",
    "power cut: of which look at the host, most": lambda cloud: f"{most(cloud, 'looks'):.0f}",
}


def mean(cloud: Cloud, what: str) -> float:
    """The mean of a count over all machines."""
    return sum(getattr(machine, what) for machine in cloud.machines) / len(cloud.machines)


def most(cloud: Cloud, what: str) -> float:
    """The largest count of all machines."""
    return max(getattr(machine, what) for machine in cloud.machines)


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
