# SPDX-License-Identifier: Apache-2.0
"""Machines, their tags, their commissioning. Source: forms/__init__.py, api/machines.py, models/node.py."""

from lab.maas.objects import Kept
from lab.maas.power import IPMI, TYPES, clean
from lab.maas.refusal import REQUIRED, Form, RefusedError, like
from lab.maas.settings import Settings

OTHER_NAME = "brave-mole"
"""A name that MAAS gives by itself."""
COMMISSIONED = ("New", "Ready", "Failed commissioning", "Failed testing", "Broken")


class Machines(Kept, Settings):
    """The machines that MAAS deploys.

    `hardware` is what commissioning finds, by hostname: a function that makes the machine Ready.
    """

    def __init__(self):
        super().__init__()
        self.hardware, self.busy = {}, {}

    def post_tags(self, data, _=None):
        form = Form()
        form.check(like(r"^[a-zA-Z0-9_-]+$", data["name"]), "name", "Enter a valid value.")
        form.done()
        return self.add("tags", **data)

    def update_nodes(self, data, tag):
        """Machines that there are not, are none of those that are counted."""
        found = [each for each in self.machines if each["system_id"] == data["add"]]
        found = [each for each in found if tag["name"] not in each["tag_names"]]
        for each in found:
            each["tag_names"].append(tag["name"])
        return {"added": len(found), "removed": 0}

    def post_machines(self, data, _=None):
        assert data["commission"] is False, "commissioning powers a machine on"
        form, name = Form(), data["hostname"]
        form.check("_" not in name, "hostname", f"Host label cannot contain underscore: {name!r}.")
        known = [each["hostname"] for each in (*self.machines, *self.device_nodes, *self.rackcontrollers)]
        form.check(name not in known, "hostname", "Node with this Hostname already exists.")
        architectures = self.architectures()
        among = ", ".join(f"'{each}/generic'" for each in architectures) or "'---'"
        said = f"'{data['architecture']}' is not a valid architecture.  It should be one of: {among}."
        form.check(data["architecture"].partition("/")[0] in architectures, "architecture", said)
        macs = [each for each in str(data.get("mac_addresses", "")).lower().split(",") if each]
        kind = data.get("power_type", "ipmi")  # machines of tests have none of their own
        if kind != "ipmi":
            form.check(macs, "mac_addresses", REQUIRED)
        for port in self.interfaces:
            if port.get("mac_address", "").lower() in macs:
                owner = next(each for each in self.machines if each["system_id"] == port["system_id"])
                said = f"MAC address {port['mac_address']} already in use on {owner['hostname']}."
                form.check(False, "mac_addresses", said)
        for each in (*self.device_nodes, *self.rackcontrollers):
            for port in each.get("interface_set", ()):
                said = f"MAC address {port.get('mac_address')} already in use on {each['hostname']}."
                form.check(port.get("mac_address") not in macs, "mac_addresses", said)
        self._kernel(form, data)
        power = clean(form, kind, _power_of(data), {}) if "power_type" in data else {}
        said = f"Can't set power type to {kind} without network interfaces"
        form.check(kind not in TYPES or kind == "ipmi" or macs, "power_type", said)
        form.done()
        self._bmc_is_free(kind, power, "")
        if like(r"^\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}$", name):
            name = OTHER_NAME
        own = {"hostname": name, "system_id": f"sys{self.last:03}", "power_type": data.get("power_type", "")}
        own["min_hwe_kernel"] = data.get("min_hwe_kernel", "")
        machine = self.add("machines", **own, tag_names=[], interface_set=[], numanode_set=[])
        self.power[own["system_id"]], self.devices[own["system_id"]] = power, []
        for number, mac in enumerate(macs):
            port = self.interface(machine, "physical", f"eth{number}", None, [], [])
            port["mac_address"] = mac
        return machine

    def put_machines(self, data, machine):
        form, before = Form(), self.power[machine["system_id"]]
        self._kernel(form, data)
        kind = data.get("power_type") or machine.get("power_type") or "ipmi"
        given = _power_of(data)
        power = clean(form, kind, given, before) if given or "power_type" in data else before
        form.done()
        self._bmc_is_free(kind, power, machine["system_id"])
        self.power[machine["system_id"]] = power
        machine.update({key: data[key] for key in ("power_type", "min_hwe_kernel") if key in data})
        return machine

    def _kernel(self, form, data):
        kernel = data.get("min_hwe_kernel")
        available = not kernel or kernel in self.kernels()
        form.check(available, "min_hwe_kernel", f'No kernel matches ">={kernel}" requirement.')

    def _bmc_is_free(self, kind, power, own):
        """Not a refusal of a form, but of the database, which MAAS takes for a conflict of two writes."""
        has = power.get("power_address")
        others = [each["system_id"] for each in self.machines if each["system_id"] != own]
        if kind == "ipmi" and has and has in [self.power[each].get("power_address") for each in others]:
            said = "Conflict error. Try your request again, as it will most likely succeed."
            page = f"<html><head><title>Error: Conflict Error</title></head><body>{said}</body></html>"
            raise RefusedError(409, page)

    def power_parameters(self):
        """Of all machines, with the secrets; those of IPMI with what MAAS itself has set."""
        kinds = {each["system_id"]: each.get("power_type") for each in self.machines}
        return {
            name: {**(IPMI if kinds.get(name) == "ipmi" else {}), **own} for name, own in self.power.items()
        }

    def commission(self, data, machine):
        name, status = machine["hostname"], machine["status_name"]
        assert data == {"skip_bmc_config": "1"}, "MAAS would make its own users on the BMC"
        if not self.racks_have_images:
            series = self.config["commissioning_distro_series"]
            raise RefusedError(400, f"Ephemeral operating system ubuntu {series} is unavailable.")
        if status not in COMMISSIONED:
            raise RefusedError(409, f"Cannot commission {name}: it is {status}.")
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


def _power_of(data):
    start = "power_parameters_"
    return {key.removeprefix(start): value for key, value in data.items() if key.startswith(start)}
