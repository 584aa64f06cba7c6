# SPDX-License-Identifier: Apache-2.0
"""Scenario machines: the operator's drain and roll empty the nodes of a virtual machine, and reboot them.

A firmware parameter makes both nodes ask for a reboot, with the policy of the bundles, which waits for the
operator. The virtual machine moves cold to the other node and back, so that the nodes have room for it alone.
"""

from collections.abc import Iterator

from converge import StepError

from lab.checks import Check, equal
from lab.cloud import moving
from lab.guest import GuestError
from lab.juju.remote import HookError
from lab.rack.build import Rack
from lab.rack.common import PATIENCE, on_nodes, one_at_a_time, settled, with_option
from lab.rack.interrupted import Site, drained, rolled
from lab.rack.killed import Verbs
from lab.rack.operator import AREA, GuestTime, Operator
from lab.rack.servers import plugged
from lab.rack.virtual import OFFERS, Machines

POLICY = {"reboot-policy": "manual"}
PARAMETER = "CQE_COMPRESSION=AGGRESSIVE"
"""Of no profile: the card keeps it when the option does not name it any more, and no reboot follows."""
NEEDED = "needed for"
"""In the status of a unit whose node has to reboot."""
MOVES = 600
"""Seconds, as the guests could use them, for a cold move."""


class Working(GuestTime):
    """The verbs' time: the rack works in it, and nova-compute starts with a node, as from its package."""

    def __init__(self, machines: Machines) -> None:
        super().__init__(machines.rack)
        self._machines, self._down = machines, machines.rack.controller.down
        self._seen = len(self._down)

    def sleep(self, seconds: float) -> None:
        self._machines.rack.floor.work(lambda: False, seconds)
        self.boot()

    def boot(self) -> None:
        """Start nova-compute on the nodes that have booted."""
        names = {name for name, _, _ in self._down[self._seen :]}
        self._seen = len(self._down)
        if names:
            self._machines.launch(*sorted(names))


def emptied(person: Operator, machines: Machines) -> list[Check]:
    """Drain the last node, then roll over what is left; the rack is left with its former options."""
    rack = person.rack
    before = {
        name: dict(rack.deployment.applications[name].options) for name in with_option(rack, "reboot-policy")
    }
    found: list[Check] = []
    try:
        # What is found before an error is kept.
        for check in _rebooted(person, machines):
            found.append(check)
    except (StepError, GuestError, HookError, TimeoutError) as error:
        found.append(Check(AREA, "drain and roll", "to their end", str(error)[:600], holds=False))
    if not all(check.holds for check in found):
        machines.end()  # a node that still asks for its reboot is idle then
    return [*found, *_as_before(rack, before)]


def _rebooted(person: Operator, machines: Machines) -> Iterator[Check]:
    rack, (other, *_, node) = person.rack, person.nodes
    down = len(rack.controller.down)
    ready = _ready(rack, machines, node, other)
    yield from ready
    if not all(check.holds for check in ready):
        return
    clock = Working(machines)

    def heard(name: str) -> bool:
        clock.boot()
        return machines.reported(name)

    site = Site(
        area=AREA,
        connection=person.connection,
        verbs=Verbs(person.connection, person.around.process, clock, rack.display.say),
        instance=machines.servers[node].name,
        boots=lambda each: sum(machine == each for machine, _, _ in rack.controller.down),
        away=rack.controller.away,
        heard=heard,
        until=lambda what: machines.until(what, MOVES),
    )
    try:
        yield from _verbs(person, machines, site)
    finally:
        clock.boot()
        site.enable(node, other)
    for each in (node, other):
        boots = sum(machine == each for machine, _, _ in rack.controller.down[down:])
        yield equal("reboots", f"{each} reboots by drain and roll", "1", str(boots))
    yield one_at_a_time(rack, down)


def _verbs(person: Operator, machines: Machines, site: Site) -> Iterator[Check]:
    rack, (other, *_, node) = person.rack, person.nodes
    rack.display.phase(f"drain {node}, killed at each step")
    found = drained(site, node, other)
    yield from found
    if not all(check.holds for check in found):
        return
    machines.moved(node, other)
    yield from plugged(person, machines.numbers)
    yield from machines.held()
    rack.display.phase("roll, killed once")
    found = rolled(site, other, node)
    yield from found
    if all(check.holds for check in found):
        machines.moved(other, node)
        yield from machines.held()


def _ready(rack: Rack, machines: Machines, node: str, other: str) -> list[Check]:
    """The other node has room, Nova can copy to both, and both ask for a reboot."""
    rack.display.phase("the nodes ask for a reboot")
    machines.delete(other)
    for name in with_option(rack, "reboot-policy"):
        rack.controller.configure(name, POLICY)
    for name, app in rack.deployment.applications.items():
        if app.charm == "nic-firmware":
            more = f"{app.options.get('parameters', '')} {PARAMETER}".strip()
            rack.controller.configure(name, {"parameters": more})
    units = [unit for unit in on_nodes(rack, [node, other]) if unit.app.charm == "sriov-switchdev"]
    asked = rack.floor.work(lambda: all(NEEDED in unit.status[1] for unit in units), PATIENCE)
    told = "; ".join(f"{unit.name}: {unit.status[1]}" for unit in units)
    room = machines.until(lambda: machines.room(other), OFFERS)
    return [
        *(
            equal(AREA, f"{each}: Nova can copy disks there", moving.YES, said)
            for each, said in machines.copying.items()
        ),
        Check(AREA, "both nodes ask for a reboot", NEEDED, told[:600], asked),
        Check(AREA, f"{other} has room for the virtual machine", "yes", "yes" if room else "no", room),
    ]


def _as_before(rack: Rack, before: dict[str, dict[str, object]]) -> list[Check]:
    """The options are set back. No reboot follows: the parameter stays on the cards."""
    down = len(rack.controller.down)
    for name, options in before.items():
        former = {key: options[key] for key in POLICY}
        if rack.deployment.applications[name].charm == "nic-firmware":
            former["parameters"] = options.get("parameters", "")
        rack.controller.configure(name, former)
    found = settled(rack)
    again = " ".join(name for name, _, _ in rack.controller.down[down:])
    return [found, equal("reboots", "reboots for the former options", "none", again or "none")]
