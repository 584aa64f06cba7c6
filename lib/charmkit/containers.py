# SPDX-License-Identifier: Apache-2.0
"""The work that a reboot of this host interrupts, and that has to run again after it. Does not import ops.

The host's LXD containers hold members of clusters (MySQL, RabbitMQ, OVN); Juju starts them at boot.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from converge import cause
from converge.finding import few
from hostnic.devices import users
from hostnic.system import System, has_entries

from charmkit.reboot.state import mark

LXC = "/snap/bin/lxc"
DIRECTORY = "/var/snap/lxd/common/lxd/containers"
"""Has an entry for each container, whether it runs or not (LXD 4.0 to 5.21, as the snap that Juju uses)."""
_INSTANCES = [LXC, "query", "/1.0/instances?recursion=1"]
# Text: re compiles a pattern at its first use and keeps it, and an idle hook hardly uses one.
_PAYLOAD = r"/lxc\.payload\.([^/\n]+)"
_PARENT = r"(?m)^PPid:\s*([0-9]+)$"
_UNIT = r"(?:^|\0)JUJU_UNIT_NAME=([^\0]+)"


class Containers(NamedTuple):
    """The containers that start with this host."""

    # By name, when one that runs was started; empty for one that does not run. The time is LXD's
    # `last_used_at`, which it sets at each start of an instance, also after a reboot from inside
    # (lxd/instance/drivers/driver_common.go; LXD 4.0 to 5.21).
    since: Mapping[str, str] = {}
    unknown: str = ""  # why LXD does not tell; empty if it does

    @property
    def running(self) -> list[str]:
        """The containers that run."""
        return sorted(name for name, since in self.since.items() if since)

    @property
    def stopped(self) -> str:
        """The containers that do not run, or why that is not known; empty when all run."""
        return self.unknown or _some(sorted(self.since.keys() - self.running), "stopped")

    @property
    def started(self) -> str:
        """A digest of which run, and since when: it changes when one of them starts again."""
        return mark(json.dumps(self.since, sort_keys=True)) if self.since else ""


def any_here(system: System) -> bool:
    """Whether a container is on this host; without a process, as each hook asks."""
    return has_entries(system, DIRECTORY)


def autostarting(system: System) -> Containers:
    """Ask LXD once for the containers that start with this host; there are none where there is no LXD."""
    if not system.files.exists(LXC):
        return Containers()
    try:
        answer = system.query(_INSTANCES, timeout=30)
    except OSError as error:
        return Containers(unknown=f"LXD does not answer: {cause(error)}")
    try:
        return Containers(
            {
                " ".join(str(instance["name"]).split()): (
                    str(instance.get("last_used_at")) if instance["status"] == "Running" else ""
                )
                for instance in cast("list[dict[str, Any]]", json.loads(answer))
                if instance["config"].get("boot.autostart") == "true"
            }
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Containers(unknown="LXD's answer cannot be read")


def busy(system: System) -> str:
    """Running instances, and hooks that run in this host's containers; empty when there is none.

    A unit in a container is idle between two hooks; a hook is a child of the unit's agent (``jujud``)
    with a hook context in its environment. This unit's own hook is on the host and does not count.
    """
    if instances := users.instances(system):
        return _some(instances, "running")
    return _some(sorted(set(_hooks_in_containers(system))), "running a hook")


def _hooks_in_containers(system: System) -> Iterator[str]:
    for pid in system.files.listdir("/proc"):
        if not pid.isdecimal():
            continue
        try:
            payload = re.search(_PAYLOAD, system.files.read(f"/proc/{pid}/cgroup"))
            if payload is None:
                continue
            environment = system.files.read(f"/proc/{pid}/environ")
            if "JUJU_CONTEXT_ID=" not in environment:
                continue
            parent = re.search(_PARENT, system.files.read(f"/proc/{pid}/status"))
            if parent and system.files.read(f"/proc/{parent.group(1)}/comm").strip() == "jujud":
                unit = re.search(_UNIT, environment)
                yield f"{unit.group(1) if unit else 'a unit'} in {payload.group(1)}"
        except OSError:
            continue  # the process has ended meanwhile


def _some(names: Sequence[str], what: str) -> str:
    return f"{few(names)} {what}" if names else ""
