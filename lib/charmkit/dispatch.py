# SPDX-License-Identifier: Apache-2.0
"""Wake this unit from outside a hook: systemd starts a service that has Juju dispatch the charm.

Three things cannot be done from inside a hook or an action: dispatch another charm of the machine (the
machine lock would deadlock), reboot from an action (``juju-reboot`` refuses), and come back in a minute.
All three start the same oneshot service, which is nobody's child: it runs ``juju-exec``, waits for the
machine lock like any hook, and dispatches ``update-status``.

A ``.path`` unit starts it when another charm's handover file changes. Hooks of one machine run one at a
time, so a change that comes while the service already waits is seen by the hook that it waits for.

Sources: systemd.path(5), systemd.timer(5); ``juju-exec`` of Juju 3 refuses only where ``JUJU_CONTEXT_ID``
is set, and a ``juju-reboot`` that it runs takes effect as one in a hook does.
"""

from collections.abc import Iterable, Sequence

from hostnic import handover, units
from hostnic.handover import Handover
from hostnic.system import System

AGENTS = "/var/lib/juju/agents"
"""One directory for each of Juju's agents on a machine."""


class Dispatcher:
    """The service that dispatches one Juju unit, with its ``.path`` unit and its timer.

    Args:
        system: the host.
        unit: the Juju unit to wake, ``sriov-switchdev/3``.
        charm: its charm's name.
        listens_to: the charms whose handover files wake it.

    """

    def __init__(self, system: System, unit: str, charm: str, listens_to: Sequence[str] = ()) -> None:
        self._system = system
        self._unit = unit
        self._name = f"ovn-offload-{charm}-dispatch"
        self._listens_to = tuple(listens_to)
        self._watched = [handover.path_of(other) for other in listens_to]

    def install(self) -> bool:
        """Write and enable the units; True when something was written. Spawns nothing when all is there.

        Raises:
            OSError: a file cannot be written, or systemd refuses.

        """
        watcher = f"{self._name}.path"
        changed = {name: text for name, text in self._files().items() if self._differs(name, text)}
        enabled = bool(self._watched) and units.enabled(self._system, watcher)
        if not changed and (enabled or not self._watched):
            return False
        if enabled:
            # Disabled first and enabled last: that it is enabled says that all of this was done.
            self._system.run(["systemctl", "disable", "--no-reload", watcher])
        for name, text in changed.items():
            self._system.install(units.path(name), text.encode())
        if self._outdated():
            self._system.run(["systemctl", "daemon-reload"])
        if self._watched:
            self._system.run(["systemctl", "restart", watcher])
            self._system.run(["systemctl", "enable", "--no-reload", watcher])
        return True

    def remove(self) -> None:
        """Disable and delete the units; for the stop hook.

        A running service is left to end by itself: it may be what dispatched this very hook.
        """
        present = [name for name in self._files() if self._system.exists(units.path(name))]
        for name in present:
            if name.endswith(".path"):
                self._system.run(["systemctl", "disable", "--no-reload", name])
            if not name.endswith(".service"):
                self._system.run(["systemctl", "stop", name])
            self._system.remove(units.path(name))
        if present:
            self._system.run(["systemctl", "daemon-reload"])

    def silent(self, others: Iterable[Handover]) -> str:
        """The first of the charms listened to that lives on this machine and hands nothing over; or empty."""
        heard = {other.charm for other in others}
        unheard = [charm for charm in self._listens_to if charm not in heard]
        there = self._system.listdir(AGENTS) if unheard and self._system.exists(AGENTS) else []
        here = (charm for charm in unheard if any(name.startswith(f"unit-{charm}-") for name in there))
        return next(here, "")

    def now(self) -> None:
        """Dispatch the unit as soon as the running hook or action has ended."""
        self._system.run(["systemctl", "start", "--no-block", f"{self._name}.service"])

    def in_a_minute(self) -> None:
        """Dispatch the unit in a minute; again from the start when that was asked before."""
        self._system.run(["systemctl", "restart", f"{self._name}.timer"])

    def _outdated(self) -> bool:
        """Whether systemd has loaded one of the units as its file no longer is; a new one it has not."""
        show = ["systemctl", "show", "--property=NeedDaemonReload", "--value", *self._files()]
        return "yes" in self._system.run(show).split()

    def _files(self) -> dict[str, str]:
        command = f'/usr/bin/juju-exec -u {self._unit} "JUJU_DISPATCH_PATH=hooks/update-status ./dispatch"'
        service = _sections(
            # Many changes in a row are no failure; a start limit would stop the .path unit for good.
            Unit=[f"Description=Dispatch {self._unit} outside of any hook", "StartLimitIntervalSec=0"],
            # The unit's agent may be on its way up, or restarting for an upgrade: try again.
            Service=["Type=oneshot", f"ExecStart={command}", "Restart=on-failure", "RestartSec=30"],
        )
        timer = _sections(
            Unit=[f"Description=Dispatch {self._unit} in a minute"],
            Timer=["OnActiveSec=60", "AccuracySec=5"],
        )
        path = _sections(
            Unit=[
                f"Description=Dispatch {self._unit} when another charm of this machine hands something over"
            ],
            Path=[f"PathChanged={watched}" for watched in self._watched],
            Install=["WantedBy=multi-user.target"],
        )
        files = {f"{self._name}.service": service, f"{self._name}.timer": timer}
        return {**files, f"{self._name}.path": path} if self._watched else files

    def _differs(self, name: str, text: str) -> bool:
        path = units.path(name)
        return not self._system.exists(path) or self._system.read(path) != text


def _sections(**sections: Sequence[str]) -> str:
    return "\n".join(
        f"[{name}]\n" + "".join(f"{line}\n" for line in lines) for name, lines in sections.items()
    )
