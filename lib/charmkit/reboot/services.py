# SPDX-License-Identifier: Apache-2.0
"""The clustered services in this host's LXD containers, and the host's own Vault. Does not import ops.

After a boot: whether they are members of their clusters again (:func:`not_joined`). A container runs some
time before its service has joined; if the next host reboots before that, the cluster loses its quorum.

Right before a reboot: whether all members are there (:func:`missing_members`). Members also live on hosts
that are in no lock, or in that of another application: only the clusters know of all.

OVN's databases, RabbitMQ, Ceph's monitors and Vault tell without credentials. MySQL does not: after a boot
the option ``reboot-settle`` stands in for it, and before one the addresses that each member keeps of the
others are tried.
"""

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from converge.finding import few, one_line
from hostnic.system import UNREADABLE, CommandError, System, read_own

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
"""The file of MySQL 8.0 for SET PERSIST, which has the addresses of the group's members."""

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
    away: str = "has not joined"  # in words, when it is no member


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
    """Whether RabbitMQ is in the majority of its cluster, which is undivided."""
    nodes, running, divided = _rabbit(text)
    return 2 * len(nodes & running) > len(nodes) and not divided


def rabbit_suspects(text: str) -> Iterator[Suspect]:
    """Nodes that do not run, and a division."""
    nodes, running, divided = _rabbit(text)
    yield from (Suspect(f"member {node} does not run") for node in sorted(map(str, nodes - running)))
    if divided:
        yield Suspect("the cluster is divided")


def _monitor(text: str) -> tuple[str, frozenset[object], list[tuple[object, str]]]:
    """``mon_status`` of a monitor's admin socket (Ceph 15 to 19): state, ranks in quorum, ranks and names."""
    try:
        status = json.loads(text)
        monitors = [(each["rank"], str(each["name"])) for each in status["monmap"]["mons"]]
        return str(status["state"]), frozenset(status["quorum"]), monitors
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError("cannot be read") from None


def monitor_joined(text: str) -> bool:
    """Whether the monitor is in the quorum; a container with Ceph's programs alone prints nothing."""
    return not text.strip() or _monitor(text)[0] in ("leader", "peon")


def monitor_suspects(text: str) -> Iterator[Suspect]:
    """Monitors that are not in the quorum."""
    if not text.strip():
        return
    if not monitor_joined(text):
        yield Suspect("it has not joined")
        return
    _, quorum, monitors = _monitor(text)
    yield from (
        Suspect(f"member {name} is not in the quorum") for rank, name in monitors if rank not in quorum
    )


def _vault(text: str) -> dict[str, Any]:
    """``/v1/sys/seal-status``, which needs no token (Vault 1.6 to 1.19)."""
    try:
        status = cast("dict[str, Any]", json.loads(text))
        return {
            "sealed": status["sealed"] is True,
            "type": status["type"],
            "used": status.get("initialized") is True,
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError("cannot be read") from None


def vault_open(text: str) -> bool:
    """Whether Vault is open, or in no use since nobody has initialised it."""
    status = _vault(text)
    return not (status["used"] and status["sealed"])


def vault_sealed(text: str) -> bool:
    """Whether Vault is in use, and sealed."""
    return not vault_open(text)


def vault_closes(text: str) -> bool:
    """Whether Vault is open, and a restart seals it: only keys of people open a seal of this type."""
    status = _vault(text)
    return bool(status["used"]) and not status["sealed"] and status["type"] == "shamir"


def _nothing(_: str) -> Iterator[Suspect]:
    """A Vault tells of no other one."""
    return iter(())


def _ovn(database: str, short: str) -> Service:
    command = ("ovn-appctl", "-t", f"/var/run/ovn/ovn{short}_db.ctl", "cluster/status", database)
    return Service(database, f"/var/lib/ovn/ovn{short}_db.db", command, raft_joined, raft_suspects)


_MONITOR = """for each in /var/lib/ceph/mon/ceph-*; do
test -d "$each" || exit 0
ceph --admin-daemon "/var/run/ceph/ceph-mon.${each#/var/lib/ceph/mon/ceph-}.asok" mon_status || exit
done"""
"""The admin socket takes root for enough; ``ceph`` itself would need a key."""

_SEAL = """for each in http://127.0.0.1:8220 https://127.0.0.1:8200 http://127.0.0.1:8200; do
curl --silent --fail --insecure --max-time 2 "$each/v1/sys/seal-status" && break
done | head -c 65536"""
"""All serve port 8200; the charm vault 1.7 and 1.8 also 8220 of loopback (its lib/charm/vault.py)."""

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
    Service("Ceph's monitor", "/var/lib/ceph/mon", ("sh", "-c", _MONITOR), monitor_joined, monitor_suspects),
    VAULT := Service(
        "Vault",
        "/var/snap/vault/common/vault.hcl",
        ("sh", "-c", _SEAL),
        vault_open,
        _nothing,
        "is sealed: unseal it",
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
        """Run a command in a container and return its output.

        Raises CommandError if it fails, or the time for all containers is over.
        """
        argv = (LXC, "exec", name, "--", *command)
        left = min(_EACH, self._deadline - self._system.now())
        if left <= 0:
            raise CommandError(argv, f"not asked within {self._seconds:g} s")
        return self._system.query(argv, timeout=left)

    def state(self, name: str, service: Service) -> str | None:
        """Return a service's view of its cluster; None if it is not clustered. Raises as :meth:`ask`."""
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


def not_joined(system: System, names: Sequence[str], path: str, started: str) -> str:
    """Services that are not members of their clusters; empty when all are, and where there is no container.

    ``names`` are its containers that run. The file ``path``, in /run, keeps the answer for :data:`KEPT_FOR`
    seconds, unless one of them starts again: ``started`` tells.
    """
    if not names:
        return ""
    now = system.now()
    if (kept := _kept(system, path, now, started)) is not None:
        return kept
    said = few(list(_not_joined(_Containers(system, names, IN_ALL))))
    from hostnic.ops.files import write_own  # most hooks write none

    write_own(system, path, json.dumps({"at": now, "of": started, "said": said}), _read)
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
                    yield f"{service.name} in {name} {service.away}"
            except CommandError as error:
                yield _unanswered(name, error)
                break  # the others of this container would most likely not answer either
            except ValueError:
                yield f"what {name} tells cannot be read"


class Membership(NamedTuple):
    """The members of clusters that are missing right before a reboot, and the services that cannot tell."""

    # Members that are missing, and services that do not tell, in words; empty when all are there
    missing: str = ""
    unasked: tuple[str, ...] = ()  # clustered services that cannot be asked, by container


def missing_members(system: System, names: Sequence[str]) -> Membership:
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
    return Membership(one_line(few([each[:_LONGEST] for each in missing])), tuple(unasked))


def vaults_to_unseal(system: System, names: Sequence[str]) -> list[str]:
    """The containers in which Vault is open and comes back sealed; not those that do not tell."""
    containers, found = _Containers(system, names, IN_ALL), list[str]()
    for name in containers.names:
        with contextlib.suppress(CommandError, ValueError):
            if VAULT.data in containers.ask(name, FIND).split() and vault_closes(
                containers.ask(name, VAULT.command)
            ):
                found.append(name)
    return found


def vault_of_host(system: System, is_so: Callable[[str], bool]) -> bool:
    """Whether something is so of the Vault on the host itself; not if it does not tell."""
    try:
        return is_so(system.query(VAULT.command, timeout=_EACH))
    except (CommandError, ValueError):
        return False


def _seeds(text: str) -> list[str]:
    found = re.search(_SEEDS, text)
    return [seed.strip() for seed in found[1].split(",") if seed.strip()] if found else []


def _unanswered(name: str, error: CommandError) -> str:
    """The sentence about a container that does not answer, or a service that does not tell."""
    if error.returncode is None:
        return f"{name} does not answer"
    return f"{name} does not tell ({error.argv[4]} failed)"


def _kept(system: System, path: str, now: float, started: str) -> str | None:
    """The last answer, if it is recent; the file goes with the boot, as does the clock."""
    try:
        at, of, said = _read(read_own(system, path))
    except UNREADABLE:
        return None
    return said if 0 <= now - at < KEPT_FOR and of == started and isinstance(said, str) else None


def _read(text: str) -> tuple[float, object, object]:
    content = json.loads(text)
    return float(content["at"]), content["of"], content["said"]
