# SPDX-License-Identifier: Apache-2.0
"""Each declared parameter of a NIC, joined once with all that is known of it, and judged. Pure.

The plan, the status, the exporter, the actions, the reasons for a reboot and the record read these verdicts.
"""

import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from converge import Finding, Severity
from desired import Desired, Setting, chosen_nics
from hostnic.devices.port import FLASH_RECOVERY, Nic, Port
from hostnic.firmware import mstconfig
from hostnic.firmware.mstconfig import NUM_OF_VFS, Parameter
from hostnic.firmware.msterrors import LIVEFISH
from observed import ENGINE, FirmwareAnswer, Observed
from record import Attempts, Waiting

from nic import burning, ethernet
from nic.burning import Firmware

OFTEN = 2
"""A value that was set so often, and is not there, is not set again: each time may cost a reboot."""
REVIVAL = "a reboot of the host brings it back"
NOT_REVIVED = (
    "see the kernel log, and power-cycle the machine; its reset failed in an earlier boot, and a reboot did "
    "not bring it back; if the NIC was taken out, name the others in option devices"
)


class Outcome(enum.Enum):
    """The outcomes for a declared parameter (see docs/explanation/firmware.md)."""

    RIGHT = "it is as declared"
    NEEDLESS = "the firmware does not offer it, and is right without it"
    SILENT = "the firmware does not answer"
    ABSENT = "the firmware does not offer it, or keeps another value"
    TAKES = "it is to be set, and would take Ethernet from a port in use"
    ENDS = "it is to be set, and would take InfiniBand from a port in use"
    GIVEN_UP = "it was set often enough"
    SET = "it is to be set"
    MAY_TAKE = "it is set, perhaps not active yet, and takes Ethernet from a port in use"
    WILL_TAKE = "it is set for the next boot, and takes Ethernet from a port in use"
    UNAPPLIED = "it is set for the next boot, and a reboot does not apply it"
    ACTIVATE = "it is set for the next boot"


DIFFERS = (Outcome.TAKES, Outcome.ENDS, Outcome.GIVEN_UP, Outcome.SET)
"""The next boot does not have it as declared."""
IS_SET = (Outcome.WILL_TAKE, Outcome.UNAPPLIED, Outcome.ACTIVATE)
"""The next boot has it, and it is not active."""
RIGHT = (Outcome.RIGHT, Outcome.MAY_TAKE)
"""Nothing is left to be set or activated, as far as the firmware tells."""
AS_DECLARED = (*RIGHT, Outcome.NEEDLESS)
"""The outcomes that count as right."""


class Declared(NamedTuple):
    """A declared parameter, and what is known of it."""

    setting: Setting
    found: Parameter | None = None  # as the firmware has it; None if it does not offer it, or hides it
    noted: Waiting | None = None  # since when it waits
    tried: Attempts | None = None  # how often this value was set

    @property
    def offered(self) -> bool:
        """The firmware has it as declared for the next boot, or lets it be set."""
        found = self.found
        return found is not None and found.next_boot is not None and (self.next or not found.fixed)

    @property
    def next(self) -> bool:
        """The next boot has it as declared."""
        return self.found is not None and self.setting.matches(self.found.next_boot)

    @property
    def current(self) -> bool:
        """Whether it is as declared now."""
        return self.found is not None and self.setting.matches(self.found.current)

    @property
    def key(self) -> str:
        """The key of the step that sets it."""
        if self.setting.makes:
            return f"{self.setting.makes}/ethernet"
        return f"{self.setting.through}/{'parameters' if self.found else 'hidden-parameters'}"


class Verdict(NamedTuple):
    """One declared parameter: what it is, and what is to become of it."""

    declared: Declared
    outcome: Outcome
    losers: tuple[str, ...] = ()  # the ports in use that it takes Ethernet from
    why: str = ""  # why a reboot does not apply it

    @property
    def setting(self) -> Setting:
        """The declared setting."""
        return self.declared.setting

    @property
    def found(self) -> Parameter | None:
        """The firmware's own parameter."""
        return self.declared.found


class Judged(NamedTuple):
    """One NIC that is chosen."""

    nic: Nic
    ports: Mapping[str, tuple[Verdict, ...]] = {}  # by BDF, of its declared ports
    findings: tuple[Finding, ...] = ()  # what prevents that it is set as declared
    firmware: Firmware = Firmware()  # its image
    stopped: bool = False  # it is left alone
    dpus: tuple[Finding, ...] = ()  # BlueFields that leave NIC mode at the next boot; among its findings

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts of all ports."""
        return tuple(verdict for verdicts in self.ports.values() for verdict in verdicts)


class Judgement(NamedTuple):
    """The host."""

    nics: tuple[Judged, ...] = ()
    # InfiniBand ports in use that are set to become Ethernet, by whatever set them so; on any NIC
    ending: tuple[Finding, ...] = ()
    undecided: tuple[Declared, ...] = ()  # would make InfiniBand ports Ethernet, once the operator says so

    @property
    def dpus(self) -> tuple[Finding, ...]:
        """BlueFields that leave NIC mode at the next boot."""
        return tuple(finding for judged in self.nics for finding in judged.dpus)

    @property
    def losses(self) -> tuple[str, ...]:
        """Settings that take Ethernet from a port that the host uses at its next boot, each with its NIC."""
        found = (
            f"{judged.nic.short}: {verdict.setting}"
            for judged in self.nics
            for verdict in judged.verdicts
            if verdict.outcome is Outcome.WILL_TAKE
        )
        return tuple(dict.fromkeys(found))


class _Host(NamedTuple):
    """The host's state on which the verdicts of one NIC depend besides its parameters."""

    uses: Mapping[str, str]  # by BDF, how the host uses a port that must not lose Ethernet
    infiniband: frozenset[str]  # ports in use as InfiniBand that nobody named
    boot_id: str
    power_cycle: bool  # the tool said that only a power cycle applies what waits


def judge(wanted: Desired, observed: Observed) -> Judgement:
    """Join what is declared with what was read, and judge it."""
    ending = tuple(_ending(wanted, observed))
    undecided = (_join(bdf, setting, observed) for bdf, setting in wanted.undecided.items())
    return Judgement(
        nics=tuple(_nic(nic, wanted, observed, ending) for nic in chosen_nics(wanted, observed)),
        ending=ending,
        undecided=tuple(each for each in undecided if each.found and not each.next),
    )


def _join(bdf: str, setting: Setting, observed: Observed) -> Declared:
    found = observed.answers.get(bdf, FirmwareAnswer()).parameters.get(setting.name)
    noted = observed.record.get(bdf, setting.name)
    return Declared(setting, found, noted, observed.record.tried(bdf, str(setting)))


def _nic(nic: Nic, wanted: Desired, observed: Observed, ending: tuple[Finding, ...]) -> Judged:
    host = _Host(
        {} if wanted.ethernet_may_go else observed.host_uses,
        frozenset(observed.infiniband.keys() - wanted.named),
        observed.boot_id,
        observed.record.power_cycle(nic.slot, observed.boot_id),
    )
    ports: dict[str, tuple[Verdict, ...]] = {}
    for port in nic.ports:
        settings = wanted.ports.get(port.bdf, {})
        declared = {name: _join(port.bdf, setting, observed) for name, setting in settings.items()}
        if not observed.answers.get(port.bdf, FirmwareAnswer()).reason:
            ports[port.bdf] = tuple(_port(declared, host))
        elif not _suffices(port, settings.get(NUM_OF_VFS), observed):
            ports[port.bdf] = tuple(Verdict(each, Outcome.SILENT) for each in declared.values())
    verdicts = [verdict for found in ports.values() for verdict in found]
    own = {port.bdf for port in nic.ports}
    dpus = tuple(found for port in nic.ports for found in _becoming_dpu(port.bdf, wanted, observed))
    findings = (
        *dpus,
        *losses(verdicts, observed),
        *(finding for port in nic.ports for finding in _of_port(port, ports, wanted, observed)),
    )
    stopped = any(finding.severity >= Severity.HELD for finding in findings)
    stopped = stopped or any(finding.subject in own for finding in ending)
    return Judged(nic, ports, findings, burning.judge(nic, observed), stopped, dpus)


def _port(declared: Mapping[str, Declared], host: _Host) -> Iterator[Verdict]:
    """The verdicts on the parameters that are set through one port."""
    gates = {name: declared.get(each.setting.gate) for name, each in declared.items()}
    left = {str(each.setting) for name, each in declared.items() if _differs(each, gates[name])}
    for name, each in declared.items():
        yield parameter(each, gates[name], left, host)


def parameter(each: Declared, gate: Declared | None, left: set[str], host: _Host) -> Verdict:
    """The verdict on one parameter: the first line that fits.

    ``gate`` is what hides it, if that is declared, too; ``left`` has what else is to be set through its port.
    """
    setting, found = each.setting, each.found
    losers = () if each.current else tuple(bdf for bdf in setting.takes if bdf in host.uses)
    if _differs(each, gate):
        if losers:
            return Verdict(each, Outcome.TAKES, losers)
        if setting.makes in host.infiniband:
            return Verdict(each, Outcome.ENDS)
        return Verdict(each, Outcome.GIVEN_UP if _given_up(each, gate, left) else Outcome.SET)
    if found is None or not each.offered:
        needless = setting.optional or (found is None and ethernet.needless(setting))
        return Verdict(each, Outcome.NEEDLESS if needless else Outcome.ABSENT)
    if each.current:  # also where the next boot has fewer that suffice: no reboot is worth it
        return Verdict(each, Outcome.RIGHT)
    waits = found.current != found.next_boot
    if found.current is None:  # the firmware does not tell it: what was set in this boot waits
        waits = each.noted is not None and each.noted.boot_id == host.boot_id
    if losers:
        return Verdict(each, Outcome.WILL_TAKE if waits else Outcome.MAY_TAKE, losers)
    if not waits:
        return Verdict(each, Outcome.RIGHT)
    why = _ineffective(each, found, host)
    return Verdict(each, Outcome.UNAPPLIED if why else Outcome.ACTIVATE, why=why)


def _differs(each: Declared, gate: Declared | None) -> bool:
    """Whether the next boot has another value that can be set, or hides it behind a gate that will be set."""
    if each.offered:
        return not each.next
    return gate is not None and gate.setting.matches("1") and gate.offered and not gate.next


def _given_up(each: Declared, gate: Declared | None, left: set[str]) -> bool:
    """Whether a value was set often enough: the firmware, the BIOS or the BMC does not leave it.

    Values that the firmware has refused are tried again once one of the call is not to be set any more. A
    parameter is not set either while it is hidden behind one that is given up.
    """
    if each.tried and each.tried.tries >= OFTEN:
        return left.issuperset(each.tried.call)
    return gate is not None and each.found is None and _given_up(gate, None, left)


def _ineffective(each: Declared, found: Parameter, host: _Host) -> str:
    """Why a reboot does not apply what waits; empty when it may."""
    if each.noted and each.noted.value == found.next_boot and each.noted.boot_id != host.boot_id:
        return "a restart of the host did not apply it"
    return "the firmware says that a warm reboot does not apply it" if host.power_cycle else ""


def losses(verdicts: Sequence[Verdict], observed: Observed) -> tuple[Finding, ...]:
    """Settings that would take a link from a port that is in use, unless the operator allows it.

    That is Ethernet from a port that the host uses, or InfiniBand from one that was not named.
    """
    found = [_loss(verdict, bdf, observed) for verdict in verdicts for bdf in verdict.losers]
    found += [_end(verdict.setting, observed) for verdict in verdicts if verdict.outcome is Outcome.ENDS]
    return tuple(dict.fromkeys(found))


def _loss(verdict: Verdict, bdf: str, observed: Observed) -> Finding:
    setting = verdict.setting
    what = f"{setting} ({setting.source}) would take Ethernet from this port"
    remedy = "set allow-ethernet-loss=true if the port may lose Ethernet; the NIC is not changed"
    if verdict.outcome is Outcome.WILL_TAKE:
        what += " with the next boot, for which it is set"
        remedy = f"set {setting.name} back, or set allow-ethernet-loss=true; no reboot until then"
    return Finding(Severity.BLOCKED, bdf, f"{what}; {observed.host_uses[bdf]}", remedy)


def _end(setting: Setting, observed: Observed) -> Finding:
    what = f"{setting} ({setting.source}) would make this InfiniBand port Ethernet"
    remedy = f"name {setting.makes} itself in devices if it may lose InfiniBand"
    return Finding(Severity.BLOCKED, setting.makes, f"{what}; {observed.infiniband[setting.makes]}", remedy)


def _ending(wanted: Desired, observed: Observed) -> Iterator[Finding]:
    for bdf, name in wanted.watched.items():
        parameter = observed.answers.get(bdf, FirmwareAnswer()).parameters.get(name)
        if parameter and mstconfig.number(parameter.current) == 1 != mstconfig.number(parameter.next_boot):
            what = f"{name} is {parameter.next_boot} at the next boot, which takes InfiniBand from this port"
            keep = f"run set-parameters devices={bdf} parameters={name}=IB"
            remedy = f"{keep}; or, to have Ethernet, name {bdf} in option devices; no reboot until then"
            yield Finding(Severity.BLOCKED, bdf, f"{what}; {observed.infiniband[bdf]}", remedy)


def _becoming_dpu(bdf: str, wanted: Desired, observed: Observed) -> Iterator[Finding]:
    """A BlueField that leaves NIC mode at the next boot although nobody declared it: a change may flip it."""
    settings = wanted.ports.get(bdf)
    engine = observed.answers.get(bdf, FirmwareAnswer()).parameters.get(ENGINE)
    if settings is None or ENGINE in settings or not engine:
        return
    if mstconfig.number(engine.current) == 1 and mstconfig.number(engine.next_boot) == 0:
        keep = f"run set-parameters devices={bdf} parameters={ENGINE}=1"
        remedy = f"set {ENGINE} to 1 again to keep NIC mode; {keep}, "
        remedy += f"or, for DPU mode, add {ENGINE}=0 to option parameters; no reboot until then"
        what = "this BlueField is in DPU mode from the next boot on"
        yield Finding(Severity.BLOCKED, bdf, what, remedy)


def _of_port(
    port: Port, verdicts: Mapping[str, tuple[Verdict, ...]], wanted: Desired, observed: Observed
) -> Iterator[Finding]:
    answer = observed.answers.get(port.bdf, FirmwareAnswer())
    if answer.reason:
        yield _no_answer(port, answer, wanted.ports.get(port.bdf, {}).get(NUM_OF_VFS), observed)
        return
    found = verdicts.get(port.bdf, ())
    for verdict in found:
        if verdict.outcome is Outcome.ABSENT:
            yield _absent(port.bdf, verdict, answer)
    changed = [str(verdict.setting) for verdict in found if verdict.outcome in DIFFERS]
    if answer.dpu and changed:
        what = f"the BlueField is in DPU mode, where its own system owns the firmware: {', '.join(changed)}"
        remedy = "set it from the DPU, or remove the port from option devices; nothing is changed here"
        yield Finding(Severity.BLOCKED, port.bdf, f"{what} is not set", remedy)


def _no_answer(port: Port, answer: FirmwareAnswer, vfs: Setting | None, observed: Observed) -> Finding:
    if LIVEFISH in answer.reason:  # it is no reason to hold what other NICs wait for
        return Finding(Severity.HELD, port.bdf, answer.reason, answer.remedy.replace("BDF", port.bdf))
    if _suffices(port, vfs, observed):
        what = f"{answer.reason}; it offers {port.total_vfs} VFs, and the other parameters are not checked"
        return Finding(Severity.WARNING, port.bdf, what, answer.remedy)
    remedy = after_lost_reset(port.bdf, observed) or answer.remedy
    return Finding(Severity.BLOCKED, port.bdf, answer.reason, remedy)


def _suffices(port: Port, vfs: Setting | None, observed: Observed) -> bool:
    """Whether the VFs that a port offers have to do, since the kernel keeps its firmware from being read."""
    return bool(observed.lockdown) and (vfs is None or vfs.matches(str(port.total_vfs)))


def _absent(bdf: str, verdict: Verdict, answer: FirmwareAnswer) -> Finding:
    setting, shown = verdict.setting, verdict.found
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
    return Finding(severity, bdf, what, remedy)


def lost_by_reset(observed: Observed) -> dict[str, str]:
    """Name the ports that are unusable since a reset of their NIC that did not succeed, and how."""
    there = {port.bdf: port for nic in observed.nics for port in nic.ports}
    found: dict[str, str] = {}
    for bdf, boot_id in observed.record.resets.items():
        port = there.get(bdf)
        if port is None:
            found[bdf] = "the port is gone from the PCI bus"
        elif observed.answers.get(bdf, FirmwareAnswer()).reason:
            found[bdf] = "the port does not answer"
        elif port.driver is None and boot_id == observed.boot_id and port.device not in FLASH_RECOVERY:
            found[bdf] = "the port has no driver"
    return found


def after_lost_reset(bdf: str, observed: Observed) -> str:
    """Return the remedy for a port that :func:`lost_by_reset` names; empty for any other."""
    if bdf not in lost_by_reset(observed):
        return ""
    return REVIVAL if observed.record.resets[bdf] == observed.boot_id else NOT_REVIVED
