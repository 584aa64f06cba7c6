# SPDX-License-Identifier: Apache-2.0
"""Scenario machines, with virtual machines in place of namespaces: vfio-pci holds the servers' VFs.

Nova's own LibvirtDriver gives the acceptance tool's direct ports to QEMU in QEMU. No operating system boots
in it and no traffic runs: the virtual card's VFs have no registers that a driver could use.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from acceptance.asking import asking

from lab.checks import Check, equal
from lab.cloud import configuration, moving, node, translate
from lab.guest import Guest
from lab.rack import layout, writes
from lab.rack.common import PATIENCE, on_nodes, settled
from lab.rack.operator import AREA, Operator
from lab.rack.servers import PORTS, plugged

SUBSTITUTED = (
    "The virtual machines hold VFs and send nothing: their disk halts their emulated processor.",
    "Juju's commands are answered by the rack.",
)
"""Told in the rack's report."""
HOLDS = """\
device=/sys/bus/pci/devices/{vf}
group=$(basename $(readlink $device/iommu_group))
basename $(readlink $device/driver)
ls -l /proc/$(cat /run/libvirt/qemu/instance-*.pid)/fd | grep -q "/dev/vfio/$group$" && echo open
"""
"""Prints the driver of a VF, and whether the node's only QEMU has its IOMMU group open."""
DRIVER = "basename $(readlink /sys/bus/pci/devices/{vf}/driver)"
OFFERS = 300
"""Seconds, as the guests could use them, until Placement offers a node whose nova-compute has started again.

Nova deletes a server before its allocation, and looks for allocations without a server once a minute.
"""
DISABLED = "COMPUTE_STATUS_DISABLED"
"""The trait of a node without libvirt, which nova-compute takes away when it has looked again."""


class Machines:
    """Virtual machines on the nodes, with the ports that the acceptance tool has made.

    Args:
        person: whose tool has applied its plan, and whose namespaces end now.

    """

    def __init__(self, person: Operator) -> None:
        self.person, self.rack = person, person.rack
        self.objects = person.door().objects
        self.servers: dict[str, Any] = {}  # by node
        self.numbers = {name: number for number, name in enumerate(person.nodes, 1)}
        """Of the ports of each node's server."""
        self._compute = person.connection.compute
        self.copying: dict[str, str] = {}
        """Whether Nova can copy a server's disk to each node: "yes", or why not."""
        self._keys: moving.Pair | None = None
        self._last: dict[str, str] = {}
        """The last report of each node's nova-compute before it was started."""

    def start(self) -> list[Check]:
        """One on each node."""
        self.rack.display.phase("virtual machines start")
        self.rack.substituted = SUBSTITUTED
        self._delete()
        self.rack.floor.each("nova-compute ends", dict.fromkeys(self.person.nodes, node.stop))
        self.compute(*self.person.nodes)
        flavor = self.objects["flavor m1.packet"]["id"]
        if not self.until(lambda: self.offered(flavor) >= set(self.person.nodes), OFFERS):
            return [self._why_not(flavor)]
        with asking("servers"):
            for number, name in enumerate(self.person.nodes, 1):
                self.servers[name] = self._compute.create_server(
                    name=f"machine{number}",
                    flavor_id=flavor,
                    image_id=self.objects["image ubuntu-22.04"]["id"],
                    networks=[{"port": self.objects[f"port {port}{number}"]["id"]} for port in PORTS],
                    availability_zone=f"nova:{name}",
                )
        return [self._reaches(name, "ACTIVE") for name in self.servers]

    def compute(self, *names: str) -> None:
        """Start nova-compute with Nova's own driver, and wait until it has reported."""
        self.launch(*names)
        self.until(lambda: self.reported(*names))

    def launch(self, *names: str) -> None:
        """Start nova-compute, and let it copy servers' disks to the other nodes."""
        reports = self._reports()
        self._last |= {name: reports[name] for name in names}
        options = translate.nova_compute(self.rack.deployment.options["nova-compute"])

        def start(guest: Guest, name: str) -> None:
            address = layout.address(self.rack.nodes[name])
            node.start(guest, name, address, options, configuration.MACHINES)

        self.rack.floor.each("nova-compute", {name: partial(start, name=name) for name in names})
        self._keys = keys = self._keys or self.rack.floor.each("", {names[0]: moving.pair})[names[0]]
        self.copying |= self.rack.floor.each("", dict.fromkeys(names, partial(moving.enable, keys=keys)))

    def reported(self, *names: str) -> bool:
        """Whether nova-compute has reported since it was launched there: it takes what Nova asks it for."""
        now = self._reports()
        return all(now[name] not in ("", self._last[name]) for name in names)

    def held(self) -> list[Check]:
        """Each VF has the driver vfio-pci, and its IOMMU group is open in the server's QEMU."""
        return [
            equal(AREA, f"{name} VF {vf}", "vfio-pci open", " ".join(self._on(name, HOLDS, vf).split()))
            for name in self.servers
            for vf in self.vfs(name)
        ]

    def kept(self) -> list[Check]:
        """The charm refuses another number of VFs, names the servers, and writes nothing."""
        rack, wanted = self.rack, self.rack.option("num-vfs", 0)
        rack.display.phase("the charm keeps the servers' VFs")
        units = [unit for unit in on_nodes(rack, self.person.nodes) if unit.app.charm == "sriov-switchdev"]
        before = writes.written(rack, self.person.nodes)
        self._configure(wanted - 1)
        refused = rack.floor.work(lambda: all(unit.status[0] == "blocked" for unit in units), PATIENCE)
        found = [Check(AREA, "num-vfs less one", "blocked", str([u.status for u in units]), refused)]
        for unit in units:
            name = unit.machine.name
            (result,) = rack.controller.action([unit.name], "verify")
            said = str(result.failure or result.results)
            domain = self.servers[name].instance_name
            missed = [vf for vf in self.vfs(name) if f"VF {vf} by {domain}" not in said]
            found.append(Check(AREA, f"{unit.name} verify", f"{domain} uses each VF", said[:600], not missed))
        self._configure(wanted)
        found.append(settled(rack))
        now = writes.since(before, writes.written(rack, self.person.nodes))
        changes = {unit.name: now[unit.name] for unit in units}
        return [*found, *writes.no_change(AREA, "while servers use their VFs", changes), *self.held()]

    def rebooted(self) -> list[Check]:
        """A node that reboots converges without its server, which then has the same VFs again."""
        rack, name = self.rack, self.person.nodes[-1]
        rack.display.phase(f"{name} reboots with its server")
        vfs = self.vfs(name)
        rack.floor.each("reboot", {name: lambda guest: guest.reboot(timeout=900)})
        for unit in on_nodes(rack, [name]):
            rack.controller.queue(unit, "start")
        found = [settled(rack)]
        self.compute(name)
        found.append(self._reaches(name, "SHUTOFF"))
        drivers = {self._on(name, DRIVER, vf).strip() for vf in vfs}
        found.append(equal(AREA, f"{name} driver of the VFs", "mlx5_core", " ".join(sorted(drivers))))
        with asking("servers"):
            self._compute.start_server(self.servers[name].id)
        found.append(self._reaches(name, "ACTIVE"))
        again = self.vfs(name)
        found.append(equal(AREA, f"{name} VFs of its server", " ".join(vfs), " ".join(again)))
        return [*found, *plugged(self.person), *self.held()]

    def room(self, name: str) -> bool:
        """Whether Placement offers a node for a server."""
        return name in self.offered(self.objects["flavor m1.packet"]["id"])

    def delete(self, name: str) -> None:
        """Have Nova delete the server of one node."""
        with asking("servers"):
            self._compute.delete_server(self.servers.pop(name))
        del self.numbers[name]

    def moved(self, old: str, new: str) -> None:
        """The server of one node is on another one now."""
        with asking("servers"):
            self.servers[new] = self._compute.get_server(self.servers.pop(old).id)
        self.numbers[new] = self.numbers.pop(old)

    def end(self) -> None:
        """Delete them; their ports are the acceptance tool's, and stay."""
        self.rack.display.phase("virtual machines end")
        self._delete()

    def vfs(self, name: str) -> list[str]:
        """The PCI addresses of the VFs of a node's server, by Nova."""
        number = self.numbers[name]
        with asking("ports"):
            ports = [
                self.person.connection.network.get_port(self.objects[f"port {port}{number}"]["id"])
                for port in PORTS
            ]
        return [port.binding_profile["pci_slot"] for port in ports]

    def _reports(self) -> dict[str, str]:
        """When the nodes' nova-compute reported last; "" where that is too long ago for a server."""
        with asking("compute services"):
            found = list(self._compute.services(binary="nova-compute"))
        return {each.host: each.updated_at if each.state == "up" else "" for each in found}

    def offered(self, flavor: str) -> set[str]:
        """The nodes with room for a server of this flavor, by Placement, as Nova's scheduler asks it."""
        with asking("allocation candidates"):
            wanted = self._compute.get_flavor(flavor)
            room = f"PCPU:{wanted.vcpus},MEMORY_MB:{wanted.ram}"
            found = self._placement(f"/allocation_candidates?resources={room}&required=!{DISABLED}")
            providers = list(self.person.connection.placement.resource_providers())
        free = {each for request in found["allocation_requests"] for each in request["allocations"]}
        return {each.name for each in providers if each.id in free}

    def _why_not(self, flavor: str) -> Check:
        """Return Placement's data on the nodes that it does not offer."""
        offered = self.offered(flavor)
        told = [
            f"{each.name}: {self._placement(f'/resource_providers/{each.id}/{kind}')}"
            for each in self.person.connection.placement.resource_providers()
            if each.name not in offered
            for kind in ("inventories", "usages", "traits")
        ]
        wanted = ", ".join(self.person.nodes)
        return Check(AREA, "nodes with room for a server", wanted, "; ".join(told), holds=False)

    def _placement(self, path: str) -> Any:
        return self.person.connection.placement.get(path, microversion="1.22").json()

    def _reaches(self, name: str, status: str) -> Check:
        server = self.servers[name]

        def reached() -> bool:
            with asking("servers"):
                self.servers[name] = found = self._compute.get_server(server.id)
            return found.status in (status, "ERROR")

        self.until(reached)
        now = self.servers[name]
        said = f"{now.status} {now.fault or ''}".strip()
        return equal(AREA, f"{server.name} on {name}", status, said)

    def _delete(self) -> None:
        with asking("servers"):
            for server in list(self._compute.servers()):
                self._compute.delete_server(server)

            def gone() -> bool:
                return not any(self._compute.servers())

            self.until(gone)

    def until(self, what: Callable[[], bool], patience: float = PATIENCE) -> bool:
        """Ask every five seconds until it holds."""
        asked = 0.0

        def holds() -> bool:
            nonlocal asked
            if time.monotonic() - asked < 5:
                return False
            asked = time.monotonic()
            return what()

        return self.rack.floor.work(holds, patience)

    def _configure(self, vfs: int) -> None:
        self.rack.controller.configure("sriov-switchdev", {"num-vfs": vfs})

    def _on(self, name: str, script: str, vf: str) -> str:
        return self.rack.on(name, script.format(vf=vf))
