# SPDX-License-Identifier: Apache-2.0
"""Wake this unit from outside a hook: systemd starts a service that has Juju dispatch the charm.

Three things cannot be done from inside a hook or an action: dispatch another charm of the machine (the
machine lock would deadlock), reboot from an action (``juju-reboot`` refuses), and come back later.
All three start the same oneshot service, which is not a child of any hook: it runs ``juju-exec``, waits for
the machine lock like any hook, and dispatches ``update-status``. If juju-exec fails, the service tries again
for about ten minutes, and the last message becomes a finding.

For each charm that this one listens to a ``.path`` unit starts the service when that charm's handover file
changes. Hooks of one machine run one at a time, so a change that comes while the service already waits is
seen by the hook that it waits for.

Juju may remove a unit without running its stop hook: 4.0 does when the principal of a subordinate is
removed, and any version does with ``--force``. The unit's agent directory is then gone, as after any
removal. The service looks for it before each attempt, and one more ``.path`` unit notices when it disappears:
the units then remove themselves and the unit's handover file. What the charm installed for the next boot
stays, since the host's instances may depend on it.

Sources: systemd.path(5), systemd.timer(5); ``juju-exec`` of Juju 3 refuses only where ``JUJU_CONTEXT_ID``
is set, and a ``juju-reboot`` that it runs takes effect as one in a hook does; it says that a unit is not on
this machine where the agent's directory is absent (cmd/jujud/run), which the deployer deletes
(internal/worker/deployer, ``RecallUnit``).
"""

import contextlib
from collections.abc import Iterable, Sequence

from converge import Finding, Severity
from hostnic import handover
from hostnic.boot import sandbox, units
from hostnic.boot.sandbox import Does
from hostnic.handover import Handover
from hostnic.system import CommandError, NotOwnError, System, read_own

from charmkit.dispatch.files import ATTEMPTS, Names, contents

SUBJECT = "the service that wakes this unit"
SOON = 60
"""Seconds until the next look at what goes on without this unit, such as a boot unit or a download."""

THERE = ("already exists", "already loaded")
"""systemd's words for a transient unit that is still there (src/core/dbus-manager.c)."""

MAX_CHARS = 200
"""Characters of juju-exec's last words in a finding: they may come from anything that a hook ran."""


class Dispatcher:
    """The service that dispatches one Juju unit, with its ``.path`` units and its timer.

    An instance serves one hook or action.

    Args:
        system: the host.
        unit: the Juju unit to wake, ``sriov-switchdev/3``.
        charm: its charm's name.
        listens_to: the charms whose handover files wake it.

    """

    def __init__(self, system: System, unit: str, charm: str, listens_to: Sequence[str] = ()) -> None:
        self._system = system
        self._names = Names(unit, charm)
        self._listens_to = tuple(listens_to)
        self._wakes_in: int | None = None

    def install(self, *, wakes: bool = True) -> bool:
        """Write and enable the units; True when something was written. Spawns nothing when all is there.

        Unless the unit ``wakes`` on hand-overs of other charms, only what sees Juju remove it is installed;
        what is there already stays.

        Raises OSError if a file cannot be written, or systemd refuses.
        """
        if not wakes and self._system.files.exists(units.path(self._names.service)):
            return False
        watched = {charm: handover.path_of(charm) for charm in self._listens_to}
        wanted = contents(self._names, watched if wakes else None)
        changed = {path: text for path, text in wanted.items() if self._differs(path, text)}
        names = [path.rpartition("/")[2] for path in wanted if path != self._names.script]
        watchers = [name for name in names if name.endswith(".path")]
        stale = [name for name in self._present() if name not in names]
        enabled = [name for name in (*stale, *watchers) if units.enabled(self._system, name)]
        if not changed and not stale and enabled == watchers:
            return False
        if enabled:
            # Disabled first and enabled last: that all are enabled says that all of this was done.
            self._system.run(["systemctl", "disable", "--no-reload", *enabled])
        for path, text in changed.items():
            self._system.files.install(path, text.encode())
        if self._system.files.exists(self._names.failed):
            self._system.files.remove(self._names.failed)  # of other files, perhaps of an earlier unit
        if stale:
            self._system.run(["systemctl", "stop", *stale])
            for name in stale:
                self._system.files.remove(units.path(name))
        units.reload(self._system, names)
        self._system.run(["systemctl", "restart", *watchers])
        self._system.run(["systemctl", "enable", "--no-reload", *watchers])
        return True

    def remove(self, *, guarded: bool = False) -> None:
        """Disable and delete the units; for the stop hook.

        What sees Juju remove the unit stays if ``guarded``.

        A running service is left to end by itself: it may be what dispatched this very hook.
        """
        kept = (self._names.guard, self._names.removal) if guarded else ()
        present = [name for name in self._present() if name not in kept]
        watchers = [name for name in present if name.endswith(".path")]
        if watchers:
            self._system.run(["systemctl", "disable", "--no-reload", *watchers])
        if starters := [name for name in present if not name.endswith(".service")]:
            self._system.run(["systemctl", "stop", *starters])
            self._forget_later()
        others = () if guarded else (self._names.script, self._names.failed)
        for path in (*map(units.path, present), *others):
            if self._system.files.exists(path):
                self._system.files.remove(path)
        if present:
            self._system.run(["systemctl", "daemon-reload"])

    def unheard(self, others: Iterable[Handover]) -> str:
        """The first of the charms listened to that lives on this machine and hands nothing over; or empty."""
        heard = {other.charm for other in others}
        missing = [charm for charm in self._listens_to if charm not in heard]
        agents = handover.AGENTS
        there = self._system.files.listdir(agents) if missing and self._system.files.exists(agents) else []
        here = (charm for charm in missing if any(name.startswith(f"unit-{charm}-") for name in there))
        return next(here, "")

    def failed(self) -> tuple[Finding, ...]:
        """A warning when the service gave up the last time, with what juju-exec said."""
        try:
            if not self._system.files.exists(self._names.failed):
                return ()
            said = " ".join(read_own(self._system, self._names.failed).split())[:MAX_CHARS]
        except OSError:
            return ()  # the service has been started again meanwhile
        what = f"gave up after {ATTEMPTS} attempts: {said or 'juju-exec said nothing'}"
        service = self._names.service
        remedy = f"fix what journalctl -u {service} shows; then run systemctl start {service}"
        return (Finding(Severity.WARNING, SUBJECT, what, remedy),)

    def now(self) -> None:
        """Dispatch the unit as soon as the running hook or action has ended.

        A unit that has not looked at its host yet has no service: Juju may run an action before
        config-changed, which follows by itself.
        """
        if not self._system.files.exists(units.path(self._names.service)):
            return
        self._system.run(["systemctl", "start", "--no-block", self._names.service])

    def after(self, seconds: int) -> None:
        """Dispatch the unit in so many seconds, or earlier if this hook has asked for that.

        This replaces what an earlier hook asked for: each hook asks for all that it waits for.
        """
        if self._wakes_in is not None and self._wakes_in <= seconds:
            return
        self._forget_later()
        timer = ("--collect", f"--unit={self._names.later}", f"--on-active={seconds}")
        accuracy = "--timer-property=AccuracySec=5"  # systemd-run's own is a minute
        command = ("systemctl", "start", "--no-block", self._names.service)
        rights = sandbox.properties(Does.STARTS_UNITS)
        argv = ["systemd-run", "--quiet", *timer, accuracy, *rights, *command]
        try:
            self._system.run(argv)
        except CommandError as error:
            if not any(words in str(error) for words in THERE):
                raise
            self._forget_later("service")  # an earlier timer has just started it
            self._system.run(argv)
        self._wakes_in = seconds

    def _forget_later(self, kind: str = "timer") -> None:
        with contextlib.suppress(OSError):  # not loaded: nothing to stop
            self._system.run(["systemctl", "stop", f"{self._names.later}.{kind}"])

    def _present(self) -> list[str]:
        """This charm's units on the machine; also those that watch a charm no longer listened to."""
        stem = self._names.stem
        return units.installed(self._system, (f"{stem}.", f"{stem}-"))

    def _differs(self, path: str, text: str) -> bool:
        try:
            return read_own(self._system, path) != text
        except (FileNotFoundError, NotOwnError):
            return True
