# SPDX-License-Identifier: Apache-2.0
"""Nova v2.1: compute services, keypairs, flavors and servers, with Nova's faults.

A server is BUILD when it is first looked at, then ACTIVE, unless `errors` has the message of its fault.
"""

import hashlib
import json

from lab.openstack.answer import PROJECT, Answer, RefusedError, number
from lab.openstack.moving import Moving

BUGS = "http://bugs.launchpad.net/nova/"
MICROVERSION = {"yoga": "2.90", "2024.1": "2.96"}
VF = {"pci_vendor_info": "15b3:101e", "pci_slot": "0000:3f:00.2", "physical_network": None}
"""The keys that every release of Nova writes into binding:profile of a port with a VF."""
_KEYS = {
    400: "badRequest",
    403: "forbidden",
    404: "itemNotFound",
    409: "conflictingRequest",
    500: "computeFault",
}


def refuse(status, message):
    """Nova's faults (nova/api/openstack/wsgi.py, Fault)."""
    raise RefusedError(Answer(status, {_KEYS[status]: {"code": status, "message": message}}))


class Nova:
    """Flavors, keypairs, servers; `hosts` are the compute hosts that are up, by availability zone.

    `bare` are those whose service is Ironic's, each with two machines, and `hanging` those that are up and
    answer no call. Those `without_vfs` take no server with one. `hides_hypervisors` is a policy.

    `capabilities` of a VF is what Nova adds to binding:profile.
    """

    def __init__(self, release, neutron):
        self.url, self.release, self.neutron, self.images = "", release, neutron, {}
        self.hosts = {"node1.maas": "nova", "node2.maas": "nova"}
        self.down, self.bare, self.hanging, self.hides_hypervisors = set(), set(), set(), False
        self.without_vfs = set()
        self._asked = (2, 1)
        self.flavors, self.keypairs, self.servers, self.groups = {}, {}, {}, {}
        self.errors, self.cores, self.build_looks = {}, None, 1
        self.aliases = {"a100-gpu"}
        self.disabled, self.moving = {}, Moving(self)
        self.capabilities = [] if release == "yoga" else ["switchdev"]

    def answer(self, method, words, values, headers, body):
        if words in (["v2.1"], ["v2.1", ""]):
            newest = MICROVERSION[self.release]
            version = {"id": "v2.1", "status": "CURRENT", "version": newest, "min_version": "2.1"}
            links = [{"rel": "self", "href": f"{self.url}/compute/v2.1/"}]
            return Answer(200, {"version": {**version, "updated": "2013-07-23T11:33:21Z", "links": links}})
        content = json.loads(body) if body else {}
        asked = headers.get("OpenStack-API-Version", "compute 2.1").split()[-1]
        handler = getattr(self, f"_{words[1].replace('-', '_')}")
        try:
            self._negotiable(asked)
            return handler(method, words[2:], values, content)
        except RefusedError as error:
            return error.answer

    def _negotiable(self, asked):
        newest = MICROVERSION[self.release]
        self._asked = tuple(map(int, asked.split(".")))
        if self._asked > tuple(map(int, newest.split("."))):
            message = f"Version {asked} is not supported by the API. Minimum is 2.1 and maximum is {newest}."
            raise RefusedError(Answer(406, {"computeFault": {"code": 406, "message": message}}))

    def _os_services(self, method, words, values, content):
        if method == "PUT":
            host = words[0].removeprefix("service-")
            if host not in self.hosts:
                refuse(404, f"Service {words[0]} not found.")
            self.disabled.pop(host, None)
            if content["status"] == "disabled":
                self.disabled[host] = content.get("disabled_reason")
        services = [
            {
                "id": f"service-{host}",
                "binary": "nova-compute",
                "host": host,
                "zone": zone,
                "status": "disabled" if host in self.disabled else "enabled",
                "state": "down" if host in self.down else "up",
                "disabled_reason": self.disabled.get(host),
                "forced_down": False,
                "updated_at": "2026-11-23T10:00:00.000000",
            }
            for host, zone in self.hosts.items()
        ]
        if method == "PUT":
            return Answer(200, {"service": next(each for each in services if each["host"] == host)})
        assert values.get("binary") in (None, "nova-compute")
        return Answer(200, {"services": services})

    def _os_migrations(self, _method, _words, values, _content):
        keys = ("source_compute", "status", "migration_type")
        wanted = {key: values[key] for key in keys if key in values}
        found = [each for each in self.moving.migrations if wanted.items() <= each.items()]
        return Answer(200, {"migrations": found})

    def _os_hypervisors(self, _method, words, _values, _content):
        """The details (nova/api/openstack/compute/hypervisors.py), of 2.88 and only what is read."""
        assert words == ["detail"]
        if self.hides_hypervisors:
            refuse(403, "Policy doesn't allow os_compute_api:os-hypervisors:list-detail to be performed.")
        if self.hanging and self._asked >= (2, 88):  # it asks each service for the uptime
            timeout = "<class 'oslo_messaging.exceptions.MessagingTimeout'>"
            refuse(500, f"Unexpected API Error. Please report this at {BUGS} and attach the log.\n{timeout}")
        found = []
        for host in self.hosts:
            names = [f"{host}-machine{each}" for each in (1, 2)] if host in self.bare else [host]
            kind = "ironic" if host in self.bare else "QEMU"
            service = {"id": f"service-{host}", "host": host, "disabled_reason": None}
            state = "down" if host in self.down else "up"
            for name in names:
                told = {"hypervisor_hostname": name, "hypervisor_type": kind, "service": service}
                found.append({"id": name, "state": state, "status": "enabled", **told})
        return Answer(200, {"hypervisors": found})

    def _os_keypairs(self, method, words, _values, content):
        if method == "POST":
            pair = content["keypair"]
            if pair["name"] in self.keypairs:
                refuse(409, f"Key pair '{pair['name']}' already exists.")
            made = {"type": "ssh", "user_id": "a" * 32, "fingerprint": "00:11", **pair}
            self.keypairs[pair["name"]] = made
            return Answer(201, {"keypair": made})
        if not words:
            return Answer(200, {"keypairs": [{"keypair": pair} for pair in self.keypairs.values()]})
        if words[0] not in self.keypairs:
            refuse(404, f"Keypair {words[0]} not found for user {'a' * 32}")
        if method == "DELETE":
            del self.keypairs[words[0]]
            return Answer(204)
        return Answer(200, {"keypair": self.keypairs[words[0]]})

    def _os_server_groups(self, method, words, _values, content):
        if method == "POST":
            made = {"members": [], "rules": {}, "project_id": PROJECT, "user_id": "a" * 32}
            made |= {**content["server_group"], "id": number()}
            self.groups[made["id"]] = made
            return Answer(200, {"server_group": made})
        if not words:
            return Answer(200, {"server_groups": [*self.groups.values()]})
        group = self.groups.get(words[0]) or refuse(404, f"Instance group {words[0]} could not be found.")
        if method == "DELETE":
            del self.groups[words[0]]
            return Answer(204)
        return Answer(200, {"server_group": group})

    def _flavors(self, method, words, _values, content):
        if method == "POST" and not words:
            values = content["flavor"]
            if any(each["name"] == values["name"] for each in self.flavors.values()):
                refuse(409, f"Flavor with name {values['name']} already exists.")
            made = {**values, "id": values.get("id") or number(), "extra_specs": {}, "links": []}
            made |= {"os-flavor-access:is_public": True, "OS-FLV-DISABLED:disabled": False, "swap": 0}
            self.flavors[made["id"]] = made
            return Answer(200, {"flavor": made})
        if words in ([], ["detail"]):
            return Answer(200, {"flavors": [*self.flavors.values()]})
        flavor = self.flavors.get(words[0]) or refuse(404, f"Flavor {words[0]} could not be found.")
        if words[1:] == ["os-extra_specs"]:
            if method == "POST":
                flavor["extra_specs"] |= content["extra_specs"]
            return Answer(200, {"extra_specs": flavor["extra_specs"]})
        if method == "DELETE":
            del self.flavors[words[0]]
            return Answer(202)
        return Answer(200, {"flavor": flavor})

    def _servers(self, method, words, values, content):
        if method == "POST" and not words:
            hints = content.get("OS-SCH-HNT:scheduler_hints", {})
            return Answer(202, {"server": {"id": self._create(content["server"], hints), "links": []}})
        if words in ([], ["detail"]):
            found = [
                self.shown(each)
                for each in self.servers.values()
                if values.get("host") in (None, each["OS-EXT-SRV-ATTR:host"])
            ]
            return Answer(200, {"servers": found})
        server = self.servers.get(words[0]) or refuse(404, f"Instance {words[0]} could not be found.")
        if method == "DELETE":
            del self.servers[words[0]]
            for port in self.neutron.ports_of(words[0]):
                self.neutron.unbind(port["id"], _without_vf(port["binding:profile"]))
            return Answer(204)
        if words[1:] == ["action"]:
            self.moving.act(server, content)
            return Answer(202)
        self._advance(server)
        self.moving.advance(server)
        return Answer(200, {"server": self.shown(server)})

    def shown(self, server):
        """From microversion 2.47 on, a server has its flavor's values instead of the flavor's id."""
        if self._asked < (2, 47):
            return server
        flavor = self.flavors.get(server["flavor"].get("id"), {})
        kept = {key: flavor.get(key) for key in ("vcpus", "ram", "disk", "extra_specs")}
        return {**server, "flavor": {"original_name": flavor.get("name"), **kept}}

    def _create(self, wanted, hints):
        flavor = self.flavors.get(wanted["flavorRef"]) or refuse(
            400, f"Flavor {wanted['flavorRef']} could not be found."
        )
        if wanted["imageRef"] not in self.images:
            refuse(400, "Can not find requested image")
        if wanted["key_name"] not in self.keypairs:
            refuse(400, "Invalid key_name provided.")
        used = sum(self.flavors[server["flavor"]["id"]]["vcpus"] for server in self.servers.values())
        if self.cores is not None and used + flavor["vcpus"] > self.cores:
            asked = f"Requested {flavor['vcpus']}, but already used {used} of {self.cores} cores"
            refuse(403, f"Quota exceeded for cores: {asked}")
        alias = flavor["extra_specs"].get("pci_passthrough:alias", "").partition(":")[0]
        if alias and alias not in self.aliases:
            refuse(400, f"PCI alias {alias} is not defined")
        zone, _, host = wanted.get("availability_zone", "nova").partition(":")
        host = host or self._schedule(hints, wanted["name"])
        if host not in self.hosts:
            refuse(400, f"Compute host {host} could not be found.")
        server = {
            "id": number(),
            "name": wanted["name"],
            "status": "BUILD",
            "tenant_id": PROJECT,
            "tags": wanted.get("tags", []),
            "key_name": wanted["key_name"],
            "flavor": {"id": flavor["id"]},
            "image": {"id": wanted["imageRef"]},
            "OS-EXT-STS:task_state": "spawning",
            "OS-EXT-AZ:availability_zone": zone,
            "OS-EXT-SRV-ATTR:host": host,
            "hostId": hashlib.sha224(f"{PROJECT}{host}".encode()).hexdigest(),
            "OS-EXT-SRV-ATTR:hypervisor_hostname": host,
            "OS-EXT-SRV-ATTR:instance_name": f"instance-{len(self.servers) + 8:08x}",
            "looks": self.build_looks,
            "ports": [each["port"] for each in wanted["networks"]],
        }
        for port in server["ports"]:
            found = self.neutron.port(port) or refuse(400, f"Port id {port} could not be found.")
            if found["device_id"]:
                refuse(409, f"Port {port} is still in use.")
            self.neutron.bind(port, {"device_id": server["id"], "device_owner": f"compute:{zone}"})
        self.servers[server["id"]] = server
        if group := self.groups.get(hints.get("group")):
            group["members"].append(server["id"])
        return server["id"]

    def _schedule(self, hints, name):
        """A host for a server that names none: one that has no other server of its anti-affinity group."""
        beside = self.groups.get(hints.get("group"), {"members": []})["members"]
        used = {self.servers[each]["OS-EXT-SRV-ATTR:host"] for each in beside if each in self.servers}
        free = [host for host in sorted(self.hosts) if host not in used | self.down]
        if not free:
            self.errors[name] = "No valid host was found. There are not enough hosts available."
        return free[0] if free else min(self.hosts)

    def _advance(self, server):
        if server["status"] != "BUILD":
            return
        server["looks"] -= 1
        if server["looks"] >= 0:
            return
        error = self.errors.get(server["name"])
        if error is None or "Binding failed" in error:
            error = self._bind(server, with_vf=error is None) or error
        server |= {"status": "ERROR" if error else "ACTIVE", "OS-EXT-STS:task_state": None}
        if error:
            server["fault"] = {"code": 500, "created": "2026-11-23T10:00:00Z", "message": error}

    def _bind(self, server, with_vf):
        """Bind a server's ports as nova-compute does; return the message if Neutron binds one to nothing.

        Nova of 2024.1 adds the capabilities that libvirt reports for the VF (network/neutron.py,
        _get_vf_pci_device_profile), so that they need not be in the port. Yoga's Nova adds none.
        """
        host = server["OS-EXT-SRV-ATTR:host"]
        types = [self.neutron.port(each)["binding:vnic_type"] for each in server["ports"]]
        if host in self.without_vfs and "direct" in types:
            return "Build of instance 1 aborted: Insufficient compute resources: Claim pci failed."
        for number_ in server["ports"]:
            port, values = self.neutron.port(number_), {"binding:host_id": host}
            if port["binding:vnic_type"] == "direct" and with_vf:
                added = {"capabilities": self.capabilities} if self.capabilities else {}
                values["binding:profile"] = {**port["binding:profile"], **VF, **added}
            bound = self.neutron.bind(number_, values)
            if bound["binding:vif_type"] == "binding_failed":
                said = f"Binding failed for port {number_}, please check neutron logs for more information."
                return f"Build of instance {server['id']} aborted: {said}" if with_vf else None
            self.neutron.plug(number_, host)
        return None


def _without_vf(profile):
    """Return the rest of a port's profile when Nova takes the server off."""
    return {key: value for key, value in profile.items() if key not in VF}
