# SPDX-License-Identifier: Apache-2.0
"""A machine's interfaces. Source: forms/interface.py, forms/interface_link.py, models/interface.py."""

from lab.maas.objects import Kept
from lab.maas.refusal import REQUIRED, Form, RefusedError, among, require

LINK_UP = [{"mode": "link_up"}]
OPEN = ("New", "Ready", "Failed testing", "Allocated", "Broken")
MODES = (
    *("balance-rr", "active-backup", "balance-xor", "broadcast"),
    *("802.3ad", "balance-tlb", "balance-alb"),
)
BOND = {
    **{"bond_mode": "active-backup", "bond_lacp_rate": "slow", "bond_xmit_hash_policy": "layer2"},
    **{"bond_miimon": 100, "bond_updelay": 0, "bond_downdelay": 0, "bond_num_grat_arp": 1},
}
BRIDGE = {"bridge_type": "standard", "bridge_fd": 15, "bridge_stp": False}
NO_MAC = "This field cannot be blank."
"""MAAS takes the address of the parent, if the parent is right."""


class Interfaces(Kept):
    """Ports, and what is made on them."""

    def interface(self, machine, kind, name, vlan, parents, links, **params):
        own = {"type": kind, "name": name, "vlan": vlan, "links": links, "params": params}
        own |= {"parents": sorted(parent["name"] for parent in parents), "system_id": machine["system_id"]}
        physical = kind == "physical"
        own |= {"link_connected": physical, "numa_node": 0 if physical else None}
        machine["interface_set"].append(self.add("interfaces", **own))
        return machine["interface_set"][-1]

    def children(self, parent):
        """Names by type of what is on an interface."""
        own = [item for item in self.interfaces if item["system_id"] == parent["system_id"]]
        return {item["type"]: item["name"] for item in own if parent["name"] in item["parents"]}

    def create_vlan(self, data, machine):
        (parent,), vlan, form = self._parents(data["parent"], machine), data["vlan"], Form()
        message = "A VLAN interface can only belong to a tagged VLAN"
        if form.check(vlan["vid"], "vlan", f"{message}."):
            same = vlan["fabric_id"] == parent["vlan"]["fabric_id"]
            form.check(same, "vlan", f"{message} on the same fabric as its parent interface.")
        message = "A VLAN interface can't have a parent that is already in a bond."
        form.check("bond" not in self.children(parent), "parent", message)
        form.done()
        return self.interface(machine, "vlan", f"{parent['name']}.{vlan['vid']}", vlan, [parent], [*LINK_UP])

    def create_bond(self, data, machine):
        form, mode = Form(), data.get("bond_mode", BOND["bond_mode"])
        parents = self._parents(data.pop("parents", ""), machine)
        if not form.check(parents, "parents", "A bond interface must have one or more parents."):
            form.check(False, "mac_address", NO_MAC)
        form.check(mode in MODES, "bond_mode", among(mode, "bond_mode", MODES))
        used = ", ".join(parent["name"] for parent in parents if self.children(parent))
        form.check(not used, "parents", f"Interfaces already in-use: {used}.")
        same = all(parent["vlan"] is parents[0]["vlan"] for parent in parents)
        form.check(same, "parents", "All parents must belong to the same VLAN.")
        form.done()
        return self._on(machine, "bond", parents, BOND | data)

    def create_bridge(self, data, machine):
        form, kind = Form(), data.get("bridge_type", BRIDGE["bridge_type"])
        parents = self._parents(data.pop("parent"), machine)
        taken = {each for parent in parents for each in self.children(parent)} & {"bond", "bridge"}
        message = "A bridge interface can't have a parent that is already in a bond or a bridge."
        if not form.check(not taken, "parent", message):
            form.check(False, "mac_address", NO_MAC)
        form.check(
            kind in ("standard", "ovs"), "bridge_type", among(kind, "bridge_type", ("standard", "ovs"))
        )
        form.done()
        return self._on(machine, "bridge", parents, BRIDGE | data)

    def _parents(self, numbers, machine):
        choice = "Select a valid choice. That choice is not one of the available choices."
        wanted = [number for number in numbers.split(",") if number]
        found = [[each for each in machine["interface_set"] if str(each["id"]) == one] for one in wanted]
        require(all(found), "parents", choice)
        return [each[0] for each in found]

    def _on(self, machine, kind, parents, data):
        """A bond or a bridge; what it is on loses its links to it."""
        name = data.pop("name")
        made = self.interface(machine, kind, name, parents[0]["vlan"], parents, [*LINK_UP], **data)
        for parent in parents:
            parent["links"] = []
        return made

    def put_interfaces(self, data, interface):
        """A port that is in a bond or in a bridge has the VLAN of that; another one is not taken."""
        vlan, before = data.pop("vlan", interface["vlan"]), interface["vlan"]
        if not {"bond", "bridge"} & self.children(interface).keys():
            interface["vlan"] = vlan
            self._leave(before)
        interface["params"] = {**interface["params"], **data}
        return interface

    def _leave(self, vlan):
        """MAAS removes a fabric that it had made for a port, once the port is in another one."""
        number = vlan and vlan["fabric_id"]
        own = [each for each in self.fabrics if each["id"] == number and each.get("of_a_port")]
        used = [port for port in self.interfaces if port["vlan"] and port["vlan"]["fabric_id"] == number]
        if own and not used:
            self.fabrics.remove(own[0])
            self.vlans.remove(vlan)

    def link_subnet(self, data, interface):
        bond, subnet = self.children(interface).get("bond"), data["subnet"]
        message = f"Cannot link interface({interface['name']}) when interface is in a bond({bond})."
        require(not bond, "bond", message)
        if subnet["vlan"] is not interface["vlan"]:
            raise RefusedError(400, {"subnet": [f"None found with id={subnet['id']}.", REQUIRED]})
        kept = [link for link in interface["links"] if link["mode"] != "link_up"]
        interface["links"] = [*kept, data]
        return interface

    def changeable(self, machine, op):
        """Only of a machine that nobody has deployed."""
        what = (op or "update").replace("_", " ")
        said = f"Cannot {what} interface because the machine is not New, Ready, Allocated, or Broken."
        require(machine["status_name"] in OPEN, None, said)
