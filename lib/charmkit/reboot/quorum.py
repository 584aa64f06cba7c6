# SPDX-License-Identifier: Apache-2.0
"""Whether all members of the clusters in this host's LXD containers are there, right before it goes down.

Members also live on hosts that are in no lock, or in that of another application: only the clusters know of
all. OVN's databases and RabbitMQ tell without credentials. MySQL does not, but each member keeps the
addresses of the others: those that accept no connection are named. Does not import ops.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from hostnic.system import CommandError, System

from charmkit.reboot.membership import SERVICES, Service, ask, listed, raft_joined, told_by, unanswered

IN_ALL = 60.0
"""Seconds for asking all containers of the host; a reboot waits for the answers."""

SILENT_FOR = 60_000
"""Milliseconds without a message after which the leader of a raft cluster does not hear a member: it sends to
each several times within the election timer, which is at most a minute by OVN's own advice."""

SEEDS_FILE = "/var/lib/mysql/mysqld-auto.cnf"
"""Where MySQL 8.0 keeps what was set with SET PERSIST, the addresses of the group's members among it."""

_SEEDS = r'"group_replication_group_seeds"\s*:\s*\{[^{}]*?"Value"\s*:\s*"([^"]*)"'
_ADDRESS = r"(?:(?:ssl|tcp):)?\[?([0-9A-Za-z.:-]+?)\]?:([0-9]{1,5})"
_SERVER = r"(?m)^ +([0-9a-f]+) \([0-9a-f]+ at (\S+)\)(.*)$"
_LAST = r"last msg ([0-9]+) ms ago"
_TIMER = r"(?m)^Election timer: ([0-9]+)$"
_ANSWERS = "answers"
_PATHS = (*(service.data for service in SERVICES), SEEDS_FILE)
FIND = ("sh", "-c", f"ls -d {' '.join(_PATHS)} 2>/dev/null; true")
"""Prints which of these paths are in a container."""


class Answer(NamedTuple):
    """What the clusters say.

    Attributes:
        away: members that are missing, and services that do not tell, in words; empty when all are there.
        unasked: clustered services that cannot be asked, by container.

    """

    away: str = ""
    unasked: tuple[str, ...] = ()


def members(system: System, names: Sequence[str]) -> Answer:
    """Ask every clustered service in these containers, which run, whether all of its members are there."""
    deadline = system.now() + IN_ALL
    away, unasked = list[str](), list[str]()
    for name in told_by(names):
        try:
            there = ask(system, name, FIND, deadline, IN_ALL).split()
            if strange := set(there) - {*_PATHS}:
                away.append(f"what {name} tells cannot be read ({min(strange)[:40]!r})")
                continue
            for service in (service for service in SERVICES if service.data in there):
                away += [f"{service.name} in {name}: {what}" for what in _of(system, name, service, deadline)]
            if SEEDS_FILE in there:
                seeds = _seeds(ask(system, name, ("cat", SEEDS_FILE), deadline, IN_ALL))
                lost = [seed for seed in seeds if not _answers(system, name, seed, deadline)]
                away += [f"MySQL in {name}: member {seed} does not answer" for seed in lost]
                unasked += [] if seeds else [f"MySQL in {name}"]
        except CommandError as error:
            away.append(unanswered(name, error))
        except ValueError:
            away.append(f"what {name} tells cannot be read")
    return Answer(listed(away), tuple(unasked))


def _of(system: System, name: str, service: Service, deadline: float) -> Iterator[str]:
    try:
        text = ask(system, name, service.ask, deadline, IN_ALL)
    except CommandError as error:
        if service.alone(error):
            return
        raise
    if service.joined is not raft_joined:
        yield from _of_rabbit(text)
    elif not raft_joined(text):
        yield "it has not joined"
    else:
        for server, address, heard_by_leader in silent_servers(text):
            if heard_by_leader or not _answers(system, name, address, deadline):
                yield f"member {server} at {address} is missing"


def silent_servers(text: str) -> Iterator[tuple[str, str, bool]]:
    """Servers of ``cluster/status`` without a message lately: id, address, and whether the leader says so.

    A follower hears only the leader: that another follower is silent proves nothing (ovsdb/raft.c).
    """
    timer = re.search(_TIMER, text)
    most = max(SILENT_FOR, 2 * int(timer[1])) if timer else SILENT_FOR
    leads = "\nRole: leader\n" in text
    for server, address, rest in re.findall(_SERVER, text):
        heard = re.search(_LAST, rest)
        if "(self)" not in rest and not (heard and int(heard[1]) <= most):
            yield server, address, leads


def _of_rabbit(text: str) -> Iterator[str]:
    try:
        status = cast("dict[str, Any]", json.loads(text))
        nodes = {str(node) for node in (*status["disk_nodes"], *status.get("ram_nodes", ()))}
        running = {str(node) for node in status["running_nodes"]}
        divided = cast("Mapping[str, Any] | Sequence[Any]", status["partitions"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError("cannot be read") from None
    yield from (f"member {node} does not run" for node in sorted(nodes - running))
    if divided:
        yield "the cluster is divided"


def _seeds(text: str) -> list[str]:
    found = re.search(_SEEDS, text)
    return [seed.strip() for seed in found[1].split(",") if seed.strip()] if found else []


def _answers(system: System, name: str, address: str, deadline: float) -> bool:
    """Whether a member accepts a connection from this container, which is in the cluster's network."""
    found = re.fullmatch(_ADDRESS, address)
    if not found:
        return False
    script = f"exec 3<>/dev/tcp/{found[1]}/{found[2]} && echo {_ANSWERS}"
    try:
        return ask(system, name, ("timeout", "4", "bash", "-c", script), deadline, IN_ALL).strip() == _ANSWERS
    except CommandError:
        return False
