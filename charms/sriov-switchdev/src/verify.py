# SPDX-License-Identifier: Apache-2.0
"""What still differs from the declared state, in the operator's words. Pure."""

from collections.abc import Iterator

from boot import budget, driver_reload, files
from charmkit.output import NEXT_HOOK
from converge import Finding, Held, Plan, Severity
from converge.finding import RETRIED
from desired import Desired, Port
from hostnic.devices.lag import NO_LAG_OBJECT, WITH_DEBUGFS, no_lag_remedy, release
from hostnic.devices.model import Pf
from hostnic.system import System
from nic import steps
from nic.steps import PortAndPf
from observed import BootFailure, Observed
from plan import held_of

OVS = "Open vSwitch"
GONE = "if it was taken out, run action accept-nic on this unit; else see the kernel log"


def verify(wanted: Desired, observed: Observed, plan: Plan[System]) -> tuple[Finding, ...]:
    """Differences per port and NIC, what went wrong at boot, and the plan's own findings."""
    if unfinished := waiting_for_boot(observed):
        return (unfinished,)
    differences = [*_differences(wanted, observed, plan)]
    # What went wrong at boot matters as much as what it left behind.
    worst = max((found.severity for found in differences), default=Severity.INFO)
    severity = Severity.BLOCKED if worst >= Severity.PLANNED else Severity.WARNING
    problems = observed.boot.problems if worst > Severity.INFO else ()
    # Nobody waits any more for a port whose bond others serve.
    forgotten = observed.boot.missed.difference(port.bdf for port in wanted.everything)
    problems = [problem for problem in problems if problem.subject not in forgotten]
    boot = [_released(problem, wanted, plan).finding(severity) for problem in problems]
    return (*boot, *plan.findings, *differences, *_offloading(wanted, observed), *_unknown(wanted, observed))


def _released(problem: BootFailure, wanted: Desired, plan: Plan[System]) -> BootFailure:
    """What went wrong at boot, with what lets the steps of its NIC run again if they are held."""
    nic = wanted.nic_of(problem.subject)
    held = next((item for item in plan.held if nic and wanted.nic_of(item.step.key) == nic), None)
    if held is None:
        return problem
    return problem._replace(remedy="; then ".join(filter(None, (problem.remedy, held.release))))


def waiting_for_boot(observed: Observed) -> Finding | None:
    """A finding while the boot units are still at work: hooks must not touch the NICs then."""
    booted = observed.previous
    if observed.boot.restoring(observed.now, budget.restore_unheard(booted)):
        what = "a port whose driver was loaded anew is being restored"
        return Finding(Severity.WAITING, "restore", what, f"see systemctl status {files.RESTORE}")
    times = budget.early_unheard(booted), budget.bind_unheard(booted)
    if not observed.boot.unfinished(observed.now, *times):
        return None
    what = "the boot units are still at work (VF-LAG, binding of VFs)"
    return Finding(Severity.WAITING, "boot", what, "see systemctl status 'ovn-offload-sriov-*'")


def _differences(wanted: Desired, observed: Observed, plan: Plan[System]) -> Iterator[Finding]:
    # A blocked plan has no step: what blocks it says so, and the next hook would do nothing.
    for step in () if plan.blocked else files.install_steps(wanted, observed.installed):
        what = f"to do before the next boot: {step.what}; {step.why}"
        yield Finding(Severity.WAITING, step.key, what, NEXT_HOOK)
    unread = {found.subject for found in observed.host.findings}
    for slot, ports in wanted.nics().items():
        held = next(iter(held_of(slot, wanted, plan)), None)
        severity, remedy = Severity.PLANNED if held else Severity.WAITING, _remedy(held, plan)
        lost = [port.bdf for port in ports if driver_reload.lost(port, observed)]
        pairs = [(port, observed.host.pf(port.bdf)) for port in ports]
        pairs = [(port, pf) for port, pf in pairs if not (pf and port.is_other(pf.mac))]  # see preflight
        there = [(port, pf) for port, pf in pairs if pf]
        # `required` keeps VFs unbound where VF-LAG cannot form, and that is said below.
        kept_unbound = wanted.lag_required and steps.lag_impossible(there)
        for port, pf in pairs:
            if pf is None and port.bdf in unread:
                what = f"whether {port.netdev} is as declared is not known while it cannot be read"
                yield Finding(Severity.BLOCKED, port.bdf, what, RETRIED)
            elif pf is None:
                yield Finding(Severity.BLOCKED, *_absent(port, Desired()), GONE)
            else:
                first = f"done once {' and '.join(lost)} is restored" if lost else ""
                later = first if first and port.bdf not in lost else remedy
                yield from _of_port(port, pf, observed, plan, severity, later, kept_unbound)
                yield from _queues(wanted, observed, plan, port, pf, first)
            if pf:
                yield from _steering(wanted.steering_mode, port, pf)
        if steps.lag_impossible(there):
            worst = Severity.BLOCKED if wanted.lag_required else Severity.WARNING
            offered = max(pf.port.total_vfs for _, pf in there)
            yield Finding(worst, slot, f"VF-LAG cannot form: {NO_LAG_OBJECT}", no_lag_remedy(offered))
        else:
            yield from _lag(there, severity, remedy)
    for port in wanted.absent:
        if observed.host.in_flash_recovery(port.bdf):
            continue  # see selection
        yield Finding(Severity.BLOCKED, *_absent(port, wanted), GONE)


def _absent(port: Port, wanted: Desired) -> tuple[str, str]:
    """A port that no boot waits for, and what the operator has to know of it."""
    if wanted.port(port.bdf):  # another declared port is there now
        return port.netdev, f"the port with MAC {port.mac}, which was at {port.bdf}, is gone"
    return port.bdf, f"the port ({port.netdev}) is gone"


def _remedy(held: Held[System] | None, plan: Plan[System]) -> str:
    """What lets a held step run, or when a step that is not held runs."""
    if held:
        return f"{held.reason}; {held.release}"
    return "this is done once nothing blocks the charm" if plan.blocked else NEXT_HOOK


def _of_port(
    port: Port,
    pf: Pf,
    observed: Observed,
    plan: Plan[System],
    severity: Severity,
    remedy: str,
    kept_unbound: bool,
) -> Iterator[Finding]:
    """What differs of one port. A port out of its bond may return at once, whatever else of it is held."""
    found = [*_port(port, pf, observed)]
    if steps.is_detached(port, pf):
        out = f"out of {port.bond}"
        if severity is Severity.PLANNED and any(step.key == f"{port.bdf}/join" for step in plan.steps):
            yield Finding(Severity.WAITING, port.bdf, out, NEXT_HOOK)
        else:
            found.append(out)
    if what := ", ".join((*found, *(() if kept_unbound else _unbound(port, pf)))):
        yield Finding(severity, port.bdf, what, remedy)


def _port(port: Port, pf: Pf, observed: Observed) -> Iterator[str]:
    if pf.port.num_vfs != port.num_vfs:
        yield f"{pf.port.num_vfs} of {port.num_vfs} VFs"
    if driver_reload.is_lost(port, pf, observed.converged):
        yield "eswitch fell back to legacy mode"
    elif pf.eswitch_mode not in (None, "switchdev"):
        yield f"eswitch in {pf.eswitch_mode} mode"
    if pf.hw_tc_offload is False:
        yield "hw-tc-offload off"


def _unbound(port: Port, pf: Pf) -> Iterator[str]:
    """VFs without a driver, or autoprobe off, while which none can be bound."""
    unbound = sum(vf.driver is None for vf in pf.vfs)
    if unbound and pf.port.num_vfs == port.num_vfs:
        yield f"{unbound} of {pf.port.num_vfs} VFs bound to no driver"
    elif not pf.autoprobe and not steps.needs_work(port, pf):
        yield "VF autoprobe off"


def _queues(
    wanted: Desired, observed: Observed, plan: Plan[System], port: Port, pf: Pf, later: str
) -> Iterator[Finding]:
    """A warning: the port forwards, but few CPUs receive what the host itself handles."""
    channels = observed.channels.get(port.bdf)
    count = steps.queues_to_set(wanted, channels, observed.cpus)
    if channels and count and not steps.needs_work(port, pf):
        held = next((item for item in plan.held if item.step.key == f"{port.bdf}/queues"), None)
        what = f"the number of queues of {pf.netdev} is {channels.combined}, not {count}"
        yield Finding(Severity.WARNING, port.bdf, what, later or _remedy(held, plan))


def _steering(mode: str | None, port: Port, pf: Pf) -> Iterator[Finding]:
    """An information: the port forwards in either mode, and no NIC is set anew for it."""
    if mode and pf.steering_mode not in (None, mode) and not steps.needs_work(port, pf):
        what = f"flow steering mode is {pf.steering_mode}, not {mode}"
        yield Finding(Severity.INFO, port.bdf, what, "the next boot sets it, if NIC and kernel can")


def _lag(pairs: list[PortAndPf], severity: Severity, remedy: str) -> Iterator[Finding]:
    if steps.lag_missing(pairs):
        port, pf = pairs[0]
        instead = f"; the NIC bonds its ports as {pf.lag.type} instead" if pf.lag.active else ""
        yield Finding(severity, port.nic, f"VF-LAG is not active{instead}", remedy)


def _offloading(wanted: Desired, observed: Observed) -> Iterator[Finding]:
    """What keeps all traffic on the CPUs although a NIC is in switchdev mode.

    It is blocking: a host that forwards in software is not verified.
    """
    switched = [pf for _, pf in steps.pairs_of(observed.host, wanted.ports) if pf.eswitch_mode == "switchdev"]
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


def _unknown(wanted: Desired, observed: Observed) -> Iterator[Finding]:
    kernel = observed.host.kernel
    newer = release(kernel) >= WITH_DEBUGFS
    remedy = (
        "mount debugfs at /sys/kernel/debug; kernel lockdown can hide it"
        if newer
        else "kernel 5.19 and later show it; on jammy, deploy hwe-22.04"
    )
    for port in wanted.ports:
        pf = observed.host.pf(port.bdf)
        if pf and port.lag and pf.lag.vf_lag is None and not steps.needs_work(port, pf):
            since = ": a LAG formed in this boot, and may have ended" if pf.lag.source == "kernel log" else ""
            what = f"LAG state unknown on kernel {kernel}{since}"
            yield Finding(Severity.INFO, port.bdf, what, remedy)
