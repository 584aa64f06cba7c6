# SPDX-License-Identifier: Apache-2.0
"""A MAAS 2.0 region for tests: the paths that the command uses, with MAAS' own rules and words.

Source: canonical/maas, src/maasserver/{api,forms} (interface.py, interface_link.py, vlan.py, iprange.py).
"""

import ipaddress
import json
import re
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OPEN = ("New", "Ready", "Failed testing", "Allocated", "Broken")
KEY = "consumer:token:secret"
NO_CHOICE = "Select a valid choice. That choice is not one of the available choices."


class RefusedError(Exception):
    """An answer that is not 200."""

    def __init__(self, status, said):
        super().__init__(said)
        self.status, self.said = status, said


def require(right, field, message):
    if not right:
        raise RefusedError(400, {field: [message]})


class Region:
    """What the region knows; `requests` is what it was sent, `faults` the writes that fail, by number."""

    def __init__(self):
        self.config = {"upstream_dns": None}
        self.fabrics, self.vlans, self.spaces, self.subnets, self.ipranges = [], [], [], [], []
        self.tags, self.machines, self.devices, self.power = [], [], {}, {}
        self.rackcontrollers = [{"system_id": "rack01", "hostname": "maas"}]
        self.requests, self.faults, self.last = [], {}, 0

    def number(self):
        self.last += 1
        return self.last

    def add(self, kind, key=None, **values):
        number = self.number()
        key = key or number
        made = {"id": number, "resource_uri": f"/MAAS/api/2.0/{kind}/{key}/", **values}
        getattr(self, kind).append(made)
        return made

    def discover(self, cidr):
        """A fabric, its untagged VLAN and a subnet, as MAAS finds its own network."""
        self.post_fabrics({})
        return self.post_subnets({"cidr": cidr, "vlan": str(self.vlans[-1]["id"])})

    def commission(self, hostname, ports, numa=(), slots=None):
        """Let a machine be Ready with these ports; the first one booted on the first subnet."""
        machine = next(m for m in self.machines if m["hostname"] == hostname)
        machine.update(status_name="Ready", memory=262144, numanode_set=list(numa), interface_set=[])
        devices = self.devices[machine["system_id"]] = []
        for index, name in enumerate(ports):
            links = [] if index else [{"mode": "auto", "subnet": self.subnets[0]}]
            self.interface(machine, name, "physical", None if index else self.vlans[0], [], links)
            slot = (slots or {}).get(name, f"0000:3f:00.{index}")
            devices.append({"vendor_id": "15b3", "pci_address": slot, "physical_interface": {"name": name}})

    # Networks.

    def post_fabrics(self, data):
        fabric = self.add("fabrics", name=data.get("name") or f"fabric-{len(self.fabrics)}")
        fabric["vlans"] = []
        self.post_vlan(fabric, {"vid": "0", "name": "untagged"})
        return fabric

    def post_vlan(self, fabric, data):
        taken = data["vid"] in [str(vlan["vid"]) for vlan in fabric["vlans"]]
        require(
            not taken, "__all__", "A VLAN with the specified VID already exists in the destination fabric."
        )
        vlan = self.add(
            "vlans", vid=int(data["vid"]), mtu=1500, space="undefined", dhcp_on=False, primary_rack=None
        )
        vlan.update(fabric=fabric["name"], fabric_id=fabric["id"])
        fabric["vlans"].append(vlan)
        return self.put_vlan(vlan, data)

    def put_vlan(self, vlan, data):
        known = [space["name"] for space in self.spaces]
        require("space" not in data or data["space"] in known, "space", NO_CHOICE)
        if data.get("dhcp_on") == "true":
            ranges = [r for r in self.ipranges if r["type"] == "dynamic" and r["subnet"]["vlan"] is vlan]
            require(ranges, "dhcp_on", "dhcp can only be turned on when a dynamic IP range is defined.")
            rack = data.get("primary_rack") or vlan["primary_rack"]
            require(rack, "__all__", "dhcp can only be turned on when a primary rack controller is set.")
            vlan["dhcp_on"] = True
        vlan.update({key: data[key] for key in ("name", "space", "primary_rack") if key in data})
        vlan["mtu"] = int(data.get("mtu", vlan["mtu"]))
        return vlan

    def post_spaces(self, data):
        return self.add("spaces", name=data["name"])

    def post_subnets(self, data):
        taken = data["cidr"] in [subnet["cidr"] for subnet in self.subnets]
        require(not taken, "cidr", "Subnet with this Cidr already exists.")
        return self.put_subnet(self.add("subnets", name=data["cidr"], gateway_ip=None, vlan=None), data)

    def put_subnet(self, subnet, data):
        vlan = self.find(self.vlans, data["vlan"]) if "vlan" in data else subnet["vlan"]
        subnet.update({**data, "vlan": vlan})
        return subnet

    def post_ipranges(self, data):
        subnet = self.find(self.subnets, data["subnet"])
        first, last = (ipaddress.ip_address(data[key]) for key in ("start_ip", "end_ip"))
        inside = first in ipaddress.ip_network(subnet["cidr"])
        require(inside, "start_ip", "Start IP address must be within subnet.")
        for known in self.ipranges:
            ends = [ipaddress.ip_address(known[key]) for key in ("start_ip", "end_ip")]
            message = f"Requested {data['type']} range conflicts with an existing IP address or range."
            require(last < ends[0] or ends[1] < first, "__all__", message)
        return self.add("ipranges", **{**data, "subnet": subnet})

    def find(self, objects, number):
        found = [item for item in objects if str(item["id"]) == number]
        require(found, "id", NO_CHOICE)
        return found[0]

    # Machines.

    def post_tags(self, data):
        fields = {key: value or None for key, value in data.items()}
        return self.add("tags", data["name"], **{"comment": None, "kernel_opts": None, **fields})

    def post_machines(self, data):
        taken = data["hostname"] in [machine["hostname"] for machine in self.machines]
        require(not taken, "hostname", "Node with this Hostname already exists.")
        assert data["commission"] == "false", "commissioning powers a machine on"
        system_id = f"sys{self.last:03}"
        machine = self.add(
            "machines", system_id, system_id=system_id, hostname=data["hostname"], status_name="New"
        )
        machine.update(tag_names=[], memory=0, interface_set=[], numanode_set=[], min_hwe_kernel="")
        return self.put_machine(machine, data)

    def put_machine(self, machine, data):
        power = {key.removeprefix("power_parameters_"): data[key] for key in data if "parameters_" in key}
        self.power.setdefault(machine["system_id"], {}).update(power)
        machine.update({key: data[key] for key in ("power_type", "min_hwe_kernel") if key in data})
        return machine

    def interface(self, machine, name, kind, vlan, parents, links, params=None):
        number = self.number()
        made = {
            "id": number,
            "name": name,
            "type": kind,
            "vlan": vlan,
            "parents": sorted(parents),
            "links": links,
        }
        made |= {"children": [], "params": params or {}, "link_connected": True, "numa_node": 0}
        made["resource_uri"] = f"/MAAS/api/2.0/nodes/{machine['system_id']}/interfaces/{number}/"
        for parent in machine["interface_set"]:
            parent["children"] += [name] if parent["name"] in parents else []
        machine["interface_set"].append(made)
        return made

    def network_may_change(self, machine, what):
        if machine["status_name"] not in OPEN:
            said = f"Cannot {what} interface because the machine is not New, Ready, Allocated, or Broken."
            raise RefusedError(409, said)

    def create_interface(self, machine, kind, data):
        self.network_may_change(machine, f"create {kind}")
        by_name = {item["name"]: item for item in machine["interface_set"]}
        numbers = data.get("parents", data.get("parent", "")).split(",")
        parents = [self.find(machine["interface_set"], number) for number in numbers]
        children = [by_name[name]["type"] for parent in parents for name in parent["children"]]
        vlan = self.find(self.vlans, data["vlan"]) if "vlan" in data else parents[0]["vlan"]
        name = data.get("name") or f"{parents[0]['name']}.{vlan['vid']}"
        message = f"Node {machine['hostname']} already has an interface named '{name}'."
        require(name not in by_name, "name", message)
        if kind == "vlan":
            require(vlan["vid"], "vlan", "A VLAN interface can only belong to a tagged VLAN.")
            message = "A VLAN interface can only belong to a tagged VLAN on the same fabric as its parent."
            require(vlan["fabric_id"] == parents[0]["vlan"]["fabric_id"], "vlan", message)
            message = "A VLAN interface can't have a parent that is already in a bond."
            require("bond" not in children, "parents", message)
        else:
            used = ", ".join(parent["name"] for parent in parents if parent["children"])
            blocking = [child for child in children if kind == "bond" or child != "vlan"]
            require(not blocking, "parents", f"Interfaces already in-use: {used}.")
            same = all(parent["vlan"] is vlan for parent in parents)
            require(same and vlan, "parents", "All parents must belong to the same VLAN.")
            for parent in parents:
                parent["links"] = []
        own = {key: data[key] for key in data if key.startswith(("bond_", "bridge_"))}
        own = {key: data[key] for key in data if key.startswith(("bond_", "bridge_"))}
        params = {key: int(value) if value.isdigit() else value for key, value in own.items()}
        subnets = [subnet for subnet in self.subnets if subnet["vlan"] is vlan]
        links = [{"mode": "link_up", "subnet": subnet} for subnet in subnets[:1]]
        names = [parent["name"] for parent in parents]
        return self.interface(machine, name, kind, vlan, names, links, params)

    def link_subnet(self, machine, interface, data):
        self.network_may_change(machine, "link subnet")
        types = {item["name"]: item["type"] for item in machine["interface_set"]}
        bonds = [child for child in interface["children"] if types[child] == "bond"]
        message = f"Cannot link interface({interface['name']}) when interface is in a bond({''.join(bonds)})."
        require(not bonds, "bond", message)
        subnet = self.find(self.subnets, data["subnet"])
        require(subnet["vlan"] is interface["vlan"], "subnet", NO_CHOICE)
        kept = [link for link in interface["links"] if link["mode"] != "link_up"]
        interface["links"] = [*kept, {"mode": data["mode"], "subnet": subnet}]
        return interface

    # The API.

    def answer(self, method, words, query, data):
        op, (kind, *rest) = query.get("op"), words
        if kind == "maas":
            self.config.update({data["name"]: data["value"]} if data else {})
            return self.config[query.get("name", "upstream_dns")]
        if kind == "nodes":
            machine = next(item for item in self.machines if item["system_id"] == rest[0])
            return self.node(method, machine, rest[1:], op, data)
        key = {"tags": "name", "machines": "system_id"}.get(kind, "id")
        item = next((item for item in getattr(self, kind) if rest and str(item[key]) == rest[0]), None)
        match method, kind, rest[1:]:
            case "POST", "fabrics", ["vlans"]:
                return self.post_vlan(item, data)
            case _, "fabrics", ["vlans", *vid]:
                vlans = item["vlans"]
                return self.put_vlan(next(v for v in vlans if [str(v["vid"])] == vid), data) if vid else vlans
            case "POST", "tags", [] if op == "update_nodes":
                machine = next(m for m in self.machines if m["system_id"] == data["add"])
                machine["tag_names"].append(item["name"])
                return {"added": 1, "removed": 0}
            case "GET", "tags", [] if op == "machines":
                return [machine for machine in self.machines if item["name"] in machine["tag_names"]]
            case "GET", "machines", [] if op == "power_parameters":
                return self.power[item["system_id"]]
            case "GET", "machines", [] if "hostname" in query:
                return [machine for machine in self.machines if machine["hostname"] == query["hostname"]]
            case "GET", _, []:
                return item if rest else getattr(self, kind)
            case "POST", _, []:
                return getattr(self, f"post_{kind}")(data)
            case "PUT", "fabrics", []:
                item.update(data)
                for vlan in item["vlans"]:
                    vlan["fabric"] = item["name"]
            case "PUT", "subnets" | "machines", []:
                return getattr(self, f"put_{kind[:-1]}")(item, data)
            case "PUT", "tags", []:
                item.update({key: value or None for key, value in data.items()})
        return item

    def node(self, method, machine, words, op, data):
        match words:
            case ["devices"]:
                return self.devices.get(machine["system_id"], [])
            case ["interfaces"] if method == "POST":
                return self.create_interface(machine, op.removeprefix("create_"), data)
            case ["interfaces"]:
                return machine["interface_set"]
        interface = self.find(machine["interface_set"], words[1])
        if op == "link_subnet":
            return self.link_subnet(machine, interface, data)
        if method == "PUT":
            self.network_may_change(machine, "update interface")
            interface["vlan"] = self.find(self.vlans, data["vlan"])
        return interface


class _Handler(BaseHTTPRequestHandler):
    def handle_any(self):
        region, address = self.server.region, urllib.parse.urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        pairs = urllib.parse.parse_qsl(body, keep_blank_values=True)
        data = {key: ",".join(v for k, v in pairs if k == key) for key, _ in pairs}
        path = address.path.removeprefix("/MAAS/api/2.0/")
        region.requests.append((self.command, path, data))
        try:
            self.authorise()
            writes = sum(method != "GET" for method, *_ in region.requests)
            if self.command != "GET" and writes in region.faults:
                raise RefusedError(503, region.faults.pop(writes))
            query = dict(urllib.parse.parse_qsl(address.query))
            status, said = 200, region.answer(self.command, path.strip("/").split("/"), query, data)
        except RefusedError as refusal:
            status, said = refusal.status, refusal.said
        text = said if status >= 400 and isinstance(said, str) else json.dumps(said)
        self.send_response(status)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def authorise(self):
        consumer, token, secret = KEY.split(":")
        found = dict(re.findall(r'(oauth_\w+)="([^"]*)"', self.headers.get("Authorization", "")))
        wanted = {"oauth_consumer_key": consumer, "oauth_token": token, "oauth_signature": f"%26{secret}"}
        wanted |= {"oauth_signature_method": "PLAINTEXT", "oauth_version": "1.0"}
        if not wanted.items() <= found.items() or not found.get("oauth_nonce"):
            raise RefusedError(401, "Authorization Error: Invalid OAuth signature.")

    def log_message(self, *_):
        pass


for _method in ("GET", "POST", "PUT"):
    setattr(_Handler, f"do_{_method}", _Handler.handle_any)


class Simulator:
    """The region behind HTTP, in a `with`."""

    def __enter__(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self.region = self.server.region = Region()
        self.address = f"http://127.0.0.1:{self.server.server_port}/MAAS"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
