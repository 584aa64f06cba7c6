# SPDX-License-Identifier: Apache-2.0
"""Who on this host would feel a reboot, and whether its containers run. Asked only around reboots."""

import json
from typing import Any, cast

from hostnic import holders
from hostnic.system import System

LXC = "/snap/bin/lxc"
_HOOK = "JUJU_CONTEXT_ID="


def busy(system: System, unit: str) -> str:
    """Running instances, and agents that run a hook now, here or in a container; empty when idle."""
    reasons = [*_instances(system), *_hooks(system, unit)]
    return ", ".join(reasons)


def stopped(system: System) -> str:
    """LXD containers that start with the host and do not run; empty when all run."""
    if not system.exists(LXC):
        return ""
    try:
        listed = cast("list[dict[str, Any]]", json.loads(system.run([LXC, "list", "--format=json"])))
        idle = [
            str(item["name"])
            for item in listed
            if item["status"] != "Running" and item.get("config", {}).get("boot.autostart") != "false"
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"the containers cannot be listed: {error}"
    return ", ".join(idle)


def _instances(system: System) -> list[str]:
    """Domains that libvirt runs: each has a status file while it does."""
    try:
        files = system.listdir(holders.LIBVIRT)
    except OSError:
        return []
    return sorted(f"instance {name.removesuffix('.xml')}" for name in files if name.endswith(".xml"))


def _hooks(system: System, unit: str) -> list[str]:
    """Other units' hooks: the host's /proc shows the processes of its containers too."""
    units: set[str] = set()
    for pid in filter(str.isdigit, system.listdir("/proc")):
        try:
            variables = system.read(f"/proc/{pid}/environ").split("\0")
        except OSError:  # ended meanwhile
            continue
        if any(variable.startswith(_HOOK) for variable in variables):
            units.update(v.partition("=")[2] for v in variables if v.startswith("JUJU_UNIT_NAME="))
    return sorted(f"a hook of {other}" for other in units if other != unit)
