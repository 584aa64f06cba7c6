# SPDX-License-Identifier: Apache-2.0
"""All nodes that ask for a reboot, one after the other: those without instances first, zone by zone."""

from collections.abc import Sequence
from typing import NamedTuple

from converge import StepError
from converge.execute import Outcome, execute
from drain import node
from drain.compute import Compute, Service
from drain.node import Unit
from drain.steps import Clients, plan
from operate.client import Juju
from operate.computes import Place
from operate.together import all_of


class Turn(NamedTuple):
    """A node that has to reboot, and what is on it."""

    place: Place
    service: Service
    live: int  # instances that move while they run
    cold: int  # instances that stop, and start elsewhere
    stay: int  # instances that cannot be moved
    begun: bool  # an earlier run emptied it, and did not end

    @property
    def instances(self) -> int:
        return self.live + self.cold + self.stay


def turns(juju: Juju, compute: Compute) -> list[Turn]:
    """The nodes in the order in which they reboot.

    What an interrupted run began comes first; a node that an operator keeps empty is left out. Then zone by
    zone, since tenants spread their replicas over zones: the zone with the fewest instances first, and in it
    the nodes with the fewest.
    """
    status = juju.data("status")
    known = node.places(status)
    services = compute.services()
    units = all_of(lambda place: node.look(juju, place, status), known, "nodes asked")
    found: list[Turn] = []
    for place, unit in zip(known, units):
        service = node.service_of(place, services)
        if (unit.needs or service.ours) and not service.kept:
            found.append(turn(compute, place, service))
    return ordered(found)


def ordered(found: Sequence[Turn]) -> list[Turn]:
    """See :func:`turns`."""
    load: dict[str, int] = {}
    for each in found:
        load[each.service.zone] = load.get(each.service.zone, 0) + each.instances

    def key(each: Turn) -> tuple[object, ...]:
        zone = each.service.zone
        return (not each.begun, load[zone], zone, each.instances, each.place.host)

    return sorted(found, key=key)


def turn(compute: Compute, place: Place, service: Service) -> Turn:
    """A node that reboots, with the instances on it."""
    guests = compute.guests(service.host)
    stay = sum(bool(each.stays) for each in guests)
    cold = sum(each.cold and not each.stays for each in guests)
    return Turn(place, service, len(guests) - stay - cold, cold, stay, service.ours)


def roll(clients: Clients, every: Sequence[Turn], *, stop: bool) -> Outcome[Clients]:
    """Take the nodes one after the other, and tell the time left; the first failure ends it."""
    began = clients.clock.time()
    done = Outcome[Clients]()
    for number, each in enumerate(every):
        left = _left(clients, began, number, len(every))
        clients.say(f"{each.place.host}, node {number + 1} of {len(every)}{left}")
        done = take(clients, each.place, looked(clients, each.place), stop=stop)
        if done.failed is not None:
            return done
    return done


def looked(clients: Clients, place: Place) -> Unit:
    """The unit of one place, now."""
    return node.look(clients.juju, place, clients.juju.data("status"))


def take(clients: Clients, place: Place, unit: Unit, *, stop: bool) -> Outcome[Clients]:
    """Empty a node, reboot it, and take it into use again.

    Raises StepError if it cannot be emptied, or its host may be down.
    """
    steps = plan(place, node.observe(clients.compute, place, unit), keep=False, stop=stop)
    if steps.held:
        raise StepError(f"{place.host}: {steps.held[0].reason}", steps.held[0].release)
    if steps.blocked:
        raise StepError(f"{place.host}: {steps.findings[0].what}", steps.findings[0].remedy)
    return execute(steps, clients, lambda step: clients.say(step.what))


def _left(clients: Clients, began: float, done: int, every: int) -> str:
    if not done:
        return ""
    minutes = (clients.clock.time() - began) / done * (every - done) / 60
    return f", about {minutes:.0f} min left"
