# SPDX-License-Identifier: Apache-2.0
"""What the charms of one machine want from each other, as files in ``/run/ovn-offload``.

The charms of a node have no relation among themselves; the machine is their meeting point. Each
charm writes one file, ``<charm>.json``, readable by root only, and reads those of the others. The
directory is a tmpfs, so a file means "since this boot". Absent means "nothing beyond the options".

Schemas: a field that a reader does not know is ignored, so adding one needs no new version. A change of
meaning raises ``version``; readers keep every older version, and name the charm to refresh when they
meet a newer one.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from converge import Finding, Severity

from hostnic.system import System

DIRECTORY = "/run/ovn-offload"
VERSION = 1
LONGEST = 64 * 1024
"""Characters; a file beyond this is not one of ours."""

Parameter = str | int | bool

_AGENTS = "/var/lib/juju/agents"
_CHARM = re.compile(r"[a-z][a-z0-9-]*")
_UNIT = re.compile(r"[a-z][a-z0-9-]*/[0-9]+")
_BDF = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")
_PARAMETER = re.compile(r"[A-Z][A-Z0-9_]*(\[[0-9]+(\.\.[0-9]+)?\])?")


class RebootWish(NamedTuple):
    """A reboot that a charm needs but another charm asks for.

    Attributes:
        reasons: why, one stable sentence each; the same text as long as the need is the same.
        since: when it came up, seconds since the epoch.
        ready: everything that has to be in place before the reboot is in place.

    """

    reasons: tuple[str, ...]
    since: int
    ready: bool


class Handover(NamedTuple):
    """One charm's file.

    Attributes:
        charm: its name in charmcraft.yaml, which is also the file's name.
        unit: the Juju unit that wrote it, ``sriov-switchdev/3``.
        reboot_owner: the charm that asks Juju for this machine's reboots, as this unit is configured.
        reboot: the reboot it needs, or None.
        vfs: VFs that each PF has to offer after the next boot, by BDF.
        parameters: firmware parameters it needs, by BDF and by the name that mstconfig uses.
        pending: what this charm still has to do, in the operator's words; empty when it is done.

    """

    charm: str
    unit: str
    reboot_owner: str
    reboot: RebootWish | None = None
    vfs: Mapping[str, int] = {}
    parameters: Mapping[str, Mapping[str, Parameter]] = {}
    pending: str = ""


def path_of(charm: str) -> str:
    """The file of a charm."""
    return f"{DIRECTORY}/{charm}.json"


def publish(system: System, handover: Handover) -> bool:
    """Write ``handover`` unless the file already says the same; True when it was written.

    A reboot that the file already wishes for the same reasons keeps its ``since``.

    Raises:
        OSError: the file cannot be written.
        ValueError: a field does not hold what it must; a mistake of the caller's.

    """
    path = path_of(handover.charm)
    present = system.read(path) if system.exists(path) else ""
    handover = handover._replace(reboot=_as_old_as(handover, present))
    text = _encode(handover)
    _decode(handover.charm, text)
    if text == present:
        return False
    system.install(path, text.encode(), 0o600)
    return True


def withdraw(system: System, charm: str) -> None:
    """Remove the file of ``charm``; for its stop hook."""
    if system.exists(path_of(charm)):
        system.remove(path_of(charm))


def read_others(system: System, charm: str) -> tuple[tuple[Handover, ...], tuple[Finding, ...]]:
    """What the other charms on this machine hand over, by charm name.

    A file whose unit has no agent on this machine any more is ignored. A malformed file is one finding and
    counts as absent.
    """
    handovers: list[Handover] = []
    findings: list[Finding] = []
    if not system.exists(DIRECTORY):
        return (), ()
    for name in sorted(system.listdir(DIRECTORY)):
        writer = name.removesuffix(".json")
        if writer in (name, charm) or not _CHARM.fullmatch(writer):
            continue
        try:
            handover = _decode(writer, system.read(path_of(writer)))
        except (ValueError, RecursionError, OSError) as error:
            findings.append(_malformed(writer, error))
            continue
        if system.exists(f"{_AGENTS}/unit-{handover.unit.replace('/', '-')}"):
            handovers.append(handover)
    return tuple(handovers), tuple(findings)


def owner_by(others: Iterable[Handover], charm: str) -> str | None:
    """Who asks for this machine's reboots as ``charm`` is configured; None when it hands nothing over."""
    return next((other.reboot_owner for other in others if other.charm == charm), None)


def disagreements(others: Iterable[Handover], reboot_owner: str) -> tuple[Finding, ...]:
    """One finding for each charm that wants a reboot from another charm than ``reboot_owner``."""
    return tuple(
        Finding(
            Severity.BLOCKED,
            "option reboot-owner",
            f"{reboot_owner} here, but {other.reboot_owner} for {other.unit} on the same machine",
            "let both name the same charm; nothing reboots until they do",
        )
        for other in others
        if other.reboot is not None and other.reboot_owner != reboot_owner
    )


def _as_old_as(handover: Handover, present: str) -> RebootWish | None:
    """The wish, with the time of the one that ``present`` says when the reasons are the same."""
    try:
        before = _decode(handover.charm, present).reboot
    except (ValueError, RecursionError):
        return handover.reboot
    if handover.reboot is None or before is None or before.reasons != handover.reboot.reasons:
        return handover.reboot
    return handover.reboot._replace(since=before.since)


def _malformed(writer: str, error: Exception) -> Finding:
    if isinstance(error, RecursionError):
        reason = "nested too deeply"
    elif isinstance(error, OSError):
        reason = error.strerror or str(error)
    else:
        reason = str(error)
    return Finding(
        Severity.WARNING,
        path_of(writer),
        f"ignored: {reason}",
        f"refresh the charm {writer} and this one to the same revision, or delete the file",
    )


def _encode(handover: Handover) -> str:
    content: dict[str, Any] = {
        "version": VERSION,
        "unit": handover.unit,
        "reboot_owner": handover.reboot_owner,
        "reboot": None,
        "vfs": dict(handover.vfs),
        "parameters": {bdf: dict(values) for bdf, values in handover.parameters.items()},
        "pending": handover.pending,
    }
    if handover.reboot is not None:
        content["reboot"] = {
            "reasons": list(handover.reboot.reasons),
            "since": handover.reboot.since,
            "ready": handover.reboot.ready,
        }
    return json.dumps(content, sort_keys=True, indent=1) + "\n"


def _decode(charm: str, text: str) -> Handover:
    """Read one file's text.

    Raises:
        ValueError: says which field is wrong.
        RecursionError: the text is nested beyond what the parser takes.

    """
    if len(text) > LONGEST:
        raise ValueError(f"longer than {LONGEST} characters")
    try:
        raw: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error.msg} in line {error.lineno})") from None
    content = _object(raw, "the file")
    version = content.get("version")
    if not _is_count(version):
        raise ValueError("version is not a whole number")
    if version != VERSION:
        raise ValueError(f"version {version} is not known here (known: {VERSION})")
    return Handover(
        charm=charm,
        unit=_matching(content.get("unit"), _UNIT, "unit"),
        reboot_owner=_matching(content.get("reboot_owner"), _CHARM, "reboot_owner"),
        reboot=_decode_reboot(content.get("reboot")),
        vfs=_decode_vfs(content.get("vfs", {})),
        parameters=_decode_parameters(content.get("parameters", {})),
        pending=_text(content.get("pending", ""), "pending"),
    )


def _decode_reboot(value: object) -> RebootWish | None:
    if value is None:
        return None
    content = _object(value, "reboot")
    reasons = content.get("reasons")
    if not isinstance(reasons, list) or not reasons:
        raise ValueError("reboot.reasons is not a list of at least one sentence")
    since, ready = content.get("since"), content.get("ready")
    if not _is_count(since):
        raise ValueError("reboot.since is not a time in seconds")
    if not isinstance(ready, bool):
        raise ValueError("reboot.ready is neither true nor false")
    sentences = tuple(_text(reason, "reboot.reasons") for reason in cast("list[object]", reasons))
    return RebootWish(sentences, cast("int", since), ready)


def _decode_vfs(value: object) -> dict[str, int]:
    counts: dict[str, int] = {}
    for bdf, count in _object(value, "vfs").items():
        _matching(bdf, _BDF, "vfs")
        if not _is_count(count) or cast("int", count) > 0xFFFF:
            raise ValueError(f"vfs of {bdf} is not a number of VFs")
        counts[bdf] = cast("int", count)
    return counts


def _decode_parameters(value: object) -> dict[str, dict[str, Parameter]]:
    wanted: dict[str, dict[str, Parameter]] = {}
    for bdf, values in _object(value, "parameters").items():
        _matching(bdf, _BDF, "parameters")
        wanted[bdf] = {}
        for name, setting in _object(values, f"parameters of {bdf}").items():
            _matching(name, _PARAMETER, f"parameters of {bdf}")
            if not isinstance(setting, str | int | bool):
                raise ValueError(
                    f"parameter {name} of {bdf} is neither text nor a whole number nor a boolean"
                )
            wanted[bdf][name] = setting
    return wanted


def _object(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{where} is not a JSON object")
    return cast("dict[str, object]", value)


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"{where} is not one line of text")
    return value


def _matching(value: object, pattern: re.Pattern[str], where: str) -> str:
    text = _text(value, where)
    if not pattern.fullmatch(text):
        raise ValueError(f"{where}: {text[:60]!r} is malformed")
    return text


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
