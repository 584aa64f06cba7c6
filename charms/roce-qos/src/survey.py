# SPDX-License-Identifier: Apache-2.0
"""Observe and plan in one call, as hooks and actions do it. Writes nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import fabric
import record
from boot import files
from config import Options
from converge import Finding, Held, Plan, Severity
from desired import Desired
from exporter import facts
from fabric import Comparison
from hostnic import handover
from hostnic.handover import Handover
from hostnic.ops.members import AwaitMember
from hostnic.system import System
from ineffective_options import ineffective_options
from nic import before
from nic.before import Before
from observe import observe
from observed import Observed
from plan import differs, plan, takes_link_down
from preflight import preflight
from record import Writes
from selection import cc_params, resolve
from verify import verify

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
    """Desired and observed state, and the plan between them."""

    wanted: Desired  # what the options and the host's ports lead to
    observed: Observed  # the host
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
        """What differs from the declared state, on this host and from the fabric."""
        left = (AT_WORK,) if self.boot_at_work else verify(self.wanted, self.observed, self.plan)
        return (*left, *self.fabric.findings)


def read_host(system: System, options: Options) -> Observed:
    """Read the parts of the host that the options are about."""
    names = (name for name, _ in cc_params(options))
    ask_ovs = options.ovn_encap_tos != "keep"
    return observe(system, names, options.roce_priority, speak=options.lldp, ask_ovs=ask_ovs)


def ports(survey: Survey) -> Iterator[facts.Port]:
    """The declared ports, for the exporter."""
    for bdf in survey.wanted.ports:
        if not (seen := survey.observed.port(bdf)):
            yield facts.Port(bdf, "", used=False, declared={"qos": 1})
            continue
        actual = {"qos": int(not differs(survey.wanted, survey.observed, seen))}
        used = bool(seen.bond or seen.port.bridge)
        yield facts.Port(seen.bdf, seen.netdev, seen.bond or "", used, {"qos": 1}, actual)


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
    if observed.boot.running:
        return Survey(wanted, observed, Plan(findings=(AT_WORK,)), others, fabric=told)
    present = any(other.charm == "nic-firmware" for other in others)
    ineffective = ineffective_options(options, wanted, observed, nic_firmware_present=present)
    about = (*malformed, *findings, *ineffective, *preflight(wanted, observed))
    found = plan(wanted, observed, about, released)
    if not found.blocked:
        found = _given_up(found, record.written(system))
        found = replace(found, steps=(*files.install_steps(wanted, installed), *found.steps))
    return Survey(wanted, observed, found, others, new, released, told)


def _given_up(planned: Plan[System], written: Mapping[str, Writes]) -> Plan[System]:
    """The plan without settings of NICs that hooks have set often enough; the boot unit sets them."""
    often = [step for step in planned.steps if step.key in written and written[step.key].often(step)]
    reason = "it was set {} times in this boot, and something sets it back"
    held = (Held(step, reason.format(written[step.key].times), STOP_IT) for step in often)
    steps = [step for step in planned.steps if step not in often]
    # A port whose link does not flap any more needs no wait either.
    flapping = {step.key.partition("/")[0] for step in steps if takes_link_down(step)}
    waited = (
        step
        for step in steps
        if not isinstance(step.op, AwaitMember) or step.key.partition("/")[0] in flapping
    )
    return replace(planned, steps=tuple(waited), held=(*planned.held, *held))
