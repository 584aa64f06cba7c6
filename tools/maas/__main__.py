# SPDX-License-Identifier: Apache-2.0
"""`tox -e maas -- VERB SITE`: make MAAS what a site file says, and take Juju there.

plan        show what is missing; writes nothing
apply       do it, unless others use what would change: the networks in order, then machines side by side
commission  show which machines MAAS has not seen yet; with --power-on, commission them and wait
verify      say what still differs, and whether the tagged machines are what they should be
overlay     write the site's overlay for the bundle; asks MAAS nothing
juju        print the calls from add-cloud to spaces that Juju still lacks; with --run, make them

apply and commission end with 0 when they did all that they could and told the next command, with 1 when a
step failed or something waits for you: a step that fails keeps back only those that need what it makes.
verify ends with 1 when MAAS is not as the site file says, plan with 0 also then. Each ends with 2 when the
site file, the intent or MAAS cannot be read.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, cast

from converge import Finding, Plan, Severity, Step, StepError
from converge.execute import execute
from converge.finding import few
from converge.render import MOST, cut, findings_as_table, plan_as_table
from maas import commission, juju, overlay, readiness
from maas.client import Maas, Write
from maas.plan import machine_of, observe, plan
from maas.progress import following, states
from maas.sitefile.model import Secret, Site
from maas.sitefile.reader import read_site
from maas.verify import checks, verify
from operate.client import Juju
from operate.together import side_by_side
from yamlfile.values import FileError


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="tox -e maas --", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = top.add_subparsers(dest="verb", required=True)
    for name in _VERBS:
        verb = verbs.add_parser(name)
        verb.add_argument("site", type=Path, help="the site file")
        if name in ("plan", "apply", "commission", "verify"):
            rows = f"all rows; default: the first {MOST}"
            verb.add_argument("--all", action="store_const", dest="most", const=None, default=MOST, help=rows)
        if name == "commission":
            verb.add_argument("--power-on", action="store_true", help="power them on and commission them")
        elif name == "overlay":
            verb.add_argument("--output", type=Path, metavar="FILE", help="write it there; default: print it")
        elif name == "juju":
            verb.add_argument("--run", action="store_true", help="make the calls; default: print them")
            verb.add_argument("--cloud", default="mymaas", help="default: mymaas")
            verb.add_argument("--controller", default="maas-controller", help="default: maas-controller")
            verb.add_argument("--model", default="openstack", help="default: openstack")
            verb.add_argument("--tag", default="juju", help="tag for the controller; default: juju")
    return top


def main(arguments: list[str]) -> int:
    """Run one verb; its exit code, as the help has it."""
    options = parser().parse_args(arguments)
    try:
        return _VERBS[options.verb](options, read_site(options.site))
    except (FileError, StepError) as error:
        print("; ".join([str(error), *filter(None, [getattr(error, "remedy", "")])]), file=sys.stderr)
        return 2


def _connect(site: Site) -> Maas:
    """MAAS, after every file of the site was read: none may turn out to be missing between two writes."""
    _ = site.fabric_intent  # is kept
    for machine in site.machines.values():
        for secret in machine.power.values():
            if isinstance(secret, Secret):
                secret.read()
    return Maas(site.maas, site.api_key.read())


def _plan(options: argparse.Namespace, site: Site) -> int:
    objects = observe(_connect(site), site)
    wanted = plan(site, objects)
    out = tuple(readiness.way_out(site, objects))
    print(plan_as_table(Plan(wanted.steps, findings=(*wanted.findings, *out)), options.most))
    return 0


def _apply(options: argparse.Namespace, site: Site) -> int:
    maas = _connect(site)
    wanted = plan(site, observe(maas, site))
    status = _refused(wanted, options.most) or _write(wanted, maas, site, options.most)
    return status or _ended(maas, site, options)


def _verify(options: argparse.Namespace, site: Site) -> int:
    found = verify(_connect(site), site)
    print(_told(found, options.most))
    return 1 if any(finding.severity > Severity.WARNING for finding in found) else 0


def _commission(options: argparse.Namespace, site: Site) -> int:
    maas = _connect(site)
    wanted = commission.plan(site, observe(maas, site))
    blocking = [each for each in plan(site, maas.objects).findings if each.severity is Severity.BLOCKED]
    if wanted.steps:  # MAAS would refuse each of them
        racks = (each for each in readiness.rack_images(site, maas.objects) if each.severity is Severity.HELD)
        blocking += [each._replace(severity=Severity.BLOCKED) for each in racks]
    first = Plan(wanted.steps, findings=(*blocking, *wanted.findings, *readiness.way_out(site, maas.objects)))
    if not options.power_on:
        shown = plan_as_table(first, options.most)
        print(shown.replace("everything is as declared", "MAAS has seen every machine"))
        if wanted.steps:
            print("Nothing was powered on: add --power-on to do that.")
        return 0
    if status := _refused(first, options.most):
        return status
    status = _write(wanted, maas, site, options.most)
    commission.wait(maas, site)
    return status or _ended(maas, site, options)


def _overlay(options: argparse.Namespace, site: Site) -> int:
    text = overlay.text(site, options.output.parent if options.output else Path())
    read_from = {path.resolve() for path in (options.site, Path(site.intent or options.site))}
    if options.output and options.output.resolve() in read_from:
        raise FileError(f"--output: the overlay is made from {options.output}; name another file")
    if options.output is None:
        print(text, end="")
        return 0
    try:
        options.output.write_text(text)
    except OSError as error:
        raise FileError(f"{options.output} cannot be written: {error.strerror}") from error
    print(f"{options.output} is written.")
    return 0


def _juju(options: argparse.Namespace, site: Site) -> int:
    names = juju.Names(options.cloud, options.controller, options.model, options.tag)
    client = Juju()
    wanted = juju.plan(site, names, juju.observe(client, names))
    if not options.run:
        for step in wanted.steps:
            print(*cast(juju.Call, step.op).shell(), sep="\n")
        print("" if wanted.steps else "# Nothing to do: Juju is as the site file says.\n", end="")
        return 0
    status = _call(wanted, client)
    found = [] if status else juju.verify(site, juju.observe(client, names))
    print(findings_as_table(found).replace("everything is as declared", "Juju is as the site file says"))
    return 1 if status or found else 0


_VERBS: dict[str, Callable[[argparse.Namespace, Site], int]] = {
    "plan": _plan,
    "apply": _apply,
    "commission": _commission,
    "verify": _verify,
    "overlay": _overlay,
    "juju": _juju,
}


def _call(wanted: Plan[Juju], client: Juju) -> int:
    """Make the calls of a plan; 1 when one failed, which is then told."""
    outcome = execute(wanted, client, lambda step: print(step.what, flush=True))
    if outcome.finding:
        print(outcome.finding.sentence(), file=sys.stderr)
        return 1
    print(f"{len(outcome.done)} steps done.")
    return 0


def _write(wanted: Plan[Maas], maas: Maas, site: Site, most: int | None) -> int:
    """Run the steps of the site in order, then those of machines side by side.

    A step that fails keeps only those from running that need what it makes. Returns 1 when one failed, which
    is then told.
    """
    groups: dict[str, list[Step[Maas]]] = {"": [], **{name: [] for name in site.machines}}
    for step in wanted.steps:
        groups[machine_of(step.key, site)].append(step)
    first = _run(groups.pop(""), maas, frozenset())
    rest = [steps for steps in groups.values() if steps]
    ran = side_by_side(lambda steps: _run(steps, maas, frozenset(first.lacking)), rest, "machines done")
    runs = [first, *(each for each in ran if isinstance(each, _Run))]
    done = sum(each.done for each in runs)
    if failures := [sentence for each in runs for sentence in each.failures]:
        first_ones, more = cut(failures, most, "failures")
        print(*first_ones, *filter(None, [more]), sep="\n", file=sys.stderr)
        if waiting := [key for each in runs for key in each.waiting]:
            print(f"Not tried, since they need what failed: {few(waiting)}.", file=sys.stderr)
        print(f"{done} of {len(wanted.steps)} steps done. Mend what failed, then repeat this for the others.")
        return 1
    print(f"{done} steps done.")
    return 0


class _Run(NamedTuple):
    """The outcome of some steps; `lacking` are the keys of all that they were to make, and did not."""

    done: int
    failures: list[str]
    waiting: list[str]
    lacking: set[str]


def _run(steps: Sequence[Step[Maas]], maas: Maas, before: frozenset[str]) -> _Run:
    """Run steps in their order, but none that needs what could not be made: now, or `before`."""
    done, failures, waiting, lacking = 0, list[str](), list[str](), {*before}
    for step in steps:
        if maas.silent():  # each of the rest would wait as long
            break
        if cast(Write, step.op).needs & lacking:
            waiting.append(step.key)
            lacking.add(step.key)
            continue
        # One write for each line: others write at the same time.
        outcome = execute(Plan((step,)), maas, lambda step: print(f"{step.what}\n", end="", flush=True))
        done += len(outcome.done)
        if outcome.finding:
            failures.append(outcome.finding.sentence())
            lacking.add(step.key)
    return _Run(done, failures, waiting, lacking)


def _refused(wanted: Plan[Maas], most: int | None) -> int:
    """1 for a plan that is blocked, whose findings are then told."""
    if wanted.blocked:
        print(_told(wanted.findings, most))
        print("Nothing was written.")
    return int(wanted.blocked)


def _told(found: Sequence[Finding], most: int | None) -> str:
    shown = findings_as_table(found, most=most)
    return shown.replace("everything is as declared", "MAAS is as the site file says")


def _ended(maas: Maas, site: Site, options: argparse.Namespace) -> int:
    """Tell what waits for the operator (then 1), or how far the machines are and what comes next (then 0).

    Steps that are still to be written are what comes next, unless apply should have done them.
    """
    objects = observe(maas, site)
    wanted = plan(site, objects)
    left = options.verb == "apply" and wanted.steps
    found = verify(maas, site) if left else checks(maas, site, objects, wanted)
    open_ones = any(finding.severity in (Severity.HELD, Severity.BLOCKED) for finding in found)
    # That a machine is to be commissioned, or is at it, is told by its state.
    shown = [finding for finding in found if open_ones or finding.severity is not Severity.WAITING]
    finished = not wanted.steps and len(shown) == len(found)
    if shown or finished:
        print(_told(shown, options.most))
    command = "" if open_ones else following(site, objects, wanted, options.site)
    print("; next: ".join(filter(None, (states(site, objects), command))))
    return int(open_ones)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
