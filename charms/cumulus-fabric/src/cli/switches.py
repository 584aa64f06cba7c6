# SPDX-License-Identifier: Apache-2.0
"""The verbs of the command line that need switches: plan, apply, verify, cables and rollback."""

import argparse
import json
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import online
from audit import audit
from audit.foreign import Ownership, named
from backups.folder import Folder
from cables.read import read
from cables.rows import cables
from config import least_confirm
from converge import Finding, Plan, Severity
from converge.render import ALL, cut, findings_as_json, findings_as_table, plan_as_json, plan_as_table
from converge.shape import InvalidValue
from intent import pins, places
from intent.model import Fabric, Switch
from maintenance import Maintenance
from names import cut_off, without_address
from output import cables as output
from output.report import Report, Result
from plan import not_approved
from rest.client import Nvue
from rest.connection import Access, Credentials, Logins, SwitchError
from rest.fleet import in_parallel
from rest.identity import Identity
from standalone import scripts
from tree.record import NOTHING, Record

from cli import access, inputs, wording
from cli.arguments import chosen, most, require_known
from cli.inputs import UsageError

if TYPE_CHECKING:
    from cli.passwords import Door, UnknownKeyError

MAINTENANCE = ("drain", "undrain", "decommission")
NOW = "audit --all and verify --all show what still differs"
"""The commands that show more than the first rows after a change: --all would mean a second change."""


def run(options: argparse.Namespace, fabric: Fabric) -> bool:
    """Run one verb; whether it succeeded. Raises UsageError if an argument cannot be used."""
    if options.verb in MAINTENANCE and len(options.switch) != 1:
        raise UsageError(f"--switch: {options.verb} needs the name of one switch")
    if options.verb == "rollback" and options.switch and options.backup:
        raise UsageError("--backup: its number names the switch; leave --switch out")
    names = [switch.name for switch in chosen(fabric, options.switch)]
    if options.verb in ("rollback", *MAINTENANCE) and options.switch:
        for typed in scripts.switches(fabric, names):
            runs = f"{typed.name} runs {typed.platform}"
            raise UsageError(f"--switch: {runs}, for which there is no {options.verb}")
    if options.verb in ("plan", "apply") and options.canary:
        require_known(fabric, [options.canary], "--canary")
    logins = access.logins(options, fabric)
    # The others show the hosts' other legs, and the far ends of links; a plan without NVUE is that of all.
    typed_only = len(scripts.switches(fabric, names)) == len(names)
    everywhere = options.verb in ("verify", "cables", *MAINTENANCE) or (options.verb == "plan" and typed_only)
    reached = () if everywhere else names
    with site(options, fabric, reached, logins) as opened:
        if options.verb == "plan":
            return _plan(options, opened, names)
        if options.verb == "verify":
            return _verify(options, opened, names)
        if options.verb == "cables":
            return _cables(options, opened, names)
        return _change(options, opened, names, logins)


def _plan(options: argparse.Namespace, site: online.Site, names: Collection[str]) -> bool:
    survey = site.survey(_nvue(site, names), state=True)
    plan = wording.of_plan(site.plan(survey, options.canary, options.order))
    print(json.dumps(plan_as_json(plan), indent=2) if options.format == "json" else _shown(options, plan))
    return not plan.blocked


def _shown(options: argparse.Namespace, plan: Plan[Any]) -> str:
    """A plan for people, whose last line has the digest however many findings are cut."""
    digests = [each for each in plan.findings if each.subject == "digest"]
    rest = replace(plan, findings=tuple(each for each in plan.findings if each not in digests))
    return "\n\n".join((plan_as_table(rest, most(options)), *(each.sentence() for each in digests)))


def _verify(options: argparse.Namespace, site: online.Site, names: Collection[str]) -> bool:
    # Findings about the intent itself belong to audit.
    every = [finding for finding in site.verify() if finding not in site.audit]
    found = [finding for finding in every if finding.subject.partition(" ")[0] in {*names, "remove"}]
    found = wording.of_findings(found)
    as_json = options.format == "json"
    print(json.dumps(findings_as_json(found), indent=2) if as_json else _findings(options, found))
    return all(finding.severity < Severity.WARNING for finding in found)


def _cables(options: argparse.Namespace, site: online.Site, names: Collection[str]) -> bool:
    # All are read: a switch is known to its neighbours by the address of its management port.
    rows = cables(site.fabric, *read(site.fleet, site.fabric, site.names))
    found = [each for each in rows if each.switch in names]
    as_json = options.format == "json"
    print(output.as_json(found) if as_json else output.as_table(found, most(options)))
    return output.well(found)


def _change(options: argparse.Namespace, site: online.Site, names: Collection[str], logins: Logins) -> bool:
    how = policy(options)
    only = _nvue(site, names)
    well = True
    if options.verb == "rollback" and not options.plan:
        return _would_restore(options, site, only if options.switch else ())
    if only:
        report = _run(options, site, only, how)
        if report.results:
            print(_results(options, report.results))
        if report.reasons:
            print(_findings(options, wording.of_findings(report.reasons), NOW))
        print(wording.translated(report.verdict))
        well = report.applied
    elif options.verb == "apply" and options.plan and not site.approved(options.plan):
        print(findings_as_table(wording.of_findings([not_approved(options.plan)])))
        return False
    typed = scripts.switches(site.fabric, names)
    if well and options.verb == "apply" and typed:
        well = _configure_typed(options, site, typed, logins)
    return well


def policy(options: argparse.Namespace) -> online.ApplyPolicy:
    """How a run goes. Raises UsageError if its time-outs do not fit."""
    if options.confirm < (least := least_confirm(options.settle)):
        allowed = f"at least {least:g}, twice --settle and 60 s"
        raise UsageError(f"--confirm: {options.confirm} is not allowed; give {allowed}")
    return online.ApplyPolicy(
        options.confirm, options.settle, options.settle + 30.0, order=options.order, announce=announce
    )


def _run(
    options: argparse.Namespace, site: online.Site, names: Sequence[str], how: online.ApplyPolicy
) -> Report:
    """Run a verb that changes switches on those of them that have NVUE."""
    may = cut_off(getattr(options, "cut_off", ""))
    if options.verb in MAINTENANCE:
        report = getattr(Maintenance(site, names[0], how, cut_off=may), options.verb)()
        remember(options, site, names, names if options.verb != "drain" and report.applied else ())
        return report
    if options.verb == "rollback":
        # Naming every switch is not the same as naming none, which leaves the choice to what they keep.
        given = names if options.switch else ()
        report = site.rollback(given, how, options.plan, may, options.backup)
    else:
        report = site.apply(names, options.canary, how, options.plan, may)
    if not report.failed:
        remember(options, site, names, seen=report.record)
    return report


def remember(
    options: argparse.Namespace,
    site: online.Site,
    names: Collection[str],
    returned: Collection[str] = (),
    seen: Record = NOTHING,
) -> None:
    """Bring the record up to date, if there is one."""
    if options.record:
        other = getattr(options, "replaced", ())
        before = inputs.record(options.record).updated(seen, returned, other)
        inputs.write_record(options.record, before.updated(site.survey(names).record))


def _would_restore(options: argparse.Namespace, site: online.Site, names: Collection[str]) -> bool:
    """Show what a rollback would do; whether it can be done."""
    plan = wording.of_plan(site.restoration(names, options.backup)[1].plan)
    print(_shown(options, plan))
    print("nothing was sent to any switch")
    return not plan.blocked


def _configure_typed(
    options: argparse.Namespace, site: online.Site, switches: Sequence[Switch], logins: Logins
) -> bool:
    """Configure switches without NVUE, after all others, unless the audit blocks."""
    from cli import ssh  # netmiko takes a second to load, and only such switches need it

    with inputs.host_keys(options.known_hosts) as keys:

        def login(name: str) -> ssh.Login:
            who = logins.of(name)
            return ssh.Login(who.user, who.password, keys, timeout=options.timeout)

        found = [each for each in site.audit if each.severity is Severity.BLOCKED]
        found = found or ssh.apply(site.fabric, switches, login, announce)
    if found:
        print(_findings(options, wording.of_findings(found), NOW))
    return all(finding.severity < Severity.WARNING for finding in found)


def _nvue(site: online.Site, names: Collection[str]) -> list[str]:
    return [name for name in site.names if name in names]


def _findings(options: argparse.Namespace, found: Sequence[Finding], rest: str = ALL) -> str:
    return findings_as_table(found, most=most(options), rest=rest)


def _results(options: argparse.Namespace, results: Mapping[str, Result]) -> str:
    """A line for each switch, the worst first."""
    order = [*Result]
    worst = sorted(results.items(), key=lambda each: -order.index(each[1]))
    first, more = cut([f"{name}: {result.value}" for name, result in worst], most(options), "switches", NOW)
    return "\n".join((*first, *filter(None, [more])))


def announce(text: str) -> None:
    """Tell the progress of a run, beside its result."""
    print(text, file=sys.stderr, flush=True)


def _pins(options: argparse.Namespace, fabric: Fabric) -> dict[str, str]:
    """The certificates that --pin and --pins name."""
    file = places.pins(options.pins, others=bool(options.ca or options.pin))
    text = inputs.text("--pins", file) if file else ""
    try:
        kept, more = pins.given(text, options.pin)
    except InvalidValue as error:
        raise UsageError(f"{error.where}: {error.shown} is not allowed; give {error.allowed}") from None
    require_known(fabric, list(kept), "--pins" if options.pins else f"--pins {file}")
    require_known(fabric, list(more), "--pin")
    return kept | more


def _access(
    options: argparse.Namespace,
    logins: Logins,
    ca: str = "",
    pinned: Mapping[str, str] = {},
    identity: Identity | None = None,
) -> Access:
    return Access(
        logins.default,
        ca,
        pinned,
        options.timeout,
        os.environ.get("https_proxy") or os.environ.get("HTTPS_PROXY", ""),
        os.environ.get("no_proxy") or os.environ.get("NO_PROXY", ""),
        clock=options.clock,
        others=logins.others,
        identity=identity,
    )


def _with_nvue(options: argparse.Namespace, fabric: Fabric) -> dict[str, Switch]:
    """The chosen switches that have NVUE. Raises UsageError if one has no management address."""
    found = {each.name: each for each in chosen(fabric, options.switch) if each.platform == "cumulus"}
    _addressed(fabric, found)
    return found


def _addressed(fabric: Fabric, names: Collection[str]) -> None:
    if missing := without_address(fabric, names):
        raise UsageError(missing.sentence())


def show_pins(options: argparse.Namespace, fabric: Fabric) -> bool:
    """Print what --pins takes, for each switch with NVUE; whether all of them answered.

    Raises UsageError if a switch has no management address in the intent.
    """
    names = [*_with_nvue(options, fabric)]
    fleet = online.fleet(fabric, _access(options, Logins(Credentials("", ""))), options.parallel)
    found, silent = fleet.each(names, Nvue.fingerprint)
    for name, digits in found.items():
        print(f"{name}={digits}")
    announce("Nothing has checked these certificates yet: compare them with the switches' consoles.")
    if silent:
        announce(_findings(options, _failures(silent)))
    return not silent


def first_password(options: argparse.Namespace, fabric: Fabric) -> bool:
    """Replace the factory's password of the switches with NVUE; whether all of them have another one now.

    Raises UsageError if a switch has no management address in the intent, or there is no terminal.
    """
    from cli import passwords  # only this needs SSH

    switches = _with_nvue(options, fabric)
    password = access.new_password(passwords.USER, passwords.FACTORY)
    keys = options.known_hosts
    doors = {
        name: passwords.Door(each.management, password, keys, options.timeout)
        for name, each in switches.items()
    }
    done, failed = in_parallel(doors, passwords.Door.set_first, options.parallel)
    unknown = {name: each for name, each in failed.items() if isinstance(each, passwords.UnknownKeyError)}
    if unknown and _trusted(unknown, doors, keys):
        more, again = in_parallel({name: doors[name] for name in unknown}, passwords.Door.set_first)
        done |= more
        failed = {name: each for name, each in failed.items() if name not in unknown} | again
    for name in (each for each in switches if each in done):
        print(f"{name}: {done[name].value}")
    if failed:
        print(_findings(options, _failures(failed)))
    return not failed


def _trusted(unknown: Mapping[str, "UnknownKeyError"], doors: Mapping[str, "Door"], keys: str) -> bool:
    """Show the operator host keys that are not known yet, and keep them where told to."""
    for name, error in unknown.items():
        announce(f"{name} {doors[name].address} {error.key.fingerprint}")
    if not inputs.confirmed("These host keys are not known yet. Are they the switches' own?"):
        return False
    inputs.append("--known-hosts", keys, "".join(error.line for error in unknown.values()))
    return True


def _failures(failed: Mapping[str, SwitchError]) -> list[Finding]:
    return wording.of_findings(
        Finding(Severity.BLOCKED, name, str(error), error.remedy) for name, error in failed.items()
    )


def site(
    options: argparse.Namespace,
    fabric: Fabric,
    names: Collection[str],
    logins: Logins,
) -> online.Site:
    """The site with the switches of these names, or all; ``with`` closes its connections.

    Raises UsageError if a file or an argument cannot be used.
    """
    _addressed(fabric, names)
    identity = access.identity(options)
    way = _access(options, logins, access.authorities(options.ca), _pins(options, fabric), identity)
    known = inputs.record(getattr(options, "record", ""))
    replaced = getattr(options, "replaced", ())
    require_known(fabric, replaced, "--replaced")
    ownership = Ownership.of(known, named(getattr(options, "remove", "")), replaced)
    typed = {each.name: scripts.script_for(fabric, each).typed for each in scripts.switches(fabric)}
    return online.Site(
        fabric,
        online.fleet(fabric, way, options.parallel),
        tuple(audit(fabric)),
        ownership,
        typed,
        backups=Folder(options.backups) if "backups" in options else None,
    )
