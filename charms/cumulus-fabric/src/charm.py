#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Translates Juju's events, actions and options into the four verbs."""

# First: it ends hooks that are nothing to this unit before ops is loaded.
from charmkit import early

# isort: split

import logging
import os
import time
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from typing import cast

import figures
import hosts
import online
import ops
from actions import CHANGES, READS, Actions, Results, health, not_leading, policy
from audit import audit
from audit.foreign import Ownership, named
from audit.hosts import hosts as against_hosts
from backups.folder import Folder
from charmkit import metrics, reconcile
from charmkit.fabric import HOST, POLICY, Host
from charmkit.observability import Observability
from charmkit.output import Output
from charmkit.reconcile import InputError, Reconciler, Removed, Verbs, answer, load_config, load_params, warn
from config import Options, Planning, Rendering, Secret, Switches
from converge import Finding, Plan, Severity, worst_first
from exporter import facts
from hostnic.machine import Machine
from hostnic.system import System
from intent import expand, pins
from intent.model import Dialect, Fabric
from logins import secret as secrets
from names import by_command_line, not_by_the_charm, unknown_switch, without_address
from plan import Candidate
from reports import Kept, Notes, Reports
from rest.connection import Access
from rest.fleet import Fleet
from roce import counters
from survey import Survey
from tree.record import NOTHING, Record
from yamlfile.values import FileError

logger = logging.getLogger(__name__)

NAME = "cumulus-fabric"
RELATION = "fabric"
PEERS = "applied"
"""The peer relation that keeps what this charm notes."""

WHOLE = "see all with pipx run tox -e fabric"
"""Where the whole of a result is that Juju does not take."""


class CumulusFabricCharm(ops.CharmBase, Verbs[Planning]):
    """Keeps a site's switches at their intent."""

    planning = Planning
    whole = WHOLE
    backups = Folder("/var/lib/ovn-offload/cumulus-fabric/backups")
    _kept = ops.StoredState()

    @staticmethod
    def connect(fabric: Fabric, access: Access, limit: int) -> Fleet:
        """Connections to the switches; tests replace it."""
        return online.fleet(fabric, access, limit)

    @staticmethod
    def machine() -> System:
        """The machine that this unit runs on; tests replace it."""
        return Machine()

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self._system = self.machine()
        self._seen: facts.Fabric | None = None
        self._kept.set_default(**vars(Kept()))
        self._reports = Reports(cast("Kept", self._kept))
        self._follows_hosts = False
        self._dialects: set[Dialect] = set()
        # Observed first: later handlers of the same hook must know that it writes nothing.
        scraped = self.on["metrics-endpoint"]
        for event in (self.on.update_status, scraped.relation_created, scraped.relation_broken):
            framework.observe(event, self._on_read_only)
        framework.observe(self.on.leader_elected, self._on_leader_elected)
        for name in (*CHANGES, *READS):
            framework.observe(self.on[name].action, self._on_action)
        framework.observe(self.on["show-health"].action, self._on_show_health)
        self.reconciler = Reconciler(self, self)
        self.reconciler.follow(RELATION, self._follow)
        self._observability = Observability(self)

    @cached_property
    def _options(self) -> Options:
        return load_config(self, Options)

    @cached_property
    def _fabric(self) -> Fabric:
        text = self._intent
        if not text.strip():
            what = "is not set, and no resource is attached"
            remedy = f"run: juju config {self.app.name} intent=@FILE"
            raise InputError(Finding(Severity.BLOCKED, "option intent", what, remedy))
        try:
            return expand.read(text)
        except FileError as error:
            raise InputError(Finding(Severity.BLOCKED, str(error.place), error.what)) from None

    def _resource(self) -> str:
        try:
            return self.model.resources.fetch("intent").read_text()
        except (ops.ModelError, NameError, OSError, UnicodeDecodeError):
            return ""  # nothing is attached, or not a text file

    def _site(
        self, names: Collection[str] = (), remove: str = "", replaced: Collection[str] = ()
    ) -> online.Site:
        """The site with the switches of these names, or all; ``with`` closes its connections."""
        options, fabric = self._options, self._fabric
        canary = filter(None, [options.canary])
        if wrong := unknown_switch(fabric, canary, "option canary") or without_address(fabric, names):
            raise InputError(wrong)
        environ = os.environ
        secret = self._secret(options.credentials)
        logins = secrets.logins(secret, [switch.name for switch in fabric.switches])
        access = Access(
            logins.default,
            options.ca_certificate,
            pins.read("pinned-certificates", options.pinned_certificates),
            options.request_timeout,
            environ.get("JUJU_CHARM_HTTPS_PROXY") or environ.get("HTTPS_PROXY", ""),
            environ.get("JUJU_CHARM_NO_PROXY") or environ.get("NO_PROXY", ""),
            others=logins.others,
            identity=secrets.identity(secret),
        )
        reports = self._hosts()[0]
        found = worst_first([*self._audit, *against_hosts(fabric, reports)])
        found += by_command_line(fabric)
        ownership = Ownership.of(self._notes.record, named(remove), replaced)
        return online.Site(
            fabric,
            self.connect(fabric, access, options.parallel),
            tuple(found),
            ownership,
            reports=reports,
            backups=self.backups,
        )

    def _secret(self, secret: Secret | None) -> Mapping[str, str]:
        """The content of the secret that the option names."""
        if secret is None:
            raise InputError(secrets.unset(self.app.name))
        try:
            return secret.get_content(refresh=True)
        except ops.ModelError:  # it is gone, or not granted to this application
            raise InputError(secrets.unreadable(self.app.name)) from None

    @cached_property
    def _audit(self) -> Sequence[Finding]:
        """The findings of the audit of the intent alone."""
        return audit(self._fabric)

    @property
    def _sound(self) -> bool:
        """Whether no audit blocks the intent."""
        return all(finding.severity < Severity.BLOCKED for finding in self._audit)

    @property
    def _notes(self) -> Notes:
        """The notes of this charm; empty without its relation."""
        relation = self.model.get_relation(PEERS)
        return Notes(relation.data[self.app] if relation else {})

    def converge(self) -> Sequence[Finding]:
        """Run the four verbs, and tell the exporter: each unit has one, and the leader's knows the fabric."""
        findings = self._converge()
        return (*findings, *self._tell(findings, place=True))

    def _tell(self, findings: Sequence[Finding], *, place: bool = False) -> Sequence[Finding]:
        """Write what the exporter says until the next look, and ``place`` it; a warning if that fails."""
        fabric = None
        if self.unit.is_leader():
            fabric = self._seen or self._last_look()
        if fabric:
            fabric = fabric._replace(hosts=figures.reports(self._reports.differing, self._reports.told))
        now, found = int(self._system.now()), facts.count(findings)
        told = facts.Facts(NAME, self.unit.name, now, found, fabric=fabric)
        return metrics.publish(self._system, told, place=place, address=self._observability.address())

    def _last_look(self) -> facts.Fabric | None:
        """Return the switches as an earlier hook or action saw them; None since the machine booted."""
        known = facts.read(self._system, NAME)
        return known and known.fabric

    def _converge(self) -> Sequence[Finding]:
        """Publish the policy to hosts, survey, and apply if apply-policy is auto. Only the leader acts."""
        if not self.unit.is_leader():
            return ()
        try:
            self._publish_policy()
            options = self._options
            with self._site() as site:
                survey = site.survey(state=True)
                taken_back: tuple[Finding, ...] = ()
                last = self._notes.last_intent(self._intent, self._fabric)
                auto = options.apply_policy == "auto" and not self._follows_hosts
                if auto and site.since(survey, last).plan.steps:
                    how = policy(options, site, logger.info)
                    part = partial(site.since, last=last)
                    report = site.apply((), options.canary, how, part=part)
                    self._notes.remember(report.record)
                    taken_back = report.reasons
                    survey = site.survey(state=True)
                self._notes.surveyed(site, survey, self._intent)
                return self._differences(site, survey, taken_back)
        except InputError as error:
            self._reports.refused((error.finding,), time.time())
            return (error.finding,)

    @property
    def _intent(self) -> str:
        return self._options.intent or self._resource()

    def _differences(
        self, site: online.Site, survey: Survey, besides: tuple[Finding, ...] = ()
    ) -> Sequence[Finding]:
        """Return the differences on switches and hosts by a survey with ``state``; the leader keeps them."""
        releases = {seen.release for seen in survey.observed.switches.values()}
        self._dialects = {Dialect.of_release(release).declared for release in releases}
        switches = (*besides, *site.findings(survey))
        wanted = hosts.expected(site.fabric, sound=self._sound)
        differing = hosts.by_unit(wanted, self._told)
        if self.unit.is_leader():
            self._reports.surveyed(self._told, differing, wanted, switches, time.time())
            seen = figures.switches(site.fabric, survey, switches, self._last_look())
            self._seen = facts.Fabric(int(self._system.now()), counters.worst(seen))
        return (*switches, *(each for found in differing.values() for each in found))

    def version(self) -> str:
        """The dialect that the switches speak: ``NVUE 5.14``; several while they are being upgraded."""
        return f"NVUE {', '.join(sorted(each.value for each in self._dialects))}" if self._dialects else ""

    def preview(self, given: Planning) -> Plan[Candidate]:
        """Return the changes of the next apply on the switches."""
        options = self._options
        if not (given.remove or given.replaced):
            site, survey, _ = self._look()
            return site.plan(survey, options.canary, options.apply_order)
        with self._site((), given.remove, given.others) as site:  # that is no part of the unit's status
            return site.plan(site.survey(state=True), options.canary, options.apply_order)

    def verify(self) -> Sequence[Finding]:
        """Return the differences on the switches and on hosts."""
        return self._look()[2]

    def _look(self) -> tuple[online.Site, Survey, Sequence[Finding]]:
        """Read the switches in an action, and have the status say what a hook would.

        The status may be old by then: Juju tells the charm of no grant of its secret.
        """
        with self._refused_in_status(), self._site() as site:
            survey = site.survey(state=True)
            findings = self._differences(site, survey)
        if self.unit.is_leader():
            self._notes.surveyed(site, survey, self._intent)
        self._report(findings)
        return site, survey, findings

    def _look_again(
        self, returned: Collection[str] = (), other: Collection[str] = (), seen: Record = NOTHING
    ) -> None:
        """The same after a change, whose result stands whatever is found now."""
        self._notes.remember(seen, returned, other)
        with suppress(InputError):
            self._look()

    @contextmanager
    def _refused_in_status(self) -> Generator[None, None, None]:
        """An option that cannot be used ends an action, and is the unit's status from then on."""
        try:
            yield
        except InputError as error:
            if not error.finding.subject.startswith("parameter "):
                self._report((error.finding,))
                self._reports.refused((error.finding,), time.time())
            raise

    def _report(self, findings: Sequence[Finding]) -> None:
        if self.unit.is_leader():  # the others leave the switches, and the status, to it
            self.reconciler.report((*findings, *self._tell(findings)))

    def stop(self) -> Removed:
        """Leave the switches as they are."""
        removed = "removed; the switches keep their configuration"
        return Removed(removed, metrics.remove(self._system, NAME))

    def _publish_policy(self) -> None:
        """Publish the policy to hosts, unless an audit blocks the intent."""
        if self._sound:
            for relation in self.model.relations[RELATION]:
                relation.data[self.app][POLICY] = hosts.policy(self._fabric).to_json()

    @cached_property
    def _told(self) -> Mapping[str, str]:
        """The hosts' reports by unit: as they are now, or as the hooks about them have read them."""
        known: Mapping[str, str] = self._reports.told if self._follows_hosts else {}
        return {
            unit.name: known[unit.name] if unit.name in known else relation.data[unit].get(HOST, "")
            for relation in self.model.relations[RELATION]
            for unit in sorted(relation.units, key=lambda unit: unit.name)
        }

    def _hosts(self) -> tuple[list[Host], list[Finding]]:
        """Return the hosts' reports, and a finding for each report that cannot be read."""
        return hosts.read(self._told.items())

    def _follow(self, event: ops.RelationEvent) -> bool:
        """Compare one host's report with what is expected; True if the switches have to be asked, too."""
        unit = event.unit
        bag = early.read.pop(unit.name, None) if unit else None
        if unit is None or not self.unit.is_leader():
            return False
        departed = isinstance(event, ops.RelationDepartedEvent)
        text = None if departed else (bag or event.relation.data[unit]).get(HOST, "")
        if not self._reports.take(unit.name, text):
            return False
        if self._reports.rested(time.time()):
            self._follows_hosts = True
            return True
        found = hosts.by_unit(self._reports.wanted, {unit.name: text or ""})[unit.name]
        if self._reports.compared(unit.name, found):
            warn(found)
            self.reconciler.report(self._reports.findings())  # the exporter is told at the next look
        return False

    def _on_read_only(self, _: ops.EventBase) -> None:
        """Only tell of drift and of hosts' reports: nothing that the intent declares has changed."""
        self._follows_hosts = True

    def _on_leader_elected(self, _: ops.LeaderElectedEvent) -> None:
        self._reports.forget()  # another unit has followed the hosts meanwhile

    def _on_action(self, event: ops.ActionEvent) -> None:
        """Run an action of actions.py; if it fails, say why in one sentence."""
        name = event.handle.kind.removesuffix("_action")
        writes = name in CHANGES
        if writes and not self.unit.is_leader():
            event.fail("run this action on the leader unit")
            return
        parameters, act = {**CHANGES, **READS}[name]

        def run() -> Results:
            with self._refused_in_status():
                options, fabric = self._options, self._fabric
                given = load_params(event, parameters)
                names = given.names if isinstance(given, Switches) else ()
                wrong = unknown_switch(fabric, names, "parameter switch")
                if wrong := wrong or (writes and not_by_the_charm(fabric, names, "parameter switch")):
                    raise InputError(wrong)
                unit = Actions(
                    options,
                    fabric,
                    self._site,
                    reconcile.progress(event),
                    self._hosts,
                    self._look,
                    self._look_again,
                    self.backups,
                )
                return act(unit, given)

        if parameters is Rendering:  # without some of its lines a configuration is of no use
            answer(event, run, f"name fewer switches, or {WHOLE}", tables=False)
        else:
            answer(event, run, WHOLE)

    def _on_show_health(self, event: ops.ActionEvent) -> None:
        """Needs no option, so that it also answers where one cannot be used."""

        def run() -> Results:
            given, unit = load_params(event, Output), self.unit.name
            if not self.unit.is_leader():
                return not_leading(given, unit)
            return health(given, unit, self._reports, self._last_look(), self._system.now())

        answer(event, run)


if __name__ == "__main__":
    reconcile.main(CumulusFabricCharm)
