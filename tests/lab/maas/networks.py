# SPDX-License-Identifier: Apache-2.0
"""Fabrics, spaces, VLANs, subnets and ranges of addresses. Source: forms and models of the same names."""

from ipaddress import ip_address, ip_network

from lab.maas.objects import Kept
from lab.maas.refusal import Form, RefusedError, like

WORD, NAME, SUBNET_NAME = r"^[\w-]+$", r"^\w[ \w-]*$", r"^[.: \w/-]+$"
INVALID = "Enter a valid value."


def is_address(power):
    """Whether a BMC has an address that MAAS can assign to a subnet; a name or a URL it leaves alone."""
    try:
        ip_address(power.get("power_address", ""))
    except ValueError:
        return False
    return True


class Networks(Kept):
    """The networks that machines are attached to."""

    def post_fabrics(self, data, _=None):
        """A fabric has an untagged VLAN from its first moment."""
        self._word("fabric", data["name"])
        fabric = self.add("fabrics", **data, vlans=[])
        self.post_vlans({"vid": 0, "name": "Default VLAN"}, fabric)
        return fabric

    def put_fabrics(self, data, fabric):
        self._word("fabric", data["name"], fabric["id"])
        fabric.update(data)
        return fabric

    def post_spaces(self, data, _=None):
        form = Form()
        form.check(data["name"] != "undefined", "name", "Reserved space name.")
        form.done()
        self._word("space", data["name"])
        return self.add("spaces", **data)

    def _word(self, kind, name, own=-1):
        """`fabric-7` is what MAAS itself calls the fabric with that id."""
        form = Form()
        if form.check(like(WORD, name), "name", f"Invalid {kind} name: {name}."):
            reserved = like(rf"^{kind}-\d+$", name) and name != f"{kind}-{own}"
            form.check(not reserved, "name", f"Reserved {kind} name.")
        form.done()

    def post_vlans(self, data, fabric):
        vlan = {"dhcp_on": False, "primary_rack": None, "fabric_id": fabric["id"]}
        self._vlan_form(data, {**vlan, "vid": data["vid"], "id": None})
        made = self.add("vlans", **vlan | data)
        fabric["vlans"].append(made)
        return self._named(made)

    def put_vlans(self, data, vlan):
        self._vlan_form(data, vlan)
        vlan.update(data)
        return self._named(vlan)

    def _named(self, vlan):
        """The first VLAN of a fabric is told as `untagged`: get_name in models/vlan.py."""
        ids = [each["id"] for each in self.vlans if each["fabric_id"] == vlan["fabric_id"]]
        if vlan["id"] == min(ids):
            vlan["name"] = "untagged"
        return vlan

    def _vlan_form(self, data, vlan):
        form, name = Form(), str(data.get("name") or "untagged")
        form.check(like(NAME, name), "name", INVALID)
        said = f"Ensure this value has at most 256 characters (it has {len(name)})."
        form.check(len(name) <= 256, "name", said)
        mtu, space = data.get("mtu", 1500), data.get("space")
        form.check(mtu >= 552, "mtu", "Ensure this value is greater than or equal to 552.")
        form.check(mtu <= 65535, "mtu", "MTU must be between 552 and 65535.")
        form.check(0 <= data.get("vid", 0) <= 4094, "vid", "VID must be between 0 and 4094.")
        choice = "Select a valid choice. That choice is not one of the available choices."
        if like(r"^\d+$", space or ""):  # MAAS takes a number for an id before it looks for a name
            choice = f"None found with id={space}."
            space = {str(each["id"]): each["name"] for each in self.spaces}.get(space, "")
        form.check(space in (None, *(each["name"] for each in self.spaces)), "space", choice)
        if rack := data.get("primary_rack"):
            near = rack in self._racks_with(vlan["vid"])
            choice = f"Select a valid choice. {rack} is not one of the available choices."
            form.check(near, "primary_rack", choice)
        if data.get("dhcp_on"):
            kinds = [item["type"] for item in self.ipranges if item["subnet"]["vlan"] is vlan]
            said = "dhcp can only be turned on when {} is {}."
            ranged = form.check("dynamic" in kinds, "dhcp_on", said.format("a dynamic IP range", "defined"))
            has_rack = vlan["primary_rack"] or (rack and "primary_rack" not in form.errors)
            form.check(has_rack or not ranged, "__all__", said.format("a primary rack controller", "set"))
        form.done()

    def _racks_with(self, vid):
        """Rack controllers with an interface in a VLAN of that number, in whatever fabric.

        One of which a test tells no interfaces has all.
        """
        return [
            rack["system_id"]
            for rack in self.rackcontrollers
            if "interface_set" not in rack
            or any(port["vlan"] and port["vlan"]["vid"] == vid for port in rack["interface_set"])
        ]

    def post_subnets(self, data, _=None):
        """Subnets that overlap are taken, as MAAS does before 3.7; bits of hosts are cut."""
        data = {**data, "cidr": str(ip_network(data["cidr"], strict=False))}
        self._subnet_form(data, data["cidr"])
        return self.add("subnets", **data)

    def put_subnets(self, data, subnet):
        self._subnet_form(data, subnet["cidr"])
        subnet.update(data)
        return subnet

    def _subnet_form(self, data, cidr):
        form, gateway = Form(), data.get("gateway_ip")
        form.check(ip_network(cidr).prefixlen, "cidr", "Prefix length must be greater than 0.")
        form.check(like(SUBNET_NAME, str(data.get("name") or cidr)), "name", INVALID)
        known = [ip_network(cidr), *([ip_network("fe80::/10")] if ":" in cidr else [])]
        within = not gateway or any(ip_address(gateway) in each for each in known)
        form.check(within, "gateway_ip", "Gateway IP must be within CIDR range.")
        form.done()

    def post_ipranges(self, data, _=None):
        start, end, subnet = ip_address(data["start_ip"]), ip_address(data["end_ip"]), data["subnet"]
        network = ip_network(subnet["cidr"])
        both = ("start_ip", "end_ip")

        def refuse(message, *fields):
            raise RefusedError(400, {field: [message] for field in fields})

        if end < start:
            refuse("End IP address must not be less than Start IP address.", "end_ip")
        outside = [field for field, address in zip(both, (start, end)) if address not in network]
        if outside:
            words = {"start_ip": "Start IP address", "end_ip": "End IP address"}
            who = "IP addresses" if len(outside) == 2 else words[outside[0]]
            refuse(f"{who} must be within subnet: {network}.", *outside)
        if start == network.network_address:
            refuse("Reserved network address cannot be included in IP range.", "start_ip")
        if network.version == 4 and network.prefixlen < 31 and end == network.broadcast_address:
            refuse("Broadcast address cannot be included in IP range.", "end_ip")
        dynamic = data["type"] == "dynamic"
        if network.version == 6 and network.prefixlen == 64 and int(start) < int(network[0]) + (1 << 32):
            refuse(f"Requested {data['type']} range conflicts with an existing range.", *both)
        if dynamic and start.version == 6 and int(end) - int(start) < 255:
            refuse("IPv6 dynamic range must be at least 256 addresses in size.", *both)
        used = [(ip_address(each["start_ip"]), ip_address(each["end_ip"])) for each in self.ipranges]
        used += [(each, each) for each in self._addresses(subnet)] if dynamic else []
        if any(low.version == start.version and low <= end and start <= high for low, high in used):
            what = "IP address or range" if dynamic else "range"
            refuse(f"Requested {data['type']} range conflicts with an existing {what}.", *both)
        return self.add("ipranges", **data)

    def _addresses(self, subnet):
        """List the addresses of a subnet that are taken: a dynamic range may have none of them in it."""
        found = [subnet["gateway_ip"], *subnet["dns_servers"]]
        found += [address for rack in self.rackcontrollers for address in rack["ip_addresses"]]
        found += [address for each in self.device_nodes for address in each["ip_addresses"]]
        found += [link.get("ip_address") for port in self.interfaces for link in port["links"]]
        found += [each["gateway_ip"] for each in self.routes] + [each["ip"] for each in self.given]
        found += [each.get("power_address") for each in self.power.values() if is_address(each)]
        return [ip_address(address) for address in filter(None, found)]
