# SPDX-License-Identifier: Apache-2.0
"""The parameters of power types: `settings` of provisioningserver/drivers/power/*.py and drivers/pod/*.py."""

from lab.maas.refusal import REQUIRED, among

USER_AND_PASS = {"power_user": "", "power_pass": ""}
TYPES = {
    "ipmi": {
        "power_driver": "Power driver",
        "power_address": "IP address",
        **USER_AND_PASS,
        **dict.fromkeys(("cipher_suite_id", "k_g", "mac_address", "power_boot_type"), ""),
        **dict.fromkeys(("privilege_level", "workaround_flags"), ""),
    },
    "redfish": {
        "power_address": "Redfish address",
        "power_user": "Redfish user",
        "power_pass": "Redfish password",
        "node_id": "",
    },
    "openbmc": {
        "power_address": "OpenBMC address",
        "power_user": "OpenBMC user",
        "power_pass": "OpenBMC password",
    },
    "amt": {"power_address": "Power address", "power_pass": ""},
    "wedge": {"power_address": "IP address", **USER_AND_PASS},
    "virsh": {"power_address": "Address", "power_pass": "", "power_id": "Virsh VM ID"},
    "lxd": {
        "power_address": "LXD address",
        "instance_name": "Instance name",
        **dict.fromkeys(("project", "password", "certificate", "key"), ""),
    },
    "manual": {},
}
"""By type, its parameters with their labels; empty for those that need not be given."""
DRIVERS = ("LAN", "LAN_2_0")
IPMI = {
    **{"cipher_suite_id": "3", "k_g": "", "mac_address": "", "power_boot_type": "auto"},
    **{"privilege_level": "OPERATOR", "workaround_flags": ["opensesspriv"]},
}
"""The parameters that MAAS sets by itself."""


def clean(form, kind, given, before):
    """The parameters of a machine after a request: those given, and those that it had of this type."""
    if kind not in TYPES:
        form.check(False, "power_type", f"Select a valid choice. {kind} is not one of the available choices.")
    known = TYPES.get(kind, {})
    if unknown := sorted(given.keys() - known.keys()):
        form.check(False, "power_parameters", f"Unknown parameter(s): {', '.join(unknown)}.")
        return before
    default = {"power_driver": "LAN_2_0"} if kind == "ipmi" and not before else {}
    power = default | {key: value for key, value in before.items() if key in known} | given
    for name, label in known.items():
        if label and not power.get(name):
            form.check(False, "power_parameters", f"{label}: {REQUIRED}")
    if (driver := power.get("power_driver")) and driver not in DRIVERS:
        said = among(driver, "power_driver", DRIVERS)
        form.check(False, "power_parameters", f"Power driver: {said}")
    return power
