# SPDX-License-Identifier: Apache-2.0
"""One compute node: its machine and units in Juju, its service and instances in Nova."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from converge import Finding, Severity, StepError
from drain.compute import Compute, Guest, Service
from operate import running
from operate.client import Juju, mapping
from operate.fleet import Call, UnitReport, lost_agents

LOOK = 120.0
"""Seconds for an action that only looks; a unit whose host reboots answers none."""
_NEEDS = "instances"
"""The result that the action plan has only on the unit whose host has to reboot (charmkit.reboot.actions)."""


class Unit(NamedTuple):
    """The unit that reboots its host, as it answers now."""

    name: str  # sriov-switchdev/3
    answers: bool  # its host is up, and the agent runs actions
    needs: bool  # the host has to reboot
    verified: bool
    blocked: str  # what verify finds that only an operator can mend; empty if nothing

    @property
    def application(self) -> str:
        return self.name.partition("/")[0]


class Node(NamedTuple):
    """One node, as it was read."""

    unit: Unit
    service: Service
    guests: tuple[Guest, ...] = ()
    unconfirmed: tuple[Guest, ...] = ()  # moved away by us, and not confirmed yet


class Place(NamedTuple):
    """The place of a node in Juju."""

    machine: str  # its number
    host: str  # its host name, without a domain
    units: tuple[str, ...]  # of the charms of this project that can reboot it


def places(juju: Juju) -> list[Place]:
    """The machines on which a charm of this project may ask for a reboot.

    Raises StepError if Juju's client fails.
    """
    status = juju.data("status")
    applications = {name: mapping(body) for name, body in mapping(status.get("applications")).items()}
    known = {name for name, body in applications.items() if body.get("charm-name") in REBOOTING}
    machines = {number: mapping(body) for number, body in mapping(status.get("machines")).items()}
    found: dict[str, list[str]] = {}
    for body in applications.values():
        for principal in map(mapping, mapping(body.get("units")).values()):
            units = [
                name for name in mapping(principal.get("subordinates")) if name.partition("/")[0] in known
            ]
            if units:
                found.setdefault(str(principal.get("machine")), []).extend(units)
    return [
        Place(number, _first_label(_name(machines.get(number, {}))), tuple(sorted(units)))
        for number, units in sorted(found.items())
    ]


REBOOTING = {"nic-firmware", "sriov-switchdev"}
"""Charms that have the option reboot-owner, or own the reboots themselves."""


def _name(machine: Mapping[str, Any]) -> str:
    return str(machine.get("hostname") or machine.get("display-name") or machine.get("instance-id") or "")


def _first_label(name: str) -> str:
    return name.partition(".")[0]


def find(known: list[Place], name: str) -> Place:
    """The place that an operator names: by host name, by Juju's number of the machine, or by a unit on it.

    Raises StepError if there is none, or several.
    """
    found = [each for each in known if name in (each.machine, *each.units) or _first_label(name) == each.host]
    if len(found) == 1:
        return found[0]
    some = ", ".join(sorted(each.host for each in (found or known)))
    problem = "is the name of several machines" if found else "is no node with charms of this project"
    remedy = "give the number of its machine in juju status"
    raise StepError(f"{name} {problem}; nodes: {some or 'none'}", remedy)


def service_of(place: Place, services: list[Service]) -> Service:
    """Nova's service of a place. Raises StepError if Nova has none of that name, or several."""
    found = [each for each in services if _first_label(each.host) == place.host]
    if len(found) != 1:
        count = "no service" if not found else f"{len(found)} services"
        raise StepError(
            f"Nova has {count} nova-compute on a host {place.host}", "see: openstack compute service list"
        )
    return found[0]


def look(juju: Juju, place: Place) -> Unit:
    """The unit of a place that reboots its host, verified only if the place's other units are, too.

    Where none of them asks for a reboot, it is the one of sriov-switchdev, which owns reboots in the bundles.
    Where one does not answer, it is that one. An agent that is lost is not asked: the action would wait.
    """
    units, lost = list[Unit](), {*lost_agents(juju.data("status"))}
    for name in place.units:
        unit = _SILENT._replace(name=name) if name in lost else _look(juju, name)
        if not unit.answers:
            return unit
        units.append(unit)
    asking = [each for each in units if each.needs]
    if len(asking) > 1:
        names = ", ".join(each.name for each in asking)
        raise StepError(
            f"{names} would both reboot {place.host}", "set reboot-owner of nic-firmware to sriov-switchdev"
        )
    verified, blocked = all(each.verified for each in units), (each.blocked for each in units)
    chosen = asking[0] if asking else units[-1]
    return chosen._replace(verified=verified, blocked=next(filter(None, blocked), ""))


_SILENT = Unit("", answers=False, needs=False, verified=False, blocked="")


def _look(juju: Juju, name: str) -> Unit:
    planned = _results(juju, name, "plan")
    said = _results(juju, name, "verify") if planned is not None else None
    if planned is None or said is None:
        return _SILENT._replace(name=name)
    blocked = [
        f"{subject}: {what}"
        for severity, subject, what, _ in said.rows("findings", Finding._fields)
        if severity == Severity.BLOCKED.name.lower()
    ]
    planned_results, verified = planned.results or {}, (said.results or {}).get("verified")
    return Unit(name, True, _NEEDS in planned_results, str(verified) == "true", next(iter(blocked), ""))


def _results(juju: Juju, unit: str, action: str) -> UnitReport | None:
    """Run an action and return its report; None if the unit does not end it."""
    try:
        (said,) = Call([unit], unit.partition("/")[0], action).answers(juju, LOOK)
    except StepError:
        return None
    return said if said.results is not None else None


def observe(juju: Juju, compute: Compute, place: Place, services: list[Service]) -> Node:
    """Read one node."""
    service = service_of(place, services)
    guests, moved = tuple(compute.guests(service.host)), tuple(compute.unconfirmed(service.host))
    return Node(look(juju, place), service, guests, moved)


def message(juju: Juju, unit: str) -> str:
    """The status of a unit, in its charm's words."""
    for name, body in running.units(juju.data("status")):
        if name == unit:
            status = mapping(body.get("workload-status"))
            return str(status.get("message") or status.get("current") or "it has no status")
    return "it is gone from the model"
