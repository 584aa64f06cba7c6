# SPDX-License-Identifier: Apache-2.0
"""Whether the clustered services in this host's LXD containers are members of their clusters again.

A container runs some time before its service has joined again; if the next host reboots before that, the
cluster loses its quorum. OVN's databases and RabbitMQ tell without credentials. MySQL does not: the option
``reboot-settle`` stands in for it. Does not import ops.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from hostnic.system import CommandError, System

from charmkit.containers import LXC

AGAIN_AFTER = 60.0
"""Seconds for which an answer is kept: hooks come more often than that."""

IN_ALL = 20.0
"""Seconds for asking all containers of the host; one that was not asked by then counts as not answering."""

_EACH = 8.0  # seconds: rabbitmqctl starts a virtual machine of its own
_SHOWN = 3
_NAME = r"[A-Za-z0-9][A-Za-z0-9-]{0,62}"
_MEMBER = r"(?m)^Status: cluster member$"
_ROLE = r"(?m)^Role: (?:leader|follower)$"
_ALONE = "is not a valid command"  # cluster/status of a database that is not clustered
_NO_LEADER = r"(?m)^Leader: unknown$"


class Service(NamedTuple):
    """A clustered service.

    Attributes:
        name: for the operator.
        data: a path that a container has if, and only if, the service is in it.
        ask: the command that prints the state of its cluster, run in the container.
        joined: whether that text says that it is a member; raises ValueError if it cannot be read.

    """

    name: str
    data: str
    ask: tuple[str, ...]
    joined: Callable[[str], bool]

    def alone(self, error: CommandError) -> bool:
        """Whether the command failed since the service is not clustered."""
        return _ALONE in error.stderr


def raft_joined(text: str) -> bool:
    """``cluster/status`` of :manpage:`ovsdb-server(1)` 2.17 to 3.5: a member that knows its leader."""
    found = re.search(_MEMBER, text) and re.search(_ROLE, text)
    return bool(found) and not re.search(_NO_LEADER, text)


def rabbit_joined(text: str) -> bool:
    """``rabbitmqctl cluster_status --formatter json`` of RabbitMQ 3.8 to 4: in the majority, undivided.

    Raises:
        ValueError: it cannot be read.

    """
    try:
        status = cast("dict[str, Any]", json.loads(text))
        nodes = {*status["disk_nodes"], *status.get("ram_nodes", ())}
        return 2 * len(nodes & {*status["running_nodes"]}) > len(nodes) and not status["partitions"]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError("cannot be read") from None


def _ovn(database: str, short: str) -> Service:
    ask = ("ovn-appctl", "-t", f"/var/run/ovn/ovn{short}_db.ctl", "cluster/status", database)
    return Service(database, f"/var/lib/ovn/ovn{short}_db.db", ask, raft_joined)


SERVICES = (
    _ovn("OVN_Northbound", "nb"),
    _ovn("OVN_Southbound", "sb"),
    Service(
        "RabbitMQ",
        "/var/lib/rabbitmq/mnesia",
        ("rabbitmqctl", "--quiet", "cluster_status", "--formatter", "json"),
        rabbit_joined,
    ),
)

FIND = ("sh", "-c", f"ls -d {' '.join(service.data for service in SERVICES)} 2>/dev/null; true")
"""Prints the data paths of the services that are in a container."""


def outside(system: System, names: Sequence[str], path: str) -> str:
    """Services that are not members of their clusters; empty when all are, and where there is no container.

    Args:
        system: the host.
        names: its containers that run.
        path: a file in /run that keeps the answer for :data:`AGAIN_AFTER` seconds.

    """
    if not names:
        return ""
    now = system.now()
    if (kept := _kept(system, path, now)) is not None:
        return kept
    said = listed(list(_outside(system, names, now + IN_ALL)))
    system.files.install(path, json.dumps({"at": now, "said": said}).encode(), 0o600)
    return said


def listed(found: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"{', '.join(found[:_SHOWN])}{more}"


def told_by(names: Sequence[str]) -> list[str]:
    """The containers that can be asked: LXD allows no other names, and they go into commands."""
    return [name for name in names if re.fullmatch(_NAME, name)]


def _outside(system: System, names: Sequence[str], deadline: float) -> Iterator[str]:
    for name in told_by(names):
        try:
            there = ask(system, name, FIND, deadline).split()
        except CommandError as error:
            yield unanswered(name, error)
            continue
        for service in SERVICES:
            if service.data not in there:
                continue
            try:
                if not service.joined(ask(system, name, service.ask, deadline)):
                    yield f"{service.name} in {name} has not joined"
            except CommandError as error:
                if not service.alone(error):
                    yield unanswered(name, error)
                    break  # the others of this container would most likely not answer either
            except ValueError:
                yield f"what {name} tells cannot be read"


def unanswered(name: str, error: CommandError) -> str:
    """That a container does not answer, or that its service does not tell."""
    if error.returncode is None:
        return f"{name} does not answer"
    return f"{name} does not tell ({error.argv[4]} failed)"


def ask(system: System, name: str, command: tuple[str, ...], deadline: float, in_all: float = IN_ALL) -> str:
    """What a command in a container prints.

    Raises:
        CommandError: it fails, or the time for all containers is over.

    """
    argv = (LXC, "exec", name, "--", *command)
    left = min(_EACH, deadline - system.now())
    if left <= 0:
        raise CommandError(argv, f"not asked within {in_all:g} s")
    return system.query(argv, timeout=left)


def _kept(system: System, path: str, now: float) -> str | None:
    """The last answer, if it is recent; the file goes with the boot, as does the clock."""
    try:
        content = json.loads(system.files.read(path))
        at, said = float(content["at"]), content["said"]
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    recent = 0 <= now - at < AGAIN_AFTER
    return said if recent and isinstance(said, str) else None
