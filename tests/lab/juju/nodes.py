# SPDX-License-Identifier: Apache-2.0
"""Compute nodes that ask for a reboot, and reboot once it is approved, beside a simulated Nova."""

import json

from lab.juju import cli
from lab.juju.deployed import Here

CHARMS = ("nic-firmware", "sriov-switchdev")
FINDING = {"severity": "blocked", "subject": "bond0", "what": "no VF-LAG", "remedy": "see verify"}


class Nodes(Here):
    """One machine for each compute host of `nova`; sriov-switchdev owns the reboots.

    `needing` are hosts that ask for a reboot. A host that reboots is away for `looks` actions. The `ill` do
    not verify. `stopped` are the instances that ran on a host when it went down.

    `firmware` has for a host what runs on its NIC, what is in flash, and the image that nic-firmware has. A
    reboot of those in `keeps` does not start what is in flash. `burned` are hosts in the order of burns; each
    asks for its reboot after `hooks` looks at its plan.
    """

    def __init__(self, nova, needing=(), looks=1):
        self.nova, self.looks = nova, looks
        self.hosts = {f"sriov-switchdev/{number}": host for number, host in enumerate(nova.hosts)}
        self.needing, self.away, self.ill = set(needing), {}, set()
        self.approved, self.stopped, self.refuses = [], [], ""
        self.firmware, self.burned, self.keeps = {}, [], set()
        self.hooks, self._asks = 0, {}
        super().__init__({"status": self.status()})

    def status(self):
        machines, units = {}, {}
        for number, host in enumerate(self.nova.hosts):
            machines[str(number)] = {"hostname": host.partition(".")[0]}
            said = {"workload-status": {"current": "blocked", "message": "Needs a reboot"}}
            units[f"nova-compute/{number}"] = {
                "machine": str(number),
                "subordinates": {f"{charm}/{number}": {**said} for charm in CHARMS},
            }
        applications = {charm: {"charm-name": charm, "subordinate-to": ["nova-compute"]} for charm in CHARMS}
        applications["nova-compute"] = {"charm-name": "nova-compute", "units": units}
        return {"machines": machines, "applications": applications}

    def act(self, unit, action, given):
        host = self.hosts[f"sriov-switchdev/{unit.partition('/')[2]}"]
        if host in self.away:
            self.away[host] -= 1
            if self.away[host] >= 0:
                raise cli.Refused(f"timed out waiting for results from: unit {unit}")
            self._back(host)
        if action == "approve-reboot":
            return self._approve(given["unit"])
        if action in ("list-firmware", "burn"):
            return self._flash(unit, host, action, given)
        owner = unit.startswith("sriov-switchdev/")
        if owner and action == "plan" and host in self._asks:
            self._asks[host] -= 1
            if self._asks[host] < 0:
                del self._asks[host]
                self.needing.add(host)
        needs = owner and host in self.needing
        if action == "plan":
            return {"results": {"plan": "[]", **({"instances": f"{unit}: 0"} if needs else {})}}
        found = [FINDING] if owner and host in self.ill else []
        verified = str(not (needs or found)).lower()
        return {"results": {"verified": verified, "findings": json.dumps(found)}}

    def _approve(self, unit):
        if self.refuses:
            return {"status": "failed", "message": self.refuses}
        host = self.hosts[unit]
        self.approved.append(host)
        self.stopped += [
            each["name"]
            for each in self.nova.servers.values()
            if each["OS-EXT-SRV-ATTR:host"] == host and each["status"] in ("ACTIVE", "PAUSED")
        ]
        self.away[host] = self.looks
        self.nova.down.add(host)
        return {"results": {"approved": unit}}

    def _flash(self, unit, host, action, given):
        card = self.firmware[host]
        if action == "burn":
            if card["image"] < card["flash"] and given.get("allow-older") != "true":
                return {"results": {"burned": "nothing", "left-alone": "flash has a newer one"}}
            self.burned.append(host)
            card["flash"] = card["image"]
            self._asks[host] = self.hooks
            return {"results": {"burned": f"burn firmware {card['image']}"}}
        return {"results": {"firmware": json.dumps([{"nic": "0000:3b:00", "psid": "MT_0000000359", **card}])}}

    def _back(self, host):
        if host in self.firmware and host not in self.keeps:
            self.firmware[host]["running"] = self.firmware[host]["flash"]
        del self.away[host]
        self.nova.down.discard(host)
        self.needing.discard(host)
