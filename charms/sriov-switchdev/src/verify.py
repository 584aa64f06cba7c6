# SPDX-License-Identifier: Apache-2.0
"""The differences that remain from the declared state, in the operator's words. Pure."""

from collections.abc import Iterable, Iterator

from boot.files import FOLLOW
from charmkit.output import NEXT_HOOK
from converge import Finding, Plan, Severity
from converge.finding import RETRIED
from desired import Desired, WantedPort
from hostnic import nova
from hostnic.system import HostStep, System
from nic.chain import Way
from nic.judge import GONE, Difference, Move
from observed import BootFailure, Observed

OVS = "Open vSwitch"
OFFER = (
    "set option pci-passthrough-whitelist of nova-compute; with an entry for each port that has VFs, as in "
    "juju config nova-compute pci-passthrough-whitelist="
    """'[{{"devname": "{}", "physical_network": null}}]'; """
    "Neutron needs juju config neutron-api enable-hardware-offload=true beside it, which no host can see"
)
"""The settings without which OpenStack gives no instance a VF."""


def verify(
    ways: tuple[Way, ...],
    wanted: Desired,
    observed: Observed,
    plan: Plan[System],
    install: Iterable[HostStep],
) -> tuple[Finding, ...]:
    """Differences per port and NIC, what went wrong at boot, and the plan's own findings.

    ``install`` are the steps of the plan that put on disk what the next boot needs.
    """
    differences = list[Finding]()
    for step in install:
        what = f"to do before the next boot: {step.what}; {step.why}"
        differences.append(Finding(Severity.WAITING, step.key, what, NEXT_HOOK))
    for step in plan.steps:
        if step.key == f"{FOLLOW}/started":
            what = f"to do: {step.what}; {step.why}"
            differences.append(Finding(Severity.WAITING, FOLLOW, what, NEXT_HOOK))
    for way in ways:
        differences += _of_nic(way, plan.blocked)
    for port in wanted.absent:
        if port.slot not in observed.host.in_flash_recovery:  # else see selection
            differences.append(Finding(Severity.BLOCKED, *_absent(port, wanted), GONE))
    # What went wrong at boot matters as much as what it left behind.
    worst = max((found.severity for found in differences), default=Severity.INFO)
    severity = Severity.BLOCKED if worst >= Severity.PLANNED else Severity.WARNING
    problems = observed.boot.problems if worst > Severity.INFO else ()
    # Nobody waits any more for a port whose bond others serve.
    forgotten = observed.boot.missed.difference(port.bdf for port in wanted.everything)
    problems = [problem for problem in problems if problem.subject not in forgotten]
    boot = [_released(problem, wanted, ways).finding(severity) for problem in problems]
    return (*boot, *plan.findings, *differences, *_offloading(ways, observed), *_offered(ways, observed))


def _released(problem: BootFailure, wanted: Desired, ways: Iterable[Way]) -> BootFailure:
    """Add to a failure at boot the way to let its NIC's steps run again, if they are held."""
    slot = wanted.nic_of(problem.subject)
    held = next((item for way in ways if way.nic.slot == slot for item in way.waiting), None)
    if held is None:
        return problem
    return problem._replace(remedy="; then ".join(filter(None, (problem.remedy, held.release))))


def _absent(port: WantedPort, wanted: Desired) -> tuple[str, str]:
    """A port that no boot waits for, and what the operator has to know of it."""
    if wanted.port(port.bdf):  # another declared port is there now
        return port.netdev, f"the port with MAC {port.mac}, which was at {port.bdf}, is gone"
    return port.bdf, f"the port ({port.netdev}) is gone"


def _of_nic(way: Way, blocked: bool) -> Iterator[Finding]:
    """Yield one finding for all differences of a port that wait for the same."""
    sentences: dict[tuple[Severity, str, str], list[str]] = {}
    for each in (each for each in way.nic.differences if not each.stops):  # which the plan says
        level, remedy = _waits_for(each, way, blocked)
        sentences.setdefault((level, each.subject, remedy), []).append(each.words)
    for (level, subject, remedy), words in sentences.items():
        yield Finding(level, subject, ", ".join(words), remedy)


def _waits_for(each: Difference, way: Way, blocked: bool) -> tuple[Severity, str]:
    """How grave a difference is, and what lets its move run, or when that runs."""
    held = next(iter(way.waiting if each.move is Move.QUEUES else way.held), None)
    level = each.level if each.level is not None else Severity.PLANNED if way.held else Severity.WAITING
    if each.remedy:
        return level, each.remedy
    if way.held and way.mends(each):  # a port out of its bond returns at once, whatever else of it is held
        return each.level if each.level is not None else Severity.WAITING, NEXT_HOOK
    lost = way.nic.lost
    if lost and each.subject not in (*lost, way.nic.slot):
        return level, f"done once {' and '.join(lost)} is restored"
    if held:
        return level, f"{held.reason}; {held.release}"
    return level, "this is done once nothing blocks the charm" if blocked else NEXT_HOOK


def _offloading(ways: Iterable[Way], observed: Observed) -> Iterator[Finding]:
    """Name the reasons why all traffic stays on the CPUs although a NIC is in switchdev mode.

    The finding is blocking: a host that forwards in software is not verified.
    """
    ports = [now.pf for way in ways for now in way.nic.ports]
    switched = [pf for pf in ports if pf.eswitch_mode == "switchdev"]
    if not switched:
        return
    if isinstance(observed.ovs, str):
        yield Finding(Severity.WARNING, OVS, f"does not tell whether it offloads: {observed.ovs}", RETRIED)
    elif observed.ovs and (why := observed.ovs.no_flow)[0]:
        what, remedy = why
        yield Finding(Severity.BLOCKED, OVS, f"gives the NIC no flow: {what}", remedy)
    for pf in switched:
        if pf.encap_mode == "none":
            what = "takes no tunnel: its encap-mode is none"
            remedy = "remove what sets that at boot, or update the firmware; then reboot this host"
            yield Finding(Severity.BLOCKED, pf.bdf, what, remedy)


def _offered(ways: Iterable[Way], observed: Observed) -> Iterator[Finding]:
    """Name the reason why no instance gets VFs that are there: a warning, since they may be for others."""
    ports = [now for way in ways for now in way.nic.ports if now.port.num_vfs]
    names = [now.netdev for now in ports if now.pf.eswitch_mode == "switchdev"]
    if names and observed.offered is not None and (why := nova.why_no_vf(observed.offered, names)):
        what = f"no instance gets a VF of {' and '.join(names)}: {why}"
        yield Finding(Severity.WARNING, "Nova", what, OFFER.format(names[0]))
