# SPDX-License-Identifier: Apache-2.0
"""Juju's part for the whole rack: events in Juju's order, relation data carried until nothing changes.

It knows no charm. :mod:`lab.unit` runs the hooks inside the machines; hooks that the charms have dispatched
themselves are noticed by looking at what it keeps. A test harness, not a Juju: no removal, no upgrade of a
running hook, leadership stays with unit 0.
"""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import Any

from lab.guest import Guest, GuestError
from lab.juju import HookError, Result
from lab.juju import Unit as Runner
from lab.rack.deployment import Application, Deployment, Relation
from lab.rack.machine import Floor, Job, Machine

LOOK = "cat /proc/sys/kernel/random/boot_id /var/lib/lab/units/*.json"  # a line each
LOOK_AGAIN = 4.0  # seconds without a hook: each look costs the guest two processes
LOOK_BETWEEN = 15.0  # seconds, between hooks: one that a charm has dispatched may have asked for a reboot
UPDATE_STATUS = 60.0  # seconds; Juju's are five minutes
ATTEMPTS = 3  # of a hook that fails


@dataclass
class Unit:
    """A unit as the controller knows it."""

    app: Application
    number: int
    machine: Machine
    status: tuple[str, str] = ("waiting", "for its machine")
    since: float = field(default_factory=time.monotonic)
    hooked: float = 0.0
    writes: int = 0
    failures: int = 0
    runner: Any = None  # a Runner as soon as it is deployed
    started: bool = False

    @property
    def name(self) -> str:
        return f"{self.app.name}/{self.number}"

    @property
    def leader(self) -> bool:
        return self.number == 0


class Controller:
    """Units, their relations' data, and what happens next."""

    def __init__(self, deployment: Deployment, floor: Floor, place: Mapping[str, str]) -> None:
        self.deployment = deployment
        self.floor = floor
        self.units: dict[str, Unit] = {}
        self.planned = {
            f"{app.name}/{number}": Unit(app, number, floor.machines[place[machine]])
            for app in deployment.applications.values()
            for number, machine in enumerate(app.machines)
        }
        self.tell: Callable[[str], object] = lambda line: None
        self.down: list[tuple[str, float, float]] = []  # machine, from, to
        self._bags: dict[tuple[int, str], dict[str, str]] = defaultdict(dict)  # by relation and owner
        self._looks: dict[str, float] = {}

    # -- what an operator does

    def deploy(self, *names: str, secrets: Sequence[dict[str, Any]] = ()) -> None:
        """Add units to their machines, and queue a new unit's events in Juju's order, units side by side."""
        events: list[list[tuple[Unit, str]]] = []
        for unit in (self.planned[name] for name in names):
            self.units[unit.name] = unit
            known = {
                "number": unit.number, "charm": unit.app.charm, "leader": unit.leader,
                "planned_units": len(unit.app.machines), "config": unit.app.options, "secrets": list(secrets),
                "relations": self._seen_by(unit),
            }  # fmt: skip
            unit.machine.queue.append(Job(f"{unit.name} deploy", partial(self._add, unit, known)))
            ends = [each.end(unit.app.name) for each in self._relations(unit)]
            created = [f"{end}_relation_created" for end in ends]
            later = ["leader_elected", "config_changed", "start"][not unit.leader :]
            events.append([(unit, event) for event in ("install", *created, *later)])
        for step in zip_longest(*events):
            for unit, event in filter(None, step):
                self.queue(unit, event)

    def configure(self, app: str, options: Mapping[str, Any]) -> None:
        """``juju config``."""
        self.deployment.applications[app].options.update(options)
        for unit in self.units.values():
            if unit.app.name == app:
                self.queue(unit, "config_changed")

    def refresh(self, name: str) -> None:
        """``juju refresh``, on one unit."""
        for event in ("upgrade_charm", "config_changed"):
            self.queue(self.units[name], event)

    def action(self, name: str, action: str, patience: float = 900, **params: Any) -> Result:
        """``juju run``."""
        return self.actions([name], action, patience, **params)[name]

    def actions(
        self, names: Sequence[str], action: str, patience: float = 900, **params: Any
    ) -> dict[str, Result]:
        """The same on several units, those of different machines side by side; results by unit."""
        results: dict[str, Result] = {}

        def ran(unit: Unit, result: Result) -> None:
            results[unit.name] = result
            self._hooked(unit, result)

        for unit in (self.units[name] for name in names):
            run = partial(unit.runner.action, action, params, timeout=patience)
            job = Job(f"{unit.name} {action}", lambda _, run=run: run(), partial(ran, unit))
            unit.machine.queue.append(job)
        if not self.floor.work(lambda: len(results) == len(names), patience):
            raise TimeoutError(f"{action}: not done within {patience:.0f} s on {', '.join(names)}")
        return results

    # -- what Juju does

    def queue(self, unit: Unit, event: str, other: int | None = None) -> None:
        """Queue an event, unless it waits already; a relation's is of the unit with the number ``other``."""
        what = f"{unit.name} {event.replace('_', '-')}" + (f" {other}" if other is not None else "")
        if not any(job.what == what for job in unit.machine.queue):
            job = Job(what, partial(self._run, unit, event, other), partial(self._ran, unit, event))
            job.failed = partial(self._failed, unit, job)
            unit.machine.queue.append(job)

    def due(self) -> None:
        """What time brings: a look at machines, update-status while a unit is not there yet.

        Those that are active have it, too, less often: what others wait for may be what they see and tell.
        """
        now = time.monotonic()
        waiting = any(unit.status[0] != "active" for unit in self.units.values())
        for machine in self.floor.machines.values():
            if machine.job or not self._deployed(machine):
                continue
            idle = not machine.queue and now - machine.ended > LOOK_AGAIN
            for unit in self._started(machine) if waiting and idle else []:
                pause = UPDATE_STATUS * (4 if unit.status[0] == "active" else 1)
                if now - unit.hooked > pause:
                    self.queue(unit, "update_status")
            looked, lost = partial(self._looked, machine), partial(self._lost, machine)
            look = Job("", lambda guest: guest.run(LOOK).stdout, looked, lost)
            if idle:
                machine.queue.append(look)
            elif now - self._looks.get(machine.name, 0) > LOOK_BETWEEN:
                machine.queue.appendleft(look)

    @property
    def settled(self) -> bool:
        """Every unit is active, nothing is left to do, and a look since the last hook found nothing new."""
        jobs = [job for m in self.floor.machines.values() for job in (m.job, *m.queue) if job and job.what]
        return not jobs and all(
            unit.started
            and unit.status[0] == "active"
            and self._looks.get(unit.machine.name, 0) > unit.hooked
            for unit in self.units.values()
        )

    def _add(self, unit: Unit, known: Mapping[str, Any], guest: Guest) -> None:
        unit.runner = Runner(guest, unit.app.name, **known)

    def _run(self, unit: Unit, event: str, other: int | None, _: Guest) -> Result:
        seen = {"config": unit.app.options, "relations": self._seen_by(unit)}
        return unit.runner.emit(event, **seen, **({} if other is None else {"remote_unit": other}))

    def _ran(self, unit: Unit, event: str, result: Result) -> None:
        unit.failures, unit.writes = 0, len(result.writes)
        self._hooked(unit, result)
        if event == "start" and not unit.started:
            unit.started = True
            for relation in self._relations(unit):
                for other in self._others(unit, relation):
                    for one, far in ((unit, other), (other, unit)):
                        self._changed(one, relation, far.number, "joined", "changed")
                if relation.container:
                    self._changed(unit, relation, None, "joined", "changed")

    def _changed(self, unit: Unit, relation: Relation, other: int | None, *events: str) -> None:
        for event in events:
            self.queue(unit, f"{relation.end(unit.app.name)}_relation_{event}", other)

    def _failed(self, unit: Unit, job: Job, error: Exception) -> None:
        """Juju tries a failed hook again, and one in which the machine lost its power."""
        unit.failures += 1
        if not isinstance(error, HookError | GuestError) or unit.failures >= ATTEMPTS:
            raise error
        unit.machine.queue.appendleft(job)
        if isinstance(error, HookError):
            self._status(unit, ("error", f"hook failed: {str(error).strip().splitlines()[-1]}"))
        else:
            self._lost(unit.machine)

    def _hooked(self, unit: Unit, result: Result) -> None:
        unit.hooked = time.monotonic()
        for level, text in result.logs:
            if level == "INFO":
                self.tell(f"{unit.name}: {text}")
        self._status(unit, result.status)
        self._carry(unit, result.relations)
        if result.reboot_requested:
            self._reboot(unit.machine)

    def _looked(self, machine: Machine, found: str) -> None:
        self._looks[machine.name] = time.monotonic()
        boot_id, *lines = found.splitlines()
        known = {each["app"]: each for each in map(json.loads, lines)}
        for unit in self._deployed(machine):
            now = known[unit.app.name]
            self._status(unit, tuple(now["status"]))
            self._carry(unit, now["relations"])
            if now.get("reboot_requested") == boot_id:
                self._reboot(machine)

    def _status(self, unit: Unit, status: tuple[str, str]) -> None:
        if status != unit.status:
            unit.status, unit.since = status, time.monotonic()

    def _lost(self, machine: Machine, _: object = None) -> None:
        self._reboot(machine, "power on", lambda guest: guest.power_cycle())

    def _reboot(
        self,
        machine: Machine,
        what: str = "reboot",
        work: Callable[[Guest], None] = lambda guest: guest.reboot(timeout=900),
    ) -> None:
        """Before anything else; then ``start``, on every unit of the machine."""

        def then(_: object) -> None:
            self.down.append((machine.name, machine.began, machine.ended))
            for unit in self._started(machine):
                self.queue(unit, "start")

        machine.queue.appendleft(Job(what, work, then))

    def _deployed(self, machine: Machine) -> list[Unit]:
        return [unit for unit in self.units.values() if unit.machine is machine and unit.runner]

    def _started(self, machine: Machine) -> list[Unit]:
        return [unit for unit in self._deployed(machine) if unit.started]

    # -- relations

    def _relations(self, unit: Unit) -> list[Relation]:
        return [each for each in self.deployment.relations if unit.app.name in dict(each.ends)]

    def _far(self, unit: Unit, relation: Relation) -> str:
        """The application at the other end; its own for peers."""
        return next((app for app, _ in relation.ends if app != unit.app.name), unit.app.name)

    def _others(self, unit: Unit, relation: Relation) -> list[Unit]:
        """Units at the other end, or peers, that are there."""
        far = self._far(unit, relation)
        there = [each for each in self.units.values() if each.app.name == far and each.started]
        return [] if relation.container else [each for each in there if each is not unit]

    def _seen_by(self, unit: Unit) -> list[dict[str, Any]]:
        """A unit's relations as it sees them: what others have written."""
        return [
            {"id": each.id, "endpoint": each.end(unit.app.name), **self._told(unit, each)}
            for each in self._relations(unit)
        ]

    def _told(self, unit: Unit, relation: Relation) -> dict[str, Any]:
        if relation.container:
            return {}
        far = self._far(unit, relation)
        theirs = self._bags[relation.id, far]
        units = {each.number: self._bags[relation.id, each.name] for each in self._others(unit, relation)}
        if far != unit.app.name:
            return {"remote_app_name": far, "remote_units_data": units, "remote_app_data": theirs}
        return {"peers_data": units, **({} if unit.leader else {"local_app_data": theirs})}

    def _carry(self, unit: Unit, relations: list[dict[str, Any]]) -> None:
        """Take what the unit has written, and tell those who see it."""
        for relation in self._relations(unit):
            found = next(each for each in relations if each["id"] == relation.id)
            bags = {(relation.id, unit.name): found.get("local_unit_data", {})}
            if unit.leader:
                bags[relation.id, unit.app.name] = found.get("local_app_data", {})
            news = any(self._bags[owner] != bag for owner, bag in bags.items())
            self._bags.update(bags)
            for other in self._others(unit, relation) if news and unit.started else []:
                self._changed(other, relation, unit.number, "changed")
