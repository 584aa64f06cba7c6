# SPDX-License-Identifier: Apache-2.0
"""Which firmware parameters take the Ethernet netdev from which ports of a NIC. Pure.

The meanings are from the descriptions in mstflint's ``mlxconfig_host.db``. Parameters that the option
``parameters`` cannot set are left out: arrays such as PCI_DOWNSTREAM_PORT_OWNER, and MODULE_SPLIT.
"""

import re

from desired import Setting
from hostnic.devices.port import Nic, Port

KEEPS = {
    "LINK_TYPE": ("2", "ETH"),  # else IB(1), and on older NICs VPI(3): the switch decides
    "HIDE_PORT2_PF": ("0",),
    "FPP_EN": ("1",),  # else one PCI function for both ports
    # On a BlueField, whose own system runs the host's ports in DPU mode.
    "INTERNAL_CPU_MODEL": ("0", "SEPARATED_HOST"),
    "INTERNAL_CPU_OFFLOAD_ENGINE": ("1", "DISABLED"),
    "INTERNAL_CPU_ESWITCH_MANAGER": ("1", "EXT_HOST_PF"),
    "INTERNAL_CPU_PAGE_SUPPLIER": ("1", "EXT_HOST_PF"),
    "ECPF_ESWITCH_MANAGER": ("0", "EXTERNAL_HOST_PF"),
    "ECPF_PAGE_SUPPLIER": ("0", "EXTERNAL_HOST_PF"),
}
"""Values, as numbers and as words, with which each port of the host keeps its Ethernet netdev."""
COUNTS = {"NUM_OF_PF": None, "NETWORK_PORTS_NUMBER": 0}
"""Numbers of PFs or ports: a number below the NIC's removes the last ones. With the value given here, if any,
the NIC decides by itself.
"""
OF_PORT = re.compile(r"(?P<name>\w+)_P(?P<number>[1-9])")


def guards(name: str) -> bool:
    """Whether a parameter can take Ethernet from a port."""
    return _name(name) in KEEPS or name in COUNTS


def keeps(nic: Nic, setting: Setting) -> bool:
    """Whether every port of a NIC that is Ethernet now still is with this setting."""
    name = _name(setting.name)
    if name in COUNTS:
        value = setting.value
        return isinstance(value, int) and (value >= len(nic.ports) or value == COUNTS[name])
    return name not in KEEPS or str(setting.value).upper() in KEEPS[name]


def needless(setting: Setting) -> bool:
    """Whether a NIC that lacks this parameter is right without it: without LINK_TYPE it is Ethernet only."""
    return setting.name.startswith("LINK_TYPE_P") and str(setting.value) in KEEPS["LINK_TYPE"]


def losers(nic: Nic, setting: Setting) -> tuple[Port, ...]:
    """The ports that a setting takes Ethernet from: all of the NIC unless its name has the number of one.

    Port 1 is PCI function 0. A setting for a port that is not a function of the NIC may mean any.
    """
    if keeps(nic, setting):
        return ()
    bdf = f"{nic.slot}.1" if setting.name == "HIDE_PORT2_PF" else port_of(setting.name, nic)
    return tuple(port for port in nic.ports if port.bdf == bdf) or nic.ports


def makes_ethernet(nic: Nic, setting: Setting) -> Port | None:
    """The InfiniBand port of a NIC that becomes Ethernet with a setting."""
    if _name(setting.name) != "LINK_TYPE" or not keeps(nic, setting):
        return None
    bdf = port_of(setting.name, nic)
    return next((port for port in nic.ports if port.infiniband and port.bdf == bdf), None)


def placed(nic: Nic, bdf: str, setting: Setting) -> Setting:
    """A setting that is set through the port ``bdf``, with the ports of the NIC that it is about."""
    made = makes_ethernet(nic, setting)
    takes = tuple(port.bdf for port in losers(nic, setting))
    about = port_of(setting.name, nic)
    return setting._replace(through=bdf, port=about, takes=takes, makes=made.bdf if made else "")


def port_of(name: str, nic: Nic) -> str:
    """The BDF of the port that a parameter is about; empty if it is about the NIC, or about each port."""
    match = OF_PORT.fullmatch(name)
    return f"{nic.slot}.{int(match['number']) - 1}" if match else ""


def _name(name: str) -> str:
    """A parameter's name without the suffix of a port."""
    match = OF_PORT.fullmatch(name)
    return match["name"] if match else name
