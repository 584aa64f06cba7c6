# SPDX-License-Identifier: Apache-2.0
"""The clustered services in this host's LXD containers. Does not import ops.

After a boot: whether they are members of their clusters again (:func:`not_joined`). A container runs some
time before its service has joined; if the next host reboots before that, the cluster loses its quorum.

Right before a reboot: whether all members are there (:func:`missing_members`). Members also live on hosts
that are in no lock, or in that of another application: only the clusters know of all.

OVN's databases and RabbitMQ tell without credentials. MySQL does not: after a boot the option
``reboot-settle`` stands in for it, and before one the addresses that each member keeps of the others are
tried.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from converge.finding import few, one_line
from hostnic.system import CommandError, System, read_own

from charmkit.containers import LXC

KEPT_FOR = 60.0
"""Seconds for which an answer about membership is kept: hooks come more often than that."""

IN_ALL = 20.0
"""Seconds for asking all containers of the host after a boot; one that was not asked by then counts as not
answering."""

IN_ALL_BEFORE = 60.0
"""The same right before a reboot, which waits for the answers."""

SILENT_FOR = 60_000
"""Milliseconds without a message after which the leader of a raft cluster does not hear a member: it sends to
each several times within the election timer, which is at most a minute by OVN's own advice."""

SEEDS_FILE = "/var/lib/mysql/mysqld-auto.cnf"
"""Where MySQL 8.0 keeps what was set with SET PERSIST, the addresses of the group's members among it."""

_EACH = 8.0  # seconds: rabbitmqctl starts a virtual machine of its own
_NAME = r"[A-Za-z0-9][A-Za-z0-9-]{0,62}"
_MEMBER = r"(?m)^Status: cluster member$"
_ROLE = r"(?m)^Role: (?:leader|follower)$"
_NOT_CLUSTERED = "is not a valid command"  # what cluster/status is then
_NO_LEADER = r"(?m)^Leader: unknown$"
_SERVER = r"(?m)^ +([0-9a-f]+) \([0-9a-f]+ at (\S+)\)(.*)$"
_LAST = r"last msg ([0-9]+) ms ago"
_TIMER = r"(?m)^Election timer: ([0-9]+)$"
_SEEDS = r'"group_replication_group_seeds"\s*:\s*\{[^{}]*?"Value"\s*:\s*"([^"]*)"'
_ADDRESS = r"(?:(?:ssl|tcp):)?\[?([0-9A-Za-z.:-]+?)\]?:([0-9]{1,5})"
_ANSWERS = "answers"
_LONGEST = 200  # characters of one thing that is missing: what a container tells may have any length


class Suspect(NamedTuple):
    """Something that may be missing."""

    what: str  # in words
    address: str = ""  # if it accepts a connection here, it is not missing; empty if there is nothing to try


class Service(NamedTuple):
    """A clustered service. Both functions raise ValueError if the text cannot be read."""

    name: str  # for the operator
    data: str  # a path that a container has if, and only if, the service is in it
    command: tuple[str, ...]  # prints the state of its cluster, run in the container
    joined: Callable[[str], bool]  # whether that text says that it is a member
    suspects: Callable[[str], Iterator[Suspect]]  # what may be missing by that text


def raft_joined(text: str) -> bool:
    """``cluster/status`` of :manpage:`ovsdb-server(1)` 2.17 to 3.5: a member that knows its leader."""
    found = re.search(_MEMBER, text) and re.search(_ROLE, text)
    return bool(found) and not re.search(_NO_LEADER, text)


def raft_suspects(text: str) -> Iterator[Suspect]:
    """The server itself if it has not joined; else those from which no message came lately.

    A follower hears only the leader: that another follower is silent proves nothing (ovsdb/raft.c), and its
    address is tried.
    """
    if not raft_joined(text):
        yield Suspect("it has not joined")
        return
    timer = re.search(_TIMER, text)
    most = max(SILENT_FOR, 2 * int(timer[1])) if timer else SILENT_FOR
    leads = "\nRole: leader\n" in text
    for server, address, rest in re.findall(_SERVER, text):
        heard = re.search(_LAST, rest)
        if "(self)" not in rest and not (heard and int(heard[1]) <= most):
            yield Suspect(f"member {server} at {address} is missing", "" if leads else address)


def _rabbit(text: str) -> tuple[frozenset[str], frozenset[str], bool]:
    """``rabbitmqctl cluster_status --formatter json`` of RabbitMQ 3.8 to 4: nodes, running ones, divided."""
    try:
        status = cast("dict[str, Any]", json.loads(text))
        nodes = frozenset((*status["disk_nodes"], *status.get("ram_nodes", ())))
        return nodes, frozenset(status["running_nodes"]), bool(status["partitions"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError("cannot be read") from None


def rabbit_joined(text: str) -> bool:
    """It is in the majority of its cluster, which is undivided."""
    nodes, running, divided = _rabbit(text)
    return 2 * len(nodes & running) > len(nodes) and not divided


def rabbit_suspects(text: str) -> Iterator[Suspect]:
    """Nodes that do not run, and a division."""
    nodes, running, divided = _rabbit(text)
    yield from (Suspect(f"member {node} does not run") for node in sorted(map(str, nodes - running)))
    if divided:
        yield Suspect("the cluster is divided")


def _ovn(database: str, short: str) -> Service:
    command = ("ovn-appctl", "-t", f"/var/run/ovn/ovn{short}_db.ctl", "cluster/status", database)
    return Service(database, f"/var/lib/ovn/ovn{short}_db.db", command, raft_joined, raft_suspects)


SERVICES = (
    _ovn("OVN_Northbound", "nb"),
    _ovn("OVN_Southbound", "sb"),
    Service(
        "RabbitMQ",
        "/var/lib/rabbitmq/mnesia",
        ("rabbitmqctl", "--quiet", "cluster_status", "--formatter", "json"),
        rabbit_joined,
        rabbit_suspects,
    ),
)


_PATHS = (*(service.data for service in SERVICES), SEEDS_FILE)
FIND = ("sh", "-c", f"ls -d {' '.join(_PATHS)} 2>/dev/null; true")
"""Prints which of these paths are in a container."""


class _Containers:
    """Containers that are asked one after the other, in ``seconds`` for all of them."""

    def __init__(self, system: System, names: Sequence[str], seconds: float) -> None:
        # LXD allows no other names, and they go into commands.
        self.names = [name for name in names if re.fullmatch(_NAME, name)]
        self._system = system
        self._seconds = seconds
        self._deadline = system.now() + seconds

    def ask(self, name: str, command: tuple[str, ...]) -> str:
        """What a command in a container prints.

        Raises CommandError if it fails, or the time for all containers is over.
        """
        argv = (LXC, "exec", name, "--", *command)
        left = min(_EACH, self._deadline - self._system.now())
        if left <= 0:
            raise CommandError(argv, f"not asked within {self._seconds:g} s")
        return self._system.query(argv, timeout=left)

    def state(self, name: str, service: Service) -> str | None:
        """What a service prints of its cluster; None if it is not clustered. Raises as :meth:`ask`."""
        try:
            return self.ask(name, service.command)
        except CommandError as error:
            if _NOT_CLUSTERED in error.stderr:
                return None
            raise

    def accepts(self, name: str, address: str) -> bool:
        """Whether a member accepts a connection from this container, which is in the cluster's network."""
        found = re.fullmatch(_ADDRESS, address)
        if not found:
            return False
        script = f"exec 3<>/dev/tcp/{found[1]}/{found[2]} && echo {_ANSWERS}"
        try:
            return self.ask(name, ("timeout", "4", "bash", "-c", script)).strip() == _ANSWERS
        except CommandError:
            return False


def not_joined(system: System, names: Sequence[str], path: str) -> str:
    """Services that are not members of their clusters; empty when all are, and where there is no container.

    ``names`` are its containers that run. The file ``path``, in /run, keeps the answer for :data:`KEPT_FOR`
    seconds.
    """
    if not names:
        return ""
    now = system.now()
    if (kept := _kept(system, path, now)) is not None:
        return kept
    said = few(list(_not_joined(_Containers(system, names, IN_ALL))))
    system.files.install(path, json.dumps({"at": now, "said": said}).encode(), 0o600)
    return said


def _not_joined(containers: _Containers) -> Iterator[str]:
    for name in containers.names:
        try:
            there = containers.ask(name, FIND).split()
        except CommandError as error:
            yield _unanswered(name, error)
            continue
        for service in (service for service in SERVICES if service.data in there):
            try:
                text = containers.state(name, service)
                if text is not None and not service.joined(text):
                    yield f"{service.name} in {name} has not joined"
            except CommandError as error:
                yield _unanswered(name, error)
                break  # the others of this container would most likely not answer either
            except ValueError:
                yield f"what {name} tells cannot be read"


class Answer(NamedTuple):
    """What the clusters say right before a reboot."""

    # Members that are missing, and services that do not tell, in words; empty when all are there
    missing: str = ""
    unasked: tuple[str, ...] = ()  # clustered services that cannot be asked, by container


def missing_members(system: System, names: Sequence[str]) -> Answer:
    """Ask every clustered service in these containers, which run, whether all of its members are there."""
    containers = _Containers(system, names, IN_ALL_BEFORE)
    missing, unasked = list[str](), list[str]()
    for name in containers.names:
        try:
            there = containers.ask(name, FIND).split()
            if strange := set(there) - {*_PATHS}:
                missing.append(f"what {name} tells cannot be read ({min(strange)[:40]!r})")
                continue
            for service in (service for service in SERVICES if service.data in there):
                text = containers.state(name, service)
                suspects = list(service.suspects(text)) if text is not None else []
                lost = [what for what, address in suspects if not containers.accepts(name, address)]
                missing += [f"{service.name} in {name}: {what}" for what in lost]
            if SEEDS_FILE in there:
                seeds = _seeds(containers.ask(name, ("cat", SEEDS_FILE)))
                lost = [seed for seed in seeds if not containers.accepts(name, seed)]
                missing += [f"MySQL in {name}: member {seed} does not answer" for seed in lost]
                unasked += [] if seeds else [f"MySQL in {name}"]
        except CommandError as error:
            missing.append(_unanswered(name, error))
        except ValueError:
            missing.append(f"what {name} tells cannot be read")
    return Answer(one_line(few([each[:_LONGEST] for each in missing])), tuple(unasked))


def _seeds(text: str) -> list[str]:
    found = re.search(_SEEDS, text)
    return [seed.strip() for seed in found[1].split(",") if seed.strip()] if found else []


def _unanswered(name: str, error: CommandError) -> str:
    """The sentence about a container that does not answer, or a service that does not tell."""
    if error.returncode is None:
        return f"{name} does not answer"
    return f"{name} does not tell ({error.argv[4]} failed)"


def _kept(system: System, path: str, now: float) -> str | None:
    """The last answer, if it is recent; the file goes with the boot, as does the clock."""
    try:
        content = json.loads(read_own(system, path))
        at, said = float(content["at"]), content["said"]
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    recent = 0 <= now - at < KEPT_FOR
    return said if recent and isinstance(said, str) else None
