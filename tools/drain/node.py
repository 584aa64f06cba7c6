# SPDX-License-Identifier: Apache-2.0
"""One compute node: its machine and units in Juju, its service and instances in Nova."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from converge import Finding, Severity, StepError
from drain.compute import Compute, Guest, Service
from operate import computes, running
from operate.client import Juju, mapping
from operate.computes import Place
from operate.fleet import Call, UnitReport, lost_agents

LOOK = 120.0
"""Seconds for an action that only looks; a unit whose host reboots answers none."""
REBOOTING = ("nic-firmware", "sriov-switchdev")
"""Charms that can own the reboots of a host; the last one does in the bundles."""
_NEEDS = "instances"
"""The result that the action plan has only on the unit whose host has to reboot (charmkit.reboot.actions)."""


class Unit(NamedTuple):
    """The unit that reboots its host, as it answers now."""

    name: str  # sriov-switchdev/3
    answers: bool  # its host is up, and the agent runs actions
    needs: bool  # the host has to reboot
    verified: bool
    blocked: str  # what verify finds that only an operator can mend; empty if nothing
    said: str = ""  # its status, in its charm's words


class Node(NamedTuple):
    """One node, as it was read."""

    unit: Unit
    service: Service
    guests: tuple[Guest, ...] = ()
    unconfirmed: tuple[Guest, ...] = ()  # moved away by us, and not confirmed yet


def places(status: Mapping[str, Any]) -> list[Place]:
    """The compute nodes on which a charm of this project may ask for a reboot."""
    return [each for each in computes.places(status) if not each.units.keys().isdisjoint(REBOOTING)]


def find(known: list[Place], name: str) -> Place:
    """The place that an operator names: by host name, by Juju's number of the machine, or by a unit on it.

    Raises StepError if there is none, or several.
    """
    found = [each for each in known if name in (each.machine, *each.units.values()) or each.has_name(name)]
    if len(found) == 1:
        return found[0]
    some = ", ".join(sorted(each.host for each in (found or known)))
    problem = "is the name of several machines" if found else "is no node with charms of this project"
    remedy = "give the number of its machine in juju status"
    raise StepError(f"{name} {problem}; nodes: {some or 'none'}", remedy)


def service_of(place: Place, services: list[Service]) -> Service:
    """Nova's service of a place. Raises StepError if Nova has none of that name, or several."""
    found = [each for each in services if place.has_name(each.host)]
    if len(found) != 1:
        count = "no service" if not found else f"{len(found)} services"
        what = f"Nova has {count} nova-compute on a host {place.host}"
        raise StepError(what, "see: openstack compute service list")
    return found[0]


def look(juju: Juju, place: Place, status: Mapping[str, Any]) -> Unit:
    """The unit of a place that reboots its host, verified only if the place's other units are, too.

    Where none of them asks for a reboot, it is the one of sriov-switchdev, which owns reboots in the bundles.
    Where one does not answer, it is that one. An agent that is lost is not asked: the action would wait.

    Args:
        juju: Juju's client.
        place: where to look.
        status: of the model, which is large: whoever looks at many places reads it once.

    """
    units, lost = list[Unit](), {*lost_agents(status)}
    for name in (place.units[charm] for charm in REBOOTING if charm in place.units):
        unit = _SILENT._replace(name=name) if name in lost else _look(juju, name)
        if not unit.answers:
            return unit
        units.append(unit)
    asking = [each for each in units if each.needs]
    if len(asking) > 1:
        names = ", ".join(each.name for each in asking)
        remedy = "set reboot-owner of nic-firmware to sriov-switchdev"
        raise StepError(f"{names} would both reboot {place.host}", remedy)
    verified, blocked = all(each.verified for each in units), (each.blocked for each in units)
    chosen = asking[0] if asking else units[-1]
    said = _message(status, chosen.name)
    return chosen._replace(verified=verified, blocked=next(filter(None, blocked), ""), said=said)


_SILENT = Unit("", answers=False, needs=False, verified=False, blocked="", said="its agent does not answer")


def _look(juju: Juju, name: str) -> Unit:
    planned = _report(juju, name, "plan")
    said = _report(juju, name, "verify") if planned is not None else None
    if planned is None or said is None:
        return _SILENT._replace(name=name)
    blocked = [
        f"{subject}: {what}"
        for severity, subject, what, _ in said.rows("findings", Finding._fields)
        if severity == Severity.BLOCKED.name.lower()
    ]
    planned_results, verified = planned.results or {}, (said.results or {}).get("verified")
    return Unit(name, True, _NEEDS in planned_results, str(verified) == "true", next(iter(blocked), ""))


def _report(juju: Juju, unit: str, action: str) -> UnitReport | None:
    """Run an action and return its report; None if the unit does not end it."""
    try:
        (said,) = Call([unit], unit.partition("/")[0], action).answers(juju, LOOK)
    except StepError:
        return None
    return said if said.results is not None else None


def _message(status: Mapping[str, Any], unit: str) -> str:
    """The status of a unit, in its charm's words."""
    told = mapping(dict(running.units(status)).get(unit)).get("workload-status")
    return str(mapping(told).get("message") or mapping(told).get("current") or "it has no status")


def observe(compute: Compute, place: Place, unit: Unit) -> Node:
    """Read a node in Nova, beside its unit as it was looked at."""
    service = service_of(place, compute.services())
    return Node(unit, service, tuple(compute.guests(service.host)), tuple(compute.unconfirmed(service.host)))
