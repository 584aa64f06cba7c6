# SPDX-License-Identifier: Apache-2.0
"""The actions other than the verbs ``plan`` and ``verify``."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from apply import ApplyPolicy
from audit import audit
from backups import folder
from backups.folder import Folder
from backups.keeping import difference, running_now
from charmkit.fabric import Host
from charmkit.health import OK, Row, ranked, row
from charmkit.output import Output, Table
from charmkit.reconcile import ActionError, InputError
from config import (
    Applying,
    Approving,
    Comparing,
    Draining,
    Listing,
    Options,
    Rendering,
    Returning,
    RollingBack,
    Showing,
    Upgrading,
)
from converge import Finding, Severity, worst_first
from converge.finding import unfinished
from converge.render import findings_as_json, findings_as_table, plan_as_table
from exporter import facts
from exporter.catalogue import THRESHOLDS
from intent.model import Dialect, Fabric, Switch
from names import by_command_line, cut_off
from observe import SwitchState, observe
from online import Site
from output import formats
from output.report import Report
from reports import Reports
from roce import counters
from survey import Survey

if TYPE_CHECKING:
    from upgrade.run import Outcome

Results = dict[str, str]

LINES, ROWS = 10, 200
"""Rows of ``show-health``: of its table for people, and of its JSON, which Juju has to take."""


ASKS_NONE = "with dialect=5.14 or dialect=5.15 render asks no switch"
"""The remedy where the dialect of a switch cannot be read."""


@dataclass(frozen=True)
class Actions:
    """The actions of one unit, each of which gets its parameters."""

    options: Options
    fabric: Fabric
    site: Callable[..., Site]  # connects to the switches of these names, or to all
    progress: Callable[[str], None]  # receives one line at a time
    hosts: Callable[
        [], tuple[Sequence[Host], Sequence[Finding]]
    ]  # what hosts report, and what cannot be read
    look_now: Callable[[], tuple[Site, Survey, Sequence[Finding]]]  # reads the switches, and compares
    # Called after each run that changes switches, since the unit's status says what they run: with those that
    # are in use again or gone, and those that are another device than before, or none
    look: Callable[..., None]
    backups: Folder  # where each run keeps what the switches ran before and after it

    def apply(self, given: Applying) -> Results:
        """Bring switches to the intent, and name those that the command line has to configure."""
        with self.site(given.names, given.remove, given.others) as site:
            may = cut_off(given.cut_off)
            report = site.apply(given.names, self.options.canary, self._policy(site), given.plan, may)
            self.look((), given.others if report.applied else (), report.record)
        return _results(report, () if given.names else by_command_line(self.fabric))

    def rollback(self, given: RollingBack) -> Results:
        """Restore what switches ran before their last change, or what is kept of them.

        Without a digest, the plan with its digest, and nothing is sent.
        """
        if self.options.apply_policy == "auto":
            raise ActionError(
                "option apply-policy is auto, so the next hook would apply the intent again; set it to manual"
            )
        with self.site(given.names) as site:
            if not given.plan:
                _, found = site.restoration(given.names, given.numbers)
                if found.stopped:
                    return _results(Report({}, found.stopped))
                result = f"nothing was sent to any switch: run rollback with plan={found.digest} to do this"
                return {"applied": "false", "result": result, "plan": plan_as_table(found.plan)}
            may, how = cut_off(given.cut_off), self._policy(site)
            report = site.rollback(given.names, how, given.plan, may, given.numbers)
            self.look(seen=report.record)
            return _results(report)

    def upgrade(self, given: Upgrading) -> Results:
        """Upgrade the switches of the next wave. Without a digest, the plan with its digest."""
        from upgrade.run import Upgrade  # hooks do not need it

        with self.site() as site:
            may = cut_off(given.cut_off)
            how = partial(self._policy, site)
            work = Upgrade(site, given.wanted, how, self.options.canary, may, self.look, names=given.names)
            if not given.plan:
                found = work.plan()
                if ended := work.ended(found):
                    return upgraded(ended)
                told = f"nothing was sent to any switch: run upgrade with plan={found.digest} to do this"
                return {"result": told, "plan": findings_as_table(found.shown)}
            return upgraded(work.run(given.plan, most=1))

    def rotate_password(self, given: Approving) -> Results:
        """Give switches a new password, one after the other. Without a digest, the plan with its digest."""
        from logins.rotation import Rotation  # hooks do not need it

        with self.site() as site:
            names = [name for name in site.names if not given.names or name in given.names]
            work = Rotation(site.fleet, names, self.progress)
            if given.plan:
                outcome = work.run(given.plan)
            else:
                found = work.plan()
                if not (ended := work.ended(found)):
                    told = "nothing was sent to any switch: "
                    told += f"run rotate-password with plan={found.digest} to do this"
                    return {"result": told, "plan": findings_as_table(found.shown)}
                outcome = ended
        if outcome.done:
            self.look()
        results = {
            "changed": " ".join(outcome.done),
            "left": " ".join(outcome.left),
            "result": outcome.verdict,
        }
        if outcome.reasons:
            raise ActionError(f"{outcome.reasons[0].sentence()}; {outcome.verdict}", results)
        return results

    def drain(self, given: Draining) -> Results:
        """Take a switch out of use."""
        return self._maintain("drain", given, given.cut_off)

    def undrain(self, given: Returning) -> Results:
        """Return a switch."""
        return self._maintain("undrain", given)

    def decommission(self, given: Draining) -> Results:
        """Clean a switch that leaves for good."""
        return self._maintain("decommission", given, given.cut_off)

    def _maintain(self, verb: str, given: Returning, may: str = "") -> Results:
        from maintenance import Maintenance  # hooks do not need it

        with self.site() as site:
            work = Maintenance(site, given.names[0], self._policy(site), site.reports, cut_off(may))
            report = getattr(work, verb)()
            done = given.names if report.applied else ()
            self.look(() if verb == "drain" else done, done if verb == "decommission" else ())
            return _results(report)

    def _policy(self, site: Site) -> ApplyPolicy:
        return policy(self.options, site, self.progress)

    def list_backups(self, given: Listing) -> Results:
        """The kept configurations of switches."""
        return {"backups": Table(self.backups.rows(given.names), folder.NONE).shown(given.format)}

    def compare_backups(self, given: Comparing) -> Results:
        """The difference of a kept configuration to another one, or to what the switch runs."""

        def running(name: str) -> SwitchState:
            with self.site((name,)) as site:
                return running_now(site.fleet, name)

        return {"difference": difference(self.backups, given.number, given.other, running)}

    def audit(self, given: Output) -> Results:
        """Check the intent by itself, and against what hosts report."""
        reports, unread = self.hosts()
        found = worst_first([*audit(self.fabric, reports), *unread])
        sound = all(finding.severity < Severity.BLOCKED for finding in found)
        text = json.dumps(findings_as_json(found)) if given.format == "json" else findings_as_table(found)
        return {"sound": str(sound).lower(), "findings": text}

    def render(self, given: Rendering) -> Results:
        """The configuration of one switch, or those of several with their names."""
        chosen = [each for each in self.fabric.switches if not given.names or each.name in given.names]
        known = dict.fromkeys((each.name for each in chosen), Dialect.UNTIL_5_14)
        dialects = known if given.format == formats.ZTP else self._dialects(chosen, given)
        try:
            texts = {
                each.name: formats.write(self.fabric, each, dialects[each.name], given.format)
                for each in chosen
            }
        except formats.FormatError as error:
            raise ActionError(str(error)) from None
        return {"rendered": formats.together(texts, given.format)}

    def _dialects(self, chosen: Sequence[Switch], given: Rendering) -> dict[str, Dialect]:
        """The dialect that was asked for, that of the intent, or that of the switch's release."""
        asked = None if given.dialect == "auto" else Dialect(given.dialect)
        known = {each.name: asked or each.dialect for each in chosen if each.platform == "cumulus"}
        found = {each.name: Dialect.UNTIL_5_14 for each in chosen if each.platform != "cumulus"}
        found |= {name: dialect for name, dialect in known.items() if dialect}
        if unknown := [name for name in known if name not in found]:
            try:
                with self.site(unknown) as site:
                    seen = observe(site.fleet, unknown, state=False)
            except InputError as error:
                raise ActionError(f"{error.finding.sentence()}; {ASKS_NONE}") from None
            if seen.findings:
                raise ActionError(f"{seen.findings[0].sentence()}; {ASKS_NONE}")
            found |= {name: Dialect.of_release(each.release) for name, each in seen.switches.items()}
        return found

    def show_fabric(self, given: Showing) -> Results:
        """The fabric as text or picture.

        With health, it has the names of hosts, the drained switches, what verify finds, and what an apply
        takes.
        """
        # Imported here, because hooks do not need them.
        from attachments.ends import ends
        from output import picture, tables
        from output.told import Told

        if given.format == "cables":
            return {"fabric": self._cables()}
        draw = picture.as_svg if given.format == "svg" else tables.as_text
        if not given.health:
            return {"fabric": draw(Told(self.fabric))}
        site, survey, found = self.look_now()
        worst_last = reversed(worst_first(found))
        health = {each.subject: each.severity for each in worst_last}
        known = ends(self.fabric, survey.observed.switches, site.reports)
        told = Told(self.fabric, health, survey.toll.drawn, known, survey.record.drained)
        return {"fabric": draw(told)}

    def _cables(self) -> str:
        """The other end of each port, as far as the switches answer."""
        from cables.read import read
        from cables.rows import cables
        from output.cables import as_table

        with self.site() as site:
            return as_table(cables(self.fabric, *read(site.fleet, self.fabric, site.names)))


Acting = Mapping[str, tuple[type[Any], Callable[[Actions, Any], Results]]]
"""The parameters of each action, by its name, and its work."""

CHANGES: Acting = {
    "apply": (Applying, Actions.apply),
    "rollback": (RollingBack, Actions.rollback),
    "upgrade": (Upgrading, Actions.upgrade),
    "rotate_password": (Approving, Actions.rotate_password),
    "drain": (Draining, Actions.drain),
    "undrain": (Returning, Actions.undrain),
    "decommission": (Draining, Actions.decommission),
}
"""The actions that write to switches, which only the leader runs."""

READS: Acting = {
    "audit": (Output, Actions.audit),
    "render": (Rendering, Actions.render),
    "show_fabric": (Showing, Actions.show_fabric),
    "list_backups": (Listing, Actions.list_backups),
    "compare_backups": (Comparing, Actions.compare_backups),
}


def not_leading(given: Output, unit: str) -> Results:
    """Return the table of show-health on the other units."""
    leader = f"juju run {unit.partition('/')[0]}/leader show-health"
    worst, table = ranked((), [row(OK, "switches", "the leader looks at them", leader)])
    return {"worst": worst, "health": table.shown(given.format)}


def health(given: Output, unit: str, reports: Reports, fabric: facts.Fabric | None, now: float) -> Results:
    """Return the state of the fabric at the last look: first all that is not as it should be, then the rest.

    ``fabric`` is None if there was no look since the machine booted.
    """
    verify = f"juju run {unit} verify"
    found, well, old = [*reports.findings()], list(_well(reports, fabric)), []
    found += counters.findings({each.name: each for each in fabric.switches}) if fabric else ()
    age = max(now - fabric.at, 0.0) if fabric else math.inf
    told = f"{age:.0f} s ago" if fabric else "none since the machine booted"
    look = "last look", told, f"{verify} asks the switches now"
    if age > THRESHOLDS["look_age_seconds"]:  # as the alert rules have it
        old = [Finding(Severity.WARNING, *look)]
    else:
        well.append(row(OK, *look))
    room = (ROWS if given.format == "json" else LINES) - len(well) - len(old)
    worst, table = ranked(worst_first([*_cut(worst_first(found), room, verify), *old]), well)
    return {"worst": worst, "health": table.shown(given.format)}


def _well(reports: Reports, fabric: facts.Fabric | None) -> Iterator[Row]:
    """Yield the rows of all that is in order."""
    if fabric is None:
        return
    if not unfinished(reports.findings()):
        yield row(OK, "configuration", "as declared")
    if fabric.switches and all(switch.answers for switch in fabric.switches):
        yield row(OK, "switches", f"all {len(fabric.switches)} answer")
    for kind in facts.OBJECTS:
        declared = sum(switch.declared.get(kind, 0) for switch in fabric.switches)
        if declared and declared == sum(switch.actual.get(kind, 0) for switch in fabric.switches):
            yield row(OK, kind, f"all {declared} are as declared")
    if not reports.differing:
        yield row(OK, "hosts", f"{sum(map(bool, reports.told.values()))} report, and none differs")


def _cut(found: Sequence[Finding], room: int, verify: str) -> Sequence[Finding]:
    """Return as many findings as there is room for, the last one with the number of the others."""
    if len(found) <= room:
        return found
    rest = found[room - 1 :]
    more = Finding(rest[0].severity, "others", f"{len(rest)} more findings", f"{verify} shows them")
    return [*found[: room - 1], more]


def policy(options: Options, site: Site, announce: Callable[[str], None]) -> ApplyPolicy:
    """How a run goes that begins now.

    Hooks and actions hold the machine lock, so that a whole run takes settle-timeout at most. They do not
    wait until a lost switch rolls back by itself, which it does in any case.
    """
    settle = options.settle_timeout
    until = site.fleet.clock.monotonic() + settle
    return ApplyPolicy(
        options.confirm_timeout,
        settle,
        settle + 30.0,
        until=until,
        order=options.apply_order,
        announce=announce,
    )


def upgraded(outcome: "Outcome") -> Results:
    """The results of an upgrade. Raises ActionError if it ended because of a finding."""
    results = {
        "upgraded": " ".join(outcome.done),
        "left": " ".join(outcome.left),
        "result": outcome.verdict,
        "reasons": findings_as_table(outcome.reasons) if outcome.reasons else "",
    }
    if outcome.failed:
        raise ActionError(f"{worst_first(outcome.reasons)[0].sentence()}; {outcome.verdict}", results)
    return results


def _results(report: Report, remarks: Sequence[Finding] = ()) -> Results:
    """A run's results, with remarks that stand beside its reasons.

    Raises ActionError if the run was rolled back.
    """
    reasons = (*report.reasons, *remarks)
    results = {
        "applied": str(report.applied).lower(),
        "result": report.verdict,
        "switches": "\n".join(f"{name}: {result.value}" for name, result in sorted(report.results.items())),
        "reasons": findings_as_table(reasons) if reasons else "",
    }
    if report.failed:
        raise ActionError(f"{report.verdict}: {worst_first(report.reasons)[0].sentence()}", results)
    return results
