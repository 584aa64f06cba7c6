# SPDX-License-Identifier: Apache-2.0
"""One look at the host: what is wanted, what is there, and the plan between them. Writes nothing."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from boot import budget, driver_reload
from boot.files import RESTORE, has_follow, install_steps
from config import Options
from converge import Disruption, Finding, Plan, Severity, Step
from desired import Desired
from exporter import facts
from hostnic import handover
from hostnic.handover import Handover
from hostnic.system import HostStep, System
from nic.chain import Way
from nic.judge import Nic, VfLag, figures, joined
from nic.obstacles import obstacles
from observe import ask, observe
from observed import Judged, Observed
from plan import decide
from record import NoteConverged
from selection import resolve
from verify import verify

NAME = "sriov-switchdev"
NOT_INSTALLED = "the boot units and their files, which are not in place"


class Survey(NamedTuple):
    """The host's state, and the plan for it."""

    wanted: Desired  # what the options and the host's ports lead to
    observed: Observed  # the host
    ways: tuple[Way, ...]  # of each NIC, what differs, what is done about it, and what waits
    plan: Plan[System]  # the way from one to the other
    others: tuple[Handover, ...]  # what the machine's other charms hand over
    reboot_owner: str  # the charm that asks for this machine's reboots: nic-firmware's option names it
    # What the next boot needs and is not on disk; none of it is done while the plan is blocked
    install: tuple[HostStep, ...] = ()
    boot_at_work: bool = False  # the boot units are still running, or ports are being restored
    accepted: bool = True  # the options select ports, and these can be configured

    @property
    def not_ready(self) -> str:
        """Why a reboot would not lead to the desired state; empty when it does.

        Only what the next boot needs counts: steps that fail in this boot do not delay the next. A port that
        is gone, or a VF-LAG that cannot form and is required, does where its NIC is what the reboot is for.
        """
        stops = [
            f"{each.subject}: {each.what}" for each in self.plan.findings if each.severity is Severity.BLOCKED
        ]
        stops += [
            f"{each.subject}: {each.words}"
            for way in self.ways
            for each in way.nic.differences
            if way.held and each.level is Severity.BLOCKED
        ]
        if stops:
            return stops[0]
        return NOT_INSTALLED if self.install else ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The differences, worst first."""
        if self.boot_at_work:
            return self.plan.findings
        return verify(self.ways, self.wanted, self.observed, self.plan, self.install)


class Planned(NamedTuple):
    """The plan for this host, and the way of each NIC."""

    ways: tuple[Way, ...]  # of each NIC
    plan: Plan[System]
    install: tuple[HostStep, ...] = ()  # the steps of the plan that the next boot needs


def survey(
    system: System,
    options: Options,
    controllers: tuple[str, ...],
    application: str,
    judged: Judged | None = None,
) -> Survey:
    """Observe and plan.

    ``controllers`` are addresses of the Juju controller, for the confirmation of a live change.
    ``application`` is this charm's name in the model, for commands.
    ``judged`` is for :func:`observe`.
    """
    others, malformed = handover.read_others(system, NAME)
    owner = handover.owner_by(others, "nic-firmware") or NAME
    approve = handover.approval(others, owner, NAME, application)
    observed = observe(system, judged)._replace(approve=approve)
    wanted, findings = resolve(options, observed, application)
    nics = joined(wanted, observed)
    if busy := _boot_at_work(observed):
        plan, install = Plan[System](findings=(busy,)), install_steps(wanted, observed.installed)
        ways = tuple(map(Way, nics))
        return Survey(wanted, observed, ways, plan, others, owner, tuple(install), boot_at_work=True)
    if (asked := ask(system, observed, nics)) is not observed:
        observed, nics = asked, joined(wanted, asked)
    accepted = not any(finding.severity is Severity.BLOCKED for finding in findings)
    said = (*malformed, *findings)
    ways, plan, install = plan_host(nics, wanted, observed, said, options.allow_live, controllers)
    return Survey(wanted, observed, ways, plan, others, owner, install, accepted=accepted)


def _boot_at_work(observed: Observed) -> Finding | None:
    """A finding while the boot units are still at work: hooks must not touch the NICs then."""
    booted = observed.previous
    if observed.boot.restoring(observed.now, budget.restore_unheard(booted)):
        what = "a port whose driver was loaded anew is being restored"
        return Finding(Severity.WAITING, "restore", what, f"see systemctl status {RESTORE}")
    times = budget.early_unheard(booted), budget.bind_unheard(booted)
    if not observed.boot.unfinished(observed.now, *times):
        return None
    what = "the boot units are still at work (VF-LAG, binding of VFs)"
    return Finding(Severity.WAITING, "boot", what, "see systemctl status 'ovn-offload-sriov-*'")


def ports(survey: Survey) -> Iterator[facts.PortFacts]:
    """The declared ports, for the exporter."""
    wanted = survey.wanted
    nics = [way.nic for way in survey.ways]
    there = {now.port.bdf: (now, nic.lag) for nic in nics for now in nic.ports}
    others = {other.port.bdf for nic in nics for other in nic.others}
    for port in (*wanted.ports, *(port for port in wanted.absent if not wanted.port(port.bdf))):
        if port.bdf in others:
            continue  # another card is at its address: what that has is nobody's declaration
        now, lag = there.get(port.bdf, (None, VfLag.NONE))
        pf, declared, actual = now and now.pf, figures(port, now), dict[str, int]()
        if port.lag and lag not in (VfLag.NONE, VfLag.UNKNOWN):
            declared["vf_lag"], actual["vf_lag"] = 1, int(lag is VfLag.ACTIVE)
        bond = port.bond or (pf and pf.bond) or ""
        used = bool(bond or (pf and pf.port.bridge))
        yield facts.PortFacts(port.bdf, port.netdev, bond, used, declared, actual)


def flows(system: System, survey: Survey) -> facts.Flows | None:
    """How many flows and tracked connections are in the NICs, for the exporter."""
    from hostnic.network import ovs

    found = ovs.counts(system)
    return found and facts.Flows(*found, ovs.connections(system, [port.bdf for port in survey.wanted.ports]))


def plan_host(
    nics: Sequence[Nic],
    wanted: Desired,
    observed: Observed,
    findings: Sequence[Finding],
    allow_live: bool,
    controllers: tuple[str, ...] = (),
) -> Planned:
    """Plan the files for the next boot, then the NICs' steps, with a timer around a live change. Pure.

    With a blocking finding there is no step.
    """
    everything = [*observed.findings, *observed.unclear, *findings]
    if observed.vf_writers:
        from preflight import preflight  # most hosts have no such file

        everything += preflight(observed.vf_writers, [port.bdf for port in wanted.ports])
    for nic in nics:
        everything += obstacles(nic)
    none = Plan[System](findings=tuple(everything))
    if none.blocked:
        return Planned(tuple(map(Way, nics)), none)
    ways = tuple(
        driver_reload.way(nic, wanted, observed)
        if nic.lost
        else decide(nic, wanted, observed, allow_live=allow_live)
        for nic in nics
    )
    steps = tuple(step for way in ways for step in way.steps)
    if observed.armed or any(step.disruption > Disruption.LINK_FLAP for step in steps):
        import live  # a hook that cuts no network does without it

        steps = live.guarded(ways, wanted, observed, controllers)
    start = [step for way in ways for step in way.starts][:1]
    notes = list[HostStep]()
    for way in ways:
        slot, bdfs = way.nic.slot, tuple(now.port.bdf for now in way.nic.ports)
        settled = not way.nic.changes or (way.steps and not way.held)  # as declared, now or after these steps
        if bdfs and settled and slot not in observed.converged:
            what = f"note that {slot} is as declared"
            why = "its ports are restored if their driver is loaded anew"
            notes.append(Step(f"{slot}/converged", what, why, Disruption.NONE, NoteConverged(slot, bdfs)))
    install = tuple(install_steps(wanted, observed.installed))
    held = tuple(item for way in ways for item in way.waiting)
    at_last = (*notes, *_follow(wanted, observed))
    return Planned(ways, Plan((*install, *steps, *start, *at_last), held, none.findings), install)


def _follow(wanted: Desired, observed: Observed) -> list[HostStep]:
    """The steps that start or end the service that follows uplinks."""
    found = observed.installed
    if not (wanted.follow_uplink or has_follow(found)):
        return []
    from boot import follow  # only with its option, or after it

    return follow.steps(wanted, found, observed.follower)
