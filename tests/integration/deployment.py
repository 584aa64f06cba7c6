# SPDX-License-Identifier: Apache-2.0
"""The charms of one model, through Jubilant: what they say, and waiting until they have said it.

A status is old until the agent has handled what was just changed, and the agent may look idle until then. So
nothing here waits for a status alone: `says` waits for words that only the new state has, on every unit.
"""

import contextlib
import re
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jubilant
from integration.said import HOST_CHARMS, Said, Value

SETTLE = 1800
"""Seconds for machines to start and packages to be installed."""

HOOK = 600
"""Seconds for a hook to run on each machine, one that waits for another charm's included."""

STEMS = {"nic-firmware": "nic-firmware gpudirect", "sriov-switchdev": "sriov", "roce-qos": "roce-qos"}
"""The text after ``ovn-offload-`` in the names of a charm's systemd units and udev rules."""

BOOT_ID = "cat /proc/sys/kernel/random/boot_id"

RAN = re.compile(r' ran "([\w-]+)" hook \(via ')
"""The line in a unit's agent's log after each hook."""

OF_JUJU_3 = ("leader-settings-changed", "meter-status-changed")
"""Hooks that Juju 4 no longer has, and of which the charms know nothing."""


def stands(status: jubilant.Status, app: str, count: int, name: str, says: str) -> bool:
    """Every unit has this status, its message begins with these words, and its agent has nothing to do."""
    if app not in status.apps:
        return False
    units = status.get_units(app).values()
    return len(units) == count and all(
        unit.workload_status.current == name
        and unit.workload_status.message.startswith(says)
        and unit.juju_status.current == "idle"
        and not unit.upgrading_from
        for unit in units
    )


def gone(status: jubilant.Status, app: str) -> bool:
    """No unit of the application is left."""
    return app not in status.apps or not status.get_units(app)


def failed(status: jubilant.Status) -> bool:
    """A hook failed somewhere, or a machine did not start."""
    return jubilant.any_error(status) or any(
        machine.juju_status.current in ("error", "provisioning error")
        or machine.machine_status.current == "provisioning error"
        for machine in status.machines.values()
    )


def files_of(charm: str) -> str:
    """Shell patterns of the files that a charm may have on a machine, and of no other charm's."""
    found = [
        f"/run/ovn-offload/{charm}.*",
        f"/etc/ovn-offload/{charm}.*",
        f"/usr/lib/ovn-offload/{charm}",
        f"/usr/lib/ovn-offload/{charm}[-.]*",
    ]
    for stem in STEMS.get(charm, charm).split():
        found.append(f"/etc/systemd/system/ovn-offload-{stem}[-.]*")
        found.append(f"/etc/udev/rules.d/*-ovn-offload-{stem}.rules")
    return " ".join(found)


class Answer(NamedTuple):
    """The result of an action: whether it succeeded, its results by name, and why it failed."""

    succeeded: bool
    results: Mapping[str, Any]
    message: str

    @property
    def text(self) -> str:
        """All of it. Results have no order of their own: Juju returns them in the order of their names."""
        return "\n".join([*map(str, self.results.values()), self.message])


class Deployment:
    """A model in which the charms are on `machines` units of PRINCIPAL, an application."""

    PRINCIPAL = "principal"

    def __init__(self, juju: jubilant.Juju, machines: int) -> None:
        self.juju = juju
        self.machines = machines

    def count(self, app: str) -> int:
        return self.machines if app in HOST_CHARMS else 1

    def deploy(
        self, principal: Path | str, artifacts: Mapping[str, Path], constraints: Mapping[str, str]
    ) -> None:
        self.juju.deploy(
            principal,
            self.PRINCIPAL,
            base="ubuntu@22.04",
            num_units=self.machines,
            constraints=constraints or None,
        )
        for name, path in artifacts.items():
            place = {} if name in HOST_CHARMS else {"to": "0"}
            self.juju.deploy(path, name, base="ubuntu@22.04", **place)
            if name in HOST_CHARMS:
                self.relate(name)

    def relate(self, app: str) -> None:
        self.juju.integrate(f"{self.PRINCIPAL}:juju-info", f"{app}:juju-info")

    def settles(self, said: Said, patience: float = HOOK) -> None:
        """With the default options."""
        self.says(said.charm, said.status, said.says, patience)

    def says(self, app: str, name: str, words: str, patience: float = HOOK) -> None:
        self.juju.wait(
            lambda status: stands(status, app, self.count(app), name, words),
            error=failed,
            timeout=patience,
            successes=2,
        )

    def refuses(self, app: str, value: Value, *, reset: str = "") -> None:
        """Set a value that is refused; `reset` is an option that was set before."""
        options = [] if reset in ("", value.option) else [reset]
        self.juju.config(app, {value.option: value.value}, reset=options)
        self.says(app, "blocked", value.says)

    def accepts(self, said: Said, value: Value, *, refused: Value) -> None:
        """Set a value that is accepted after one that was refused, whose words it takes away."""
        options = [] if refused.option == value.option else [refused.option]
        self.juju.config(said.charm, {value.option: value.value}, reset=options)
        self.says(said.charm, said.status, value.says or said.says)

    def units(self, app: str) -> list[str]:
        return sorted(self.juju.status().get_units(app))

    def hooks_of(self, unit: str) -> list[str]:
        """List the hooks that a unit has run since it was deployed, in order."""
        agent = f"unit-{unit.replace('/', '-')}"
        log = self.juju.cli("debug-log", "--limit", "0", "--include", agent)
        return [hook for hook in RAN.findall(log) if hook not in OF_JUJU_3]

    def leader(self, app: str) -> str:
        """Its name. For a while after a change no unit leads."""

        def leaders(status: jubilant.Status) -> list[str]:
            return [name for name, unit in status.get_units(app).items() if unit.leader]

        status = self.juju.wait(lambda status: bool(leaders(status)), timeout=HOOK, successes=1)
        return leaders(status)[0]

    def machine_of(self, unit: str) -> str:
        """A subordinate is on its principal's machine."""
        for name, principal in self.juju.status().get_units(self.PRINCIPAL).items():
            if unit in (name, *principal.subordinates):
                return principal.machine
        raise LookupError(f"{unit} is on none of the machines of {self.PRINCIPAL}")

    def act(self, unit: str, action: str, given: Mapping[str, Any] | None = None) -> Answer:
        """Run an action and wait for it."""
        try:
            task = self.juju.run(unit, action, given or None, wait=300)
        except jubilant.TaskError as error:
            return Answer(False, error.task.results, error.task.message)
        return Answer(True, task.results, "")

    def on_machine(self, machine: str, command: str) -> str:
        """Run a command as root on a machine, where Juju would run it as ubuntu, and return its output."""
        as_root = f"sudo -n sh -c {shlex.quote(command)}"
        return self.juju.exec(as_root, machine=machine, wait=120).stdout.strip()

    def left_by(self, charm: str) -> dict[str, str]:
        """Return each machine's remaining files of a charm; empty if none has any."""
        command = f"ls -d {files_of(charm)} 2>/dev/null || true"
        found = {
            machine: self.on_machine(machine, command) for machine in sorted(self.juju.status().machines)
        }
        return {machine: files for machine, files in found.items() if files}

    def wait_until_nothing_is_left_by(self, charm: str, patience: float = HOOK) -> None:
        """A unit is gone from the status before it has stopped; what it leaves is removed after that."""
        deadline = time.monotonic() + patience
        while left := self.left_by(charm):
            assert time.monotonic() < deadline, f"{charm} has left {left}"
            time.sleep(5)

    def boot_id(self, machine: str) -> str:
        """Empty while the machine does not answer."""
        with contextlib.suppress(jubilant.CLIError, jubilant.TaskError, TimeoutError, ValueError):
            return self.juju.exec(BOOT_ID, machine=machine, wait=30).stdout.strip()
        return ""

    def wait_for_reboot(self, machine: str, before: str, patience: float = SETTLE) -> None:
        deadline = time.monotonic() + patience
        while (now := self.boot_id(machine)) in ("", before):
            assert time.monotonic() < deadline, f"machine {machine} did not reboot: {now or 'no answer'}"
            time.sleep(5)

    def refresh(self, app: str, artifact: Path) -> None:
        """Refresh one application, and wait until each unit runs the other revision."""
        before = self.juju.status().apps[app].charm_rev
        self.juju.refresh(app, path=artifact)
        self.juju.wait(
            lambda status: (
                status.apps[app].charm_rev != before
                and all(
                    not unit.upgrading_from and unit.juju_status.current == "idle"
                    for unit in status.get_units(app).values()
                )
            ),
            error=failed,
            timeout=HOOK,
        )
