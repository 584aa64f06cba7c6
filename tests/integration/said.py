# SPDX-License-Identifier: Apache-2.0
"""The statuses that said.yaml expects of each charm on a machine without a ConnectX."""

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

TABLE = Path(__file__).with_name("said.yaml")
INTENT = TABLE.with_name("intent.yaml")
HOST_CHARMS = ("nic-firmware", "sriov-switchdev", "roce-qos")
CHARMS = (*HOST_CHARMS, "cumulus-fabric")


class Value(NamedTuple):
    """An option's value, and how the status message begins with it; empty: as without it."""

    option: str
    value: Any
    says: str = ""


class Act(NamedTuple):
    """An action with its parameters, and a part of its result or of the reason for which it fails."""

    run: str
    given: dict[str, Any]
    says: str
    fails: str

    def __str__(self) -> str:
        return self.run


class Said(NamedTuple):
    """One charm: the unit's status and how its message begins, options, and every action."""

    charm: str
    status: str
    says: str
    accepted: tuple[Value, ...]
    refused: tuple[Value, ...]
    actions: tuple[Act, ...]


@cache
def _table() -> dict[str, Any]:
    return yaml.safe_load(TABLE.read_text())


@cache
def read(charm: str) -> Said:
    """The table's part for this charm."""
    content = _table()[charm]
    actions = [
        Act(each["run"], each.get("with", {}), each.get("says", ""), each.get("fails", ""))
        for each in content["actions"]
    ]
    accepted, refused = (tuple(Value(**each) for each in content[key]) for key in ("accepted", "refused"))
    return Said(
        charm, content["status"]["name"], content["status"]["says"], accepted, refused, tuple(actions)
    )


def credentials() -> dict[str, str]:
    """How cumulus-fabric's message begins with INTENT: without a secret, and with one that does not help."""
    return _table()["cumulus-fabric"]["credentials"]
