# SPDX-License-Identifier: Apache-2.0
"""From options, other charms' requests and the host's NICs to the settings of each port. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from choice import TAKEN, Chosen, choose
from config import OPTIONAL, PROFILES, Options
from converge import Finding, Severity
from desired import Desired, Setting
from hostnic.devices.pci import MAX_VFS_WITH_LAG
from hostnic.devices.port import Nic
from hostnic.devices.selector import Entry
from hostnic.firmware.mstconfig import NUM_OF_VFS, PER_PF, PF_NUM_OF_VF
from hostnic.firmware.mstdatabase import Database, ValueRefused
from hostnic.firmware.msterrors import UNKNOWN
from hostnic.handover import Handover
from nic.ethernet import placed
from observed import FirmwareAnswer, Observed

OPTION = "option parameters"
SAME = "set both to the same value, or remove one"
NEWER = "install a newer mstflint if it is to be set too"

Read = Setting | Finding
"""A parameter set to what a text means, or why that is refused."""


class _Declared(NamedTuple):
    """Settings of one NIC, before each is placed on its ports."""

    settings: Mapping[str, Setting]  # by name
    findings: Sequence[Finding]  # what is wrong with them


def resolve(options: Options, observed: Observed, others: Sequence[Handover], database: Database) -> Desired:
    """Decide what each port's firmware is set to.

    Unused InfiniBand ports become Ethernet without being named, but with ``reboot-policy=manual`` only once
    the operator says so.

    The findings are about names that do not exist, values that contradict each other, and conflicting
    requests. With a blocking finding the desired state must not be applied.
    """
    convert = options.reboot_policy != "manual"
    choice = choose(options.selected, observed.nics, observed.infiniband, convert=convert)
    given = _of_texts(options.explicit, OPTION, database)
    findings = [*choice.findings, *_unknown(given)]
    left = {bdf for bdf, role in choice.roles.items() if role not in TAKEN}
    ports: dict[str, dict[str, Setting]] = {}
    for nic in choice.nics:
        declared = _of_nic(nic, options, given, others, database)
        findings += declared.findings
        for bdf, settings in _on_ports(declared.settings, nic, choice.whole[nic.slot], database).items():
            ports[bdf] = {name: each for name, each in settings.items() if each.port not in left}
            findings += [_dropped(settings[name]) for name in sorted(settings.keys() - ports[bdf].keys())]
    undecided: dict[str, Setting] = {}
    for port in choice.unused:
        alone = Nic(port.nic, (port,))
        profiles = _by_name(_of_profiles(alone, options, database))
        for setting in _on_ports(profiles, alone, alone, database)[port.bdf].values():
            if setting.makes:
                undecided[port.bdf] = setting
    found = tuple(dict.fromkeys(findings))
    return Desired(ports, options.allow_ethernet_loss, choice.named, undecided, choice.watched, found)


def _dropped(setting: Setting) -> Finding:
    """A value for an InfiniBand port that is left alone."""
    bdf = setting.port
    severity = Severity.WARNING if setting.required else Severity.INFO
    what = f"{setting} ({setting.source}) is not set, since this InfiniBand port is left alone"
    return Finding(severity, bdf, what, f"name {bdf} in option devices if it is to be set")


def possible(wanted: Desired, observed: Observed, entries: Sequence[Entry]) -> Desired:
    """``wanted`` without the NICs that the firmware's answers rule out, which its findings name.

    These are NICs that mstflint does not know, and those that stay InfiniBand whatever is set.
    """
    return _without_infiniband(_without_unknown(wanted, observed, entries), observed)


def _without_unknown(wanted: Desired, observed: Observed, entries: Sequence[Entry]) -> Desired:
    """``wanted`` without NICs that ``auto`` selects and mstflint does not know, as long as it knows another.

    A host with such NICs alone is not passed over: its mstflint may be too old for them.
    """
    unknown = {
        nic.slot: answer
        for nic in observed.nics
        for port in nic.ports
        if UNKNOWN in (answer := observed.answers.get(port.bdf, FirmwareAnswer())).reason
    }
    known = any(bdf.rpartition(".")[0] not in unknown for bdf in wanted.ports)
    if entries or not unknown or not known:
        return wanted
    ports = {bdf: each for bdf, each in wanted.ports.items() if bdf.rpartition(".")[0] not in unknown}
    left = {bdf: each for bdf, each in wanted.undecided.items() if bdf.rpartition(".")[0] not in unknown}
    found = (
        Finding(Severity.INFO, slot, f"auto leaves this NIC alone: {answer.reason}", NEWER)
        for slot, answer in unknown.items()
    )
    return wanted._replace(ports=ports, undecided=left, findings=(*wanted.findings, *found))


def _without_infiniband(wanted: Desired, observed: Observed) -> Desired:
    """Without the NICs that stay InfiniBand whatever is set, unless named; and a finding for each port."""
    ports = dict(wanted.ports)
    findings = [*wanted.findings]
    for nic in observed.nics:
        own = [port.bdf for port in nic.ports if port.bdf in ports]
        settings = [setting for bdf in own for setting in ports[bdf].values()]
        settings += [each for bdf, each in wanted.undecided.items() if bdf.startswith(nic.slot)]
        stays = set[str]()
        for setting in settings:
            answer = observed.answers.get(setting.through, FirmwareAnswer())
            if setting.makes and not answer.reason and setting.name not in answer.parameters:
                stays.add(setting.makes)
                what = f"this port stays InfiniBand: its firmware does not offer {setting.name}"
                findings.append(Finding(Severity.INFO, setting.makes, what))
        if own and stays - wanted.named >= set(own):
            ports = {bdf: settings for bdf, settings in ports.items() if bdf not in own}
    return wanted._replace(ports=ports, findings=tuple(findings))


def explicit(given: Mapping[str, str], chosen: Chosen, database: Database, source: str) -> Desired:
    """Only these settings, on all chosen NICs; for actions."""
    read = _of_texts(given, source, database)
    ports: dict[str, dict[str, Setting]] = {}
    for nic in chosen.nics:
        ports |= _on_ports(_by_name(read), nic, chosen.whole[nic.slot], database)
    findings = tuple(dict.fromkeys((*_unknown(read), *_refused(read))))
    return Desired(ports, named=chosen.named, watched=chosen.watched, findings=findings)


def _of_nic(
    nic: Nic, options: Options, given: Sequence[Read], others: Sequence[Handover], database: Database
) -> _Declared:
    """The settings of one NIC: profiles, then other charms' requests, then ``given`` by the option."""
    profiles, own = _of_profiles(nic, options, database), _by_name(given)
    settings, findings = _by_name(profiles), [*_refused(profiles), *_refused(given)]
    # The larger of num-vfs and what another charm needs on any port of the NIC.
    needs = [(each.charm, max(each.vfs.get(port.bdf, 0) for port in nic.ports)) for each in others]
    count, source = (options.num_vfs, "option num-vfs") if "ovn-offload" in options.profiles else (0, "")
    for charm, need in needs:
        if need > count:
            count, source = need, charm
    if count:
        settings["SRIOV_EN"] = Setting("SRIOV_EN", 1, source)
        settings[NUM_OF_VFS] = Setting(NUM_OF_VFS, count, source, at_least=True)
    requested = _of_others(nic, others, settings | own, database)
    settings |= requested.settings
    findings += requested.findings
    if vfs := own.get(NUM_OF_VFS):
        findings += _too_few(vfs, nic, needs, options)
    settings |= own
    if NUM_OF_VFS in settings and PER_PF not in settings:  # else the number has no effect
        settings[PER_PF] = Setting(PER_PF, 0, settings[NUM_OF_VFS].source, optional=True)
    return _Declared(settings, (*findings, *_rules(nic, settings)))


def _on_ports(
    settings: Mapping[str, Setting], nic: Nic, whole: Nic, database: Database
) -> dict[str, dict[str, Setting]]:
    """The settings through each port: those that the NIC's ports share through the first one.

    ``nic`` has the ports that are configured, ``whole`` all of them: a setting may be about any.
    """
    found: dict[str, dict[str, Setting]] = {port.bdf: {} for port in nic.ports}
    for name, setting in settings.items():
        # PER_PF makes the firmware offer PF_NUM_OF_VF, which each port has for itself.
        shared = database.shared(name) and not (name == PER_PF and setting.value)
        for port in nic.ports[: 1 if shared else None]:
            found[port.bdf][name] = placed(whole, port.bdf, setting)
    return found


def _read(name: str, text: str, source: str, database: Database, *, required: bool = False) -> Read:
    """A parameter set to what ``text`` means; ``required`` if the operator wrote it."""
    try:
        meant = database.meaning(name, text)
    except ValueRefused as error:
        return Finding(Severity.BLOCKED, source, str(error), "correct it")
    return Setting(name, meant.value, source, gate=meant.gate, required=required, near=meant.near)


def _of_texts(given: Mapping[str, str], source: str, database: Database) -> list[Read]:
    """The settings that the operator wrote: they are the same for each NIC."""
    return [_read(name, text, source, database, required=True) for name, text in given.items()]


def _by_name(read: Iterable[Read]) -> dict[str, Setting]:
    return {each.name: each for each in read if isinstance(each, Setting)}


def _refused(read: Iterable[Read]) -> Iterator[Finding]:
    return (each for each in read if isinstance(each, Finding))


def _unknown(read: Iterable[Read]) -> Iterator[Finding]:
    """Names that mstflint's database does not have: a warning, since it may be older than the NIC."""
    for each in _by_name(read).values():
        if each.near is not None:
            meant = f"; similar names: {', '.join(each.near)}" if each.near else ""
            what = f"mstflint's database has no {each.name}{meant}"
            remedy = "correct the name, unless the NIC has this parameter"
            yield Finding(Severity.WARNING, each.source, what, remedy)


def _of_profiles(nic: Nic, options: Options, database: Database) -> list[Read]:
    found: list[Read] = []
    for profile in options.profiles:
        for name, text in PROFILES[profile].items():
            per_port = [f"{name[:-1]}{port.number}" for port in nic.ports]
            for each in per_port if name.endswith("_Pn") else [name]:
                read, optional = _read(each, text, f"profile {profile}", database), name in OPTIONAL
                found.append(read._replace(optional=optional) if isinstance(read, Setting) else read)
    return found


def _of_others(
    nic: Nic, others: Iterable[Handover], taken: Mapping[str, Setting], database: Database
) -> _Declared:
    """Other charms' requests. Options and earlier charms take precedence; a finding names the conflict."""
    found: dict[str, Setting] = {}
    findings: list[Finding] = []
    for other in others:
        for port in nic.ports:
            for name, value in other.parameters.get(port.bdf, {}).items():
                text = str(int(value)) if isinstance(value, bool) else str(value)
                setting, own = _read(name, text, other.charm, database), found.get(name) or taken.get(name)
                if isinstance(setting, Finding):
                    # The operator cannot correct it here: it stops nothing.
                    what = f"{setting.what}; {name} is not set"
                    remedy = f"correct it in the options of {other.charm}"
                    findings.append(Finding(Severity.WARNING, other.charm, what, remedy))
                elif own is None or (own.value == setting.value and own.source == setting.source):
                    found[name] = setting
                elif own.value != setting.value:
                    sets = f"{own.source} sets {own}, which takes precedence"
                    what, remedy = f"{other.charm} needs {setting}, but {sets}", SAME
                    findings.append(Finding(Severity.WARNING, nic.slot, what, remedy))
    return _Declared(found, findings)


def _too_few(vfs: Setting, nic: Nic, needs: Iterable[tuple[str, int]], options: Options) -> Iterator[Finding]:
    """The option parameters may lower NUM_OF_VFS below num-vfs, but not below what another charm needs."""
    for charm, need in needs:
        if _count(vfs) < need:
            what = f"{vfs} is fewer than the {need} VFs that {charm} needs on {nic.short}"
            yield Finding(Severity.BLOCKED, OPTION, what, f"raise it, or lower num-vfs of {charm}")
    if "ovn-offload" in options.profiles and _count(vfs) < options.num_vfs:
        what = f"{vfs} takes precedence over num-vfs, which is {options.num_vfs}"
        yield Finding(Severity.WARNING, OPTION, what, SAME)


def _rules(nic: Nic, wanted: Mapping[str, Setting]) -> Iterator[Finding]:
    """Settings that contradict each other on any firmware."""
    for setting in wanted.values():
        gate = wanted.get(setting.gate)
        if gate is not None and gate.value == 0:
            what = f"{setting} needs {setting.gate}=1, but {gate.source} sets 0"
            yield Finding(Severity.BLOCKED, setting.source, what, f"remove one of the two on {nic.short}")
    vfs, enabled = wanted.get(NUM_OF_VFS), wanted.get("SRIOV_EN")
    if vfs and enabled and enabled.value == 0 and vfs.value:
        what = f"{vfs} ({vfs.source}) and SRIOV_EN=0 ({enabled.source}) contradict each other"
        yield Finding(Severity.BLOCKED, nic.slot, what, "remove one of the two")
    per_pf, own = wanted.get(PER_PF), wanted.get(PF_NUM_OF_VF)
    if vfs and per_pf and per_pf.value and (own is None or _count(own) < _count(vfs)):
        what = f"{vfs} ({vfs.source}) has no effect with {per_pf} ({per_pf.source})"
        remedy = f"remove {PER_PF}, or also set {PF_NUM_OF_VF} to {vfs.value} or more"
        yield Finding(Severity.BLOCKED, nic.slot, what, remedy)
    if vfs and _count(vfs) > MAX_VFS_WITH_LAG and all(port.bond for port in nic.ports):
        what = f"{vfs}: some firmware refuses VF-LAG above {MAX_VFS_WITH_LAG} VFs, and the ports are bonded"
        yield Finding(Severity.WARNING, nic.slot, what, f"ask for {MAX_VFS_WITH_LAG} or fewer")


def _count(setting: Setting) -> int:
    return setting.value if isinstance(setting.value, int) else 0
