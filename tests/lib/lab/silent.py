# SPDX-License-Identifier: Apache-2.0
"""Machines and charms of the rack on which nothing happens but what Juju tells them, and their hooks."""

import json
from types import SimpleNamespace
from typing import Any

from lab.juju.remote import Result


class SilentGuest:
    """A machine on which no charm dispatches a hook by itself."""

    def __init__(self) -> None:
        self.known: list[dict[str, Any]] = []

    def run(self, command: str) -> Any:
        return SimpleNamespace(stdout="\n".join(["boot", *map(json.dumps, self.known), ""]))

    def kill(self) -> None:
        pass

    cut_power = power_cycle = kill

    def processes(self) -> list[int]:
        return []


class SilentRunner:
    """A charm that writes nothing into databags, but once for its application."""

    writes_at = "update_status"

    def __init__(self, guest: SilentGuest, app: str, **known: Any) -> None:
        self.guest, self.known = guest, {"app": app, "status": ["active", ""], **known}
        guest.known.append(self.known)
        self.ran: list[str] = []

    def emit(self, event: str, *, relations: list[dict[str, Any]], told: dict[str, str], **of: Any) -> Result:
        self.ran.append(event.replace("_", "-"))
        self.of = "application" if told.get("JUJU_REMOTE_UNIT") == "" else of.get("remote_unit")
        self.seen = {"relations": relations, "leader": of["leader"], "planned_units": of["planned_units"]}
        for kept in self.known["relations"]:
            kept.update(next(new for new in relations if new["id"] == kept["id"]))
            if event == self.writes_at:
                kept["local_app_data"] = {"policy": "new"}
        left, broken, _ = event.partition("_relation_broken")
        if broken:
            kept = [each for each in self.known["relations"] if each["endpoint"].replace("-", "_") != left]
            self.known["relations"] = kept
        return Result(("active", ""), False, self.known["relations"], [], [], {}, None)

    def remove(self) -> None:
        self.guest.known.remove(self.known)


def by_relation(ran: list[str]) -> list[str]:
    """With those of each relation together: Juju goes through a unit's relations in no order."""
    created = [hook for hook in ran if hook.endswith("-relation-created")]
    assert ran[1 : 1 + len(created)] == created
    first = ran.index("start") + 1
    met = sorted(ran[first:], key=lambda hook: hook.partition("-relation-")[0])
    return [ran[0], *sorted(created), *ran[1 + len(created) : first], *met]


def by_end(hooks: list[str]) -> list[str]:
    """With each relation's last hooks together: Juju goes through a unit's relations in no order."""
    return sorted(hooks[:-2], key=lambda hook: hook.partition("-relation-")[0]) + hooks[-2:]
