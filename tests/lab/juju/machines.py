# SPDX-License-Identifier: Apache-2.0
"""The machines of :mod:`lab.juju.simulated`: their boots, files and agents' logs, and commands on them.

As `juju exec --machine` does (juju/juju, internal/worker/machineactions), a command runs as the user ubuntu,
who may read; sudo makes it root.
"""

import itertools
import json
import re
import shlex
import subprocess
import tempfile
import uuid
from pathlib import Path

from lab.juju import uniter
from lab.juju.cli import Refused

WRITES = re.compile(r"\b(mkdir|mv|rm)\b|>")
FILES = {
    "nic-firmware": ["dispatch-sriov-switchdev.path", "dispatch-roce-qos.path", "dispatch.service"],
    "sriov-switchdev": ["dispatch-nic-firmware.path", "dispatch.service"],
    "roce-qos": ["dispatch-nic-firmware.path", "dispatch-sriov-switchdev.path", "dispatch.service"],
}
"""Units of systemd that a charm has on a machine, by the end of their names."""


def log(agent, version, fault, *, leads, parted, gone):
    """Write a unit's agent's log: its first hooks, one of Juju 3 alone among them, and its last ones.

    Between them are those of the relations that it has `parted` from.
    """
    charm = agent.removeprefix("unit-").rpartition("-")[0]
    endpoints = {"cumulus-fabric": ["applied"], "roce-qos": ["juju-info"]}.get(charm, ["reboot", "juju-info"])
    first, met = uniter.of_a_new_unit(endpoints, leads=leads), [*uniter.MET]
    last = uniter.of_a_removed_unit(dict.fromkeys(endpoints, 1), ["reboot"]) if gone else []
    if fault == "starts before options":
        first[-2:] = reversed(first[-2:])
    if fault == "changed before joined":
        met.reverse()
    if fault == "removed before stop":
        last[-2:] = reversed(last[-2:])
    hooks = [*first, *(f"{end}-{hook}" for end in endpoints for hook in met), "update-status", *parted, *last]
    if version.startswith("3"):
        hooks.insert(hooks.index("start"), "leader-settings-changed")
    said = f"{agent}: 10:00:00 INFO juju.worker.uniter.operation"
    return "".join(f'{said} ran "{hook}" hook (via hook dispatching script: dispatch)\n' for hook in hooks)


class Machines:
    def __init__(self, fault):
        self.fault = fault
        self.boots, self.down, self.requests, self.again = {}, {}, {}, ""
        self.disks = Path(tempfile.mkdtemp())
        self.number = itertools.count(1000)

    def start(self, machine):
        if machine not in self.boots:
            self.boots[machine] = str(uuid.uuid4())
            for folder in ("etc/systemd/system", "run/ovn-offload"):
                (self.disks / machine / folder).mkdir(parents=True)

    def files(self, charm, machine, act):
        """Do something with each file that a charm has on a machine."""
        for end in FILES.get(charm, ()):
            act(self.disks / machine / f"etc/systemd/system/ovn-offload-{charm}-{end}")

    def reboot(self, machine):
        self.requests.pop(machine, None)
        for each in self.boots if self.fault == "reboots all" else [machine]:
            if self.fault != "no reboot":
                self.boots[each], self.down[each] = str(uuid.uuid4()), 2
        self.again = machine if self.fault == "reboots twice" else ""

    def pass_time(self):
        """A while has passed."""
        if self.again:
            self.boots[self.again], self.again = str(uuid.uuid4()), ""

    def execute(self, machine, command):
        """The task of a command, and why it failed."""
        if self.down.get(machine, 0):
            self.down[machine] -= 1
            raise Refused("timed out waiting for results from: machine " + machine)
        words = shlex.split(command)
        root = words[0] == "sudo"
        if root:
            assert words[1:4] == ["-n", "sh", "-c"], words
            command = words[4]
        task = {"id": str(next(self.number)), "status": "completed", "results": {"return-code": 0}}
        if not root and (refused := self.refusal(command)):
            task["status"], task["results"] = "failed", {"return-code": 1, "stderr": refused}
            return {machine: task}, "the following task failed"
        task["results"]["stdout"] = self.shell(machine, command) + "\n"
        return {machine: task}

    def refusal(self, command):
        """Why the user ubuntu may not do this."""
        if "systemd-run" in command:
            return "Failed to start transient timer unit: Interactive authentication required."
        return "sh: Permission denied" if WRITES.search(command) else ""

    def shell(self, machine, command):
        """Return a command's output; paths in /etc, /run and /usr/lib are the machine's."""
        disk = self.disks / machine
        if command.startswith("cat /proc"):
            return self.boots[machine]
        if command.startswith("systemd-run"):
            self.reboot(machine)
            return ""
        if command.startswith("systemctl list-units"):
            return ""
        here = re.sub(r"(?<=[ ;])/(etc|run|usr/lib)/", rf"{disk}/\1/", command)
        done = subprocess.run(["sh", "-c", here], capture_output=True, text=True, check=True)
        asked = disk / "run/ovn-offload/sriov-switchdev.json"
        if asked.exists():
            request = json.loads(asked.read_text())
            assert request["reboot"]["ready"]
            assert request["reboot_owner"] == "nic-firmware"
            self.requests[machine] = request
            asked.unlink()
        return done.stdout.replace(str(disk), "").strip()
