# SPDX-License-Identifier: Apache-2.0
"""What prevents that a NIC is set as wanted, found before anything is written. Pure."""

from collections.abc import Iterator

from converge import Finding, Severity
from desired import Desired, Setting, State, chosen_nics, states
from hostnic.devices.port import Nic, Port
from hostnic.firmware import mstconfig
from hostnic.firmware.msterrors import LIVEFISH
from nic import ethernet
from nic.activation import after_lost_reset
from observed import ENGINE, Answer, Observed


def preflight(wanted: Desired, observed: Observed) -> dict[str, tuple[Finding, ...]]:
    """By NIC, what prevents that it is set as wanted."""
    dpus = tuple(becoming_dpu(wanted, observed))
    found = {
        nic.slot: (
            *(finding for finding in dpus if finding.subject in {port.bdf for port in nic.ports}),
            *losses(nic, wanted, observed),
            *(finding for port in nic.ports for finding in _port(port, wanted, observed)),
        )
        for nic in chosen_nics(wanted, observed)
    }
    return {slot: findings for slot, findings in found.items() if findings}


def losses(nic: Nic, wanted: Desired, observed: Observed) -> tuple[Finding, ...]:
    """Settings that would take a link from a port that is in use, unless the operator allows it.

    That is Ethernet from a port that the host uses, or InfiniBand from one that was not named.
    """
    found = dict.fromkeys(taking(nic, wanted, observed))
    taken = dict.fromkeys(_from_infiniband(nic, wanted, observed))
    return (*(_loss(setting, port, state, observed) for setting, port, state in found), *taken)


def lost_at_next_boot(wanted: Desired, observed: Observed) -> tuple[str, ...]:
    """Settings that take Ethernet from a port that the host uses at its next boot, each with its NIC."""
    found = [
        f"{nic.short}: {setting}"
        for nic in chosen_nics(wanted, observed)
        for setting, _, state in taking(nic, wanted, observed)
        if state is State.ACTIVATE
    ]
    return tuple(dict.fromkeys(found))


def becoming_ethernet(wanted: Desired, observed: Observed) -> Iterator[Finding]:
    """InfiniBand ports in use that are set to become Ethernet at the next boot, by whatever set them so."""
    for port, name in ethernet.unnamed_in_use(wanted, observed):
        parameter = observed.answers.get(port.bdf, Answer()).parameters.get(name)
        if parameter and mstconfig.number(parameter.current) == 1 != mstconfig.number(parameter.next_boot):
            what = f"{name} is {parameter.next_boot} at the next boot, which takes InfiniBand from this port"
            keep = f"run set-parameters devices={port.bdf} parameters={name}=IB"
            remedy = f"{keep}; or, to have Ethernet, name {port.bdf} in option devices; no reboot until then"
            yield Finding(Severity.BLOCKED, port.bdf, f"{what}; {observed.infiniband[port.bdf]}", remedy)


def becoming_dpu(wanted: Desired, observed: Observed) -> Iterator[Finding]:
    """BlueFields that leave NIC mode at the next boot although nobody declared it: a change may flip it."""
    for bdf, settings in wanted.ports.items():
        engine = observed.answers.get(bdf, Answer()).parameters.get(ENGINE)
        if ENGINE in settings or not engine:
            continue
        if mstconfig.number(engine.current) == 1 and mstconfig.number(engine.next_boot) == 0:
            keep = f"run set-parameters devices={bdf} parameters={ENGINE}=1"
            remedy = f"set {ENGINE} to 1 again to keep NIC mode; {keep}, "
            remedy += f"or, for DPU mode, add {ENGINE}=0 to option parameters; no reboot until then"
            yield Finding(
                Severity.BLOCKED, bdf, "this BlueField is in DPU mode from the next boot on", remedy
            )


def taking(nic: Nic, wanted: Desired, observed: Observed) -> Iterator[tuple[Setting, Port, State]]:
    """Settings that would take Ethernet from a port that the host uses, each with the port.

    Without those that are current already: they have no further effect.
    """
    for port in nic.ports if not wanted.ethernet_may_go else ():
        for setting, state in states(port.bdf, wanted, observed):
            parameter = observed.answers[port.bdf].parameters.get(setting.name)
            if state is State.ABSENT or (parameter and setting.matches(parameter.current)):
                continue
            for loser in ethernet.losers(nic, setting):
                if loser.bdf in observed.host_uses:
                    yield setting, loser, state


def _from_infiniband(nic: Nic, wanted: Desired, observed: Observed) -> Iterator[Finding]:
    for bdf in (port.bdf for port in nic.ports):
        for setting, state in states(bdf, wanted, observed):
            port = ethernet.makes_ethernet(nic, setting)
            if state is State.SET and port and port.bdf in observed.infiniband.keys() - wanted.named:
                what = f"{setting} ({setting.source}) would make this InfiniBand port Ethernet"
                remedy = f"name {port.bdf} itself in devices if it may lose InfiniBand"
                yield Finding(Severity.BLOCKED, port.bdf, f"{what}; {observed.infiniband[port.bdf]}", remedy)


def _loss(setting: Setting, port: Port, state: State, observed: Observed) -> Finding:
    what = f"{setting} ({setting.source}) would take Ethernet from this port"
    remedy = "set allow-ethernet-loss=true if the port may lose Ethernet; the NIC is not changed"
    if state is State.ACTIVATE:
        what += " with the next boot, for which it is set"
        remedy = f"set {setting.name} back, or set allow-ethernet-loss=true; no reboot until then"
    return Finding(Severity.BLOCKED, port.bdf, f"{what}; {observed.host_uses[port.bdf]}", remedy)


def _port(port: Port, wanted: Desired, observed: Observed) -> Iterator[Finding]:
    answer = observed.answers.get(port.bdf, Answer())
    if answer.reason:
        vfs = wanted.ports.get(port.bdf, {}).get("NUM_OF_VFS")
        enough = vfs is None or vfs.matches(str(port.total_vfs))
        if LIVEFISH in answer.reason:  # it is no reason to hold what other NICs wait for
            remedy = answer.remedy.replace("BDF", port.bdf)
            yield Finding(Severity.HELD, port.bdf, answer.reason, remedy)
        elif observed.lockdown and enough:
            what = (
                f"{answer.reason}; it offers {port.total_vfs} VFs, and the other parameters are not checked"
            )
            yield Finding(Severity.WARNING, port.bdf, what, answer.remedy)
        else:
            remedy = after_lost_reset(port.bdf, observed) or answer.remedy
            yield Finding(Severity.BLOCKED, port.bdf, answer.reason, remedy)
        return
    found = dict(states(port.bdf, wanted, observed))
    yield from _absent(port.bdf, found, answer)
    changed = [str(setting) for setting, state in found.items() if state is State.SET]
    if answer.dpu and changed:
        what = f"the BlueField is in DPU mode, where its own system owns the firmware: {', '.join(changed)}"
        remedy = "set it from the DPU, or remove the port from option devices; nothing is changed here"
        yield Finding(Severity.BLOCKED, port.bdf, f"{what} is not set", remedy)


def _absent(bdf: str, found: dict[Setting, State], answer: Answer) -> Iterator[Finding]:
    for setting, state in found.items():
        shown = answer.parameters.get(setting.name)
        if state is not State.ABSENT or setting.optional or (not shown and ethernet.needless(setting)):
            continue
        severity = Severity.BLOCKED if setting.required else Severity.WARNING
        what = f"the firmware does not offer {setting.name} ({setting.source})"
        if shown:
            kept = f"{setting.name} at {shown.next_boot or 'N/A'}, which cannot be changed"
            what = f"the firmware keeps {kept}: {setting} ({setting.source}) is not set"
        remedy = "remove it, or update the firmware; action query shows what the firmware offers"
        if setting.near:
            nearest, *others = setting.near
            remedy = f"write {nearest} instead of {setting.name}"
            if others:
                remedy += f"; also similar: {', '.join(others)}"
        gate = answer.parameters.get(setting.gate)
        if gate and mstconfig.number(gate.next_boot) == 0:  # else it is open, or there is none
            remedy = f"also set {setting.gate}=1, which makes the firmware offer it, or remove it"
        yield Finding(severity, bdf, what, remedy)
