# SPDX-License-Identifier: Apache-2.0
"""The steps that empty a node, reboot it and take it into use again: a plan, as a pure function of the node.

Nothing is kept between two runs. What was done is read from Nova and Juju, so that an interrupted run goes on
where it was.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from acceptance.cloud import Clock
from converge import Disruption, Finding, Held, Plan, Severity, Step, StepError
from converge.finding import few
from drain import node
from drain.compute import KEPT, MARK, Compute, Guest, Service
from drain.node import Node
from operate.client import Juju
from operate.computes import Place

EVERY = 20.0
"""Seconds between two looks at a node that reboots."""
GRACE = 300.0
"""Seconds for which a node that is back may find faults: its services start."""


@dataclass(frozen=True)
class Clients:
    """The clients, clock and output that steps use."""

    juju: Juju
    compute: Compute
    clock: Clock
    say: Callable[[str], None]  # tells the operator what a step waits for
    wait: float  # seconds for a node to come back verified


def plan(place: Place, found: Node, *, keep: bool, stop: bool) -> Plan[Clients]:
    """Plan the rest of the way of a node.

    Args:
        place: the node's name and units.
        found: the node as it is.
        keep: leave it empty and out of use, without a reboot.
        stop: reboot it although instances stay that cannot be moved.

    """
    unit, service = found.unit, found.service
    begun = service.ours
    if not (unit.answers or begun):
        what = f"{unit.name} runs no action: its host may be down"
        return Plan(findings=(Finding(Severity.BLOCKED, place.host, what, f"see: juju status {unit.name}"),))
    if not (unit.needs or begun or keep):
        what = f"{unit.name} asks for no reboot"
        remedy = "to empty the node for other work, add --keep"
        return Plan(findings=(Finding(Severity.INFO, place.host, what, remedy),))
    staying = [each for each in found.guests if each.stays]
    steps = [*_emptying(place, found, keep=keep)] if unit.needs or keep else []
    if keep:
        return Plan(tuple(steps), findings=tuple(_left(each, stop=False) for each in staying))
    rest = [*_rebooting(place, found, stop=stop)]
    findings = tuple(_left(each, stop=stop) for each in staying)
    if staying and not stop and unit.needs:
        names = few([each.name for each in staying])
        reason = f"{names} would stop: Nova cannot move {'it' if len(staying) == 1 else 'them'}"
        release = "have their owners stop them, then run this again; to reboot all the same, --stop-instances"
        return Plan(tuple(steps), tuple(Held(each, reason, release) for each in rest), findings)
    return Plan((*steps, *rest), findings=findings)


def _emptying(place: Place, found: Node, *, keep: bool) -> Iterator[Step[Clients]]:
    service = found.service
    if service.enabled:
        why = "Nova would place new instances on it"
        what = f"disable Nova's service on {service.host}"
        disable = Disable(service, KEPT if keep else MARK)
        yield Step(f"{place.host}/disable", what, why, Disruption.NONE, disable)
    for guest in found.unconfirmed:
        what, why = f"confirm the move of {guest.name}", "it was moved away before, and holds its old place"
        yield Step(f"{place.host}/confirm/{guest.number}", what, why, Disruption.NONE, Confirm(guest))
    for guest in found.guests:
        if guest.stays:
            continue
        key, why = f"{place.host}/move/{guest.number}", f"it runs on {service.host}"
        if guest.cold:
            what, cost = f"move {guest.name} cold", Disruption.VF_DESTROYING
            why = f"{why} with a device of the host: it stops, and starts elsewhere"
        else:
            what, cost = f"move {guest.name} live", Disruption.NONE
        yield Step(key, what, why, cost, Move(guest, service.host))


def _rebooting(place: Place, found: Node, *, stop: bool) -> Iterator[Step[Clients]]:
    unit, service = found.unit, found.service
    if unit.needs:
        what, why = f"approve the reboot of {place.host}", f"{unit.name} asks for it"
        approve = Approve(unit.name, service.host, stop=stop)
        yield Step(f"{place.host}/approve", what, why, Disruption.REBOOT, approve)
    if unit.needs or not unit.verified:
        what, why = f"wait until {place.host} is back and verified", "instances need its VFs"
        yield Step(f"{place.host}/wait", what, why, Disruption.NONE, Wait(place, unit.name))
    if service.enabled or service.ours:
        what, why = f"enable Nova's service on {service.host}", "this tool disabled it"
        yield Step(f"{place.host}/enable", what, why, Disruption.NONE, Enable(service.host))


def _left(guest: Guest, *, stop: bool) -> Finding:
    severity = Severity.WARNING if stop else Severity.HELD
    what = f"stays, and {'stops' if stop else 'would stop'}: {guest.stays}; its project is {guest.project}"
    return Finding(severity, guest.name, what, f"see: openstack server show {guest.number}")


@dataclass(frozen=True)
class Disable:
    """Nova places nothing new on the host."""

    service: Service
    mark: str

    def run(self, clients: Clients) -> None:
        clients.compute.disable(self.service, self.mark)


@dataclass(frozen=True)
class Confirm:
    """End a cold move that an earlier run began."""

    guest: Guest

    def run(self, clients: Clients) -> None:
        clients.compute.confirm(self.guest)


@dataclass(frozen=True)
class Move:
    """One instance runs on another host; Nova chooses which."""

    guest: Guest
    host: str

    def run(self, clients: Clients) -> None:
        clients.compute.move(self.guest, self.host)


@dataclass(frozen=True)
class Approve:
    """Approve the reboot of one unit. Reads once more what runs there: instances may have come meanwhile."""

    unit: str
    host: str
    stop: bool

    def run(self, clients: Clients) -> None:
        left = clients.compute.guests(self.host)
        if left and not self.stop:
            names = few([each.name for each in left])
            raise StepError(f"{names} runs on {self.host}", "run this again")
        application = self.unit.partition("/")[0]
        clients.juju.results(f"{application}/leader", "approve-reboot", f"unit={self.unit}")


@dataclass(frozen=True)
class Wait:
    """Wait until the host has rebooted and its unit verifies; tell what it waits for when that changes."""

    place: Place
    unit: str

    def run(self, clients: Clients) -> None:
        began, told, ill_since = clients.clock.time(), "", None
        while True:
            now, time = node.look(clients.juju, self.place, clients.juju.data("status")), clients.clock.time()
            if now.answers and not now.needs and now.verified:
                return
            back = now.answers and not now.needs
            ill_since = (time if ill_since is None else ill_since) if back and now.blocked else None
            if ill_since is not None and time - ill_since >= GRACE:
                why = f"{self.unit} is back, and verify finds {now.blocked}"
                raise StepError(why, f"juju run {self.unit} verify")
            if now.said != told:
                clients.say(f"{self.unit}: {now.said}")
                told = now.said
            if time - began >= clients.wait:
                limit = f"{clients.wait / 60:.0f} min"
                why = f"{self.place.host} is not back and verified after {limit}: {now.said}"
                raise StepError(why, "its Nova service stays disabled; look at the node, then run this again")
            clients.clock.sleep(EVERY)


@dataclass(frozen=True)
class Enable:
    """Nova uses the host again, unless somebody else disabled its service meanwhile."""

    host: str

    def run(self, clients: Clients) -> None:
        now = next((each for each in clients.compute.services() if each.host == self.host), None)
        if now is None or not now.up:
            raise StepError(
                f"Nova does not hear from nova-compute on {self.host}", "run this again in a minute"
            )
        if now.ours:
            clients.compute.enable(now)
        elif not now.enabled:
            raise StepError(
                f"somebody else disabled Nova's service on {self.host}: {now.reason or 'without a reason'}",
                f"openstack compute service set --enable {self.host} nova-compute",
            )
