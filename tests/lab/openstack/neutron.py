# SPDX-License-Identifier: Apache-2.0
"""Neutron v2.0 with ML2/OVN: what a tenant's networks are made of, with Neutron's rules and messages."""

import json
from ipaddress import ip_address, ip_network
from itertools import chain

from lab.openstack.answer import PROJECT, Answer, RefusedError, number
from lab.openstack.policy import disallowed

SINGULAR = {
    "networks": "network",
    "subnets": "subnet",
    "ports": "port",
    "routers": "router",
    "floatingips": "floatingip",
    "security-groups": "security_group",
    "security-group-rules": "security_group_rule",
}
INTERFACE = "network:router_interface"
GATEWAY, FLOATING = "network:router_gateway", "network:floatingip"
NOBODY = {"project_id": "", "security_groups": []}
"""Ports that Neutron makes on an external network for itself: no project sees them (neutron/db/l3_db.py)."""
METADATA = "network:distributed"
GENEVE = 58
ATTACHED = "Bad router request: Router already has a port on subnet"


def refuse(status, kind, message):
    """Neutron's errors (neutron_lib/exceptions)."""
    raise RefusedError(Answer(status, {"NeutronError": {"type": kind, "message": message, "detail": ""}}))


def in_use(kind, what):
    refuse(409, kind, what)


def _ends(pool):
    """The first address of a pool, and the one after its last, as numbers."""
    return int(ip_address(pool["start"])), int(ip_address(pool["end"])) + 1


def _pools(cidr, gateway):
    """The pools of a subnet that gives none: all of it without the gateway."""
    hosts = (cidr[1], cidr[-2] if cidr.version == 4 else cidr[-1])
    parts = [hosts]
    if gateway:
        parts = [(hosts[0], ip_address(gateway) - 1), (ip_address(gateway) + 1, hosts[1])]
    return [{"start": str(first), "end": str(last)} for first, last in parts if first <= last]


class Neutron:
    """Objects by collection and id; `quota` by resource; `mtu` and `vlans` as in Neutron's configuration."""

    def __init__(self, release):
        self.url, self.release, self.mtu = "", release, 9000
        self.objects = {collection: {} for collection in SINGULAR}
        self.quota, self.vlans = {}, [101]
        self.let_out = ("IPv4", "IPv6")
        """The versions of IP that a new security group lets out; the default rules, which may change."""

    def of(self, collection, **values):
        """Objects with these values."""
        found = self.objects[collection].values()
        return [each for each in found if all(each.get(key) == value for key, value in values.items())]

    def port(self, number_):
        """A port as Nova's service user sees it, None if there is none."""
        return self.objects["ports"].get(number_)

    def ports_of(self, server):
        """A server's ports."""
        return self.of("ports", device_id=server)

    def bind(self, number_, values):
        """Write the values of Nova's service user into a port; on a host ML2/OVN binds it, or refuses to."""
        port = self.objects["ports"][number_]
        port |= values
        if port["binding:host_id"]:
            direct = port["binding:vnic_type"] == "direct"
            refused = direct and "switchdev" not in port["binding:profile"].get("capabilities", [])
            port["binding:vif_type"] = "binding_failed" if refused else "ovs"
        return port

    def unbind(self, number_, profile):
        """Take a port off its server."""
        taken = {"device_id": "", "device_owner": "", "binding:host_id": "", "binding:profile": profile}
        self.objects["ports"][number_] |= {**taken, "status": "DOWN", "binding:vif_type": "unbound"}

    def plug(self, number_, _host):
        """The host has flows for a port, and OVN reports it as up."""
        self.objects["ports"][number_]["status"] = "ACTIVE"

    def answer(self, method, words, values, _headers, body):
        if words in ([], [""], ["v2.0"]):
            links = [{"rel": "self", "href": f"{self.url}/network/v2.0/"}]
            return Answer(200, {"versions": [{"id": "v2.0", "status": "CURRENT", "links": links}]})
        try:
            return self._collection(method, words[1], words[2:], values, json.loads(body) if body else {})
        except RefusedError as error:
            return error.answer

    def _collection(self, method, collection, words, values, content):
        kind = SINGULAR[collection]
        if not words and method == "GET":
            filters = {
                key: value for key, value in values.items() if key not in ("limit", "marker", "fields")
            }
            found = self.of(collection, **filters)
            if field := values.get("fields"):
                # The project decides who sees it; Neutron asks its policies before it leaves fields out.
                found = [{key: each[key] for key in (field, "project_id")} for each in found]
            return Answer(200, {collection.replace("-", "_"): found})
        if not words:
            return Answer(201, {kind: self._create(collection, content[kind])})
        found = self.objects[collection].get(words[0])
        if found is None:
            name = "".join(word.capitalize() for word in kind.split("_"))
            missing = f"{name} {words[0]} could not be found."
            if kind == "security_group":
                missing = f"Security group {words[0]} does not exist"
            refuse(404, f"{name}NotFound", missing)
        if words[1:] == ["tags"]:
            found["tags"] = content["tags"]
            return Answer(200, {"tags": found["tags"]})
        if words[1:]:
            return Answer(200, getattr(self, words[1])(found, content))
        if method == "DELETE":
            self._delete(collection, found)
            return Answer(204)
        if method == "PUT":
            getattr(self, f"_change_{kind}", lambda *_: None)(found, content[kind])
            found |= content[kind]
        return Answer(200, {kind: found})

    def _create(self, collection, values):
        kind = SINGULAR[collection]
        allowed = self.quota.get(kind)
        if allowed is not None and len(self.objects[collection]) >= allowed:
            refuse(409, "OverQuota", f"Quota exceeded for resources: ['{kind}'].")
        made = {"id": number(), "name": "", "description": "", "tags": [], "project_id": PROJECT}
        made |= getattr(self, f"_new_{kind}")(values)
        self.objects[collection][made["id"]] = made
        return made

    def _new_network(self, values):
        values = {"provider:network_type": "geneve", **values}  # the first of tenant_network_types
        kind, physical = values["provider:network_type"], values.get("provider:physical_network")
        segment = values.get("provider:segmentation_id") or (self._vlan() if kind == "vlan" else 1)
        taken = self.of(
            "networks", **{"provider:physical_network": physical, "provider:segmentation_id": segment}
        )
        if kind == "vlan" and taken:
            said = f"The VLAN {segment} on physical network {physical} is in use."
            in_use("VlanIdInUse", f"Unable to create the network. {said}")
        defaults = {
            "router:external": False,
            "shared": False,
            "provider:physical_network": None,
            "subnets": [],
        }
        mtu = self.mtu - (GENEVE if kind == "geneve" else 0)
        return {**defaults, "status": "ACTIVE", **values, "provider:segmentation_id": segment, "mtu": mtu}

    def _vlan(self):
        used = {network["provider:segmentation_id"] for network in self.of("networks")}
        free = [vlan for vlan in self.vlans if vlan not in used]
        if not free:
            said = "Unable to create the network. No tenant network is available for allocation."
            refuse(503, "NoNetworkAvailable", said)
        return free[0]

    def _new_subnet(self, values):
        network, cidr = self.objects["networks"][values["network_id"]], ip_network(values["cidr"])
        for number_ in network["subnets"]:
            other = self.objects["subnets"][number_]["cidr"]
            if ip_network(other).overlaps(cidr):
                said = f"Requested subnet with cidr: {cidr} for network: {network['id']}"
                said += " overlaps with another subnet."
                refuse(400, "InvalidInput", f"Invalid input for operation: {said}")
        made = {
            "enable_dhcp": True,
            "gateway_ip": str(cidr[1]),
            "service_types": [],
            "shared": network["shared"],
            "id": number(),
            **values,
        }
        made.setdefault("allocation_pools", _pools(cidr, made["gateway_ip"]))
        network["subnets"].append(made["id"])
        if made["enable_dhcp"]:
            self._metadata(network, made)
        return made

    def _metadata(self, network, subnet):
        """ML2/OVN's port for metadata, which has the first free address of each subnet with DHCP."""
        pools = subnet["allocation_pools"] or [{"start": str(ip_network(subnet["cidr"])[1])}]
        taken = pools[0]["start"]
        port = {
            "network_id": network["id"],
            "device_owner": METADATA,
            "device_id": f"ovnmeta-{network['id']}",
        }
        fixed = [{"subnet_id": subnet["id"], "ip_address": taken}]
        self._create("ports", {**port, "fixed_ips": fixed})

    def _new_security_group(self, values):
        made = {"id": number(), "stateful": True, "security_group_rules": [], **values}
        self.objects["security-groups"][made["id"]] = made
        for family in self.let_out:
            rule = {"security_group_id": made["id"], "direction": "egress", "ethertype": family}
            self._create("security-group-rules", rule)
        return made

    def _new_security_group_rule(self, values):
        same = ("security_group_id", "direction", "protocol", "port_range_min", "port_range_max", "ethertype")
        values = {
            **dict.fromkeys(("protocol", "port_range_min", "port_range_max", "remote_group_id")),
            **values,
        }
        for rule in self.of("security-group-rules", **{key: values.get(key) for key in same}):
            in_use("SecurityGroupRuleExists", f"Security group rule already exists. Rule id is {rule['id']}.")
        self.objects["security-groups"][values["security_group_id"]]["security_group_rules"].append(values)
        return values

    def _new_port(self, values):
        if values.get("binding:profile") and self.release != "yoga":
            refuse(403, "PolicyNotAuthorized", disallowed("create", "ports", values))
        network = self.objects["networks"][values["network_id"]]
        fixed = values.get("fixed_ips") or self._fixed(network, values.get("device_owner", ""))
        for each in fixed:
            address, subnet = each["ip_address"], each["subnet_id"]
            if any(each in port["fixed_ips"] for port in self.of("ports")):
                said = f"IP address {address} already allocated in subnet {subnet}"
                in_use("IpAddressAlreadyAllocated", said)
        return {
            "status": "DOWN",
            "device_id": "",
            "device_owner": "",
            "mac_address": f"fa:16:3e:00:00:{len(self.objects['ports']):02x}",
            "port_security_enabled": True,
            "security_groups": [],
            "binding:vnic_type": "normal",
            "binding:vif_type": "unbound",
            "binding:profile": {},
            "binding:host_id": "",
            **values,
            "fixed_ips": fixed,
        }

    def _change_port(self, port, values):
        secure = values.get("port_security_enabled", port["port_security_enabled"])
        if values.get("security_groups") and not secure and "port_security_enabled" not in values:
            said = "Port security must be enabled and port must have an IP address in order to use security"
            refuse(400, "PortSecurityAndIPRequiredForSecurityGroups", f"{said} groups.")
        if not secure and values.get("security_groups", port["security_groups"]):
            in_use(
                "PortSecurityPortHasSecurityGroup",
                "Port has security group associated. Cannot disable port security or IP address until "
                "security group is removed.",
            )

    def _fixed(self, network, owner):
        """An address of each version of IP, of the first subnet with a free one; nothing without a subnet.

        An external network gives one address, IPv4 before IPv6.

        A subnet with service types is for these owners of ports only (neutron/db/ipam_backend_mixin.py).
        """
        subnets = [self.objects["subnets"][each] for each in network["subnets"]]
        subnets = [each for each in subnets if owner in (each["service_types"] or [owner])]
        used = {fixed["ip_address"] for port in self.of("ports") for fixed in port["fixed_ips"]}
        versions = {each["ip_version"]: None for each in sorted(subnets, key=lambda each: each["ip_version"])}
        found = []
        for version in versions:
            of = [each for each in subnets if each["ip_version"] == version]
            free = (
                {"subnet_id": subnet["id"], "ip_address": address}
                for subnet in of
                for address in self._free(subnet, used)
            )
            found += [first] if (first := next(free, None)) else []
            if found and network.get("router:external"):
                break
            if not found and version == [*versions][-1]:
                said = f"No more IP addresses available on network {network['id']}."
                refuse(409, "IpAddressGenerationFailure", said)
        return found

    @staticmethod
    def _free(subnet, used):
        pools = [range(*_ends(pool)) for pool in subnet["allocation_pools"]]
        # Neutron takes a random one, so others than the first ones come first.
        parts = [*(pool[8:] for pool in pools), *(pool[:8] for pool in pools)]
        return (each for each in map(str, map(ip_address, chain.from_iterable(parts))) if each not in used)

    def _new_router(self, values):
        made = {"external_gateway_info": None, "status": "ACTIVE", "id": number(), **values}
        if made["external_gateway_info"]:
            network = made["external_gateway_info"]["network_id"]
            port = {"network_id": network, "device_owner": GATEWAY, "device_id": made["id"]}
            self._create("ports", {**port, **NOBODY})
        return made

    def _new_floatingip(self, values):
        port = self.objects["ports"][values["port_id"]]
        subnets = {fixed["subnet_id"] for fixed in port["fixed_ips"]}
        connected = self.of("ports", device_owner=INTERFACE)
        if not any(fixed["subnet_id"] in subnets for each in connected for fixed in each["fixed_ips"]):
            said = f"External network {values['floating_network_id']} is not reachable from subnet"
            said += f" {min(subnets)}. Therefore, cannot associate Port {port['id']} with a Floating IP."
            refuse(404, "ExternalGatewayForFloatingIPNotFound", said)
        made = number()
        outside = {"network_id": values["floating_network_id"], "device_owner": FLOATING, "device_id": made}
        (fixed,) = self._create("ports", {**outside, **NOBODY})["fixed_ips"]
        return {
            "id": made,
            "floating_ip_address": fixed["ip_address"],
            "fixed_ip_address": port["fixed_ips"][0]["ip_address"],
            **values,
        }

    def add_router_interface(self, router, content):
        attached = [
            fixed["subnet_id"]
            for each in self.of("ports", device_id=router["id"], device_owner=INTERFACE)
            for fixed in each["fixed_ips"]
        ]
        if "port_id" in content:
            port = self.objects["ports"][content["port_id"]]
        else:
            subnet = self.objects["subnets"][content["subnet_id"]]
            if not subnet["gateway_ip"]:
                said = "Subnet for router interface must have a gateway IP."
                refuse(400, "BadRequest", f"Bad router request: {said}")
            for other in (self.objects["subnets"][each] for each in attached):
                if not ip_network(other["cidr"]).overlaps(ip_network(subnet["cidr"])):
                    continue
                if self.release == "yoga" and other is subnet:
                    refuse(400, "BadRequest", f"{ATTACHED} {subnet['id']}.")
                said = f"Cidr {subnet['cidr']} of subnet {subnet['id']} overlaps with cidr {other['cidr']}"
                refuse(400, "BadRequest", f"Bad router request: {said} of subnet {other['id']}.")
            fixed = [{"subnet_id": subnet["id"], "ip_address": subnet["gateway_ip"]}]
            port = self._create("ports", {"network_id": subnet["network_id"], "fixed_ips": fixed})
        subnet = port["fixed_ips"][0]["subnet_id"]
        if subnet in attached:
            refuse(400, "BadRequest", f"{ATTACHED} {subnet}.")
        port |= {"device_id": router["id"], "device_owner": INTERFACE}
        return {"id": router["id"], "subnet_id": subnet, "port_id": port["id"]}

    def remove_router_interface(self, router, content):
        port = self.objects["ports"].pop(content["port_id"])
        return {"id": router["id"], "port_id": port["id"]}

    def _delete(self, collection, found):
        number_ = found["id"]
        getattr(self, f"_drop_{SINGULAR[collection]}", lambda _: None)(found)
        for network in self.objects["networks"].values():
            network["subnets"] = [each for each in network["subnets"] if each != number_]
        del self.objects[collection][number_]

    def _drop_port(self, port):
        if port["device_owner"] == INTERFACE:
            said = f"has device owner {INTERFACE}."
            in_use(
                "ServicePortInUse", f"Port {port['id']} cannot be deleted directly via the port API: {said}"
            )

    def _drop_network(self, network):
        for port in self.of("ports", network_id=network["id"], device_owner=METADATA):
            del self.objects["ports"][port["id"]]
        used = self.of("ports", network_id=network["id"])
        if used:
            said = "There are one or more ports still in use on the network"
            ids = ",".join(port["id"] for port in used)
            what = f"Unable to complete operation on network {network['id']}. {said}"
            in_use("NetworkInUse", f"{what}, id for these ports is: {ids}.")

    def _drop_subnet(self, subnet):
        for port in self.of("ports"):
            used = any(fixed["subnet_id"] == subnet["id"] for fixed in port["fixed_ips"])
            if used and port["device_owner"] == METADATA:
                port["fixed_ips"] = []
            elif used:
                said = "One or more ports have an IP allocation from this subnet"
                in_use("SubnetInUse", f"Unable to complete operation on subnet {subnet['id']}: {said}.")

    def _drop_router(self, router):
        if used := self.of("ports", device_id=router["id"], device_owner=INTERFACE):
            ids = ", ".join(port["id"] for port in used)
            in_use("RouterInUse", f"Router {router['id']} has ports still attached: {ids}")
        self._drop_ports_of(router, GATEWAY)

    def _drop_floatingip(self, floating):
        self._drop_ports_of(floating, FLOATING)

    def _drop_ports_of(self, found, owner):
        for port in self.of("ports", device_id=found["id"], device_owner=owner):
            del self.objects["ports"][port["id"]]

    def _drop_security_group(self, group):
        if any(group["id"] in port["security_groups"] for port in self.of("ports")):
            in_use("SecurityGroupInUse", f"Security Group {group['id']} in use.")
        rules = self.of("security-group-rules", security_group_id=group["id"])
        for rule in rules:
            del self.objects["security-group-rules"][rule["id"]]
