# SPDX-License-Identifier: Apache-2.0
"""A model with all of this project's charms, whose applications go when they are removed.

Source: juju/juju 3.6, cmd/juju/application/removeapplication.go. What the charms answer is what
tests/unit compares for each of them.
"""

import json

from lab.juju import cli
from lab.juju.nodes import Nodes

CHARMS = ("nic-firmware", "ovn-chassis", "roce-qos", "sriov-switchdev")
BEFORE = {"LAG_RESOURCE_ALLOCATION": 0, "NUM_OF_VFS": 4, "NUM_VF_MSIX": 11, "SRIOV_EN": 0}
DECLARED = {"LAG_RESOURCE_ALLOCATION": 1, "NUM_OF_VFS": 8, "NUM_VF_MSIX": 63, "SRIOV_EN": 1}
PORT = "0000:3b:00.0"


class Leaving(Nodes):
    """Each host has 8 VFs on `enp59s0f0np0`, and a NIC whose firmware was another one before.

    `next_boot` has the firmware's values by host, `flash` the version before a burn, `vfs` the number of VFs.
    An application is gone `slow` looks after its removal. `done` has the writes. `breaks` is the number
    of the write at which the client is interrupted, before it or, with `loses`, after it.
    """

    def __init__(self, nova, needing=()):
        self.next_boot = {host: dict(DECLARED) for host in nova.hosts}
        self.vfs = dict.fromkeys(nova.hosts, 8)
        self.flash, self.given_back, self.going, self.slow = {}, set(), {}, 2
        self.breaks, self.loses, self.done = None, False, []
        super().__init__(nova, needing)
        self.known["models"]["c:m"]["config"] = {"ovn-chassis": {"sriov-numvfs": "none:0"}}
        self.known["models"]["c:m"]["defaults"] = {"ovn-chassis": {"sriov-numvfs": None}}

    @property
    def model_status(self):
        return self.known["models"]["c:m"]["status"]

    def status(self):
        found = super().status()
        for number in range(len(self.nova.hosts)):
            unit = found["applications"]["nova-compute"]["units"][f"nova-compute/{number}"]
            unit["subordinates"] |= {f"{charm}/{number}": {} for charm in ("ovn-chassis", "roce-qos")}
        for charm in CHARMS:
            found["applications"][charm] = {"charm-name": charm, "subordinate-to": ["nova-compute"]}
        fabric = {"charm-name": "cumulus-fabric", "units": {"cumulus-fabric/0": {"machine": "9/lxd/0"}}}
        found["applications"]["cumulus-fabric"] = fabric
        return found

    def do_status(self, options, words):
        for name in [name for name, looks in self.going.items() if looks <= 0]:
            self._gone(name)
        self.going = {name: looks - 1 for name, looks in self.going.items()}
        return super().do_status(options, words)

    def do_remove_application(self, options, words):
        (name,) = words
        if not options.no_prompt:
            raise cli.Refused("EOF")  # it asks, and nobody answers
        if name not in self.model_status["applications"]:
            raise cli.Refused(f'application "{name}" not found')
        self._write(lambda: self.going.setdefault(name, self.slow), f"remove {name}")

    def do_config(self, options, words):
        if len(words) == 1:
            return super().do_config(options, words)
        return self._write(lambda: super(Leaving, self).do_config(options, words), f"config {words[0]}")

    def act(self, unit, action, given):
        name, _, number = unit.partition("/")
        if name not in self.model_status["applications"]:
            raise cli.Refused(f'unit "{unit}" not found')
        host = self.hosts[f"sriov-switchdev/{number}"]
        if action == "list-devices":
            row = {"port": PORT, "netdev": "enp59s0f0np0", "vfs": str(self.vfs[host]), "wanted": "8 VFs"}
            other = {"port": "0000:5e:00.0", "netdev": "eno1", "vfs": "4", "wanted": "not selected"}
            return {"results": {"devices": json.dumps([row, other])}}
        if action == "backup":
            values = BEFORE if given.get("before") == "true" else self.next_boot[host]
            flash = f"# flash had {self.flash[host]}\n" if host in self.flash and values is BEFORE else ""
            lines = "".join(f"{name}={value}\n" for name, value in values.items())
            return {"results": {"backup-0000-3b-00-0": f"# {PORT}\n{flash}{lines}"}}
        if action == "restore":
            return self._write(lambda: self._restore(host, given), f"restore {host}")
        return super().act(unit, action, given)

    def _restore(self, host, given):
        if given.get("before") != "true":
            return {"status": "failed", "message": "parameter device: 'auto' is not allowed"}
        kept = given.get("keep", "").split()
        self.next_boot[host] |= {name: value for name, value in BEFORE.items() if name not in kept}
        self.given_back.add(host)
        return {"results": {"done": "set", "left-out": "none"}}

    def _gone(self, name):
        del self.model_status["applications"][name]
        for unit in self.model_status["applications"]["nova-compute"]["units"].values():
            beside = unit["subordinates"]
            unit["subordinates"] = {key: it for key, it in beside.items() if not key.startswith(f"{name}/")}
        del self.going[name]

    def _write(self, write, what):
        if self.breaks is not None and len(self.done) + 1 == self.breaks and not self.loses:
            raise KeyboardInterrupt
        said = write()
        self.done.append(what)
        if self.breaks == len(self.done) and self.loses:
            raise KeyboardInterrupt
        return said
