# SPDX-License-Identifier: Apache-2.0
"""Whom a reboot of this host would hurt, and what has to run again after it. Does not import ops.

The host's LXD containers hold members of clusters (MySQL, RabbitMQ, OVN); Juju starts them at boot.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from hostnic.devices import users
from hostnic.system import System

from charmkit.reboot.state import mark

LXC = "/snap/bin/lxc"
_INSTANCES = [LXC, "query", "/1.0/instances?recursion=1"]
# Text: re compiles a pattern at its first use and keeps it, and an idle hook hardly uses one.
_PAYLOAD = r"/lxc\.payload\.([^/\n]+)"
_PARENT = r"(?m)^PPid:\s*([0-9]+)$"
_UNIT = r"(?:^|\0)JUJU_UNIT_NAME=([^\0]+)"
_SHOWN = 3


def stopped(system: System) -> str:
    """Containers that start at boot and do not run; empty when all run, or when there is no LXD."""
    try:
        found = autostarting(system)
    except OSError as error:
        return f"LXD does not answer: {error.strerror or error}"
    except ValueError as error:
        return str(error)
    return _some(sorted(name for name, since in found.items() if not since), "stopped")


def started(system: System) -> str:
    """A digest of which of these containers run, and since when; it changes when one of them starts again."""
    try:
        found = autostarting(system)
    except (OSError, ValueError):
        return ""  # :func:`stopped` says why
    return mark(json.dumps(found, sort_keys=True)) if found else ""


def autostarting(system: System) -> dict[str, str]:
    """The containers that start at boot, and since when they run; none where there is no LXD.

    The time is LXD's ``last_used_at``, which it sets at each start of an instance, also after a reboot from
    inside (lxd/instance/drivers/driver_common.go; LXD 4.0 to 5.21); a container that does not run has "".

    Raises:
        OSError: LXD does not answer.
        ValueError: its answer cannot be read.

    """
    if not system.files.exists(LXC):
        return {}
    answer = system.query(_INSTANCES, timeout=30)
    try:
        return {
            " ".join(str(instance["name"]).split()): (
                str(instance.get("last_used_at")) if instance["status"] == "Running" else ""
            )
            for instance in cast("list[dict[str, Any]]", json.loads(answer))
            if instance["config"].get("boot.autostart") == "true"
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError("LXD's answer cannot be read") from None


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
    if not names:
        return ""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more} {what}"
