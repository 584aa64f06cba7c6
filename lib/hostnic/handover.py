# SPDX-License-Identifier: Apache-2.0
"""The requests of one machine's charms to each other, as files in ``/run/ovn-offload``.

The charms of a node have no relation to each other. Each charm writes one file, ``<charm>.json``, readable by
root only, and reads those of the others. The directory is a tmpfs, so a file was written since this boot. A
charm without a file requests nothing.

A file that another user than root could have written is not read (:meth:`hostnic.system.Files.check_own`).

A reader ignores fields that it does not know, so a new field needs no new version. A change of meaning raises
``version``: readers refuse a version that they do not know, and name the charm to refresh.
"""

import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from converge import Finding, Severity, cause
from converge.document import plain, read_json, readable
from converge.finding import RETRIED
from converge.shape import (
    LINE,
    Boolean,
    Integer,
    InvalidValue,
    JsonRecord,
    ListOf,
    MappingOf,
    OrNull,
    Text,
    Union,
)

from hostnic import shapes
from hostnic.system import NotOwnError, System, read_own

DIRECTORY = "/run/ovn-offload"
FACTS = f"{DIRECTORY}/facts"
"""A file of each charm for the exporter, which is not root and cannot tell the operator."""
VERSION = 1

Parameter = str | int | bool

AGENTS = "/var/lib/juju/agents"
"""One directory for each of Juju's agents on a machine; Juju deletes a unit's when it removes the unit."""

_CHARM = r"[a-z][a-z0-9-]*"


class RebootRequest(NamedTuple):
    """A reboot that a charm needs but another charm asks for."""

    reasons: tuple[str, ...]  # why, one sentence each; the text stays the same while the need stays the same
    since: int  # when the need arose, in seconds since the epoch
    ready: bool  # all preparations for the reboot are done


class Handover(NamedTuple):
    """One charm's file."""

    charm: str  # its name in charmcraft.yaml, which is also the file's name
    unit: str  # the Juju unit that wrote it, `sriov-switchdev/3`
    reboot_owner: str  # the charm that asks Juju for this machine's reboots, as this unit is configured
    reboot: RebootRequest | None = None  # the reboot that it needs, or None
    vfs: Mapping[str, int] = {}  # VFs that each PF must offer after the next boot, by BDF
    # Firmware parameters that it needs, by BDF and by mstconfig's name
    parameters: Mapping[str, Mapping[str, Parameter]] = {}
    pending: str = ""  # what this charm still has to do, in words for the operator; empty when it is done
    # This unit holds the reboot lock of its application, or has asked Juju for the reboot
    reboot_lock: bool = False


_REBOOT = JsonRecord(
    RebootRequest,
    {
        "reasons": ListOf(LINE, "at least one sentence", least=1),
        "since": Integer(0, None),
        "ready": Boolean(),
    },
)
_VFS = Integer(0, 0xFFFF, "a number of VFs")
_PARAMETER = Text(rf"{shapes.PARAMETER}(\[[0-9]+(\.\.[0-9]+)?\])?", "a parameter as mstconfig spells it")
_VALUE = Union[Any]({str: LINE, int: Integer(None, None), bool: Boolean()})
_VALUES = MappingOf(_PARAMETER, _VALUE, "parameters")


def _shape(charm: str) -> JsonRecord[Handover]:
    """The file of one charm."""
    return JsonRecord(
        functools.partial(Handover, charm),
        {
            "unit": Text(rf"{_CHARM}/[0-9]+", "a unit such as nic-firmware/0"),
            "reboot_owner": Text(_CHARM, "the name of a charm"),
            "reboot": OrNull(_REBOOT),
            "vfs": MappingOf(shapes.ADDRESS, _VFS, "PCI addresses and numbers of VFs"),
            "parameters": MappingOf(shapes.ADDRESS, _VALUES, "PCI addresses and parameters"),
            "pending": LINE,
            "reboot_lock": Boolean(),
        },
    )


def path_of(charm: str) -> str:
    """The file of a charm."""
    return f"{DIRECTORY}/{charm}.json"


def members_of(charm: str) -> str:
    """Return the place where a charm keeps for a while which clusters its containers have not joined."""
    return f"{DIRECTORY}/{charm}.members"


def publish(system: System, handover: Handover) -> bool:
    """Write ``handover`` unless the file already says the same; True when it was written.

    A reboot that the file already requests for the same reasons keeps its ``since``.

    Raises OSError if the file cannot be written, and InvalidValue if the caller gave a field a value that is
    not allowed.
    """
    path = path_of(handover.charm)
    present = _present(system, path)
    handover = handover._replace(reboot=_request_since(handover, present))
    text = readable(_encode(handover), functools.partial(_read, handover.charm))
    if text == present:
        return False
    system.files.install(path, text.encode(), 0o600)
    return True


def withdraw(system: System, charm: str) -> None:
    """Remove the files of ``charm``; for its stop hook."""
    for path in filter(system.files.exists, (path_of(charm), members_of(charm))):
        system.files.remove(path)


def read_others(system: System, charm: str) -> tuple[tuple[Handover, ...], tuple[Finding, ...]]:
    """Read the files that the other charms on this machine hand over, by charm name.

    A file is ignored if its unit has no agent on this machine any more. A malformed file gives one finding
    and is ignored, too; so does a directory that cannot be read.
    """
    handovers: list[Handover] = []
    findings: list[Finding] = []
    if not system.files.exists(DIRECTORY):
        return (), ()
    try:
        names = sorted(system.files.listdir(DIRECTORY))
    except OSError as error:
        what = f"cannot be read: {cause(error)}"
        return (), (Finding(Severity.WARNING, DIRECTORY, what, RETRIED),)
    for name in names:
        writer = name.removesuffix(".json")
        if writer in (name, charm) or not re.fullmatch(_CHARM, writer):
            continue
        try:
            handover = _read(writer, read_own(system, path_of(writer)))
        except (InvalidValue, OSError) as error:
            findings.append(_malformed(writer, error))
            continue
        if _lives(system, handover.unit):
            handovers.append(handover)
    return tuple(handovers), tuple(findings)


def occupied(system: System, charm: str, unit: str) -> tuple[Finding, ...]:
    """The finding that another unit of ``charm`` than ``unit`` keeps this machine, if one does."""
    try:
        other = _read(charm, read_own(system, path_of(charm))).unit
    except (InvalidValue, OSError):
        return ()
    if other == unit or not _lives(system, other):
        return ()
    what = f"{other} keeps this machine already, and two units would undo each other's settings"
    remedy = "remove the relation of the other to its principal; keep one unit of this charm on each machine"
    return (Finding(Severity.BLOCKED, charm, what, remedy),)


def _lives(system: System, unit: str) -> bool:
    return system.files.exists(f"{AGENTS}/unit-{unit.replace('/', '-')}")


def owner_by(others: Iterable[Handover], charm: str) -> str | None:
    """The charm that requests this machine's reboots, by the options of ``charm``; None without its file."""
    return next((other.reboot_owner for other in others if other.charm == charm), None)


def approval(others: Iterable[Handover], owner: str, charm: str, application: str) -> str:
    """The command that approves the reboots of the charm ``owner``; ``application`` is that of ``charm``."""
    applications = {charm: application, **{other.charm: other.unit.partition("/")[0] for other in others}}
    return approve(applications.get(owner, owner))


def approve(application: str) -> str:
    """The command that approves the reboots of an application, as a remedy says it."""
    return f"run: juju run {application}/leader approve-reboot"


def disagreements(others: Iterable[Handover], reboot_owner: str) -> tuple[Finding, ...]:
    """One finding for each charm that wants a reboot from another charm than ``reboot_owner``."""
    return tuple(
        Finding(
            Severity.BLOCKED,
            "option reboot-owner",
            f"{reboot_owner} here, but {other.reboot_owner} for {other.unit} on the same machine",
            "give all nic-firmware applications on it one reboot-owner; nothing reboots until then",
        )
        for other in others
        if other.reboot is not None and other.reboot_owner != reboot_owner
    )


def contested(others: Iterable[Handover], charm: str, reboot_owner: str) -> str:
    """Which other charm may reboot this machine, as the end of "this unit …"; empty when ``charm`` alone may.

    A change of the option reboot-owner reaches the units one after the other. Until it has reached every
    charm of a machine, and the former owner has given its lock back, that owner may still reboot it.
    """
    if reboot_owner != charm:
        return f"leaves its reboots to {reboot_owner}"
    for other in others:
        if other.reboot_owner != reboot_owner:
            return f"shares its machine with {other.unit}, which names {other.reboot_owner} as reboot owner"
        if other.reboot_lock:
            return f"shares its machine with {other.unit}, which still holds a reboot lock"
    return ""


def _present(system: System, path: str) -> str:
    """Return the text of this charm's file; nothing if there is none, or others could have written it."""
    try:
        return read_own(system, path)
    except (FileNotFoundError, NotOwnError):
        return ""


def _request_since(handover: Handover, present: str) -> RebootRequest | None:
    """The reboot request of ``handover``, with the time of the one in ``present`` if the reasons agree."""
    try:
        before = _read(handover.charm, present).reboot
    except InvalidValue:
        return handover.reboot
    if handover.reboot is None or before is None or before.reasons != handover.reboot.reasons:
        return handover.reboot
    return handover.reboot._replace(since=before.since)


def _malformed(writer: str, error: InvalidValue | OSError) -> Finding:
    reason = cause(error)
    return Finding(
        Severity.WARNING,
        path_of(writer),
        f"ignored: {reason}",
        f"refresh {writer} and this charm to one revision, or delete the file",
    )


def _encode(handover: Handover) -> str:
    content = {"version": VERSION, **plain(handover)}
    del content["charm"]  # the file's name has it
    return json.dumps(content, sort_keys=True, indent=1) + "\n"


def _read(charm: str, text: str) -> Handover:
    return read_json(text, VERSION, _shape(charm))
