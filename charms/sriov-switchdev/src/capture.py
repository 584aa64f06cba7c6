# SPDX-License-Identifier: Apache-2.0
"""What a capture of this charm has, and what is shown of it: list-devices, check-host, plan and verify."""

from actions import devices, host
from config import Options
from converge.render import findings_as_table, plan_as_table, with_differences
from hostnic.capture.file import Inputs, Shown
from hostnic.capture.reduce import lines
from hostnic.system import System
from survey import survey
from writers.netplan import reduced

_KEYS = "MACAddress|PermanentMACAddress|OriginalName|Path|Driver|SR-IOVVirtualFunctions|VirtualFunction"
_LINK = rf"^\s*(\[(Match|Link|SR-IOV)\]|({_KEYS})\s*=)"
_CONNECTION = r"^\s*(\[(connection|ethernet|match|sriov)\]|(interface-name|mac-address|path|driver)\s*=)"
RULES = (
    (r"read /(etc|run|lib)/netplan/[^/]+\.yaml", reduced),
    (r"read /.*/systemd/network/[^/]+\.link(\.d/[^/]+)?", lines(_LINK)),
    (r"read /(etc|run|usr/lib)/NetworkManager/system-connections/[^/]+", lines(_CONNECTION)),
    (r"read /(etc|run)/udev/rules\.d/(?!70-ovn-offload-)[^/]+", lines("sriov_numvfs")),
    (r"read /etc/(rc\.local|sysfs\.conf|(cron|sysfs|tmpfiles|modprobe)\.d/[^/]+)", lines("sriov_numvfs")),
    (r"read /var/spool/cron/crontabs/[^/]+", lines("sriov_numvfs")),
)
"""What a capture keeps of files that this charm alone reads; of other scripts and units, nothing."""


def show(system: System, inputs: Inputs) -> Shown:
    """What the actions print; reads the host only."""
    options, controllers = Options(**inputs["options"]), tuple(inputs["controllers"])
    found = survey(system, options, controllers, inputs["application"])
    return Shown(
        found.plan,
        {
            "list-devices": devices(system, found.wanted, found.observed)["devices"].text(),
            "check-host": host(system, found.wanted, found.observed)["host"].text(),
            "plan": plan_as_table(with_differences(found.plan, found.findings)),
            "verify": findings_as_table(found.findings),
        },
    )
