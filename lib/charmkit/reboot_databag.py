# SPDX-License-Identifier: Apache-2.0
"""The rolling reboot's state as the JSON that the peer relation carries. Does not import ops.

Both databags use one key, :data:`KEY`. Units of one application may run different revisions for a while:
unknown fields are ignored, absent ones take their default, and a change of meaning raises ``version``.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from charmkit.reboot import Approval, Cluster, UnitState

KEY = "reboot"
VERSION = 1

Data = TypeVar("Data", UnitState, Cluster)


def encode(state: UnitState | Cluster) -> str:
    """``state`` as text; equal states give equal text, so that nothing is written without a change."""
    content = state._asdict()
    if isinstance(state, Cluster):
        content["approvals"] = {unit: approval._asdict() for unit, approval in state.approvals.items()}
    return json.dumps({"version": VERSION, **content}, sort_keys=True)


def decode_unit(text: str | None) -> UnitState:
    """A unit's state; its default when there is none yet.

    Raises:
        ValueError: says which field is wrong.

    """
    content = _content(text)
    if content.get("consent", "") not in ("", "always", "idle"):
        raise ValueError("consent is not a policy")
    return _typed(UnitState, content)


def decode_cluster(text: str | None) -> Cluster:
    """The leader's state; its default when there is none yet.

    Raises:
        ValueError: says which field is wrong.

    """
    content = _content(text)
    approvals: dict[str, Approval] = {}
    for unit, approval in _object(content.pop("approvals", {}), "approvals").items():
        fields = _object(approval, "approvals")
        boot_id = fields.get("boot_id")
        if not isinstance(boot_id, str):
            raise ValueError("approvals is malformed")
        approvals[unit] = Approval(boot_id, _texts(fields.get("reasons"), "approvals"))
    forced = _object(content.pop("forced", {}), "forced")
    if not all(_is_count(number) for number in forced.values()):
        raise ValueError("forced is malformed")
    return _typed(Cluster, content)._replace(approvals=approvals, forced=cast("dict[str, int]", forced))


def _content(text: str | None) -> dict[str, object]:
    if not text:
        return {}
    try:
        content = _object(json.loads(text), "the databag")
    except (json.JSONDecodeError, RecursionError):
        raise ValueError("the databag is not JSON") from None
    if content.get("version") != VERSION:
        raise ValueError(f"version {content.get('version')} is not known here (known: {VERSION})")
    return content


def _typed(cls: type[Data], content: Mapping[str, object]) -> Data:
    """Build ``cls`` from the fields that it knows, each of the type of its default."""
    values: dict[str, Any] = {}
    for name, default in cls._field_defaults.items():
        if name not in content:
            continue
        value = content[name]
        if name == "spent":
            value = _object(value, "spent")
            _texts(list(value.values()), "spent")
        elif isinstance(default, tuple):
            value = _texts(value, name)
        elif isinstance(default, bool | str):
            if not isinstance(value, type(default)):
                raise ValueError(f"{name} is malformed")
        elif not _is_count(value) and not (default is None and value is None):
            raise ValueError(f"{name} is malformed")
        values[name] = value
    return cls(**values)


def _texts(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{name} is malformed")
    items = cast("list[object]", value)
    if not all(isinstance(item, str) for item in items):
        raise ValueError(f"{name} is malformed")
    return tuple(cast("list[str]", items))


def _object(value: object, name: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} is malformed")
    return cast("dict[str, object]", value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
