# SPDX-License-Identifier: Apache-2.0
"""A model of many compute nodes with this project's charms, whose clients of Juju run side by side."""

import json
import threading

from operate.process import Output

from lab.juju import cli

FINDING = {"severity": "blocked", "subject": "0000:3b:00.0", "what": "no such port", "remedy": "see devices"}
CHARMS = ("nic-firmware", "roce-qos", "sriov-switchdev")


def status(nodes, lost=()):
    """What `juju status` tells; the agents of `lost` units are not heard from."""

    def unit(name):
        return {"juju-status": {"current": "lost" if name in lost else "idle"}}

    applications = {name: {"charm-name": name, "subordinate-to": ["nova-compute"]} for name in CHARMS}
    applications["nova-compute"] = {
        "charm-name": "nova-compute",
        "units": {
            f"nova-compute/{n}": {"subordinates": {f"{name}/{n}": unit(f"{name}/{n}") for name in CHARMS}}
            for n in range(nodes)
        },
    }
    return {"applications": applications}


class Fleet(cli.Client):
    """All units are healthy, but for `failing` ones, whose verify has that finding."""

    def __init__(self, nodes, lost=()):
        model = {"status": status(nodes, lost)}
        super().__init__({**cli.EMPTY, "calls": [], "models": {"c:m": model}, "current": "c:m"})
        self.failing, self.lock = set(), threading.Lock()

    def __call__(self, command, given, seconds, *, shown=False):
        """One call of the client; they answer one after the other."""
        with self.lock:
            out, error, code = cli.answer(self, command[1:])
        return Output(code, out, error)

    def act(self, unit, action):
        if action == "show-health":
            return {"results": {"health": "[]"}}
        found = [FINDING] if unit in self.failing else []
        return {"results": {"verified": str(not found).lower(), "findings": json.dumps(found)}}
