# SPDX-License-Identifier: Apache-2.0
"""A MAAS 2.0 region for tests: the paths that the command uses, with MAAS' own rules and words.

Source: canonical/maas, src/maasserver: api/{interfaces,machines,nodes,tags,vlans,maas}.py for paths and
answers, forms/{vlan,interface,interface_link}.py and models/interface.py for the rules.
"""

import io
import json
import re
import threading
import urllib.parse
import urllib.request
import urllib.response
from email.message import Message
from ipaddress import ip_network

KEY = "consumer:token:secret"
SIGNED = {("consumer_key", "consumer"), ("token", "token"), ("signature", "%26secret")}
SIGNED |= {("version", "1.0"), ("signature_method", "PLAINTEXT")}
OPEN = ("New", "Ready", "Failed testing", "Allocated", "Broken")
LINK_UP = [{"mode": "link_up"}]
CONFLICT = "could not serialize access due to concurrent update"
"""What was written at the same time as something else, and is to be tried again: nothing of it was kept."""
NO_CHOICE = "Select a valid choice. That choice is not one of the available choices."
PATHS = {"tags": "name", "machines": "system_id"}
"""What stands for an object in a path, where it is not its id."""
UNIQUE = {"vlans": ("fabric_id", "vid"), "interfaces": ("system_id", "name"), "ipranges": ("start_ip",)}
UNIQUE |= {"subnets": ("cidr",), "machines": ("hostname",)}
"""What no two objects of a kind share, where it is not the name."""
NEW = {
    "vlans": {"mtu": 1500, "space": "undefined", "dhcp_on": False, "primary_rack": None},
    "subnets": {"gateway_ip": None, "dns_servers": [], "allow_dns": True, "managed": True},
    "machines": {"status_name": "New", "min_hwe_kernel": "", "memory": 0},
    "interfaces": {"link_connected": True, "numa_node": 0, "params": ""},
}
"""What MAAS tells of an object until it is set."""


class RefusedError(Exception):
    """An answer that is not 200: the status and what is said."""


def require(right, field, message):
    """A form that is wrong names the field; a machine in the wrong state is a conflict."""
    if not right:
        raise RefusedError(*((400, {field: [message]}) if field else (409, message)))


def find(objects, value, key="id"):
    found = [item for item in objects if str(item[key]) == value]
    require(found, key, NO_CHOICE)
    return found[0]


def image(number, kernel, series="jammy", complete=True):
    """An image as `boot-resources/` lists it; the versions of one are only told of that one."""
    own = {"id": number, "type": "Synced", "name": f"ubuntu/{series}", "architecture": f"amd64/{kernel}"}
    own |= {"subarches": "generic,hwe-p,hwe-v,ga-20.04,ga-22.04", "last_deployed": None}
    return {**own, "sets": {"20240912": {"version": "20240912", "label": "stable", "complete": complete}}}


class Region(urllib.request.BaseHandler):
    """What the region knows; `requests` is what it was sent, `faults` the writes that fail, by number.

    `hardware` is what commissioning finds, by hostname: a function that makes the machine Ready.

    It answers where urllib would open a connection. A write goes to the method of its name, if there is one.
    """

    handler_order = 1  # before urllib's own

    def __init__(self):
        self.fabrics, self.vlans, self.spaces, self.subnets, self.ipranges = [], [], [], [], []
        self.tags, self.machines, self.interfaces, self.devices, self.power = [], [], [], {}, {}
        self.rackcontrollers = [{"system_id": "rack01", "hostname": "maas", "ip_addresses": ["192.168.25.1"]}]
        self.boot_resources = [
            image(number, kernel)
            for number, kernel in enumerate(("ga-22.04", "hwe-22.04", "hwe-22.04-edge"), 1)
        ]
        self.config = {
            "upstream_dns": None,
            "commissioning_distro_series": "jammy",
            "enable_http_proxy": True,
        }
        self.requests, self.faults, self.last = [], {}, 0
        self.hardware, self.busy = {}, {}
        self.lock = threading.Lock()

    def add(self, kind, **values):
        fields = UNIQUE.get(kind, ("name",))
        twin = [item for item in getattr(self, kind) if all(item[field] == values[field] for field in fields)]
        message = f"{kind[:-1].capitalize()} with this {' and '.join(fields)} already exists."
        if kind == "vlans":
            message = "A VLAN with the specified VID already exists in the destination fabric."
        require(not twin, "__all__", message)
        self.last += 1
        parent = f"nodes/{values['system_id']}/" if kind == "interfaces" else ""
        uri = f"/MAAS/api/2.0/{parent}{kind}/{values.get(PATHS.get(kind), self.last)}/"
        made = {"id": self.last, "resource_uri": uri, **NEW.get(kind, {}), **values}
        getattr(self, kind).append(made)
        return made

    def post_fabrics(self, data, _=None):
        """A fabric has an untagged VLAN from its first moment."""
        fabric = self.add("fabrics", **data, vlans=[])
        self.post_vlans({"vid": 0, "name": "untagged"}, fabric)
        return fabric

    def post_subnets(self, data, _=None):
        new = ip_network(data["cidr"])
        overlaps = any(new.overlaps(ip_network(each["cidr"])) for each in self.subnets)
        require(not overlaps, "__all__", f"Subnet {new} would overlap with existing subnets.")
        return self.add("subnets", **data)

    def post_vlans(self, data, fabric):
        vlan = self.add("vlans", **self.put_vlans(data, {"dhcp_on": False}), fabric_id=fabric["id"])
        fabric["vlans"].append(vlan)
        return vlan

    def put_vlans(self, data, vlan):
        require(data.get("space") in [None, *(space["name"] for space in self.spaces)], "space", NO_CHOICE)
        if data.get("dhcp_on"):
            kinds = [item["type"] for item in self.ipranges if item["subnet"]["vlan"] is vlan]
            message = "dhcp can only be turned on when {} is {}."
            require("dynamic" in kinds, "dhcp_on", message.format("a dynamic IP range", "defined"))
            rack = data.get("primary_rack", vlan["primary_rack"])
            require(rack, "__all__", message.format("a primary rack controller", "set"))
        vlan.update(data)
        return vlan

    def update_nodes(self, data, tag):
        find(self.machines, data["add"], "system_id")["tag_names"].append(tag["name"])
        return {"added": 1, "removed": 0}

    def kernels(self):
        """Those of complete images, and those that they stand for."""
        whole = [each for each in self.boot_resources if any(v["complete"] for v in each["sets"].values())]
        known = {each["architecture"].partition("/")[2] for each in whole}
        known |= {level for each in whole for level in each["subarches"].split(",")}
        return {kernel for kernel in known if kernel.startswith(("ga-", "hwe-"))}

    def post_machines(self, data, _=None):
        assert data["commission"] is False, "commissioning powers a machine on"
        known = sorted({each["architecture"].partition("/")[0] for each in self.boot_resources})
        among = ", ".join(f"'{name}/generic'" for name in known) or "'---'"
        said = f"'{data['architecture']}' is not a valid architecture.  It should be one of: {among}."
        require(data["architecture"].partition("/")[0] in known, "architecture", said)
        own = {"hostname": data["hostname"], "system_id": f"sys{self.last:03}"}
        machine = self.add("machines", **own, tag_names=[], interface_set=[], numanode_set=[])
        del machine["id"]  # it has none in MAAS' answers
        self.power[own["system_id"]], self.devices[own["system_id"]] = {}, []
        return self.put_machines(data, machine)

    def commission(self, data, machine):
        name, status = machine["hostname"], machine["status_name"]
        allowed = status in ("New", "Ready", "Failed commissioning", "Failed testing", "Broken")
        require(allowed, None, f"Cannot commission {name}: it is {status}.")
        assert data == {"skip_bmc_config": "1"}, "MAAS would make its own users on the BMC"
        machine["status_name"], self.busy[name] = "Commissioning", 2
        return machine

    def time_passes(self):
        """One look at the machines: commissioning ends after a few of them."""
        for machine in self.machines:
            name = machine["hostname"]
            if machine["status_name"] in ("Commissioning", "Testing"):
                self.busy[name] -= 1
                if self.busy[name] == 0:
                    machine["status_name"] = "Failed commissioning"
                    self.hardware.get(name, bool)()
                else:
                    machine["status_name"] = "Testing"

    def put_machines(self, data, machine):
        kernel = data.get("min_hwe_kernel")
        available = not kernel or kernel in self.kernels()
        require(available, "min_hwe_kernel", f'No kernel matches ">={kernel}" requirement.')
        power = {key.removeprefix("power_parameters_"): data[key] for key in data if "parameters_" in key}
        self.power[machine["system_id"]].update(power)
        machine.update({key: data[key] for key in ("power_type", "min_hwe_kernel") if key in data})
        return machine

    def interface(self, machine, kind, name, vlan, parents, links, **params):
        own = {"type": kind, "name": name, "vlan": vlan, "links": links, "params": params or ""}
        own |= {"parents": sorted(parent["name"] for parent in parents), "system_id": machine["system_id"]}
        machine["interface_set"].append(self.add("interfaces", **own))
        return machine["interface_set"][-1]

    def children(self, parent):
        """Names by type of what is on an interface."""
        own = [item for item in self.interfaces if item["system_id"] == parent["system_id"]]
        return {item["type"]: item["name"] for item in own if parent["name"] in item["parents"]}

    def create_vlan(self, data, machine):
        parent, vlan = find(machine["interface_set"], data["parent"]), data["vlan"]
        message = "A VLAN interface can only belong to a tagged VLAN"
        require(vlan["vid"], "vlan", f"{message}.")
        same = vlan["fabric_id"] == parent["vlan"]["fabric_id"]
        require(same, "vlan", f"{message} on the same fabric as its parent interface.")
        message = "A VLAN interface can't have a parent that is already in a bond."
        require("bond" not in self.children(parent), "parent", message)
        return self.interface(machine, "vlan", f"{parent['name']}.{vlan['vid']}", vlan, [parent], LINK_UP)

    def create_bond(self, data, machine, kind="bond", beside=()):
        numbers = data.pop("parents").split(",")
        parents = [find(machine["interface_set"], number) for number in numbers]
        used = ", ".join(parent["name"] for parent in parents if self.children(parent).keys() - beside)
        require(not used, "parents", f"Interfaces already in-use: {used}.")
        vlan = parents[0]["vlan"]
        same = all(parent["vlan"] is vlan for parent in parents)
        require(same, "parents", "All parents must belong to the same VLAN.")
        for parent in parents:
            parent["links"] = []
        return self.interface(machine, kind, data.pop("name"), vlan, parents, LINK_UP, **data)

    def create_bridge(self, data, machine):
        data["parents"] = data.pop("parent")
        parent = find(machine["interface_set"], data["parents"])
        kinds = self.children(parent).keys() & {"bond", "bridge"}
        message = "A bridge interface can't have a parent that is already in a bond or a bridge."
        require(not kinds, "parent", message)
        return self.create_bond(data, machine, "bridge", ("vlan",))

    def put_interfaces(self, data, interface):
        interface["vlan"] = data.pop("vlan", interface["vlan"])
        interface["params"] = {**(interface["params"] or {}), **data}
        return interface

    def link_subnet(self, data, interface):
        bond = self.children(interface).get("bond")
        message = f"Cannot link interface({interface['name']}) when interface is in a bond({bond})."
        require(not bond, "bond", message)
        require(data["subnet"]["vlan"] is interface["vlan"], "subnet", NO_CHOICE)
        kept = [link for link in interface["links"] if link["mode"] != "link_up"]
        interface["links"] = [*kept, data]
        return interface

    def typed(self, field, value):
        """A value as MAAS stores it: another object, a number, yes or no, text or null."""
        if field in ("vlan", "subnet"):
            return find(getattr(self, f"{field}s"), value)
        if field in ("vid", "mtu"):
            return int(value)
        return value == "True" if value in ("True", "False") else value or None

    def setting(self, op, name, value=None):
        assert name in self.config, "not a setting of MAAS 3"
        self.config[name] = value if op == "set_config" else self.config[name]
        return "OK" if op == "set_config" else self.config[name]

    def images(self, number=None):
        """All without their versions, or one with them."""
        if number:
            return find(self.boot_resources, number)
        return [{k: v for k, v in each.items() if k != "sets"} for each in self.boot_resources]

    def listed(self, kind):
        if kind == "machines":
            self.time_passes()
        return getattr(self, kind)

    def answer(self, method, words, op, data):
        owner = None
        match words:
            case ["maas"]:
                return self.setting(op, **data)
            case ["boot-resources", *number]:
                return self.images(*number)
            case ["machines"] if op == "power_parameters":
                return self.power
            case ["nodes", system_id, "devices"]:
                return self.devices[system_id]
            case ["nodes", system_id, *words]:
                owner = find(self.machines, system_id, "system_id")
                what = (op or "update").replace("_", " ")
                said = f"Cannot {what} interface because the machine is not New, Ready, Allocated, or Broken."
                require(owner["status_name"] in OPEN, None, said)
            case ["fabrics", fabric, "vlans"]:
                owner, words = find(self.fabrics, fabric), ["vlans"]
        kind, *key = words
        target = find(getattr(self, kind), key[0], PATHS.get(kind, "id")) if key else owner
        write = getattr(self, op or f"{method.lower()}_{kind}", None)
        if method == "GET":
            return self.listed(kind)
        if write:
            return write(data, target)
        if target:
            target.update(data)
        return target or self.add(kind, **data)

    def http_open(self, request):
        """One request after the other, as MAAS' transactions are."""
        with self.lock:
            return self.one(request)

    def one(self, request):
        address, method = urllib.parse.urlsplit(request.full_url), request.get_method()
        data = urllib.parse.parse_qs((request.data or b"").decode(), keep_blank_values=True)
        data = {field: ",".join(values) for field, values in data.items()}
        path, headers = address.path.removeprefix("/MAAS/api/2.0/"), Message()
        self.requests.append((method, path, data))
        writes = sum(method != "GET" for method, *_ in self.requests)
        try:
            signed = set(re.findall(r'oauth_(\w+)="([^"]+)"', request.get_header("Authorization")))
            if SIGNED - signed or "nonce" not in dict(signed):
                raise RefusedError(401, "Authorization Error: Invalid OAuth signature.")
            if method != "GET" and writes in self.faults:
                raise RefusedError(503, self.faults.pop(writes))
            query = dict(urllib.parse.parse_qsl(address.query))
            op = query.pop("op", None)
            data = query | {field: self.typed(field, value) for field, value in data.items()}
            status, said = 200, self.answer(method, path.strip("/").split("/"), op, data)
        except RefusedError as refusal:
            status, said = refusal.args
        if said == CONFLICT:
            headers["Retry-After"] = "5"
        headers["Content-Type"] = "text/plain" if said == "OK" or status > 400 else "application/json"
        text = said if headers.get_content_type() == "text/plain" else json.dumps(said)
        answer = urllib.response.addinfourl(io.BytesIO(text.encode()), headers, request.full_url, status)
        answer.msg = ""
        return answer
