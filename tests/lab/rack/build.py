# SPDX-License-Identifier: Apache-2.0
"""A rack from its guests' start to units that have been deployed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lab.accel import accelerator
from lab.cable import Nic
from lab.cloud import node, root
from lab.cloud.cloud import Cloud
from lab.guest import Guest, GuestError
from lab.image import choose, image
from lab.rack import layout, ovn
from lab.rack.controller import Controller
from lab.rack.deployment import Application, Deployment
from lab.rack.display import Display
from lab.rack.figures import Figure
from lab.rack.machine import Floor, Job, Machine
from lab.releases import SWITCHES
from lab.twin.start import SAYS

FIRST_BOOTS = 3600  # seconds at most for the image and every machine's first boot

CREDENTIALS = {
    "id": "secret:labswitches000000000",
    "tracked_content": {"user": "cumulus", "password": "CumulusLinux!"},
}
"""The password that ``tests/lab/nvue`` has the switches take."""


@dataclass
class Rack:
    """A rack that runs."""

    deployment: Deployment
    floor: Floor
    controller: Controller
    display: Display
    count: int
    control: Nic | None = None
    """The control plane's end of its cable, in a rack that may have one."""
    figures: list[Figure] = field(default_factory=list)
    pages: dict[str, str] = field(default_factory=dict)
    """Reports of other tools, by the name of the file beside the rack's own one."""
    substituted: tuple[str, ...] = ()
    """The parts that were not as in production, besides those of every rack."""

    @property
    def nodes(self) -> dict[str, int]:
        """The machines of the compute nodes in use, and their numbers."""
        return {f"node-{number}": number for number in range(self.count)}

    def option(self, name: str, default: Any) -> Any:
        """Return the deployment's value of an option, in whichever application has it."""
        found = [app.options[name] for app in self.deployment.applications.values() if name in app.options]
        return found[0] if found else default

    def on(self, machine: str, command: str, **options: Any) -> str:
        """Run a command on a machine and return its output, whether or not it fails."""
        work = {machine: lambda guest: guest.run(command, check=False, **options).stdout}
        return self.floor.each("", work)[machine]

    def on_nodes(self, command: str, **options: Any) -> dict[str, str]:
        """The same on all nodes, side by side."""
        work = {name: lambda guest: guest.run(command, check=False, **options).stdout for name in self.nodes}
        return self.floor.each("", work)

    def settle(self, patience: float) -> bool:
        """Until every unit is active and nothing is left to do."""
        return self.floor.work(lambda: self.controller.settled, patience)


@contextmanager
def rack(deployment: Deployment, spare: int = 0, *, cloud: bool = False) -> Iterator[Rack]:
    """Machines that have started, with nothing on them; all of them end with the ``with``.

    Args:
        deployment: what will run on them.
        spare: how many of its compute nodes, the last ones, are left blank until they are added.
        cloud: whether an OpenStack control plane will be started beside it, for nova-compute on its nodes.

    """
    # Not in the machines' threads: Ctrl-C would end one thread's build there, and the next begin it anew.
    image(SWITCHES)
    release = choose()[0]
    accelerator(image(release))
    more: dict[str, Any] = {}
    if cloud:
        Cloud().prepare()
        more = {"memory": node.MEMORY, "disks": [root.disk(root.root())], "with_iommu": True}
    with layout.cabled(cloud=cloud) as (fabric, nodes, control):
        guests = [
            Guest(release, nics=nics, setup=layout.node_setup(number, cloud=cloud), **more)
            for number, nics in enumerate(nodes)
        ]
        other = [] if release == SWITCHES else [image(release).disk]
        switches = Guest(SWITCHES, nics=fabric, setup=layout.fabric_setup(cloud=cloud), disks=other)
        yield from _rack(
            deployment, len(deployment.nodes) - spare, switches, guests, next(iter(control), None)
        )


def _rack(
    deployment: Deployment, count: int, switches: Guest, guests: list[Guest], control: Nic | None
) -> Iterator[Rack]:
    machines, place = {layout.FABRIC: Machine(layout.FABRIC, switches, layout.CONTROLLER)}, {}
    for number, juju in enumerate(deployment.nodes):
        machine = Machine(f"node-{number}", guests[number], layout.address(number))
        machines[place.setdefault(juju, machine.name)] = machine
    for app in deployment.applications.values():
        for juju in app.machines:
            place.setdefault(juju, layout.FABRIC)
    floor = Floor(machines.values(), lambda: None)
    try:
        # With progress of its own, and before the display: the cache mostly has it.
        boot_first(floor)
        display = Display(machines)
        controller = Controller(deployment, floor, place)
        floor.tick = lambda: (controller.due(), display.tick())
        display.units, controller.tell = controller.units, display.say
        display.phase("machines start")
        floor.each("starts", {name: partial(_enter, machine) for name, machine in machines.items()})
        yield Rack(deployment, floor, controller, display, count, control)
    finally:
        floor.stop()


def boot_first(floor: Floor) -> None:
    """Do the first boots that the cache lacks, side by side.

    One that fails ends none of the others: the cache keeps them, and the next run goes on from there.

    Raises:
        GuestError: of those that failed, what each says.
        TimeoutError: it took too long.

    """
    failed: dict[str, Exception] = {}
    waiting = set(floor.machines)

    def ended(name: str, error: Any) -> None:
        waiting.remove(name)
        if isinstance(error, Exception):
            failed[name] = error

    for name, machine in floor.machines.items():
        one = partial(ended, name)
        machine.queue.append(Job("", Guest.prepare, then=one, failed=one))
    if not floor.work(lambda: not waiting, FIRST_BOOTS):
        raise TimeoutError(f"no first boot within {FIRST_BOOTS} s: {', '.join(sorted(waiting))}")
    if failed:
        raise GuestError("\n".join(f"{name}: {failed[name]}" for name in floor.machines if name in failed))


def _enter(machine: Machine, _: Guest) -> None:
    machine.enter()


def deploy(rack: Rack) -> None:
    """Open vSwitch and units on the nodes; beside that switches, OVN's databases, and the fabric's unit."""
    floor, controller = rack.floor, rack.controller
    rack.display.phase("deployment")
    for name in rack.nodes:
        deploy_node(rack, name)
    certificate = floor.each("the switches answer", {layout.FABRIC: _switches})[layout.FABRIC]
    fabric, node = floor.machines[layout.FABRIC].guest, floor.machines[next(iter(rack.nodes))].guest
    start = ovn.central if fabric.release is node.release else ovn.central_of_nodes
    floor.machines[layout.FABRIC].queue.append(Job("OVN's databases start", start))
    for name, unit in controller.planned.items():
        if unit.machine.name == layout.FABRIC:
            controller.deploy(name, secrets=_site(unit.app, certificate))


def deploy_node(rack: Rack, name: str) -> None:
    """Open vSwitch, and a unit of each application that is on the node."""
    machine = rack.floor.machines[name]
    machine.queue.append(Job("Open vSwitch and OVN", partial(ovn.chassis, node=rack.nodes[name])))
    rack.controller.deploy(
        *(unit for unit, known in rack.controller.planned.items() if known.machine is machine)
    )


def _switches(guest: Guest) -> str:
    """The certificate that the switches present, which run since the guest's first boot."""
    guest.run(["cp", json.loads(guest.read(SAYS))["certificate"], layout.CERTIFICATE])
    return guest.read(layout.CERTIFICATE)


def _site(app: Application, certificate: str) -> list[dict[str, Any]]:
    """Return a fabric charm's options of this rack alone: how switches are reached, and their keys."""
    if "credentials" not in app.meta["config"]["options"]:
        return []
    intent = app.options["intent"]
    if "\nswitches:" not in intent:
        addresses = {name: lease.partition("/")[0] for name, lease in layout.wiring().switches.items()}
        lines = [f"  {name}: {{management: {address}}}\n" for name, address in addresses.items()]
        intent += "\nswitches:\n" + "".join(lines)
    if "\nhost-names:" not in intent:
        intent += "\nhost-names: true\n"  # the switches come as cumulus, and hosts tell their leaves by name
    app.options.update({"intent": intent, "ca-certificate": certificate, "credentials": CREDENTIALS["id"]})
    return [CREDENTIALS]
