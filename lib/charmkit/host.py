# SPDX-License-Identifier: Apache-2.0
"""The four verbs on one machine, in the order that all host charms have in common.

    before_survey ─► survey ─► apply ─► survey again ─► wake-ups ─► publish ─► findings

A charm gives the verbs and its own words. Its ``survey`` is observe and plan; ``Survey.findings`` is verify.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

import ops
from converge import Finding, Plan, Severity, words
from converge.execute import Outcome, execute
from converge.finding import RETRIED
from converge.render import with_differences
from exporter import facts
from exporter.catalogue import PORT
from hostnic import exclusive, handover, own
from hostnic.machine import Machine
from hostnic.system import HostStep, System, read_boot_id, read_text

from charmkit import metrics
from charmkit.dispatch import dispatcher as dispatch
from charmkit.dispatch.dispatcher import Dispatcher
from charmkit.observability import Observability
from charmkit.reconcile import ActionError, InputError, Reconciler, Removed, answer

_AGAIN = f"{RETRIED}; see the kernel log of this host"
WAIT = 60.0
"""Seconds that a hook waits until no other program changes the host; then the next hook goes on."""

logger = logging.getLogger(__name__)

Announce = Callable[[HostStep], None]


class Survey(Protocol):
    """What one look at the host gives. Each charm's own has more: what is wanted, and what was observed.

    Attributes:
        plan: the steps towards the declared state.
        findings: what differs from that state, the plan's own findings included.
        accepted: what the options select can be used; else this unit does not ask to be woken.
        boot_at_work: the charm's boot units are at work: this unit looks again soon.

    """

    @property
    def plan(self) -> Plan[System]: ...
    @property
    def findings(self) -> Sequence[Finding]: ...
    @property
    def accepted(self) -> bool: ...
    @property
    def boot_at_work(self) -> bool: ...


SurveyT = TypeVar("SurveyT", bound=Survey)
Done = TypeVar("Done")


class HostCharm(ops.CharmBase):
    """A charm of one host, which it reads and changes as ``system``."""

    @staticmethod
    def machine() -> System:
        """The host that this unit runs on; tests replace it."""
        return Machine()

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self.system = self.machine()


class HostReconciler(Reconciler, Generic[SurveyT]):
    """A :class:`Reconciler` for a charm that brings one machine to a declared state.

    Args:
        charm: whose events to observe.
        system: the machine.
        name: the charm's, under which it hands over to the machine's other charms.
        listens_to: the charms whose hand-over wakes this unit.
        survey: observe and plan; writes nothing.
        apply: runs a plan's steps.
        before_survey: installs and fetches what the survey needs; returns what it could not do. If that is
            waiting, a hook runs soon.
        publish: runs last, with what the last survey gave and with all findings: hands over to other charms
            and units what they need to know, and returns the unit's findings.
        version: the workload version for ``juju status``, from what the last survey gave.
        capture: returns what the charm reads of the host, without what identifies it; see
            :mod:`hostnic.capture`.
        on_refused: runs instead of all others if an option or an attached file cannot be used, with the
            finding that says so; returns what the operator has to know besides.
        uninstall: takes away what the charm installed, after the hand-over and the wake-ups; in the stop
            hook.
        by_application: relations of which the charm reads nothing but the remote application's databag.
        ports: the declared ports, for the exporter.
        flows: those of Open vSwitch, for the exporter; None of a charm that does not look at them.
        reboot: this unit's part in the rolling reboot, for the exporter; None of a charm that never reboots.

    """

    def __init__(
        self,
        charm: ops.CharmBase,
        system: System,
        name: str,
        *,
        listens_to: Sequence[str],
        survey: Callable[[], SurveyT],
        apply: Callable[[Plan[System], System, Announce], Outcome[System]] = execute,
        before_survey: Callable[[], Sequence[Finding]] = tuple,
        publish: Callable[[SurveyT, Sequence[Finding]], Sequence[Finding]],
        version: Callable[[SurveyT], str],
        capture: Callable[[], str],
        on_refused: Callable[[Finding], Sequence[Finding]] = lambda _: (),
        uninstall: Callable[[], Removed],
        by_application: Collection[str] = (),
        ports: Callable[[SurveyT], Iterable[facts.Port]],
        flows: Callable[[SurveyT], facts.Flows | None] = lambda _: None,
        reboot: Callable[[], facts.Reboot | None] = lambda: None,
    ) -> None:
        super().__init__(
            charm,
            converge=self._converge_and_tell,
            preview=lambda _: self._preview_host(),
            verify=lambda: (
                *self._occupied(),
                *own.findings(system, name),
                *self.dispatcher.failed(),
                *survey().findings,
            ),
            version=self._read_version,
            stop=self._stop_host,
            boot=lambda: read_boot_id(system),
            by_application=by_application,
        )
        self.observability = Observability(
            charm, "exporter", PORT, lambda: read_text(system, "/proc/sys/kernel/hostname") or ""
        )
        for relation in self.observability.relations:
            self.follow(relation, lambda _: False)
        self.dispatcher = Dispatcher(system, charm.unit.name, name, listens_to)
        self._system = system
        self._name = name
        self._survey = survey
        self._apply = apply
        self._before_survey = before_survey
        self._publish = publish
        self._on_refused = on_refused
        self._uninstall = uninstall
        self._version_of = version
        self._capture = capture
        self._ports, self._flows = ports, flows
        self._reboot = reboot
        self._last: SurveyT | None = None
        self.framework.observe(charm.on["capture"].action, self._on_capture)

    def _occupied(self) -> Sequence[Finding]:
        return handover.occupied(self._system, self._name, self._charm.unit.name)

    def _preview_host(self) -> Plan[System]:
        survey = self._survey()
        return with_differences(survey.plan, survey.findings)

    def _converge_and_tell(self) -> Sequence[Finding]:
        """Tell the exporter, too, which runs with what it was told last."""
        findings = self._converge_unless_refused()
        found, survey, name = facts.count(findings), self._last, self._name
        told = facts.read(self._system, name) or facts.Facts(name, "", 0)
        told = told._replace(
            unit=self._charm.unit.name, at=int(self._system.now()), findings=found, reboot=self._reboot()
        )
        if survey:
            ports = tuple(facts.remembered(self._ports(survey), told.ports))
            told = told._replace(held=len(survey.plan.held), ports=ports)
            told = told._replace(flows=self._flows(survey))
        return (
            *findings,
            *metrics.tell(self._system, told, place=survey is not None, address=self.observability.address()),
        )

    def _converge_unless_refused(self) -> Sequence[Finding]:
        try:
            refused = self._occupied()
            return (*refused, *self._on_refused(refused[0])) if refused else self._converge_host()
        except InputError as error:
            try:
                return (error.finding, *self._on_refused(error.finding))
            except OSError as unread:
                return (error.finding, _unreadable(unread))

    def _converge_host(self) -> Sequence[Finding]:
        failures = list[Finding]()
        try:
            failures += own.findings(self._system, self._name)
            failures += self._before_survey()
            survey = self._survey()
            if survey.plan.steps:
                survey = self._change(survey, failures)
            self._last = survey
        except OSError as error:
            return (*failures, _unreadable(error))
        again = any(finding.severity is Severity.WAITING for finding in failures)
        failures += self._install_wake_ups(survey, again=again)
        findings = (*failures, *self.dispatcher.failed(), *survey.findings)
        try:
            return self._publish(survey, findings)
        except OSError as error:
            return (_unreadable(error), *findings)

    def exclusively(self, act: Callable[[], Done]) -> Done:
        """Do what an action asks for while no other program changes the host.

        Raises ActionError if another program goes on changing it.
        """
        with exclusive.lock(self._system, WAIT) as lock:
            if not lock.held:
                held = exclusive.held_by_another(WAIT)
                raise ActionError(f"{held}; nothing was changed; {exclusive.REMEDY}")
            return act()

    def _change(self, survey: SurveyT, failures: list[Finding]) -> SurveyT:
        """Run the plan while no other program changes the host, and look again."""
        with exclusive.lock(self._system, WAIT) as lock:
            if not lock.held:
                what = exclusive.held_by_another(WAIT)
                failures.append(Finding(Severity.WAITING, exclusive.SUBJECT, what, exclusive.REMEDY))
                return survey
            if lock.waited:  # the other program has changed what this plan is about
                survey = self._survey()
            if survey.plan.steps:
                outcome = self._apply(survey.plan, self._system, _log)
                failures += (each._replace(remedy=each.remedy or _AGAIN) for each in outcome.findings)
        return self._survey()

    def _read_version(self) -> str:
        try:
            return self._version_of(self._last) if self._last else ""
        except OSError as error:
            logger.warning("the workload version cannot be read: %s", words(error))
            return ""

    def _install_wake_ups(self, survey: Survey, *, again: bool) -> list[Finding]:
        try:
            if survey.accepted:
                self.dispatcher.install()
            if survey.boot_at_work or again:
                self.dispatcher.after(dispatch.SOON)
        except OSError as error:
            what = f"cannot be started: {words(error)}"
            return [Finding(Severity.WARNING, dispatch.SUBJECT, what, RETRIED)]
        return []

    def _stop_host(self) -> Removed:
        """Take everything away. What cannot be removed is named; Juju removes the unit all the same."""
        if kept := self._occupied():
            return Removed(f"removed; {kept[0].what}")
        problems = list[str]()
        for what, act in (
            (handover.path_of(self._name), lambda: handover.withdraw(self._system, self._name)),
            (dispatch.SUBJECT, self.dispatcher.remove),
        ):
            try:
                act()
            except OSError as error:
                problems.append(f"{what} cannot be removed: {words(error)}")
        problems += metrics.remove(self._system, self._name)
        try:
            if not exclusive.take(self._system, WAIT).held:
                problems.append(f"{exclusive.held_by_another(WAIT)}; {exclusive.REMEDY}")
            removed = self._uninstall()
        except OSError as error:
            finding = _unreadable(error)
            removed = Removed(
                f"not all that the charm installed is removed: {finding.phrase()}", [finding.sentence()]
            )
        return removed._replace(problems=(*problems, *removed.problems))

    def _on_capture(self, event: ops.ActionEvent) -> None:
        answer(event, lambda: {"capture": self._capture()})


def _log(step: HostStep) -> None:
    logger.info("%s: %s", step.what, step.why)


def _unreadable(error: OSError) -> Finding:
    """The finding of a host whose basics, such as its PCI bus, cannot be read."""
    return Finding(Severity.BLOCKED, "this host", f"cannot be read: {words(error)}", _AGAIN)
