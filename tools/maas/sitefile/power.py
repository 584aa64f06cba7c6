# SPDX-License-Identifier: Apache-2.0
"""The power types of MAAS, and the parameters of each.

Source: `settings` of provisioningserver/drivers/power/*.py and drivers/pod/{virsh,lxd}.py of MAAS 3.3 to 3.6;
a parameter of another type is refused as unknown.
"""

from typing import NamedTuple

ADDRESS, USER, PASS, DRIVER = "power_address", "power_user", "power_pass", "power_driver"
DRIVERS = ("LAN", "LAN_2_0")
"""MAAS' drivers for IPMI (IPMI_DRIVER_CHOICES)."""


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
