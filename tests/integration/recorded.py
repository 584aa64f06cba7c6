# SPDX-License-Identifier: Apache-2.0
"""The hooks that this controller runs, a file in the form of tests/lab/juju/hooks.yaml (--record-hooks)."""

from collections import defaultdict
from pathlib import Path

import yaml
from integration.deployment import Deployment
from integration.said import CHARMS

HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# Recorded on Juju {version} by tox -e integration -- --record-hooks: names and order, without update-status,
# which comes with time. "deployed", of a unit that leads, until every unit has said what it lacks; "changes",
# what each unit ran in each test.
"""


class Recording:
    """Written after each test, so that a run which fails leaves what it has seen."""

    def __init__(self, path: Path, version: str) -> None:
        self._path, self._head = path, HEAD.format(version=version)
        self._ran: dict[str, int] = defaultdict(int)  # by unit, also those that are gone by now
        self._deployed: dict[str, list[str]] = defaultdict(list)
        self._changes: dict[str, dict[str, list[str]]] = {}

    def note(self, deployment: Deployment, change: str) -> None:
        """Take what each unit has run since the last time; without a ``change`` it was the deployment."""
        status = deployment.juju.status()
        for charm in (charm for charm in CHARMS if charm in status.apps):
            for unit in status.get_units(charm):
                self._ran[unit] += 0
        new = dict[str, list[str]]()
        for unit, before in sorted(self._ran.items()):
            ran = [hook for hook in deployment.hooks_of(unit) if hook != "update-status"]
            self._ran[unit] = len(ran)
            new |= {unit: ran[before:]} if ran[before:] else {}
        if change:
            self._changes |= {change: new} if new else {}
        else:
            for unit, hooks in new.items():
                self._deployed[unit] += hooks
        led = {unit.partition("/")[0]: ran for unit, ran in self._deployed.items() if "leader-elected" in ran}
        content = {"deployed": led, "changes": self._changes}
        self._path.write_text(self._head + yaml.safe_dump(content, sort_keys=False))
