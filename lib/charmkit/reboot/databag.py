# SPDX-License-Identifier: Apache-2.0
"""The rolling reboot's state as the JSON that the peer relation carries. Does not import ops.

Both databags use one key, :data:`KEY`. Units of one application may run different revisions for a while:
unknown fields are ignored, absent ones take their default, and a change of meaning raises ``version``.

Every write of the leader's state goes to all units, so it names units by their numbers, and together those
for which the same holds: less than 4 KB for 256 units.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple, cast

from converge.document import annotated, read_json, readable
from converge.shape import (
    LINE,
    AnyText,
    Boolean,
    InvalidValue,
    JsonRecord,
    ListOf,
    MappingOf,
    Text,
)

from charmkit.reboot.state import (
    APPLICATION,
    COUNT,
    NUMBER,
    UNIT_NAME,
    UNIT_NAMES,
    Approval,
    Cluster,
    Probe,
    Slot,
    UnitState,
)

KEY = "reboot"
VERSION = 1
MAX_CHARS = 4 * 1024 * 1024
"""Characters of the leader's state. The state of one unit is not as long, and what the leader repeats of it
has to fit in here."""

_UNIT = JsonRecord(UnitState, annotated(UnitState))
_MARK = rf"{NUMBER}:[0-9A-Za-z_-]{{1,16}}"
_GRANT = rf"{NUMBER}:[0-9]{{1,15}}(?::[0-9]{{1,15}})?"
_TIME = Text(r"[0-9]{1,15}", "seconds since the epoch")


def _words(pattern: str) -> str:
    return f"{pattern}(?: {pattern})*"


_NUMBERS, _MARKS, _GRANTS = _words(NUMBER), _words(_MARK), _words(_GRANT)


class _Group(NamedTuple):
    """Units for which the operator approved the same."""

    units: Annotated[str, Text(_MARKS, "numbers of units with their boots")]
    reasons: Annotated[tuple[str, ...], ListOf(AnyText(), "texts")]
    despite: Annotated[str, Text(f"(?:{_MARKS})?", "numbers of units with marks of their absences")] = ""


def _cluster(
    application: str = "",
    held: Mapping[str, str] = {},
    approvals: Iterable[_Group] = (),
    may_be_down: Mapping[str, str] = {},
    **fields: object,
) -> Cluster:
    if not application and (held or approvals or may_be_down):
        raise InvalidValue("application", application, "the name of the application whose units are named")
    approved, down = dict[str, Approval](), dict[str, str]()
    for group in approvals:
        despite = {f"{application}/{number}": was for number, was in _split(group.despite)}
        for number, boot in _split(group.units):
            approved[f"{application}/{number}"] = Approval(boot, group.reasons, despite)
    for why, numbers in may_be_down.items():
        down.update((f"{application}/{number}", why) for number in numbers.split())
    slots = {
        f"{application}/{number}": Slot(int(grant), int(since), int(missing_since) if missing_since else None)
        for since, grants in held.items()
        for number, grant, missing_since in (f"{entry}:".split(":")[:3] for entry in grants.split())
    }
    given = cast("dict[str, Any]", fields)
    return Cluster(held=slots, approvals=approved, may_be_down=down, **given)


def _split(entries: str) -> list[tuple[str, str]]:
    """``3:aB1 4:cD2`` as pairs."""
    return [(number, mark) for number, _, mark in (entry.partition(":") for entry in entries.split())]


_CLUSTER = JsonRecord(
    _cluster,
    {
        "application": Text(f"(?:{APPLICATION})?", "the name of an application"),
        "grant": COUNT,
        "units": COUNT,
        "lost": COUNT,
        "held": MappingOf(_TIME, Text(_GRANTS, "numbers of units with their grants"), "times and units"),
        "taken": MappingOf(UNIT_NAME, COUNT, "units and numbers of grants"),
        "missed_by": Text(rf"(?:{APPLICATION}/{NUMBER})?", "the name of a unit, or nothing"),
        "approvals": ListOf(JsonRecord(_Group, annotated(_Group)), "approvals"),
        "cancels": COUNT,
        "stopped": Boolean(),
        "probe": JsonRecord(Probe, annotated(Probe)),
        "held_up_by": UNIT_NAMES,
        "may_be_down": MappingOf(LINE, Text(_NUMBERS, "numbers of units"), "reasons and units"),
    },
)


def encode(state: UnitState | Cluster) -> str:
    """``state`` as text; equal states give equal text, so that nothing is written without a change.

    Raises InvalidValue as the reader of that text does: nothing is written that nobody can read again.
    """
    if isinstance(state, Cluster):
        text = json.dumps({"version": VERSION, **_leaders(state)}, sort_keys=True, separators=(",", ":"))
        return readable(text, decode_cluster)
    return readable(json.dumps({"version": VERSION, **state._asdict()}, sort_keys=True), decode_unit)


def _leaders(cluster: Cluster) -> dict[str, object]:
    """Return the leader's values that differ from the defaults, with units by number."""
    held: dict[str, list[str]] = {}
    for unit, slot in _numbered(cluster.held):
        missing_since = "" if slot.missing_since is None else f":{slot.missing_since}"
        held.setdefault(str(slot.since), []).append(f"{unit}:{slot.grant}{missing_since}")
    groups: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for unit, approval in _numbered(cluster.approvals):
        despite = " ".join(f"{number}:{was}" for number, was in _numbered(approval.despite))
        groups.setdefault((approval.reasons, despite), []).append(f"{unit}:{approval.boot}")
    down: dict[str, list[str]] = {}
    for unit, why in _numbered(cluster.may_be_down):
        down.setdefault(why, []).append(unit)
    units = [*cluster.approvals, *cluster.may_be_down, *cluster.held]
    content = {
        **_changed(cluster),
        "application": units[0].partition("/")[0] if units else "",
        "probe": _changed(cluster.probe),
        "held": {since: " ".join(grants) for since, grants in held.items()},
        "approvals": [
            {"units": " ".join(entries), "reasons": reasons, "despite": despite}
            for (reasons, despite), entries in groups.items()
        ],
        "may_be_down": {why: " ".join(numbers) for why, numbers in down.items()},
    }
    return {field: value for field, value in content.items() if value}


def _changed(state: Cluster | Probe) -> dict[str, object]:
    return {field: value for field, value in state._asdict().items() if value != state._field_defaults[field]}


def _numbered(units: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The numbers of units, in order, with what belongs to them."""
    numbers = ((unit.rpartition("/")[2], value) for unit, value in units.items())
    return sorted(numbers, key=lambda entry: (len(entry[0]), entry[0]))


def decode_unit(text: str | None) -> UnitState:
    """A unit's state; its default when there is none yet.

    Raises InvalidValue, which names the field, its value and what is allowed.
    """
    return read_json(text, VERSION, _UNIT) if text else UnitState()


def decode_cluster(text: str | None) -> Cluster:
    """The leader's state; its default when there is none yet.

    Raises InvalidValue, which names the field, its value and what is allowed.
    """
    return read_json(text, VERSION, _CLUSTER, longest=MAX_CHARS) if text else Cluster()


def says_stopped(text: str) -> bool:
    """Whether a leader's state that cannot be read still says that the operator stopped all reboots."""
    try:
        content: object = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and cast("dict[str, object]", content).get("stopped") is True
