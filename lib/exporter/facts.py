# SPDX-License-Identifier: Apache-2.0
"""A hook's facts that the exporter cannot read itself: one file for each charm, without anything secret.

Any user of the machine may read it. It is in a tmpfs, so that it means "since this boot". It is written if it
says something new, or is older than :data:`FRESH`: a hook that finds nothing new soon after another one
writes nothing.
"""

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from converge import Finding, Severity
from converge.document import plain, read_json, readable
from converge.shape import (
    Boolean,
    Integer,
    InvalidValue,
    JsonRecord,
    ListOf,
    MappingOf,
    OneOf,
    OrNull,
    Text,
)
from hostnic import shapes
from hostnic.handover import AGENTS, FACTS
from hostnic.system import NotOwnError, System, list_names, read_own

DIRECTORY, COPIES = FACTS, "/usr/lib/ovn-offload"
"""The folder of these files, and that of the charms' copies of the exporter."""
VERSION = 1
FRESH = 240
"""Seconds for which a file that says the same stays; update-status comes every five minutes."""
SETTINGS = ("vfs", "switchdev", "vf_lag", "queues", "hw_tc_offload", "firmware_parameters", "qos")
SEVERITIES = tuple(severity.name.lower() for severity in Severity)
OBJECTS = ("links", "sessions", "segments", "vnis")
"""The kinds of things that a switch has, in the intent and in its own state."""
KINDS = ("roce", "cnp", "other")
"""Classes of frames on a switch: RoCE, its congestion notifications, and all else."""
WAYS = ("sent", "received")
ABOUT = ("policy", "cables", "report")
"""The matters on which a host and its fabric can disagree."""


class PortFacts(NamedTuple):
    """A declared port, as a hook tells of it."""

    bdf: str  # its PCI address
    netdev: str  # its uplink; empty if the charm sees none now
    bond: str = ""  # the bond that it is to be in, or is in; empty outside one
    used: bool = True  # it is in a bond or bridge, or is to be
    declared: Mapping[str, int] = {}  # by the setting's name
    actual: Mapping[str, int] = {}  # the same for what only hooks know, or know better


class Reboot(NamedTuple):
    """The unit's part in the rolling reboot; times are those of :meth:`System.now`."""

    needed: bool = False  # the host needs one
    maintenance: bool = False  # it holds the lock, or has not settled since its last boot
    limit: int = 0  # seconds after which a holder of the lock is stuck
    held: Mapping[str, int] = {}  # since when each unit that is known to hold the lock has it
    queue: int | None = None  # units that wait for it; None where only the leader knows


class Flows(NamedTuple):
    """The flows in Open vSwitch and in the NICs."""

    inside: int  # flows that a NIC forwards
    others: int  # the other ones
    limit: int  # how many flows OVS keeps at most now
    connections: int | None = None  # tracked ones that the NICs handle; None where no driver tells


class Lane(NamedTuple):
    """Frames of one class in one direction at a port of a switch."""

    kind: str  # of `KINDS`
    way: str  # of `WAYS`
    frames: int
    dropped: int  # for want of buffers
    peak: int  # bytes of buffers that they have used at most


class Counted(NamedTuple):
    """The counters of RoCE of a switch's port since they began."""

    port: str
    marked: int = 0  # RoCE frames sent with a mark of congestion (ECN)
    paused: Mapping[str, int] = {}  # microseconds of pauses (PFC) by `WAYS`
    lanes: tuple[Lane, ...] = ()


class Switch(NamedTuple):
    """A switch of the fabric, as the last look saw it."""

    name: str  # in the intent
    answers: bool  # it could be read
    drained: bool = False  # it is out of use for work on it
    drift: int = 0  # settings that differ from the intent
    miswired: int = 0  # ports with another neighbour than the intent's
    declared: Mapping[str, int] = {}  # how many `OBJECTS` the intent has
    actual: Mapping[str, int] = {}  # how many of them are as declared; none of a switch that does not answer
    counted: tuple[Counted, ...] = ()  # of ports that have dropped, paused or marked something; no news


class Fabric(NamedTuple):
    """The leader's knowledge of the switches and of the hosts' reports."""

    at: int  # `System.now` when the switches were last asked
    switches: tuple[Switch, ...] = ()  # those that the charm configures
    # By unit that reports, in how many points its host differs, by what these are `ABOUT`
    hosts: Mapping[str, Mapping[str, int]] = {}


class Facts(NamedTuple):
    """One charm's file."""

    charm: str  # whose
    unit: str  # of Juju, whose hook looked
    at: int  # `System.now` at the hook's look
    findings: Mapping[str, int] = {}  # how many there are of each severity
    held: int = 0  # steps that wait
    ports: tuple[PortFacts, ...] = ()  # declared ones
    reboot: Reboot | None = None  # None of a charm that never reboots its host
    flows: Flows | None = None  # None where OVS does not tell; they change all the time, and are no news
    fabric: Fabric | None = None  # None of a charm that has no switches, or has not asked them yet


_COUNT = Integer(0, 1 << 32)
_TIME = Integer(-(1 << 40), 1 << 40)
_NETDEV = Text(r"[^\s/]{0,15}", "the name of a netdev")
_NUMBERS = MappingOf(OneOf(SETTINGS), _COUNT, "settings and numbers")
_PORT = JsonRecord(
    PortFacts,
    {
        "bdf": shapes.ADDRESS,
        "netdev": _NETDEV,
        "bond": _NETDEV,
        "used": Boolean(),
        "declared": _NUMBERS,
        "actual": _NUMBERS,
    },
)
_UNIT = Text(r"[a-z][a-z0-9-]*/[0-9]+", "a unit")
_REBOOT = JsonRecord(
    Reboot,
    {
        "needed": Boolean(),
        "maintenance": Boolean(),
        "limit": _COUNT,
        "held": MappingOf(_UNIT, _TIME, "units and times"),
        "queue": OrNull(_COUNT),
    },
)
_FLOWS = JsonRecord(
    Flows, {"inside": _COUNT, "others": _COUNT, "limit": _COUNT, "connections": OrNull(_COUNT)}
)
_OBJECTS = MappingOf(OneOf(OBJECTS), _COUNT, "kinds and numbers")
_COUNTER = Integer(0, (1 << 64) - 1)
_LANE = JsonRecord(
    Lane,
    {"kind": OneOf(KINDS), "way": OneOf(WAYS), "frames": _COUNTER, "dropped": _COUNTER, "peak": _COUNTER},
)
_COUNTED = JsonRecord(
    Counted,
    {
        "port": Text(r"[^\s]{1,64}", "a port"),
        "marked": _COUNTER,
        "paused": MappingOf(OneOf(WAYS), _COUNTER, "directions and microseconds"),
        "lanes": ListOf(_LANE, "classes of frames"),
    },
)
_SWITCH = JsonRecord(
    Switch,
    {
        "name": Text(r"[^\s]{1,64}", "the name of a switch"),
        "answers": Boolean(),
        "drained": Boolean(),
        "drift": _COUNT,
        "miswired": _COUNT,
        "declared": _OBJECTS,
        "actual": _OBJECTS,
        "counted": ListOf(_COUNTED, "ports"),
    },
)
_ABOUT = MappingOf(OneOf(ABOUT), _COUNT, "subjects and numbers")
_FABRIC = JsonRecord(
    Fabric,
    {
        "at": _TIME,
        "switches": ListOf(_SWITCH, "switches"),
        "hosts": MappingOf(_UNIT, _ABOUT, "units and what differs on their hosts"),
    },
)


def path_of(charm: str) -> str:
    """The file of a charm."""
    return f"{DIRECTORY}/{charm}.json"


def publish(system: System, facts: Facts) -> bool:
    """Write ``facts`` if they say something new, or the file is old; True if it was written.

    Raises OSError if the file cannot be written, and InvalidValue if it could not be read again.
    """
    before = read(system, facts.charm)
    if before and _repeats(before, facts):
        return False
    text = readable(to_json(facts), functools.partial(from_json, facts.charm))
    system.files.install(path_of(facts.charm), text.encode(), 0o644)
    return True


def _repeats(before: Facts, now: Facts) -> bool:
    """Whether ``now`` says nothing new, and comes soon after ``before``."""
    expected, times = before._replace(at=now.at, flows=now.flows), [(before.at, now.at)]
    if before.fabric and now.fabric:
        expected = expected._replace(fabric=_without_counts(before.fabric)._replace(at=now.fabric.at))
        times.append((before.fabric.at, now.fabric.at))
        now = now._replace(fabric=_without_counts(now.fabric))
    return expected == now and all(0 <= later - earlier < FRESH for earlier, later in times)


def _without_counts(fabric: Fabric) -> Fabric:
    return fabric._replace(switches=tuple(each._replace(counted=()) for each in fabric.switches))


def withdraw(system: System, charm: str) -> None:
    """Remove the file of ``charm``."""
    if system.files.exists(path_of(charm)):
        system.files.remove(path_of(charm))


def count(findings: Iterable[Finding]) -> dict[str, int]:
    """How many there are of each severity."""
    found = [finding.severity.name.lower() for finding in findings]
    return {severity: found.count(severity) for severity in SEVERITIES}


def read(system: System, charm: str) -> Facts | None:
    """Read the facts of one charm; None if there are none, or they cannot be read or are not believed."""
    try:
        return from_json(charm, read_own(system, path_of(charm)))
    except (OSError, InvalidValue):
        return None


def read_all(system: System) -> Iterator[Facts]:
    """The facts of all charms on this machine; a file that cannot be read is left out, and ages.

    One of a unit that Juju has removed without its stop hook is left out. A charm whose unit has told nothing
    since the machine booted has been silent for as long.
    """
    units, told = list_names(system, AGENTS), list_names(system, DIRECTORY)
    for name in told:
        charm = name.removesuffix(".json")
        if charm == name or not re.fullmatch("[a-z][a-z0-9-]*", charm):
            continue
        found = read(system, charm)
        if found and (not units or f"unit-{found.unit.replace('/', '-')}" in units):
            yield found
    for charm in list_names(system, COPIES):
        unit = next((name for name in units if re.fullmatch(rf"unit-{re.escape(charm)}-\d+", name)), "")
        if unit and f"{charm}.json" not in told and system.files.exists(f"{COPIES}/{charm}/exporter.pyz"):
            yield Facts(charm, f"{charm}/{unit.rpartition('-')[2]}", 0)


def not_believed(system: System) -> Iterator[str]:
    """The charms whose facts are left out, since others than root could have written them."""
    for name in list_names(system, DIRECTORY):
        try:
            system.files.check_own(f"{DIRECTORY}/{name}")
        except NotOwnError:
            yield name.removesuffix(".json")
        except OSError:
            continue  # it is gone


def remembered(ports: Iterable[PortFacts], before: Iterable[PortFacts]) -> Iterator[PortFacts]:
    """``ports``; one without a netdev keeps the name, the bond and the use that it had ``before``."""
    known = {port.bdf: port for port in before}
    for port in ports:
        last = known.get(port.bdf, port)
        gone = not port.netdev
        yield port._replace(netdev=last.netdev, bond=last.bond, used=last.used) if gone else port


def ports_of(all_facts: Iterable[Facts]) -> dict[str, PortFacts]:
    """Declared ports by PCI address, each with what all charms say of it."""
    found: dict[str, PortFacts] = {}
    for port in (port for facts in all_facts for port in facts.ports):
        known = found.get(port.bdf, port)
        found[port.bdf] = known._replace(
            netdev=known.netdev or port.netdev,
            bond=known.bond or port.bond,
            used=known.used or port.used,
            declared={**known.declared, **port.declared},
            actual={**known.actual, **port.actual},
        )
    # A label needs a text: one that no charm has ever seen the netdev of is called by its address.
    return {bdf: port if port.netdev else port._replace(netdev=bdf) for bdf, port in found.items()}


def to_json(facts: Facts) -> str:
    """The file's text."""
    content = {"version": VERSION, **plain(facts)}
    del content["charm"]  # the file's name has it
    return json.dumps(content, sort_keys=True) + "\n"


def from_json(charm: str, text: str) -> Facts:
    """Read what :func:`to_json` wrote; fields that this revision does not know are ignored.

    Raises InvalidValue, which names the place, the value and what is allowed.
    """
    shape = JsonRecord(
        functools.partial(Facts, charm),
        {
            "unit": _UNIT,
            "at": _TIME,
            "findings": MappingOf(OneOf(SEVERITIES), _COUNT, "severities and numbers"),
            "held": _COUNT,
            "ports": ListOf(_PORT, "ports"),
            "reboot": OrNull(_REBOOT),
            "flows": OrNull(_FLOWS),
            "fabric": OrNull(_FABRIC),
        },
    )
    return read_json(text, VERSION, shape)
