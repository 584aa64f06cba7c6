# SPDX-License-Identifier: Apache-2.0
"""Observe and plan in one call, as hooks and actions do it. Writes nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import fabric
import firmware
import record
from boot import files
from charmkit.output import NEXT_HOOK
from config import Options
from converge import Finding, Held, Plan, Severity
from desired import Desired
from exporter import facts
from fabric import Comparison
from hostnic import handover
from hostnic.handover import Handover
from hostnic.ops.members import AwaitMember
from hostnic.system import HostStep, System
from nic import before
from nic.before import Before
from nic.judge import Judgement, judge
from observe import observe
from observed import Observed
from plan import plan
from record import Writes
from selection import resolve

NAME = "roce-qos"
AT_WORK = Finding(
    Severity.WAITING, "boot", "a boot unit is at work", "see systemctl status 'ovn-offload-roce-qos*'"
)
"""Hooks do not change the ports meanwhile."""
STOP_IT = (
    "stop what does (lldpad, dcbtool, mlnx_qos or dcb); it may be in a service, cron or a udev rule; "
    f"then run systemctl restart {files.AGAIN}"
)


class Survey(NamedTuple):
    """Desired and observed state, what differs, and the plan that mends it."""

    wanted: Desired  # what the options and the host's ports lead to
    observed: Observed  # the host
    judgement: Judgement  # each property of the host, compared
    plan: Plan[System]  # the steps from one to the other
    others: tuple[Handover, ...]  # what the machine's other charms hand over
    new: tuple[str, ...] = ()  # PCI addresses of ports that the charm has not served until now
    # What ports have had that are not the charm's any more, and do not have again yet
    released: Mapping[str, Before] = {}
    fabric: Comparison = Comparison()  # what this host publishes to the fabric, and where the two differ
    accepted: bool = True  # always true: a name that matches no port is a finding of its own

    @property
    def boot_at_work(self) -> bool:
        """A boot unit is at work."""
        return self.observed.boot.running

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The differences from the declared state, on this host and from the fabric."""
        if self.boot_at_work:
            return (AT_WORK, *self.fabric.findings)
        left = [*self.judgement.gone, *self._left()]
        problems = self.observed.boot.problems if left else ()
        boot = (Finding(Severity.WARNING, "boot", problem) for problem in problems)
        return (*self.plan.findings, *left, *boot, *self.fabric.findings)

    def _left(self) -> Iterator[Finding]:
        """Yield the steps that the plan still has, and those that it holds."""
        for step in self.plan.steps:
            if not isinstance(step.op, AwaitMember):  # the wait after a change is not a difference
                yield Finding(Severity.WAITING, step.key, f"to do: {step.what}; {step.why}", NEXT_HOOK)
        for item in self.plan.held:
            yield Finding(Severity.HELD, item.step.key, f"{item.step.what}: {item.reason}", item.release)


def read_host(system: System, options: Options) -> Observed:
    """Read the parts of the host that the options are about."""
    names = (name for name, _ in options.cc_params)
    ask_ovs = options.ovn_encap_tos != "keep"
    return observe(system, names, options.roce_priority, speak=options.lldp, ask_ovs=ask_ovs)


def ports(survey: Survey) -> Iterator[facts.PortFacts]:
    """The declared ports, for the exporter."""
    for bdf in survey.wanted.ports:
        if not (seen := survey.observed.port(bdf)):
            yield facts.PortFacts(bdf, "", used=False, declared={"qos": 1})
            continue
        actual = {"qos": int(survey.judgement.right(bdf))}
        used = bool(seen.bond or seen.port.bridge)
        yield facts.PortFacts(seen.bdf, seen.netdev, seen.bond or "", used, {"qos": 1}, actual)


def survey(system: System, options: Options, policy: str | None, application: str) -> Survey:
    """Observe and plan.

    ``policy`` is the text of the fabric's databag; empty while it has none, None without a relation.
    ``application`` is this charm's name in the model, for the command that sets an option.
    """
    observed, installed = read_host(system, options), files.look(system)
    wanted, findings, new, gone = resolve(options, observed, files.last_desired(installed), application)
    recorded = {} if options.selected else before.read(system)
    gone = (*gone, *(bdf for bdf in recorded if bdf not in wanted.ports))
    released = {bdf: recorded.get(bdf, Before()) for bdf in gone}
    others, malformed = handover.read_others(system, NAME)
    told = Comparison() if policy is None else fabric.compare(system, wanted, observed, policy)
    judgement = judge(wanted, observed)
    if observed.boot.running:
        return Survey(wanted, observed, judgement, Plan(findings=(AT_WORK,)), others, fabric=told)
    judgement = judgement._replace(returned=before.give_back(wanted, released, observed))
    present = any(other.charm == "nic-firmware" for other in others)
    unreached = firmware.unreached(options, judgement, nic_firmware_present=present)
    about = (*observed.findings, *malformed, *findings, *unreached)
    found = plan(judgement, about, partial(_given_up, record.written(system)))
    if not found.blocked:
        found = replace(found, steps=(*files.install_steps(wanted, installed), *found.steps))
    return Survey(wanted, observed, judgement, found, others, new, released, told)


def _given_up(written: Mapping[str, Writes], step: HostStep) -> Held[System] | None:
    """The step, held if hooks have run it often enough; the boot unit runs it."""
    last = written.get(step.key)
    if last is None or not last.often(step):
        return None
    return Held(step, f"it was set {last.times} times in this boot, and something sets it back", STOP_IT)
