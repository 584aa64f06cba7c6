# SPDX-License-Identifier: Apache-2.0
"""Juju's part for the whole rack: events in Juju's order, relation data carried until nothing changes.

It knows no charm. :mod:`lab.juju.model` tells which hooks are due, :mod:`lab.juju.service` runs them inside
the machines. Those that charms have dispatched themselves are noticed by looking at what it keeps. A test
harness, not a Juju: a leader's lease runs out where its machine has no power, but not in a reboot, and a
removed unit is gone as soon as it has had its last hook.
"""

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

from lab.guest import Guest, GuestError
from lab.juju import uniter
from lab.juju.model import PRINCIPAL, Event, Model, Relation, number_of
from lab.juju.remote import HookError, Result
from lab.juju.remote import Unit as Runner
from lab.rack.deployment import Deployment
from lab.rack.machine import Floor, Job, Machine
from lab.rack.units import Unit, addresses

LOOK = "cat /proc/sys/kernel/random/boot_id /var/lib/lab/units/*.json"  # a line each
LOOK_AGAIN = 4.0  # seconds without a hook: each look costs the guest two processes
LOOK_BETWEEN = 15.0  # seconds, between hooks: one that a charm has dispatched may have asked for a reboot
UPDATE_STATUS = 60.0  # seconds; Juju's are five minutes
ATTEMPTS = 3  # of a hook that fails
REBOOT, POWER_ON = "reboot", "power on"  # jobs
LEASE = 60.0  # seconds for which a leader that no longer answers still leads (Juju's core/lease)
NOTICED = 60.0  # seconds in which whoever talks to a machine notices that its power is cut


class Controller(Model):
    """Units, their relations' data, and what happens next."""

    def __init__(self, deployment: Deployment, floor: Floor, place: Mapping[str, str]) -> None:
        super().__init__(deployment.relations)
        self.deployment = deployment
        self.floor = floor
        self.units: dict[str, Unit] = {}
        self.planned = {
            f"{app.name}/{number}": Unit(app, number, floor.machines[place[machine]])
            for app in deployment.applications.values()
            for number, machine in enumerate(app.machines)
        }
        self.leaders = {name: f"{name}/0" for name in deployment.applications}
        for relation in (each for each in deployment.relations if each.container):
            (name,) = relation.ends
            principals = range(len(deployment.applications[name].machines))
            self.databags[relation.id] = {f"{PRINCIPAL}/{number}": {} for number in principals}
        self.tell: Callable[[str], object] = lambda line: None
        self.down: list[tuple[str, float, float]] = []  # machine, from, to

    def deploy(self, *names: str, secrets: Sequence[dict[str, Any]] = ()) -> None:
        """Add units to their machines, and queue a new unit's events in Juju's order, units side by side."""
        events: list[list[tuple[Unit, Event]]] = []
        for unit in (self.planned[name] for name in names):
            self.units[unit.name] = unit
            for relation in self.related(unit.name):
                self.databags[relation.id][unit.name] = addresses(unit.machine)
            seen = self._seen_by(unit)
            for told in seen["relations"]:
                told["local_unit_data"] = addresses(unit.machine)
            add = partial(
                Runner,
                app=unit.app.name,
                charm=unit.app.charm,
                number=unit.number,
                secrets=list(secrets),
                **seen,
            )
            unit.machine.queue.append(Job(f"{unit.name} deploy", add, partial(setattr, unit, "runner")))
            events.append([(unit, event) for event in self.of_a_new_unit(unit.name)])
        for step in zip_longest(*events):
            for unit, event in filter(None, step):
                self._due(unit, event)

    def configure(self, app: str, options: Mapping[str, Any]) -> None:
        """``juju config``."""
        self.deployment.applications[app].options.update(options)
        for unit in self.units.values():
            if unit.app.name == app:
                self.queue(unit, "config_changed")

    def refresh(self, name: str) -> None:
        """``juju refresh``, on one unit."""
        for hook in uniter.REFRESHED:
            self.queue(self.units[name], hook.replace("-", "_"))

    def lead(self, name: str) -> None:
        """Have another unit lead its application. Juju tells the former leader nothing."""
        unit = self.units[name]
        for each in self.units.values():
            if each.app is unit.app:
                each.elected = False
        self.leaders[unit.app.name] = name
        self.queue(unit, "leader_elected")

    def remove(self, name: str) -> None:
        """``juju remove-unit``: its last hooks; then its peers lose it, and one of them leads if it did."""
        unit = self.units[name]
        unit.started = False
        del self.planned[name]
        for event in self.of_a_removed_unit(name):
            self._due(unit, event)
        unit.machine.queue.append(
            Job(f"{name} is removed", lambda _: unit.runner.remove(), lambda _: self._gone(unit))
        )

    def remove_relation(self, application: str, endpoint: str) -> None:
        """``juju remove-relation``: both ends lose each unit that they see, and then the relation."""
        relation = next(each for each in self.relations if each.ends.get(application) == endpoint)
        self._follow([*self.parts(relation)])

    def seen(self, relation: Relation, unit: str) -> list[str]:
        """Units at the other end, or peers, that have started."""
        found = super().seen(relation, unit)
        return found if relation.container else [each for each in found if self._started(each)]

    def _started(self, name: str) -> bool:
        return name in self.units and self.units[name].started

    def _gone(self, unit: Unit) -> None:
        del self.units[unit.name]
        for relation in self.related(unit.name):
            self._follow(self.departs(relation, unit.name))
            self.leaves(relation, unit.name)
        heirs = [name for name, each in self.units.items() if each.app is unit.app and name in self.planned]
        if self.leads(unit.name) and heirs:
            self.lead(heirs[0])

    def action(self, names: Iterable[str], action: str, patience: float = 900, **params: Any) -> list[Result]:
        """``juju run``: on several units, those of different machines side by side; their results."""
        units = [self.units[name] for name in names]
        jobs = [(unit.machine, self._action(unit, action, params, patience)) for unit in units]
        return self.floor.do(jobs, patience)

    def ask(self, name: str, action: str, patience: float, **params: Any) -> Result:
        """``juju run`` by somebody who does not wait for a unit whose machine reboots first.

        Raises:
            TimeoutError: the machine reboots, or it took too long.

        """
        unit, results = self.units[name], list[Result]()
        job, machine = self._action(unit, action, params, patience), unit.machine
        hooked = job.then
        job.then = lambda result: (hooked(result), results.append(result))
        machine.queue.append(job)
        self.floor.work(lambda: bool(results) or (self.away(machine.name) and job in machine.queue), patience)
        if not results:
            if job in machine.queue:
                machine.queue.remove(job)
            raise TimeoutError(f"unit {name}")
        return results[0]

    def _action(self, unit: Unit, action: str, params: Mapping[str, Any], patience: float) -> Job:
        run = partial(unit.runner.action, action, params, timeout=patience)
        return Job(f"{unit.name} {action}", lambda _: run(), partial(self._hooked, unit))

    def queue(self, unit: Unit, event: str) -> None:
        """Queue an event that is of no relation, unless it waits already."""
        self._due(unit, Event(event.replace("_", "-")))

    def _follow(self, due: Iterable[tuple[str, Event]]) -> None:
        """Queue what is due on units that are here."""
        for name, event in due:
            if name in self.units:
                for kind in uniter.MET if event.kind == "relation-joined" else (event.kind,):
                    self._due(self.units[name], event._replace(kind=kind))

    def _due(self, unit: Unit, event: Event, place: int | None = None) -> None:
        """It comes last, or before the job at ``place``."""
        hook = event.hook(unit.app.name)
        what = f"{unit.name} {hook} {event.remote.rpartition('/')[2]}".rstrip()
        if any(job.what == what for job in unit.machine.queue):
            return
        told = {} if event.of_a_unit or not event.remote else {"JUJU_REMOTE_UNIT": ""}
        departs = {"JUJU_DEPARTING_UNIT": event.departs} if event.departs else {}
        of: dict[str, Any] = {"told": told | departs}
        if not told:  # a subordinate's principal has no number in its machine
            principal = event.relation is not None and event.relation.container
            of["remote_unit"] = number_of(event.remote) if event.of_a_unit and not principal else None
        emit = hook.replace("-", "_")
        job = Job(what, lambda _: unit.runner.emit(emit, **of, **self._seen_by(unit)))
        job.then, job.failed = partial(self._ran, unit, event), partial(self._failed, unit, job)
        unit.machine.queue.insert(len(unit.machine.queue) if place is None else place, job)

    def due(self) -> None:
        """Dispatch the events of time: a look at machines, update-status while a unit is not there yet.

        Those that are active have it, too, less often: what others wait for may be what they see and tell.
        """
        now = time.monotonic()
        self._elect(now)
        waiting = any(unit.status[0] != "active" for unit in self.units.values())
        for machine in self.floor.machines.values():
            units = self._deployed(machine)
            if machine.job or not units or not machine.powered:
                continue
            idle = not machine.queue and now - machine.ended > LOOK_AGAIN
            for unit in units if waiting and idle else []:
                pause = UPDATE_STATUS * (4 if unit.status[0] == "active" else 1)
                if unit.started and now - unit.hooked > pause:
                    self.queue(unit, "update_status")
            looked, lost = partial(self._looked, machine), partial(self._reboot, machine)
            look = Job("", lambda guest: guest.run(LOOK).stdout, looked, lost)
            if idle:
                machine.queue.append(look)
            elif now - max(unit.looked for unit in units) > LOOK_BETWEEN:
                machine.queue.appendleft(look)

    def _elect(self, now: float) -> None:
        """Have another unit lead where the leader's machine has no power and its lease has run out."""
        up = [unit for unit in self.units.values() if unit.started and unit.machine.powered]
        for unit in [unit for unit in self.units.values() if self.leads(unit.name)]:
            lost = not unit.machine.powered and now - unit.machine.cut_at > LEASE
            heirs = [each.name for each in up if each.app is unit.app]
            if lost and heirs:
                self.lead(heirs[0])

    def cut_power(self, names: Iterable[str]) -> None:
        """These machines lose power at the same time; what they have to do waits for :meth:`power_on`."""
        machines = [self.floor.machines[name] for name in names]
        for machine in machines:
            machine.cut_power()
        # Who waits for an answer of a machine gets an error instead.
        self.floor.work(lambda: not any(machine.job for machine in machines), NOTICED)

    def power_on(self, names: Iterable[str]) -> None:
        """Machines without power get it back, as after an outage; they count as down since it was cut."""
        for machine in (self.floor.machines[name] for name in names):
            self._reboot(machine, GuestError("the power was cut"))
            machine.powered = True

    def away(self, name: str) -> bool:
        """A machine reboots, or is about to: Juju hears nothing of its agents."""
        machine = self.floor.machines[name]
        return any(job.what in (REBOOT, POWER_ON) for job in (machine.job, *machine.queue) if job)

    @property
    def settled(self) -> bool:
        """Every unit is active, nothing is left to do, and a look since the last hook found nothing new."""
        jobs = [job for m in self.floor.machines.values() for job in (m.job, *m.queue) if job and job.what]
        return not jobs and self.active and all(unit.looked > unit.hooked for unit in self.units.values())

    @property
    def active(self) -> bool:
        """Every unit has started and is active."""
        return all(unit.started and unit.status[0] == "active" for unit in self.units.values())

    def _ran(self, unit: Unit, event: Event, result: Result) -> None:
        self._hooked(unit, result)
        unit.elected |= self.leads(unit.name) and event.kind == "leader-elected"
        if event.relation and event.kind == "relation-broken":
            if unit.name not in self.planned:
                self._follow(self.departs(event.relation, unit.name))
            self.leaves(event.relation, unit.name)
        if event.kind == "start" and not unit.started:
            unit.started = True
            self._follow([*self.when_it_starts(unit.name), *self.enters(unit.name)])

    def _failed(self, unit: Unit, job: Job, error: Exception) -> None:
        """Juju tries a failed hook again, and one in which the machine lost its power."""
        unit.failures += 1
        if not isinstance(error, HookError | GuestError) or unit.failures >= ATTEMPTS:
            raise error
        unit.machine.queue.appendleft(job)
        if isinstance(error, HookError):
            unit.status = ("error", f"hook failed: {str(error).strip().splitlines()[-1]}")
        else:
            self._reboot(unit.machine, error)

    def _hooked(self, unit: Unit, result: Result) -> None:
        unit.hooked, unit.failures = time.monotonic(), 0
        for level, text in result.logs:
            if level == "INFO":
                self.tell(f"{unit.name}: {text}")
        unit.status = result.status
        self._carry(unit, result.relations)
        if result.reboot_requested:
            self._reboot(unit.machine)

    def _looked(self, machine: Machine, found: str) -> None:
        boot_id, *lines = found.splitlines()
        known = {each["app"]: each for each in map(json.loads, lines)}
        for unit in self._deployed(machine):
            now = known[unit.app.name]
            unit.status, unit.looked = tuple(now["status"]), time.monotonic()
            unit.hooks = now.get("hooks", {})
            self._carry(unit, now["relations"])
            if now.get("reboot_requested") == boot_id:
                self._reboot(machine)

    def _reboot(self, machine: Machine, lost: Exception | None = None) -> None:
        """Before anything else; one that was lost is powered on. Then ``start``, on each of its units.

        A boot is what every request for one asked for: it is made once.
        """
        waits = next((job for job in machine.queue if job.what in (POWER_ON, REBOOT)), None)
        if waits and (waits.what == POWER_ON or not lost):
            return
        if waits:
            machine.queue.remove(waits)

        def work(guest: Guest) -> None:
            guest.power_cycle() if lost else guest.reboot(timeout=900)

        def then(_: object) -> None:
            self.down.append((machine.name, min(machine.began, machine.cut_at), machine.ended))
            machine.cut_at = math.inf
            for unit in filter(lambda unit: unit.started, self._deployed(machine)):
                self._booted(unit)

        machine.queue.appendleft(Job(POWER_ON if lost else REBOOT, work, then))

    def _booted(self, unit: Unit) -> None:
        """Before all that waits is ``start``; only a hook that was interrupted runs again before it."""
        own = [
            number for number, job in enumerate(unit.machine.queue) if job.what.startswith(f"{unit.name} ")
        ]
        self._due(unit, Event("start"), place=own[0] + 1 if own and unit.failures else 0)

    def _deployed(self, machine: Machine) -> list[Unit]:
        return [unit for unit in self.units.values() if unit.machine is machine and unit.runner]

    def _seen_by(self, unit: Unit) -> dict[str, Any]:
        """Options, who leads, and relations as a unit sees them: what others have written."""
        relations = [self.told(each, unit.name) for each in self.related(unit.name)]
        for told in relations if unit.elected else []:
            told.pop("local_app_data", None)  # the leader writes it, and is not told
        return {
            "config": unit.app.options,
            "relations": relations,
            "leader": self.leads(unit.name),
            "planned_units": sum(each.app is unit.app for each in self.planned.values()),
        }

    def _carry(self, unit: Unit, relations: list[dict[str, Any]]) -> None:
        """Take what the unit has written, and tell those who see it."""
        known = {each["id"]: each for each in relations}
        for relation in (each for each in self.related(unit.name) if each.id in known):
            found = known[relation.id]
            bags = {unit.name: found.get("local_unit_data", {})}
            if self.leads(unit.name):
                bags = {unit.app.name: found.get("local_app_data", {}), **bags}
            for owner, bag in bags.items():
                if self.write(relation, owner, bag) and unit.started:
                    self._follow(self.hears(relation, owner, unit.name))
