# SPDX-License-Identifier: Apache-2.0
"""The region's objects: what each has before it is set, and what no two of a kind share."""

from lab.maas.refusal import require

PATHS = {"tags": "name", "machines": "system_id"}
"""The field that stands for an object in a path, where MAAS tells no id of it."""
TWINS = {
    "fabrics": (("name",), "name", "Fabric with this Name already exists."),
    "spaces": (("name",), "name", "Space with this Name already exists."),
    "tags": (("name",), "name", "Tag with this Name already exists."),
    "subnets": (("cidr",), "cidr", "Subnet with this Cidr already exists."),
    "vlans": (
        *(("fabric_id", "vid"), "__all__"),
        "A VLAN with the specified VID already exists in the destination fabric.",
    ),
    "interfaces": (
        *(("system_id", "name"), "name"),
        "Node {system_id} ({hostname}) already has an interface named '{name}'.",
    ),
}
"""The fields that no two objects of a kind share; the field that is refused, and the words."""
NEW = {
    "vlans": {"mtu": 1500, "space": "undefined", "dhcp_on": False, "primary_rack": None},
    "subnets": {"gateway_ip": None, "dns_servers": [], "allow_dns": True, "managed": True},
    "tags": {"definition": "", "comment": "", "kernel_opts": ""},
    "machines": {"status_name": "New", "min_hwe_kernel": "", "memory": 0},
    "interfaces": {"params": {}},
}
"""The values that MAAS tells of an object until they are set."""


class Kept:
    """Every object, by kind."""

    def __init__(self):
        super().__init__()
        self.fabrics = []
        self.vlans = []
        self.spaces = []
        self.subnets = []
        self.ipranges = []
        self.tags = []
        self.machines = []
        self.interfaces = []
        self.device_nodes = []
        """The nodes that MAAS calls devices: it does not deploy them."""
        self.rackcontrollers = []
        self.routes, self.given = [], []
        """Static routes, and what `ipaddresses` lists."""
        self.devices = {}
        """The hardware of each machine, by its system id."""
        self.power = {}
        self.last = 0

    def add(self, kind, **values):
        """Keep a new object, unless there is one like it."""
        if kind in TWINS:
            fields, named, message = TWINS[kind]
            twin = any(all(item[each] == values[each] for each in fields) for item in getattr(self, kind))
            owner = [each for each in self.machines if each["system_id"] == values.get("system_id")]
            said = message.format(**values, hostname=owner[0]["hostname"]) if owner else message
            require(not twin, named, said)
        self.last += 1
        parent = f"nodes/{values['system_id']}/" if kind == "interfaces" else ""
        uri = f"/MAAS/api/2.0/{parent}{kind}/{values.get(PATHS.get(kind, ''), self.last)}/"
        number = {} if kind in PATHS else {"id": self.last}
        made = {**number, "resource_uri": uri, **NEW.get(kind, {}), **values}
        getattr(self, kind).append(made)
        return made
