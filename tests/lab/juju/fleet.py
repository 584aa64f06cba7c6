# SPDX-License-Identifier: Apache-2.0
"""A model of many compute nodes with this project's charms, whose clients of Juju run side by side."""

import json
import threading

from lab.juju.deployed import Here, subordinates

FINDING = {"severity": "blocked", "subject": "0000:3b:00.0", "what": "no such port", "remedy": "see devices"}
CHARMS = ("nic-firmware", "roce-qos", "sriov-switchdev")


class Fleet(Here):
    """All units are healthy, but for `failing` ones, whose verify has that finding.

    The agents of `lost` units are not heard from.
    """

    def __init__(self, nodes, lost=()):
        applications = subordinates("nova-compute", CHARMS, nodes)
        for unit in applications["nova-compute"]["units"].values():
            for name in unit["subordinates"]:
                agent = {"current": "lost" if name in lost else "idle"}
                unit["subordinates"][name] = {"juju-status": agent}
        super().__init__({"status": {"applications": applications}})
        self.failing, self.lock = set(), threading.Lock()

    def __call__(self, *call, **named):
        """One call of the client; they answer one after the other."""
        with self.lock:
            return super().__call__(*call, **named)

    def act(self, unit, action, given):
        if action == "show-health":
            return {"results": {"health": "[]"}}
        found = [FINDING] if unit in self.failing else []
        return {"results": {"verified": str(not found).lower(), "findings": json.dumps(found)}}
