# SPDX-License-Identifier: Apache-2.0
"""Three compute hosts in a simulated Nova and Juju, and the verbs that empty them."""

from acceptance.cloud import connect
from drain import command
from lab.juju.nodes import Nodes
from lab.openstack.answer import number
from lab.openstack.operator import World
from operate.__main__ import parser
from operate.client import Juju
from undo.command import undo

NODE1, NODE2, NODE3 = "node1.maas", "node2.maas", "node3.maas"


class Cloud:
    """Three hosts; `node1` has an instance with a VF, one without, and one that is shut off."""

    def __init__(self, world: World, nodes: type[Nodes] = Nodes):
        self.world, self.nova, self.clock = world, world.openstack.nova, world.clock
        self.nova.hosts[NODE3] = "nova"
        self.nova.flavors["small"] = {"id": "small", "name": "small", "extra_specs": {}}
        self.add("database", NODE1, "direct")
        self.add("web", NODE1)
        self.add("spare", NODE1, status="SHUTOFF")
        self.nodes = nodes(self.nova, {NODE1})

    def add(self, name, host, vnic="normal", status="ACTIVE"):
        ports = self.world.openstack.neutron.objects["ports"]
        made = {"id": number(), "binding:vnic_type": vnic, "binding:host_id": host, "device_id": name}
        ports[made["id"]] = {**made, "project_id": "p", "name": "", "binding:profile": {}}
        self.nova.servers[name] = {
            **{"id": name, "name": name, "status": status, "tenant_id": f"project-of-{name}"},
            **{"flavor": {"id": "small"}, "ports": [made["id"]], "OS-EXT-STS:task_state": None},
            **{"OS-EXT-SRV-ATTR:host": host, "OS-EXT-SRV-ATTR:hypervisor_hostname": host, "looks": 0},
        }

    def typed(self, capsys, *words):
        """Exit status of a verb, and what it prints."""
        options = parser().parse_args([*words, "--cloud", "rdg"])
        run = {**command.VERBS, "undo": undo}[options.verb]
        found = []

        def connecting(name, cacert):
            found.append(connect(name, cacert))
            return found[-1]

        try:
            status = run(Juju(run=self.nodes), options, command.Around(connecting, self.clock))
        finally:
            for each in found:
                each.close()
        said = capsys.readouterr()
        return status, said.out + said.err

    def where(self):
        return {name: each["OS-EXT-SRV-ATTR:host"] for name, each in self.nova.servers.items()}
