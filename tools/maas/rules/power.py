# SPDX-License-Identifier: Apache-2.0
"""What each power type of MAAS takes, and which machines MAAS does not make or change because of theirs.

Source: `settings` of provisioningserver/drivers/power/*.py and drivers/pod/{virsh,lxd}.py of MAAS 3.3 to 3.6;
a parameter of another type is refused as unknown. That a machine needs the MAC address of a port unless its
type is ipmi: `requires_macs_and_architecture` and `MachineForm.clean` in maasserver/forms/__init__.py.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from converge import Finding, Severity

if TYPE_CHECKING:
    from maas.sitefile import Machine

ADDRESS, USER, PASS, DRIVER = "power_address", "power_user", "power_pass", "power_driver"
DRIVERS = ("LAN", "LAN_2_0")
"""What MAAS knows of IPMI (IPMI_DRIVER_CHOICES)."""


class PowerType(NamedTuple):
    """Parameters that it takes, of those that a site file has, and that it needs.

    `own_bmc`: each address is that of one machine. `made`: MAAS makes a machine of it with these parameters;
    the others also need what no site file has, such as the id of a virtual machine or an outlet.
    """

    takes: tuple[str, ...]
    needs: tuple[str, ...] = (ADDRESS,)
    own_bmc: bool = False
    made: bool = False


_LOGIN = (ADDRESS, USER, PASS)
TYPES = {
    # MAAS takes ipmi without a login, but then makes a BMC user, which commissioning here keeps it from.
    "ipmi": PowerType((*_LOGIN, DRIVER), _LOGIN, own_bmc=True, made=True),
    "redfish": PowerType(_LOGIN, _LOGIN, own_bmc=True, made=True),
    "openbmc": PowerType(_LOGIN, _LOGIN, own_bmc=True, made=True),
    "wedge": PowerType(_LOGIN, own_bmc=True, made=True),
    "amt": PowerType((ADDRESS, PASS), own_bmc=True, made=True),
    "manual": PowerType((), (), made=True),
    "virsh": PowerType((ADDRESS, PASS)),
    "lxd": PowerType((ADDRESS,)),  # its secrets have other names: password, certificate, key
    **dict.fromkeys(("apc", "eaton", "raritan"), PowerType((ADDRESS,))),
    **dict.fromkeys(
        ("dli", "hmc", "moonshot", "mscm", "msftocs", "recs_box", "sm15k", "ucsm"), PowerType(_LOGIN)
    ),
    **dict.fromkeys(("hmcz", "vmware"), PowerType(_LOGIN, _LOGIN)),
    "proxmox": PowerType(_LOGIN, (ADDRESS, USER)),
    "webhook": PowerType((USER, PASS), ()),
}


def finding(machine: "Machine", found: Any) -> Finding | None:
    """Why MAAS would refuse to make a machine, or to give its power type to the one that it has."""
    kind = machine.power_type
    if kind == "ipmi":
        return None
    if found is None:
        if TYPES[kind].made and machine.mac:
            return None
        what = f"MAAS makes no {kind} machine without the MAC address of one of its ports"
        remedy = "write mac in its entry, or add it to MAAS first"
        if not TYPES[kind].made:
            what = f"MAAS needs more than a site file has to make a machine of power type {kind}"
            remedy = "add it to MAAS first, with its name in the site file"
        return Finding(Severity.HELD, machine.name, what, remedy)
    has = found.get("power_type") or "none"
    if has != kind and not found["interface_set"]:
        what = f"its power type is {has}, and MAAS takes {kind} only once it knows a port of the machine"
        remedy = f"write power-type: {has} in the site file until it is commissioned"
        if has in ("none", "manual"):
            remedy = "add an interface to it in MAAS, then apply again"
        return Finding(Severity.HELD, machine.name, what, remedy)
    return None
