#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Juju's events, actions and status for the four verbs; nothing else."""

import json
import logging
import os
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager

import answers
import expand
import formats
import hosts
import intent
import online
import ops
from apply import Policy, Report
from audit import audit
from charmkit.fabric import HOST, POLICY, FabricError, Host
from charmkit.reconcile import InputError, Reconciler, load_config, load_params
from config import Options, Output, Rendering, Secret, Showing, Switches, pins
from connection import Access, Credentials
from converge import Finding, Plan, Severity, findings_as_json, findings_as_table, worst_first
from fleet import Fleet
from model import Dialect, Fabric, Role, Switch
from observe import observe
from plan import Candidate
from shape import IntentError

logger = logging.getLogger(__name__)

RELATION = "fabric"
NOT_LEADER = "run it on the leader: one unit acts for the site"


class CumulusFabricCharm(ops.CharmBase):
    """Keeps a site's switches at their intent."""

    @staticmethod
    def connect(fabric: Fabric, access: Access, limit: int) -> Fleet:
        """The way to the switches."""
        return online.fleet(fabric, access, limit)

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self._only_looking = False
        # Observed first: what follows must know that this hook is for looking.
        framework.observe(self.on.update_status, self._on_update_status)
        framework.observe(self.on["apply"].action, self._on_apply)
        framework.observe(self.on["rollback"].action, self._on_rollback)
        framework.observe(self.on["audit"].action, self._on_audit)
        framework.observe(self.on["render"].action, self._on_render)
        framework.observe(self.on["show-fabric"].action, self._on_show_fabric)
        self.reconciler = Reconciler(
            self, converge=self._converge, preview=self._preview, verify=self._verify, stop=self._stop
        )

    # -- what is wanted

    def _options(self) -> Options:
        return load_config(self, Options)

    def _fabric(self, options: Options) -> Fabric:
        text = options.intent or self._resource()
        if not text.strip():
            remedy = "set it, or attach the resource of that name"
            raise InputError(Finding(Severity.BLOCKED, "option intent", "is not set", remedy))
        try:
            return expand.expand(intent.parse(text))
        except IntentError as error:
            raise InputError(Finding(Severity.BLOCKED, "intent", str(error))) from None

    def _resource(self) -> str:
        try:
            return self.model.resources.fetch("intent").read_text()
        except (ops.ModelError, NameError, OSError, UnicodeDecodeError):
            return ""  # nothing, or nothing that is text, is attached

    @contextmanager
    def _site(
        self, options: Options, fabric: Fabric, names: Collection[str] = ()
    ) -> Generator[online.Site, None, None]:
        """The switches for the length of a ``with``."""
        _known(fabric, (*names, *filter(None, [options.canary])))
        if missing := online.without_address(fabric, names):
            raise InputError(missing[0])
        environ = os.environ
        access = Access(
            _credentials(options.credentials),
            options.ca_certificate,
            pins(options.pinned_certificates),
            options.request_timeout,
            environ.get("JUJU_CHARM_HTTPS_PROXY") or environ.get("HTTPS_PROXY", ""),
            environ.get("JUJU_CHARM_NO_PROXY") or environ.get("NO_PROXY", ""),
        )
        found = tuple(audit(fabric, self._hosts()[0]))
        with self.connect(fabric, access, options.parallel) as fleet:
            yield online.Site(fabric, fleet, found)

    # -- the verbs

    def _converge(self) -> Sequence[Finding]:
        """Tell hosts, look, and apply where the policy says so. Only the leader acts."""
        if not self.unit.is_leader():
            return ()
        options = self._options()
        fabric = self._fabric(options)
        self._tell_hosts(fabric)
        with self._site(options, fabric) as site:
            survey = site.survey(state=True)
            taken_back: tuple[Finding, ...] = ()
            if options.apply_policy == "auto" and not self._only_looking and survey.plan.steps:
                report = site.apply((), options.canary, options.apply_order, _policy(options), logger.info)
                taken_back = report.reasons
                survey = site.survey(state=True)
            return (*taken_back, *site.findings(survey), *self._host_findings(fabric))

    def _preview(self) -> Plan[Candidate]:
        options = self._options()
        with self._site(options, self._fabric(options)) as site:
            return site.survey().plan

    def _verify(self) -> Sequence[Finding]:
        options = self._options()
        fabric = self._fabric(options)
        with self._site(options, fabric) as site:
            return (*site.verify(), *self._host_findings(fabric))

    def _stop(self) -> None:
        self.unit.status = ops.MaintenanceStatus("removed; the switches stay as they are")

    # -- hosts

    def _tell_hosts(self, fabric: Fabric) -> None:
        """Publish the policy; what an audit refuses is not told to anybody."""
        if any(finding.severity is Severity.BLOCKED for finding in audit(fabric)):
            return
        for relation in self.model.relations[RELATION]:
            relation.data[self.app][POLICY] = hosts.policy(fabric).to_json()

    def _hosts(self) -> tuple[list[Host], list[Finding]]:
        """What hosts report, and reports that cannot be read."""
        read: list[Host] = []
        wrong: list[Finding] = []
        for relation in self.model.relations[RELATION]:
            for unit in sorted(relation.units, key=lambda unit: unit.name):
                try:
                    if text := relation.data[unit].get(HOST):
                        read.append(Host.from_json(text))
                except FabricError as error:
                    wrong.append(Finding(Severity.WARNING, unit.name, str(error), "refresh both charms"))
        return read, wrong

    def _host_findings(self, fabric: Fabric) -> Iterator[Finding]:
        read, wrong = self._hosts()
        yield from wrong
        if not any(finding.severity is Severity.BLOCKED for finding in audit(fabric)):
            yield from hosts.verify(fabric, read)

    # -- actions

    def _on_update_status(self, _: ops.UpdateStatusEvent) -> None:
        self._only_looking = True

    def _on_apply(self, event: ops.ActionEvent) -> None:
        try:
            params, options = self._acting(event)
            with self._site(options, self._fabric(options), params.names) as site:
                policy, report = _policy(options), Report()
                by_nvue = [name for name in site.names if name in params.names]
                if by_nvue or not params.names:
                    report = site.apply(by_nvue, options.canary, options.apply_order, policy, event.log)
                by_ssh = self._typed_in(event, params, options, site) if report.applied else ()
        except InputError as error:
            event.fail(str(error))
            return
        _tell(event, report, by_ssh)

    @staticmethod
    def _typed_in(
        event: ops.ActionEvent, params: Switches, options: Options, site: online.Site
    ) -> Sequence[Finding]:
        """Onyx and Comware switches follow the others; what they refused, and what was corrected."""
        if not site.fabric.by_role(Role.STANDALONE):
            return ()
        import ssh  # netmiko is slow to import, and few sites need it
        import standalone

        by = _credentials(options.credentials)
        login = ssh.Login(by.user, by.password, options.known_hosts, timeout=options.request_timeout)
        return standalone.apply(site.fabric, params.names, login, site.audit, event.log)

    def _on_rollback(self, event: ops.ActionEvent) -> None:
        try:
            params, options = self._acting(event)
            if options.apply_policy == "auto":
                what = "is auto: the next hook would apply the intent again"
                raise InputError(Finding(Severity.BLOCKED, "option apply-policy", what, "set it to manual"))
            with self._site(options, self._fabric(options), params.names) as site:
                report = site.rollback(params.names, options.apply_order, _policy(options), event.log)
        except InputError as error:
            event.fail(str(error))
            return
        _tell(event, report)

    def _acting(self, event: ops.ActionEvent) -> tuple[Switches, Options]:
        params, options = load_params(event, Switches), self._options()
        if not self.unit.is_leader():
            raise InputError(Finding(Severity.BLOCKED, self.unit.name, "is not the leader", NOT_LEADER))
        return params, options

    def _on_audit(self, event: ops.ActionEvent) -> None:
        try:
            output = load_params(event, Output)
            read, wrong = self._hosts()
            found = worst_first([*audit(self._fabric(self._options()), read), *wrong])
        except InputError as error:
            event.fail(str(error))
            return
        sound = all(finding.severity < Severity.BLOCKED for finding in found)
        text = json.dumps(findings_as_json(found)) if output.format == "json" else findings_as_table(found)
        event.set_results({"sound": str(sound).lower(), "findings": text})

    def _on_render(self, event: ops.ActionEvent) -> None:
        try:
            params, options = load_params(event, Rendering), self._options()
            fabric = self._fabric(options)
            _known(fabric, params.names)
            chosen = [each for each in fabric.switches if not params.names or each.name in params.names]
            dialects = self._dialects(options, fabric, chosen, params)
            event.set_results({"rendered": answers.rendered(fabric, chosen, dialects, params)})
        except (InputError, formats.FormatError) as error:
            event.fail(str(error))

    def _dialects(
        self, options: Options, fabric: Fabric, chosen: Sequence[Switch], params: Rendering
    ) -> dict[str, Dialect]:
        """The dialect asked for, the intent's, or the one that the switch itself speaks."""
        asked = None if params.dialect == "auto" else Dialect(params.dialect)
        known = {each.name: asked or each.dialect for each in chosen if each.platform == "cumulus"}
        found = {each.name: Dialect.UNTIL_5_14 for each in chosen if each.platform != "cumulus"}
        found |= {name: dialect for name, dialect in known.items() if dialect}
        if unknown := [name for name in known if name not in found]:
            with self._site(options, fabric, unknown) as site:
                seen = observe(site.fleet, unknown, state=False)
            if seen.findings:
                raise InputError(seen.findings[0])
            found |= {name: Dialect.of_release(each.release) for name, each in seen.switches.items()}
        return found

    def _on_show_fabric(self, event: ops.ActionEvent) -> None:
        try:
            params = load_params(event, Showing)
            fabric = self._fabric(self._options())
            found = self._verify() if params.health else ()
        except InputError as error:
            event.fail(str(error))
            return
        event.set_results({"fabric": answers.drawn(fabric, found, params)})


def _known(fabric: Fabric, names: Collection[str]) -> None:
    known = [switch.name for switch in fabric.switches]
    for name in names:
        if name not in known:
            what = f"{name} is no switch of the intent"
            remedy = f"it has {', '.join(known[:6])}{', …' if len(known) > 6 else ''}"
            raise InputError(Finding(Severity.BLOCKED, "switch", what, remedy))


def _policy(options: Options) -> Policy:
    return Policy(options.confirm_timeout, options.settle_timeout, deadline=options.settle_timeout + 30.0)


def _credentials(secret: Secret | None) -> Credentials:
    name = "option credentials"
    if secret is None:
        remedy = "add a secret with user and password, grant it to this application, and set its id"
        raise InputError(Finding(Severity.BLOCKED, name, "is not set", remedy))
    try:
        content = secret.get_content(refresh=True)
    except (ops.SecretNotFoundError, ops.ModelError):
        remedy = "see that it exists, and grant it with juju grant-secret"
        raise InputError(Finding(Severity.BLOCKED, name, "its secret cannot be read", remedy)) from None
    user, password = content.get("user", "cumulus"), content.get("password", "")
    if not password.isprintable() or not user.isprintable() or not password or not user or ":" in user:
        remedy = "give it the keys user and password, each one line of text, the user without a colon"
        raise InputError(Finding(Severity.BLOCKED, name, "its secret has no usable user or password", remedy))
    return Credentials(user, password)


def _tell(event: ops.ActionEvent, report: Report, by_ssh: Sequence[Finding] = ()) -> None:
    event.set_results(answers.told(report, by_ssh))
    if not report.applied:
        event.fail(f"{report.verdict}: {worst_first(report.reasons)[0].sentence()}")
    elif refused := [each for each in by_ssh if each.severity is Severity.BLOCKED]:
        event.fail(f"{report.verdict}; then {refused[0].sentence()}")


if __name__ == "__main__":
    ops.main(CumulusFabricCharm)
