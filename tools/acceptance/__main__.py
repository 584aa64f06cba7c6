# SPDX-License-Identifier: Apache-2.0
"""`tox -e acceptance -- VERB --cloud NAME`: prove what instances of a deployed cloud reach.

openrc   write the cloud's credentials to clouds.yaml, from Keystone's action in the current Juju model
plan     show what is missing in the cloud; writes nothing
apply    create it: image, flavor, networks, ports, servers; may be interrupted and run again
measure  climb the ladder from host to host to tenants' paths, then report; continues after an interruption
report   judge the last measurement again and write the report
destroy  delete what apply created, and nothing else

Exit status: 0 passed or done, 1 failed, 2 could not measure or could not ask.
"""

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations, takewhile
from pathlib import Path
from typing import Any

from converge import Finding, Plan, Severity, StepError
from converge.execute import execute
from converge.render import findings_as_json, findings_as_table, plan_as_json, plan_as_table, table
from operate.client import Juju
from operate.process import Process, process

from acceptance import addresses, external, member, openrc
from acceptance.cloud import Clock, Cloud, connect
from acceptance.measure.ladder import RUNGS, Rung, titled, whole
from acceptance.measure.results import Results, as_data, keep
from acceptance.measure.run import Climber
from acceptance.measure.shells import Node, hosting, nodes
from acceptance.plan import plan, removal
from acceptance.report import cores, offload
from acceptance.report.judge import explanation, judge, overall, unmeasured
from acceptance.report.page import page
from acceptance.report.verdict import Verdict
from acceptance.sitefile import SiteFile
from acceptance.wanted import Facts, chosen, objects, servers

PASS, FAIL, UNKNOWN = 0, 1, 2


@dataclass(frozen=True)
class Around:
    """The outside world of the verbs, so that tests and the lab can replace it.

    `substituted` says in each report what was not as in production.
    """

    connect: Callable[[str, str], Any] = connect
    process: Process = process
    clock: Clock = field(default=time)
    rungs: tuple[Rung, ...] = RUNGS
    substituted: tuple[str, ...] = ()


def main(arguments: list[str], around: Around | None = None) -> int:
    """Run one verb and return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        return getattr(Command(options, around or Around()), options.verb)()
    except StepError as error:
        if options.json:
            found = Finding(Severity.BLOCKED, options.cloud, error.reason, error.remedy)
            print(json.dumps({"findings": findings_as_json([found])}))
        print("; ".join(filter(None, (error.reason, error.remedy))), file=sys.stderr)
        return UNKNOWN
    except KeyboardInterrupt:
        print(f"Interrupted; {options.verb} continues where it was when you run it again.", file=sys.stderr)
        return UNKNOWN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tox -e acceptance --", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("verb", choices=("openrc", "plan", "apply", "measure", "report", "destroy"))
    parser.add_argument(
        "--cloud", required=True, type=_name, metavar="NAME", help="the cloud's name in clouds.yaml"
    )
    parser.add_argument(
        "--site", type=Path, metavar="FILE", help="what differs from the RDG; see site-example.yaml"
    )
    parser.add_argument(
        "--cacert", metavar="FILE", help="the CA of the cloud's certificates; by default the system's CAs"
    )
    parser.add_argument(
        "--json", action="store_true", help="print the result as JSON, and progress to standard error"
    )
    return parser


def _name(text: str) -> str:
    if not re.fullmatch(r"[\w.-]+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a name of letters, digits, dots and dashes")
    return text


class Command:
    """The verbs, with what the command line says."""

    def __init__(self, options: argparse.Namespace, around: Around) -> None:
        self.cloud, self.json, self.around = options.cloud, options.json, around
        self.cacert = options.cacert or ""
        self.site = (
            SiteFile.read(options.site) if options.verb not in ("openrc", "destroy", "report") else SiteFile()
        )

    def openrc(self) -> int:
        said = openrc.write(Juju(run=self.around.process), self.cloud, openrc.path())
        self._tell({"cloud": self.cloud, "file": str(openrc.path())}, said)
        return PASS

    def plan(self) -> int:
        cloud = self._cloud()
        return self._show(self._planned(cloud, cloud.facts()), "Nothing to do: the cloud has all objects.")

    def apply(self) -> int:
        cloud = self._cloud()
        facts = cloud.facts()
        found = self._planned(cloud, facts)
        if found.blocked:
            self._show(found, "")
            return UNKNOWN
        status = self._execute(found, cloud)
        if status == PASS:
            # Networks have their MTU only once they exist.
            found = self._planned(cloud, facts)
            logins = self._logins(cloud, list(servers(self.site, facts)))
            status = self._show(found, "All objects exist, and the servers are ACTIVE.", {"logins": logins})
            self._say("Log in to the servers; they install their packages for a few minutes:")
            for vm, login in logins.items():
                self._say(f"  {login}   # {vm}")
        return status

    def destroy(self) -> int:
        cloud = self._cloud()
        cloud.observe()
        found = removal(cloud.all)
        if found.blocked:
            return self._show(found, "")
        status = self._execute(found, cloud)
        if status == PASS:
            said = f"{len(found.steps)} deleted; nothing that this tool created is left."
            self._tell({"deleted": len(found.steps)}, said)
        return status

    def measure(self) -> int:
        cloud = self._cloud()
        facts = cloud.facts()
        missing = self._planned(cloud, facts)
        if missing.steps:
            raise StepError(f"not everything is there yet: {missing.steps[0].what}", "run apply first")
        for each in missing.findings:
            if each.severity >= Severity.HELD:
                what = f"the cloud is not as the site file says: {each.subject}: {each.what}"
                raise StepError(what, each.remedy)
        hosts = servers(self.site, facts)
        computes, unseen = self._nodes(cloud, hosts, member.unseen(self.site, facts))
        path = self._folder() / "results.json"
        results = Results(self.cloud, int(time.time()), self.site.seconds, hosts)
        results.conditions = self._conditions(cloud, hosts)
        before = Results.read(path)
        if before:
            # An expired token, for one, may have kept a rung and all after it from being measured.
            before.rungs = dict(takewhile(lambda each: "" not in each[1].problems, before.rungs.items()))
        if before and before.rungs and not before.finished:
            reason = before.outdated(results)
            results = results if reason else before
            last = titled(list(before.rungs)[-1])
            self._say(f"Starting anew: {reason}." if reason else f"Continuing after {last}.")
        results.substituted, results.unseen = self.around.substituted, unseen
        results.computes, results.line_share = len(facts.zones), self.site.line_share
        rungs = whole(self.around.rungs, self.site, hosts)
        run = Climber(
            cloud, self.site, hosts, computes, self.around.process, self._folder(), self._say, rungs
        )
        run.climb(results, path)
        return self.report()

    def report(self) -> int:
        results = Results.read(self._folder() / "results.json")
        if results is None:
            raise StepError(f"there is no measurement of {self.cloud}", "run measure first")
        verdicts = judge(results)
        target = self._folder() / "report.html"
        keep(target, page(results, verdicts, time.time()))
        state, found = overall(results, verdicts), explanation(verdicts)
        if self.json:
            told = {
                "verdict": state.words,
                "proven": offload.proof(results),
                "age": results.age(time.time()),
                "explanation": findings_as_json([found] if found else []),
                "report": str(target),
            }
            checks = [{**verdict._asdict(), "state": verdict.state.words} for verdict in verdicts]
            print(
                json.dumps(
                    {
                        **told,
                        "checks": checks,
                        "host-cpu": cores.as_json(results),
                        "results": as_data(results),
                    }
                )
            )
        else:
            print(_summary(results, verdicts))
            print(f"{self.cloud}: {state.words}.", *([found.sentence()] if found else []))
            print(f"{offload.proof(results)} {results.age(time.time())}.")
            print(f"The report is {target}.")
        return state.value

    def _cloud(self) -> Cloud:
        return Cloud(self.around.connect(self.cloud, self.cacert), self.around.clock)

    def _planned(self, cloud: Cloud, facts: Facts) -> Plan[Cloud]:
        """Plan the missing objects that the user may ask for, and tell which checks will not be possible."""
        wanted = list(member.allowed(list(objects(self.site, facts)), self.site, facts))
        existing = cloud.observe({each.key for each in wanted if not each.shared})
        asked = [key for key in addresses.needed(wanted, existing) if key in existing]
        taken = {key: cloud.addresses(existing[key]) for key in asked}
        short = addresses.short(wanted, existing, taken, whole=not facts.refused)
        found = plan(wanted, existing, short)
        said = [*chosen(self.site, facts), *member.findings(self.site, facts)]
        said += external.findings(self.site.public, cloud.all["network"], existing)
        return Plan(found.steps, findings=(*found.findings, *said))

    def _nodes(
        self, cloud: Cloud, hosts: dict[str, str], unseen: tuple[str, ...]
    ) -> tuple[dict[str, Node], tuple[str, ...]]:
        """The servers' compute nodes, which go into `hosts` where Nova does not tell them; else why not.

        Raises:
            StepError: two servers are on one node.

        """
        juju = Juju(run=self.around.process)
        if not unseen:
            return nodes(juju, list(hosts.values())), ()
        try:
            found = hosting(juju, {vm: cloud.objects[f"server {vm}"]["id"] for vm in hosts})
        except StepError as error:
            why = "; ".join(filter(None, (error.reason, error.remedy)))
            return {}, (f"the compute nodes: Nova does not tell them, and Juju: {why}", *unseen)
        hosts |= {vm: node.name for vm, node in found.items()}
        for vm, other in combinations(hosts, 2):
            if hosts[vm] == hosts[other]:
                what = f"{vm} and {other} are both on {hosts[vm]}, whose ports their packets would not reach"
                raise StepError(what, "run destroy, then apply")
        return {node.name: node for node in found.values()}, unseen[1:]

    def _conditions(self, cloud: Cloud, hosts: dict[str, str]) -> dict[str, str]:
        """Return the conditions that have to be the same for all rungs."""
        site = self.site
        given = {"software": site.software, "disturb": site.disturb, "mtu": site.mtu, "seconds": site.seconds}
        given["ipv6"] = site.ipv6
        made = " ".join(cloud.objects[f"server {vm}"]["id"] for vm in hosts)
        return {"servers": made, **{key: json.dumps(value) for key, value in given.items()}}

    def _folder(self) -> Path:
        base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
        folder = Path(f"{base}/ovn-offload/acceptance/{self.cloud}").expanduser()
        try:
            for missing in [each for each in (*reversed(folder.parents), folder) if not each.exists()]:
                missing.mkdir(0o700, exist_ok=True)
        except OSError as error:
            raise StepError(f"{folder} cannot be made: {error.strerror}") from None
        return folder

    def _execute(self, wanted: Plan[Cloud], cloud: Cloud) -> int:
        total = len(wanted.steps)
        place = {step.key: number for number, step in enumerate(wanted.steps, 1)}
        outcome = execute(wanted, cloud, lambda step: self._say(f"[{place[step.key]}/{total}] {step.what}"))
        if outcome.finding is None:
            return PASS
        if self.json:
            print(json.dumps({"findings": findings_as_json([outcome.finding])}))
        print(outcome.finding.sentence(), file=sys.stderr)
        return FAIL

    def _show(self, wanted: Plan[Cloud], nothing: str, more: dict[str, Any] | None = None) -> int:
        if self.json:
            print(json.dumps({**plan_as_json(wanted), **(more or {})}))
        elif wanted.steps:
            print(plan_as_table(wanted))
        else:
            print(findings_as_table(wanted.findings) if wanted.findings else nothing)
        held: list[Finding] = [each for each in wanted.findings if each.severity >= Severity.HELD]
        return UNKNOWN if held else PASS

    def _logins(self, cloud: Cloud, names: list[str]) -> dict[str, str]:
        """The command that logs in to each server."""
        key = Path(self.site.public_key).with_suffix("")
        floating = {vm: cloud.objects[f"floating ip normal{vm.removeprefix('vm')}"] for vm in names}
        return {
            vm: f"ssh -i {key} {self.site.image_user}@{each['floating_ip_address']}"
            for vm, each in floating.items()
        }

    def _tell(self, result: dict[str, Any], text: str) -> None:
        """The result, as JSON or for people."""
        print(json.dumps(result) if self.json else text)

    def _say(self, text: str) -> None:
        """Progress."""
        print(text, file=sys.stderr if self.json else sys.stdout, flush=True)


def _summary(results: Results, verdicts: list[Verdict]) -> str:
    rows = [(titled(each.rung), each.check, each.state.words, each.measured) for each in verdicts]
    lines = [table(("rung", "check", "verdict", "measured"), rows)] if rows else []
    lines += [f"not seen: {sentence}" for sentence in (*results.unseen, *cores.unknown(results))]
    lines += filter(None, (cores.sentence(results), cores.packets(results)))
    return "\n".join([*lines, *(f"not measured: {sentence}" for sentence in unmeasured(results))])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
