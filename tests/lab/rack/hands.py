# SPDX-License-Identifier: Apache-2.0
"""The rack's answers to commands of the acceptance tool on an operator's machine: `juju`, `ssh` to servers.

Juju's actions and `juju exec` run on the rack's units and nodes. A server is a namespace here
(:mod:`lab.cloud.compute.driver`), and ssh is a shell in it, found by the floating IP that it is called with.
"""

import json
import threading
from collections.abc import Callable
from typing import Any

from operate.process import Output

from lab.cloud.node import ROOT
from lab.guest import GuestError
from lab.rack.build import Rack

TOOLS = f'PATH=$PATH:{ROOT}/usr/bin\nvirsh() {{ chroot {ROOT} virsh "$@"; }}\ncloud-init() {{ :; }}\n'
"""The commands that nodes and servers lack and the cloud's disk has; cloud-init has nothing to wait for."""

LIMIT = 600.0
"""Seconds for a command that has no limit of its own."""
Place = tuple[str, str]
"""A server's compute node, and its name there."""


class Hands:
    """A process runner for :class:`acceptance.__main__.Around`.

    Args:
        rack: that the commands are about.
        place: of the server with a floating IP.

    """

    def __init__(self, rack: Rack, place: Callable[[str], Place]) -> None:
        self.rack, self._place = rack, place
        self._one = threading.Lock()

    def __call__(
        self, command: list[str], given: str, seconds: float | None, *, shown: bool = False
    ) -> Output:
        """One command; those that a tool runs side by side come one after the other."""
        del shown
        seconds = LIMIT if seconds is None else seconds
        with self._one:
            if command[0] == "ssh":
                return self._server(command[-2].rpartition("@")[2], given, seconds)
            verb, arguments = command[1], command[4:]
            answer = {"status": self._status, "exec": self._exec, "run": self._run}[verb]
            try:
                return Output(0, json.dumps(answer(arguments, seconds)))
            except TimeoutError as error:
                return Output(1, "", f"ERROR timed out waiting for results: {error}")

    def _server(self, address: str, script: str, seconds: float) -> Output:
        node, name = self._place(address)
        return self._shell(node, ["ip", "netns", "exec", name, "bash", "-c", TOOLS + script], seconds)

    def _shell(self, node: str, command: list[str], seconds: float) -> Output:
        work = {node: lambda guest: guest.run(command, check=False, timeout=4 * seconds)}
        try:
            done = self.rack.floor.each("", work, patience=4 * seconds + 60)[node]
        except GuestError as error:
            return Output(255, "", str(error))
        return Output(done.returncode, done.stdout, done.stderr)

    def _status(self, arguments: list[str], seconds: float) -> dict[str, Any]:
        """`juju status`, as far as the tool reads it."""
        del arguments, seconds
        units, away = self.rack.controller.units.values(), self.rack.controller.away
        machines = {str(number): {"hostname": name} for name, number in self.rack.nodes.items()}
        computes = {
            f"nova-compute/{number}": {
                "machine": str(number),
                "subordinates": {
                    unit.name: {
                        "workload-status": dict(zip(("current", "message"), unit.status)),
                        "juju-status": {"current": "lost" if away(name) else "idle"},
                    }
                    for unit in units
                    if unit.machine.name == name
                },
            }
            for name, number in self.rack.nodes.items()
        }
        applications: dict[str, Any] = {
            name: {"charm-name": app.charm} for name, app in self.rack.deployment.applications.items()
        }
        applications["nova-compute"] = {"charm-name": "nova-compute", "units": computes}
        return {"machines": machines, "applications": applications}

    def _exec(self, arguments: list[str], seconds: float) -> dict[str, Any]:
        unit, script = arguments[arguments.index("--unit") + 1], arguments[-1]
        node = next(name for name, number in self.rack.nodes.items() if unit == f"nova-compute/{number}")
        done = self._shell(node, ["bash", "-c", TOOLS + script], seconds)
        results = {"return-code": done.status, "stdout": done.text, "stderr": done.error}
        return {unit: {"results": results}}

    def _run(self, arguments: list[str], seconds: float) -> dict[str, Any]:
        receiver, action, *parameters = (each for each in arguments if not each.startswith("--"))
        application, _, number = receiver.partition("/")
        unit = self.rack.controller.leaders[application] if number == "leader" else receiver
        given = dict(each.split("=", 1) for each in parameters)
        result = self.rack.controller.ask(unit, action, patience=4 * seconds, **given)
        if result.failure:
            return {unit: {"status": "failed", "message": result.failure}}
        return {unit: {"status": "completed", "results": result.results}}
