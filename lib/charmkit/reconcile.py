# SPDX-License-Identifier: Apache-2.0
"""From Juju's events to the four verbs, and from findings back to a status.

A charm owns a :class:`Reconciler`, and has the :class:`Verbs` that it calls::

    class MyCharm(ops.CharmBase, Verbs):
        def __init__(self, framework: ops.Framework):
            super().__init__(framework)
            self.reconciler = Reconciler(self, self)

        def converge(self) -> Sequence[Finding]:
            config = load_config(self, Config)  # a wrong value ends the hook here: blocked, nothing written
            …

Every event that may change what is wanted or what is there leads to ``converge``, unless it repeats another
one (:mod:`charmkit.repeats`); nothing is deferred. Nothing of the machine is stored, since it can tell.
Three things are: by what those repetitions are known; that the unit is being removed, which one hook is told
for those that follow; and the workload version that Juju was told, which cannot be asked for and would start
a process in every hook if it were told again. A charm that reboots its
host keeps what it does not publish of that (:class:`charmkit.reboot.relation.PrivateState`).
"""

import contextlib
import dataclasses
import json
import logging
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, cast

import ops
from converge import Finding, Plan, Severity, StepError, words
from converge.finding import one_line
from converge.render import findings_as_json, findings_as_table, plan_as_json, plan_as_table
from converge.shape import InvalidValue

from charmkit.observability import RELATIONS
from charmkit.output import MOST, Output, beginning, shortened
from charmkit.repeats import Repeats
from charmkit.status import unit_status

Data = TypeVar("Data")
Given = TypeVar("Given", bound=Output)
Follow = Callable[[ops.RelationEvent], bool]

logger = logging.getLogger(__name__)
logging.disable(logging.DEBUG)
"""ops has a line or more of that level in each hook; each starts a process of Juju's, which drops it."""


class InputError(Exception):
    """An input of the operator cannot be used; ``finding`` says why in one sentence."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.sentence())
        self.finding = finding


def warn(findings: Iterable[Finding]) -> None:
    """Log what a hook has found: at once, since each call starts a process of Juju's."""
    told = [
        f"{finding.severity.name.lower()}: {finding.sentence()}"
        for finding in findings
        if finding.severity > Severity.INFO
    ]
    if told:
        logger.warning("%s", "\n".join(told))


def load_config(charm: ops.CharmBase, cls: type[Data]) -> Data:
    """The charm's options as ``cls``, a dataclass that checks itself (see :mod:`charmkit.options`).

    Raises InputError, which names the option, its value and what is allowed.
    """
    return _load("option", charm.config, charm.load_config, cls)


def load_params(event: ops.ActionEvent, cls: type[Data]) -> Data:
    """An action's parameters as ``cls``; like :func:`load_config`.

    Raises InputError, which names the parameter, its value and what is allowed.
    """
    return _load("parameter", event.params, event.load_params, cls)


class ActionError(Exception):
    """An action failed or cannot run: the reason in one sentence.

    Attributes:
        results: what was done until then.

    """

    def __init__(self, reason: str, results: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.results = dict(results or {})


def answer(
    event: ops.ActionEvent, act: Callable[[], Mapping[str, str]], whole: str = "", *, tables: bool = True
) -> bool:
    """Run an action and set its results; False when it fails with the one sentence that says why.

    Args:
        event: the action's.
        act: returns the results.
        whole: where the operator finds all of a result that Juju does not take.
        tables: results are tables unless the parameter ``format`` says otherwise: lines may be left out.

    """
    as_table = tables and event.params.get("format", "table") in ("table", "text")
    try:
        event.set_results({name: _taken(name, text, whole, as_table) for name, text in act().items()})
    except (InputError, ActionError, StepError, OSError, ops.ModelError) as error:
        if isinstance(error, ActionError) and error.results:
            event.set_results({name: beginning(_cut(text, whole)) for name, text in error.results.items()})
        # Of this one, ops leaves out Juju's words.
        reason = "a relation is gone" if isinstance(error, ops.RelationNotFoundError) else words(error)
        if isinstance(error, StepError) and error.remedy:
            reason = f"{reason}; {error.remedy}"
        event.fail(beginning(one_line(reason)))
        return False
    return True


def progress(event: ops.ActionEvent) -> Callable[[str], None]:
    """Tells how far an action is. What it does must not end halfway because nobody takes that."""

    def tell(line: str) -> None:
        with contextlib.suppress(ops.ModelError, OSError):
            event.log(line)

    return tell


def main(charm: type[ops.CharmBase]) -> None:
    """``ops.main``, but for an action that Juju no longer answers: its unit was removed by force.

    ops would end with a traceback. Juju takes an action that ends with 1 as failed, if it still listens.
    """
    try:
        ops.main(charm)
    except (ops.ModelError, OSError) as error:
        if not (action := os.environ.get("JUJU_ACTION_NAME")):
            raise
        # The agent puts it into its log.
        print(f"action {action} ends without a result: {one_line(words(error))}", file=sys.stderr)
        raise SystemExit(1) from None


def _taken(name: str, text: str, whole: str, as_table: bool) -> str:
    """A result that Juju takes: a longer table is cut; anything else would be of no use then."""
    cut = _cut(text, whole) if as_table else text
    if len(cut.encode()) > MOST:
        remedy = f"; {whole}" if whole else ""
        raise ActionError(f"the result {name} has {len(text.encode())} bytes, and Juju takes {MOST}{remedy}")
    return cut


def _cut(table: str, whole: str) -> str:
    return table if len(table.encode()) <= MOST else shortened(table, whole)


class Removed(NamedTuple):
    """The result of the stop hook."""

    status: str  # what the operator must know of the machine from now on: the unit's last status
    problems: Sequence[str] = ()  # one sentence for each thing that could not be taken away


class Verbs(Generic[Given]):
    """The verbs of a charm, which a :class:`Reconciler` calls, with what it has to know of them.

    Attributes:
        planning: the parameters of the action ``plan``.
        whole: where the operator finds all of a result that Juju does not take, as for :func:`answer`.
        by_application: relations of which the charm reads nothing but the remote application's databag.

    """

    planning: type[Output] = Output
    whole: str = ""
    by_application: Collection[str] = ()

    def converge(self) -> Sequence[Finding]:
        """Observe, plan, apply, verify; what still differs. Runs at most once in a hook.

        May raise InputError.
        """
        raise NotImplementedError

    def preview(self, given: Given) -> Plan[Any]:
        """Observe and plan, ``given`` the parameters of the action ``plan``; writes nothing.

        May raise InputError.
        """
        raise NotImplementedError

    def verify(self) -> Sequence[Finding]:
        """Observe and verify; writes nothing. May raise InputError."""
        raise NotImplementedError

    def version(self) -> str:
        """The workload version for ``juju status``, from what was read last; empty if unknown."""
        return ""

    def boot(self) -> str:
        """The id of the machine's boot; empty if the charm does not depend on it."""
        return ""

    def stop(self) -> Removed | None:
        """Take away what the charm installed, in the stop hook; None if there is nothing to tell of it.

        It neither logs nor asks Juju for anything, since Juju may have closed the unit's session.
        """
        return None


class Reconciler(ops.Object):
    """Observes a charm's lifecycle and its actions ``plan`` and ``verify``, and calls its verbs.

    Args:
        charm: whose events to observe; relations come from its metadata.
        verbs: what it does in them.

    """

    _told = ops.StoredState()

    def __init__(self, charm: ops.CharmBase, verbs: Verbs[Any]) -> None:
        super().__init__(charm, "reconciler")
        self._charm = charm
        self._verbs = verbs
        self._told.set_default(version="", leaves=False)
        self._findings: Sequence[Finding] | None = None
        self._repeats = Repeats(charm, verbs.boot, verbs.by_application)
        self._follow: dict[str, Follow] = dict.fromkeys(RELATIONS, lambda _: False)
        for event in self._lifecycle():
            self.framework.observe(event, self._on_lifecycle)
        self.framework.observe(charm.on.stop, self._on_stop)
        self.framework.observe(charm.on.collect_unit_status, self._on_collect_unit_status)
        self.framework.observe(charm.on["plan"].action, self._on_plan)
        self.framework.observe(charm.on["verify"].action, self._on_verify)

    def follow(self, relation: str, follow: Follow) -> None:
        """Have ``follow`` handle changes in ``relation``; it returns whether the unit has to converge."""
        self._follow[relation] = follow

    def _lifecycle(self) -> list[ops.BoundEvent]:
        on = self._charm.on
        events = [
            on.start,
            on.config_changed,
            on.update_status,
            on.upgrade_charm,
            on.leader_elected,
            on.secret_changed,
        ]
        for name, relation in self._charm.meta.relations.items():
            # A subordinate's principal has nothing to tell by juju-info.
            if relation.scope == "container":
                continue
            events += [on[name].relation_changed, on[name].relation_departed]
            # Peers are there from before the unit starts, until it stops.
            if relation.role is not ops.RelationRole.peer:
                events += [on[name].relation_created, on[name].relation_broken]
        return events

    def _on_lifecycle(self, event: ops.EventBase) -> None:
        if isinstance(event, ops.RelationDepartedEvent) and event.departing_unit == self._charm.unit:
            # Only of a unit, or an application, that is being removed (worker/uniter: relation/resolver.go).
            # The hooks that follow name nobody who departs: relation-broken, and others up to stop.
            self._told.leaves = True
        if self._told.leaves or not self._leads_to_a_look(event):
            return
        try:
            findings = self._verbs.converge()
        except InputError as error:
            findings = (error.finding,)
        self.report(findings)
        self._repeats.remember(event, findings)
        warn(findings)

    def _leads_to_a_look(self, event: ops.EventBase) -> bool:
        if isinstance(event, ops.RelationChangedEvent | ops.RelationDepartedEvent):
            follow = self._follow.get(event.relation.name)
            if follow is not None:
                return follow(event)
        return not self._repeats.is_repeat(event)

    def report(self, findings: Sequence[Finding]) -> None:
        """Have the unit's status say this: in hooks, and in actions that read all that a hook reads."""
        self._findings = findings
        version = self._verbs.version()
        if version and version != self._told.version:
            self._charm.unit.set_workload_version(version)
            self._told.version = version

    def _on_stop(self, _: ops.StopEvent) -> None:
        removed = self._verbs.stop()
        if removed is None:
            return
        try:
            for problem in removed.problems:
                logger.error("%s", problem)
            self._charm.unit.status = ops.MaintenanceStatus(removed.status)
        except ops.ModelError as error:
            # Juju closes the session of a unit that it removes, and every hook command fails from then on;
            # ops would run the next one, is-leader, and end with a traceback. The machine is done.
            for sentence in (*removed.problems, removed.status, f"Juju took no status: {str(error).strip()}"):
                print(sentence, file=sys.stderr)  # the agent puts a hook's standard error into its log
            raise SystemExit(0) from None

    def _on_collect_unit_status(self, event: ops.CollectStatusEvent) -> None:
        # Nothing was looked at in most actions and in the stop hook: the status stays.
        if self._findings is not None:
            event.add_status(unit_status(self._findings))

    def _on_plan(self, event: ops.ActionEvent) -> None:
        def show() -> dict[str, str]:
            output = load_params(event, self._verbs.planning)
            plan = self._verbs.preview(output)
            return {
                "plan": json.dumps(plan_as_json(plan)) if output.format == "json" else plan_as_table(plan)
            }

        answer(event, show, self._verbs.whole)

    def _on_verify(self, event: ops.ActionEvent) -> None:
        def show() -> dict[str, str]:
            output, findings = load_params(event, Output), self._verbs.verify()
            holds = all(finding.severity <= Severity.WARNING for finding in findings)
            as_json = output.format == "json"
            text = json.dumps(findings_as_json(findings)) if as_json else findings_as_table(findings)
            return {"verified": str(holds).lower(), "findings": text}

        answer(event, show, self._verbs.whole)


def _load(kind: str, given: Iterable[str], load: Callable[[type[Data]], Data], cls: type[Data]) -> Data:
    known = {name.replace("-", "_") for name in given}
    for field in dataclasses.fields(cast("Any", cls)):
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if required and field.name not in known:  # the constructor's error would name no option
            name = field.name.replace("_", "-")
            raise InputError(Finding(Severity.BLOCKED, f"{kind} {name}", "is not set", "it has no default"))
    try:
        return load(cls)
    except ValueError as error:
        raise _refused(kind, error) from None


def _refused(kind: str, error: ValueError) -> InputError:
    if isinstance(error, InvalidValue):
        what = f"{error.shown} is not allowed"
        return InputError(Finding(Severity.BLOCKED, f"{kind} {error.where}", what, f"set {error.allowed}"))
    return InputError(Finding(Severity.BLOCKED, f"{kind}s", str(error)))
