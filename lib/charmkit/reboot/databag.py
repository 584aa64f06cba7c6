# SPDX-License-Identifier: Apache-2.0
"""The rolling reboot's state as the JSON that the peer relation carries. Does not import ops.

Both databags use one key, :data:`KEY`. Units of one application may run different revisions for a while:
unknown fields are ignored, absent ones take their default, and a change of meaning raises ``version``. The
leader's state has version 2 while several units hold the lock: a unit of release 1.2 or older, which would
take ``holder`` for the only one, then grants nothing and reboots nothing.

Every write of the leader's state goes to all units, so it names units by their numbers, and together those
for which the same holds: less than 4 KB for 256 units. Releases up to 1.2 wrote ``approvals`` and
``missing`` instead, which are read; they ignore ``approved`` and ``away``. A unit of such a release gets no
lock for an approval on the leader until it is refreshed: it would give it back, get it again, and so on.

What the statuses of other units repeat is one printable line: with other text their hooks would fail.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from converge.document import read_json
from converge.shape import LINE, AnyText, Flag, Listing, Named, OrNull, Record, Text, Whole, Word

from charmkit.reboot.state import Approval, Cluster, Slot, UnitState, mark

KEY = "reboot"
VERSION, SHARED = 1, 2
MAX_CHARS = 4 * 1024 * 1024
"""Characters of the leader's state: in release 1.0 it had the approved reasons of every unit one by one. The
state of one unit is not as long, and what the leader repeats of it has to fit in here."""

_TEXTS = Listing(AnyText(), "texts")
_COUNT = Whole(0, None)
_KEYS = {"still_needed": "futile", "rebooted_for": "spent"}
"""Fields of UnitState that the databag has under the names of release 1.0."""


def _unit_state(**fields: object) -> UnitState:
    now = {old: new for new, old in _KEYS.items()}
    fields.setdefault("current", False)
    return UnitState(**cast("dict[str, Any]", {now.get(name, name): value for name, value in fields.items()}))


_UNIT = Record(
    _unit_state,
    {
        "boot_id": AnyText(),
        "reasons": _TEXTS,
        "since": _COUNT,
        "ready": Flag(),
        "consent": Word(("", "always", "idle")),
        "approved": _TEXTS,
        "requested_at": OrNull(_COUNT),
        "settled": Flag(),
        "healthy_at": OrNull(_COUNT),
        "up_at": OrNull(_COUNT),
        "started": AnyText(),
        "queued": Flag(),
        "futile": _TEXTS,
        "spent": Named(AnyText(), AnyText(), "reasons and boots"),
        "released": _COUNT,
        "answered": AnyText(),
        "contested": LINE,
        "heard": _COUNT,
        "instances": _COUNT,
        "approved_after": _COUNT,
        "zone": AnyText(),
        "shares": Flag(),
        "current": Flag(),
    },
    lenient=True,
)
_NUMBERS = r"[0-9]+(?: [0-9]+)*"
_MARKS = r"[0-9]+:[0-9A-Za-z_-]+(?: [0-9]+:[0-9A-Za-z_-]+)*"
_GRANT = r"[0-9]{1,9}:[0-9]{1,15}(?::[0-9]{1,15})?"
_GRANTS = f"{_GRANT}(?: {_GRANT})*"
_TIME = Text(r"[0-9]{1,15}", "seconds since the epoch")
_APPLICATION = Text(r"[a-z0-9-]*", "the name of an application")


class _Group(NamedTuple):
    """Units for which the operator approved the same."""

    units: str
    reasons: tuple[str, ...]
    despite: str = ""


def _approval(boot_id: str, **fields: object) -> Approval:
    return Approval(mark(boot_id), **cast("dict[str, Any]", fields))


_APPROVAL = Record(
    _approval,
    {"boot_id": AnyText(), "reasons": _TEXTS, "despite": _TEXTS},
    required=["boot_id", "reasons"],
    lenient=True,
)
_GROUP = Record(
    _Group,
    {
        "units": Text(_MARKS, "numbers of units with their boots"),
        "reasons": _TEXTS,
        "despite": Text(f"(?:{_NUMBERS})?", "numbers of units"),
    },
    required=["units", "reasons"],
    lenient=True,
)


def _cluster(
    application: str = "",
    approved: Iterable[_Group] = (),
    away: Mapping[str, str] = {},
    held: Mapping[str, str] = {},
    **fields: object,
) -> Cluster:
    cluster = Cluster(**cast("dict[str, Any]", fields))
    approvals, missing = dict(cluster.approvals), dict(cluster.missing)
    for group in approved:
        despite = tuple(f"{application}/{number}" for number in group.despite.split())
        for entry in group.units.split():
            number, _, boot = entry.partition(":")
            approvals[f"{application}/{number}"] = Approval(boot, group.reasons, despite)
    for why, numbers in away.items():
        missing.update((f"{application}/{number}", why) for number in numbers.split())
    slots = {
        f"{application}/{number}": Slot(int(grant), int(since), int(missing_since) if missing_since else None)
        for since, grants in held.items()
        for number, grant, missing_since in (f"{entry}:".split(":")[:3] for entry in grants.split())
    }
    return cluster._replace(approvals=approvals, missing=missing, slots=slots)


_CLUSTER = Record(
    _cluster,
    {
        "grant": _COUNT,
        "holder": LINE,
        "since": _COUNT,
        "missing_since": OrNull(_COUNT),
        "missed_by": AnyText(),
        "approvals": Named(AnyText(), _APPROVAL, "units and their approvals"),
        "forced": Named(AnyText(), _COUNT, "units and numbers of grants"),
        "held_up_by": Listing(LINE, "units"),
        "asked": AnyText(),
        "asked_at": _COUNT,
        "cancels": _COUNT,
        "stopped": Flag(),
        "missing": Named(LINE, LINE, "units and reasons"),
        "held": Named(_TIME, Text(_GRANTS, "numbers of units with their grants"), "times and units"),
        "lazily": Flag(),
        "silenced": _TEXTS,
        "again": _TEXTS,
        "application": _APPLICATION,
        "approved": Listing(_GROUP, "approvals"),
        "away": Named(LINE, Text(_NUMBERS, "numbers of units"), "reasons and units"),
    },
    lenient=True,
)


def encode(state: UnitState | Cluster) -> str:
    """``state`` as text; equal states give equal text, so that nothing is written without a change."""
    if isinstance(state, Cluster):
        return json.dumps(_leaders(state), sort_keys=True, separators=(",", ":"))
    content = {_KEYS.get(field, field): value for field, value in state._asdict().items()}
    return json.dumps({"version": VERSION, **content}, sort_keys=True)


def _leaders(cluster: Cluster) -> dict[str, object]:
    content = {
        field: value
        for field, value in cluster._asdict().items()
        if field not in ("approvals", "missing", "slots") and value != Cluster._field_defaults[field]
    }
    content["version"] = SHARED if cluster.slots else VERSION
    units = [*cluster.approvals, *cluster.missing, *cluster.slots]
    if units:
        content["application"] = units[0].partition("/")[0]
    held: dict[str, list[str]] = {}
    for unit, slot in _numbered(cluster.slots):
        missing_since = "" if slot.missing_since is None else f":{slot.missing_since}"
        held.setdefault(str(slot.since), []).append(f"{unit}:{slot.grant}{missing_since}")
    if held:
        content["held"] = {since: " ".join(grants) for since, grants in held.items()}
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for unit, approval in _numbered(cluster.approvals):
        groups.setdefault((approval.reasons, approval.despite), []).append(f"{unit}:{approval.boot}")
    if groups:
        content["approved"] = [
            {
                "units": " ".join(entries),
                "reasons": reasons,
                "despite": " ".join(number for number, _ in _numbered(dict.fromkeys(despite))),
            }
            for (reasons, despite), entries in groups.items()
        ]
    away: dict[str, list[str]] = {}
    for unit, why in _numbered(cluster.missing):
        away.setdefault(why, []).append(unit)
    if away:
        content["away"] = {why: " ".join(numbers) for why, numbers in away.items()}
    return content


def _numbered(units: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The numbers of units, in order, with what belongs to them."""
    numbers = ((unit.rpartition("/")[2], value) for unit, value in units.items())
    return sorted(numbers, key=lambda entry: (len(entry[0]), entry[0]))


def decode_unit(text: str | None) -> UnitState:
    """A unit's state; its default when there is none yet.

    Raises:
        InvalidValue: names the field, its value and what is allowed.

    """
    return read_json(text, VERSION, _UNIT) if text else UnitState()


def decode_cluster(text: str | None) -> Cluster:
    """The leader's state; its default when there is none yet.

    Raises:
        InvalidValue: names the field, its value and what is allowed.

    """
    return read_json(text, (VERSION, SHARED), _CLUSTER, longest=MAX_CHARS) if text else Cluster()
