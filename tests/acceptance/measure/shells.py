# SPDX-License-Identifier: Apache-2.0
"""Processes on this machine, and through them shells on servers (ssh) and on compute nodes (Juju)."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from converge import StepError

WORDS = 300
"""Characters of a command's message that a sentence quotes."""


class Output(NamedTuple):
    """What a process left: exit status, standard output, standard error."""

    status: int
    text: str
    error: str = ""


Process = Callable[[list[str], str, float], Output]
"""Runs a command with this standard input for at most so many seconds. Tests and the lab pass their own."""


def process(command: list[str], given: str, seconds: float) -> Output:
    """Run a command on this machine.

    Raises:
        StepError: it is not installed, or does not end in time.

    """
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=seconds, check=False
        )
    except FileNotFoundError:
        raise StepError(f"{command[0]} is not installed here", f"install it: {command[0]}") from None
    except subprocess.TimeoutExpired:
        raise StepError(f"{command[0]} did not answer within {seconds:.0f} s") from None
    return Output(done.returncode, done.stdout, done.stderr)


class Shell(Protocol):
    """Root's shell on some machine."""

    def run(self, script: str, seconds: float) -> str:
        """Run a bash script and return its standard output.

        Raises:
            StepError: the machine cannot be reached, or the script fails.

        """
        ...


def _last_words(output: Output) -> str:
    lines = [line.strip() for line in (output.error or output.text).splitlines() if line.strip()]
    return (lines[-1] if lines else f"exit status {output.status}")[:WORDS]


class Ssh:
    """A server, at its floating IP. `known` is the file for its host key, one for each server."""

    def __init__(self, run: Process, name: str, login: str, key: Path, known: Path) -> None:
        self._run, self._name, self._login = run, name, login
        self.command = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15"]
        self.command += ["-o", "StrictHostKeyChecking=accept-new", "-o", f"UserKnownHostsFile={known}"]
        self.command += [*(["-i", str(key)] if key.exists() else []), login]

    def run(self, script: str, seconds: float) -> str:
        # All of the script is read first: a command in it would otherwise read the rest as its input.
        output = self._run([*self.command, 'sudo bash -c "$(cat)"'], script, seconds + 30)
        if output.status == 255:  # ssh's own
            remedy = f"try: ssh {self._login}; see: openstack console log show {self._name}"
            raise StepError(f"{self._name} cannot be reached by ssh: {_last_words(output)}", remedy)
        if output.status:
            raise StepError(f"{self._name}: {_last_words(output)}")
        return output.text


def _object(value: object) -> dict[str, Any]:
    """What Juju prints where it has a mapping, which may be null."""
    if value is not None and not isinstance(value, dict):
        raise StepError("juju prints something that this tool cannot read")
    return cast("dict[str, Any]", value or {})


class Juju:
    """The current Juju model."""

    def __init__(self, run: Process) -> None:
        self._run = run

    def ask(self, *arguments: str, seconds: float = 120) -> dict[str, Any]:
        """What a Juju command prints as JSON."""
        output = self._run(["juju", arguments[0], "--format", "json", *arguments[1:]], "", seconds)
        if output.status and not output.text.strip().startswith("{"):
            raise StepError(f"juju {arguments[0]}: {_last_words(output)}", "see: juju status")
        try:
            return _object(json.loads(output.text))
        except (ValueError, RecursionError):
            raise StepError(f"juju {arguments[0]} prints something that is no JSON") from None

    def action(self, unit: str, action: str, *parameters: str) -> dict[str, Any]:
        """The results of an action.

        Raises:
            StepError: it failed; the reason is the charm's.

        """
        task = self.ask("run", unit, action, *parameters, "--wait=5m", seconds=330)
        told = _object(next(iter(task.values()), None))  # under the unit that leads, for keystone/leader
        if told.get("status") != "completed":
            raise StepError(
                f"juju run {unit} {action}: {told.get('message') or told.get('status') or 'no answer'}"
            )
        return _object(told.get("results"))


class Node:
    """A compute node, through Juju: root's shell by `juju exec`, and the actions of the charms on it.

    `units` has the unit of each charm there.
    """

    def __init__(self, juju: Juju, name: str, units: dict[str, str]) -> None:
        self._juju, self.name, self.units = juju, name, units

    def run(self, script: str, seconds: float) -> str:
        unit = self.units["nova-compute"]
        # --parallel does not wait for the hooks of the machine's other units.
        options = [
            "--unit",
            unit,
            "--parallel",
            "--execution-group",
            "acceptance",
            f"--wait={seconds + 60:.0f}s",
        ]
        told = self._juju.ask("exec", *options, "--", script, seconds=seconds + 90)
        results = told.get(unit, {}).get("results", {})
        if results.get("return-code") != 0:
            error = results.get("stderr") or told.get(unit, {}).get("message") or "no answer"
            raise StepError(f"{self.name}: {str(error).strip().splitlines()[-1][:WORDS]}")
        return results.get("stdout", "")

    def table(self, charm: str, action: str, result: str) -> list[dict[str, str]]:
        """The rows that an action of one of this repository's charms prints."""
        if charm not in self.units:
            raise StepError(
                f"{self.name} has no unit of {charm}", f"deploy {charm} there; see: juju status {charm}"
            )
        text: Any = self._juju.action(self.units[charm], action, "format=json").get(result)
        try:
            rows: Any = json.loads(text)
            return [{str(key): str(cell) for key, cell in row.items()} for row in rows]
        except (ValueError, TypeError, AttributeError, RecursionError):
            what = f"action {action} of {self.units[charm]} prints no table {result}"
            raise StepError(what, "use this tool in the revision of the deployed charms") from None


def nodes(juju: Juju, hosts: list[str]) -> dict[str, Node]:
    """The compute nodes with these names of Nova's, by name; Juju knows the machines without their domain.

    Raises:
        StepError: Juju has no unit of nova-compute there.

    """
    status = juju.ask("status")
    machines = {
        number: {machine.get("hostname", ""), machine.get("dns-name", ""), machine.get("instance-id", "")}
        for number, machine in status["machines"].items()
    }
    charms = {name: each.get("charm-name", name) for name, each in status["applications"].items()}
    found: dict[str, Node] = {}
    computes = [status["applications"][name] for name, charm in charms.items() if charm == "nova-compute"]
    for application in computes:
        for unit, told in cast("dict[str, Any]", application.get("units") or {}).items():
            names = list(cast("dict[str, Any]", told.get("subordinates") or {}))
            beside = {charms[other.partition("/")[0]]: other for other in names}
            for host in hosts:
                if {host, host.partition(".")[0]} & machines.get(told["machine"], set()):
                    found[host] = Node(juju, host, {**beside, "nova-compute": unit})
    for host in hosts:
        if host not in found:
            raise StepError(
                f"Juju has no unit of nova-compute on {host}", "juju switch MODEL; see: juju status"
            )
    return found
