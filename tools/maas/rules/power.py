# SPDX-License-Identifier: Apache-2.0
"""Machines that MAAS does not make or change because of their power type.

Source: `requires_macs_and_architecture` and `MachineForm.clean` in maasserver/forms/__init__.py: a machine
needs the MAC address of a port unless its type is ipmi.
"""

from typing import Any

from converge import Finding, Severity
from maas.sitefile.model import Machine
from maas.sitefile.power import TYPES


def finding(machine: Machine, found: Any) -> Finding | None:
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
