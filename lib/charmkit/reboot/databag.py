# SPDX-License-Identifier: Apache-2.0
"""The rolling reboot's state as the JSON that the peer relation carries. Does not import ops.

Both databags use one key, :data:`KEY`. Units of one application may run different revisions for a while:
unknown fields are ignored, absent ones take their default, and a change of meaning raises ``version``.
"""

import json
from typing import Any, cast

from converge.document import read_json
from converge.shape import AnyText, Flag, Listing, Named, OrNull, Record, Whole, Word

from charmkit.reboot.state import Approval, Cluster, UnitState

KEY = "reboot"
VERSION = 1
MAX_CHARS = 4 * 1024 * 1024
"""Characters: the leader's state has the approved reasons of every unit."""

_TEXTS = Listing(AnyText(), "texts")
_COUNT = Whole(0, None)
_KEYS = {"still_needed": "futile", "rebooted_for": "spent"}
"""Fields of UnitState that the databag has under the names of release 1.0."""


def _unit_state(**fields: object) -> UnitState:
    now = {old: new for new, old in _KEYS.items()}
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
        "queued": Flag(),
        "futile": _TEXTS,
        "spent": Named(AnyText(), AnyText(), "reasons and boots"),
        "released": _COUNT,
        "answered": AnyText(),
        "contested": AnyText(),
        "heard": _COUNT,
        "instances": _COUNT,
        "approved_after": _COUNT,
    },
    lenient=True,
)
_APPROVAL = Record(
    Approval,
    {"boot_id": AnyText(), "reasons": _TEXTS, "despite": _TEXTS},
    required=["boot_id", "reasons"],
    lenient=True,
)
_CLUSTER = Record(
    Cluster,
    {
        "grant": _COUNT,
        "holder": AnyText(),
        "since": _COUNT,
        "missing_since": OrNull(_COUNT),
        "missed_by": AnyText(),
        "approvals": Named(AnyText(), _APPROVAL, "units and their approvals"),
        "forced": Named(AnyText(), _COUNT, "units and numbers of grants"),
        "held_up_by": _TEXTS,
        "asked": AnyText(),
        "asked_at": _COUNT,
        "cancels": _COUNT,
        "stopped": Flag(),
        "missing": Named(AnyText(), AnyText(), "units and reasons"),
    },
    lenient=True,
)


def encode(state: UnitState | Cluster) -> str:
    """``state`` as text; equal states give equal text, so that nothing is written without a change."""
    content = {_KEYS.get(field, field): value for field, value in state._asdict().items()}
    if isinstance(state, Cluster):
        content["approvals"] = {unit: approval._asdict() for unit, approval in state.approvals.items()}
    return json.dumps({"version": VERSION, **content}, sort_keys=True)


def decode_unit(text: str | None) -> UnitState:
    """A unit's state; its default when there is none yet.

    Raises:
        InvalidValue: names the field, its value and what is allowed.

    """
    return read_json(text, VERSION, _UNIT, longest=MAX_CHARS) if text else UnitState()


def decode_cluster(text: str | None) -> Cluster:
    """The leader's state; its default when there is none yet.

    Raises:
        InvalidValue: names the field, its value and what is allowed.

    """
    return read_json(text, VERSION, _CLUSTER, longest=MAX_CHARS) if text else Cluster()
