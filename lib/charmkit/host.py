# SPDX-License-Identifier: Apache-2.0
"""The four verbs on one machine, in the order that all host charms have in common.

    before_survey ─► survey ─► apply ─► survey again ─► wake-ups ─► publish ─► findings

A charm gives the verbs and its own words. Its ``survey`` is observe and plan; ``Survey.findings`` is verify.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import ops
from converge import Finding, Plan, Severity, words
from converge.execute import Outcome, execute
from converge.finding import RETRIED
from converge.render import with_differences
from exporter import facts
from hostnic import exclusive, handover, own
from hostnic.boot import off
from hostnic.machine import Machine
from hostnic.system import HostStep, System, read_boot_id, read_text

from charmkit import metrics
from charmkit.dispatch import dispatcher as dispatch
from charmkit.dispatch.dispatcher import Dispatcher
from charmkit.observability import Observability
from charmkit.output import Output
from charmkit.reconcile import ActionError, InputError, Reconciler, Removed, Verbs, answer

if TYPE_CHECKING:
    from charmkit.reboot.rolling import RollingReboot  # not of every charm

_AGAIN = f"{RETRIED}; see the kernel log of this host"
WAIT = 60.0
"""Seconds that a hook waits until no other program changes the host; then the next hook goes on."""

logger = logging.getLogger(__name__)

Announce = Callable[[HostStep], None]


class Survey(Protocol):
    """The result of one look at the host. Each charm's own also has the desired and the observed state.

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


class HostCharm(ops.CharmBase, Generic[SurveyT]):
    """A charm of one host, which it reads and changes as ``system``, with the verbs that are its own.

    Attributes:
        listens_to: the charms whose hand-over wakes this unit.
        by_application: relations of which the charm reads nothing but the remote application's databag.

    """

    listens_to: Sequence[str]
    by_application: Collection[str] = ()

    @staticmethod
    def machine() -> System:
        """The host that this unit runs on; tests replace it."""
        return Machine()

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self.system = self.machine()

    def before_survey(self) -> Sequence[Finding]:
        """Install and fetch what the survey needs; what was not done. If that waits, a hook runs soon."""
        return ()

    def survey(self) -> SurveyT:
        """Observe and plan; writes nothing."""
        raise NotImplementedError

    def apply(self, plan: Plan[System], announce: Announce) -> Outcome[System]:
        """Run a plan's steps."""
        return execute(plan, self.system, announce)

    def publish(self, survey: SurveyT, findings: Sequence[Finding]) -> Sequence[Finding]:
        """Hand over to other charms and units what they need to know; the unit's findings.

        Runs last, with what the last survey gave and with all findings.
        """
        raise NotImplementedError

    def version(self, survey: SurveyT) -> str:
        """The workload version for ``juju status``, from what the last survey gave."""
        raise NotImplementedError

    @staticmethod
    def ports(survey: SurveyT) -> Iterable[facts.PortFacts]:
        """The declared ports, for the exporter."""
        raise NotImplementedError

    def flows(self, survey: SurveyT) -> facts.Flows | None:  # noqa: ARG002 - for those that look at them
        """The flows of Open vSwitch, for the exporter; None of a charm that does not look at them."""
        return None

    def capture(self) -> str:
        """Capture all that the charm reads of the host, without its identity; see :mod:`hostnic.capture`."""
        raise NotImplementedError

    def uninstall(self) -> Removed:
        """Take away what the charm installed; in the stop hook, after the hand-over and the wake-ups."""
        raise NotImplementedError


class HostReconciler(Reconciler, Verbs[Output], Generic[SurveyT]):
    """A :class:`Reconciler` for a charm that brings one machine to a declared state."""

    def __init__(self, charm: HostCharm[SurveyT]) -> None:
        self.by_application = charm.by_application
        super().__init__(charm, self)
        self._host, self._system, self._name = charm, charm.system, charm.meta.name
        self._last: SurveyT | None = None
        self._rolling: RollingReboot | None = None
        self.observability = Observability(
            charm, lambda: read_text(self._system, "/proc/sys/kernel/hostname") or ""
        )
        self.dispatcher = Dispatcher(self._system, charm.unit.name, self._name, charm.listens_to)
        self.framework.observe(charm.on["capture"].action, self._on_capture)

    def rolls(self, rolling: "RollingReboot") -> None:
        """Have this unit take part in the rolling reboot of its application."""
        self._rolling = rolling
        self.follow("reboot", rolling.follow)

    def _occupied(self) -> Sequence[Finding]:
        return handover.occupied(self._system, self._name, self._charm.unit.name)

    def preview(self, given: Output) -> Plan[System]:  # noqa: ARG002 - it says how to show the plan
        """Return the next hook's plan, with the differences for which it has no step."""
        survey = self._host.survey()
        return with_differences(survey.plan, survey.findings)

    def verify(self) -> Sequence[Finding]:
        """Return the differences from the declared state."""
        return (
            *self._occupied(),
            *own.findings(self._system, self._name),
            *self.dispatcher.failed(),
            *self._host.survey().findings,
        )

    def boot(self) -> str:
        """The id of the machine's boot."""
        return read_boot_id(self._system)

    def converge(self) -> Sequence[Finding]:
        """Run the four verbs, and tell the exporter, which runs with what it was told last."""
        findings = (*self._converge_unless_refused(), *self._clear())
        found, survey, name = facts.count(findings), self._last, self._name
        told = facts.read(self._system, name) or facts.Facts(name, "", 0)
        told = told._replace(unit=self._charm.unit.name, at=int(self._system.now()), findings=found)
        told = told._replace(reboot=self._rolling.told if self._rolling else None)
        if survey:
            ports = tuple(facts.remembered(self._host.ports(survey), told.ports))
            told = told._replace(held=len(survey.plan.held), ports=ports)
            told = told._replace(flows=self._host.flows(survey))
        return (
            *findings,
            *metrics.publish(
                self._system, told, place=survey is not None, address=self.observability.address()
            ),
        )

    def _clear(self) -> Sequence[Finding]:
        """Remove all that charms which are gone have left; their stop hooks may not have run."""
        from charmkit.dispatch import leftovers

        return (*leftovers.clear(self._system, self._name),)

    def _converge_unless_refused(self) -> Sequence[Finding]:
        without = off.refused(self._system)
        try:
            if not (refused := self._occupied() or without):
                return self._converge_host()
        except InputError as error:
            refused = (error.finding,)
        try:
            # A host that was booted without its units is not in order: no other one reboots meanwhile.
            rolling = self._rolling.options_refused(refused[0], verified=not without) if self._rolling else ()
        except OSError as error:
            rolling = (_unreadable(error),)
        return (*refused, *rolling)

    def _converge_host(self) -> Sequence[Finding]:
        failures = list[Finding]()
        try:
            failures += own.findings(self._system, self._name)
            failures += self._host.before_survey()
            survey = self._host.survey()
            if survey.plan.steps:
                survey = self._change(survey, failures)
            self._last = survey
        except OSError as error:
            return (*failures, _unreadable(error))
        again = any(finding.severity is Severity.WAITING for finding in failures)
        failures += self._install_wake_ups(survey, again=again)
        findings = (*failures, *self.dispatcher.failed(), *survey.findings)
        try:
            return self._host.publish(survey, findings)
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
                survey = self._host.survey()
            if survey.plan.steps:
                outcome = self._host.apply(survey.plan, _log)
                failures += (each._replace(remedy=each.remedy or _AGAIN) for each in outcome.findings)
        return self._host.survey()

    def version(self) -> str:
        """The workload version, from the last look."""
        try:
            return self._host.version(self._last) if self._last else ""
        except OSError as error:
            logger.warning("the workload version cannot be read: %s", words(error))
            return ""

    def _install_wake_ups(self, survey: Survey, *, again: bool) -> list[Finding]:
        try:
            self.dispatcher.install(wakes=survey.accepted)
            if survey.boot_at_work or again:
                self.dispatcher.after(dispatch.SOON)
        except OSError as error:
            what = f"cannot be started: {words(error)}"
            return [Finding(Severity.WARNING, dispatch.SUBJECT, what, RETRIED)]
        return []

    def stop(self) -> Removed:
        """Take everything away. What cannot be removed is named; Juju removes the unit all the same."""
        if kept := self._occupied():
            return Removed(f"removed; {kept[0].what}")
        problems = list[str]()

        def remove(what: str, act: Callable[[], None]) -> None:
            try:
                act()
            except OSError as error:
                problems.append(f"{what} cannot be removed: {words(error)}")

        remove(handover.path_of(self._name), lambda: handover.withdraw(self._system, self._name))
        remove(dispatch.SUBJECT, lambda: self.dispatcher.remove(guarded=True))
        problems += metrics.remove(self._system, self._name)
        try:
            if not exclusive.take(self._system, WAIT).held:
                problems.append(f"{exclusive.held_by_another(WAIT)}; {exclusive.REMEDY}")
            removed = self._host.uninstall()
        except OSError as error:
            finding = _unreadable(error)
            removed = Removed(
                f"not all that the charm installed is removed: {finding.phrase()}", [finding.sentence()]
            )
        # Juju may end this hook half way: until here, the rest is removed once the agent is gone.
        remove(dispatch.SUBJECT, self.dispatcher.remove)
        return removed._replace(problems=(*problems, *removed.problems))

    def _on_capture(self, event: ops.ActionEvent) -> None:
        answer(event, lambda: {"capture": self._host.capture()})


def _log(step: HostStep) -> None:
    logger.info("%s: %s", step.what, step.why)


def _unreadable(error: OSError) -> Finding:
    """The finding of a host whose basics, such as its PCI bus, cannot be read."""
    return Finding(Severity.BLOCKED, "this host", f"cannot be read: {words(error)}", _AGAIN)
