# SPDX-License-Identifier: Apache-2.0
"""From options, other charms' requests and the host's NICs to the settings of each port. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from choice import TAKEN, Chosen, choose
from config import OPTIONAL, PROFILES, Options
from converge import Finding, Severity
from desired import Desired, Setting
from hostnic.devices.pci import MAX_VFS_WITH_LAG
from hostnic.devices.port import Nic, Port
from hostnic.devices.selector import Entry
from hostnic.firmware.mstconfig import NUM_OF_VFS, PER_PF, PF_NUM_OF_VF
from hostnic.firmware.mstdatabase import ADVANCED, Database, ValueRefused, plain
from hostnic.firmware.msterrors import UNKNOWN
from hostnic.handover import Handover
from nic.ethernet import placed
from observed import Answer, Observed

OPTION = "option parameters"
GATED = {"MAX_ACC_OUT_READ": ADVANCED, PF_NUM_OF_VF: PER_PF}
"""Known gates, for use without a database."""

SAME = "set both to the same value, or remove one"
NEWER = "install a newer mstflint if it is to be set too"


def resolve(options: Options, observed: Observed, others: Sequence[Handover], database: Database) -> Desired:
    """Decide what each port's firmware is set to.

    Unused InfiniBand ports become Ethernet without being named, but with ``reboot-policy=manual`` only once
    the operator says so.

    The findings are about names that do not exist, values that contradict each other, and conflicting
    requests. With a blocking finding the desired state must not be applied.
    """
    convert = options.reboot_policy != "manual"
    choice = choose(options.selected, observed.nics, observed.infiniband, convert=convert)
    findings = [*choice.findings, *_unknown(options.explicit, database)]
    left = {bdf for bdf, role in choice.roles.items() if role not in TAKEN}
    ports: dict[str, dict[str, Setting]] = {}
    for nic in choice.nics:
        of_nic = _of_nic(_Settings(nic, choice.whole[nic.slot], database), options, others)
        findings += of_nic.findings
        for bdf, settings in of_nic.ports.items():
            of_others = {name for name, setting in settings.items() if setting.port in left}
            ports[bdf] = {name: s for name, s in settings.items() if name not in of_others}
            findings += [_dropped(settings[name]) for name in sorted(of_others)]
    undecided = _undecided(choice.unused, options, database)
    found = tuple(dict.fromkeys(findings))
    return Desired(ports, options.allow_ethernet_loss, choice.named, undecided, choice.watched, found)


def _undecided(unused: Iterable[Port], options: Options, database: Database) -> dict[str, Setting]:
    """Return the setting of a profile that would make an unused InfiniBand port Ethernet, by BDF."""
    found: dict[str, Setting] = {}
    for port in unused:
        alone = Nic(port.nic, (port,))
        for setting in _of_profiles(_Settings(alone, alone, database), options.profiles):
            if (its := placed(alone, port.bdf, setting)).makes:
                found[port.bdf] = its
    return found


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
        if UNKNOWN in (answer := observed.answers.get(port.bdf, Answer())).reason
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
            answer = observed.answers.get(setting.through, Answer())
            if setting.makes and not answer.reason and setting.name not in answer.parameters:
                stays.add(setting.makes)
                what = f"this port stays InfiniBand: its firmware does not offer {setting.name}"
                findings.append(Finding(Severity.INFO, setting.makes, what))
        if own and stays - wanted.named >= set(own):
            ports = {bdf: settings for bdf, settings in ports.items() if bdf not in own}
    return wanted._replace(ports=ports, findings=tuple(findings))


def explicit(given: Mapping[str, str], chosen: Chosen, database: Database, source: str) -> Desired:
    """Only these settings, on all chosen NICs; for actions."""
    findings = _unknown(given, database, source)
    ports: dict[str, dict[str, Setting]] = {}
    for nic in chosen.nics:
        settings = _Settings(nic, chosen.whole[nic.slot], database)
        for name, text in given.items():
            if setting := settings.read(name, text, source, required=True):
                settings.place(setting)
        ports |= settings.ports
        findings += settings.findings
    found = tuple(dict.fromkeys(findings))
    return Desired(ports, named=chosen.named, watched=chosen.watched, findings=found)


class _Settings:
    """The settings of one NIC's ports as they come together, and what is wrong with them."""

    def __init__(self, nic: Nic, whole: Nic, database: Database) -> None:
        """``nic`` has the ports that are configured, ``whole`` all of them: a setting may be about any."""
        self.nic, self.whole, self.database = nic, whole, database
        self.ports: dict[str, dict[str, Setting]] = {port.bdf: {} for port in nic.ports}
        self.findings: list[Finding] = []

    def read(
        self, name: str, text: str, source: str, *, required: bool = False, requested: bool = False
    ) -> Setting | None:
        """The setting of a parameter to what ``text`` means; None and a finding if it does not take that.

        What another charm has ``requested`` stops nothing: the operator cannot correct it here.
        """
        entry = self.database.get(name)
        gate = entry.gate if entry else GATED.get(name, "")
        number = plain(text)
        value: int | str = text if number is None else number
        if entry is not None:
            try:
                value = entry.number(text)
            except ValueRefused as error:
                finding = Finding(Severity.BLOCKED, source, str(error), "correct it")
                if requested:
                    what, remedy = f"{error}; {name} is not set", f"correct it in the options of {source}"
                    finding = Finding(Severity.WARNING, source, what, remedy)
                self.findings.append(finding)
                return None
        elif text.lower() in ("true", "false"):
            value = int(text.lower() == "true")
        near = self.database.near(name) if self.database.entries and entry is None else ()
        return Setting(name, value, source, gate=gate, required=required, near=near)

    def place(self, setting: Setting) -> None:
        """Add a setting to the first port if the NIC's ports share it, else to each port."""
        entry = self.database.get(setting.name)
        shared = entry.per_nic if entry else setting.name in (NUM_OF_VFS, PER_PF)
        if setting.name == PER_PF and setting.value:
            shared = False  # it makes the firmware offer PF_NUM_OF_VF, which each port has for itself
        for port in self.nic.ports[: 1 if shared else None]:
            self.ports[port.bdf][setting.name] = placed(self.whole, port.bdf, setting)

    @property
    def shared(self) -> Mapping[str, Setting]:
        """The settings of the first port, among them all that the ports share."""
        return self.ports[self.nic.ports[0].bdf]

    @property
    def by_name(self) -> dict[str, Setting]:
        """The settings of all ports."""
        return {name: setting for settings in self.ports.values() for name, setting in settings.items()}


def _of_nic(settings: _Settings, options: Options, others: Sequence[Handover]) -> _Settings:
    """The settings of one NIC: profiles, then other charms' requests, then ``parameters``."""
    nic = settings.nic
    for setting in (*_of_profiles(settings, options.profiles), *_vfs(nic, options, others)):
        settings.place(setting)
    read = (settings.read(name, text, OPTION, required=True) for name, text in options.explicit.items())
    given = [setting for setting in read if setting]
    for setting in _of_others(settings, others, {setting.name: setting for setting in given}):
        settings.place(setting)
    for setting in given:
        settings.findings += _too_few(settings, setting, options, others)
        settings.place(setting)
    vfs = settings.shared.get(NUM_OF_VFS)
    if vfs and PER_PF not in settings.shared:  # else the number has no effect
        settings.place(Setting(PER_PF, 0, vfs.source, optional=True))
    settings.findings += _rules(settings)
    return settings


def _of_profiles(settings: _Settings, profiles: Iterable[str]) -> Iterator[Setting]:
    for profile in profiles:
        for name, text in PROFILES[profile].items():
            for each in _per_port(name, settings.nic):
                if setting := settings.read(each, text, f"profile {profile}"):
                    yield setting._replace(optional=name in OPTIONAL)


def _vfs(nic: Nic, options: Options, others: Iterable[Handover]) -> Iterator[Setting]:
    """The larger of num-vfs and what another charm needs on any port of the NIC."""
    count, source = (options.num_vfs, "option num-vfs") if "ovn-offload" in options.profiles else (0, "")
    for other in others:
        for port in nic.ports:
            if other.vfs.get(port.bdf, 0) > count:
                count, source = other.vfs[port.bdf], other.charm
    if count:
        yield Setting("SRIOV_EN", 1, source)
        yield Setting(NUM_OF_VFS, count, source, at_least=True)


def _of_others(
    settings: _Settings, others: Iterable[Handover], given: Mapping[str, Setting]
) -> Iterator[Setting]:
    """Other charms' requests. Options and earlier charms take precedence; a finding names the conflict."""
    taken = {**settings.by_name, **given}
    for other in others:
        for port in settings.nic.ports:
            for name, value in other.parameters.get(port.bdf, {}).items():
                text = str(int(value)) if isinstance(value, bool) else str(value)
                setting, own = settings.read(name, text, other.charm, requested=True), taken.get(name)
                if setting is None:
                    continue
                if own is None or (own.value == setting.value and own.source == setting.source):
                    taken[name] = setting
                    yield setting
                elif own.value != setting.value:
                    sets = f"{own.source} sets {own}, which takes precedence"
                    what, remedy = f"{other.charm} needs {setting}, but {sets}", SAME
                    settings.findings.append(Finding(Severity.WARNING, settings.nic.slot, what, remedy))


def _per_port(name: str, nic: Nic) -> tuple[str, ...]:
    if not name.endswith("_Pn"):
        return (name,)
    return tuple(f"{name[:-1]}{port.number}" for port in nic.ports)


def _unknown(given: Mapping[str, str], database: Database, source: str = OPTION) -> list[Finding]:
    """Names that mstflint's database does not have: a warning, since it may be older than the NIC."""
    findings: list[Finding] = []
    for name in given if database.entries else ():
        if database.get(name) is None:
            near = database.near(name)
            meant = f"; similar names: {', '.join(near)}" if near else ""
            what = f"mstflint's database has no {name}{meant}"
            findings.append(
                Finding(Severity.WARNING, source, what, "correct the name, unless the NIC has this parameter")
            )
    return findings


def _too_few(
    settings: _Settings, setting: Setting, options: Options, others: Iterable[Handover]
) -> Iterator[Finding]:
    """The option parameters may lower NUM_OF_VFS below num-vfs, but not below what another charm needs."""
    nic = settings.nic
    if setting.name != NUM_OF_VFS:
        return
    for other in others:
        need = max((other.vfs.get(port.bdf, 0) for port in nic.ports), default=0)
        if _count(setting) < need:
            what = f"{setting} is fewer than the {need} VFs that {other.charm} needs on {nic.short}"
            yield Finding(Severity.BLOCKED, OPTION, what, f"raise it, or lower num-vfs of {other.charm}")
    if "ovn-offload" in options.profiles and _count(setting) < options.num_vfs:
        what = f"{setting} takes precedence over num-vfs, which is {options.num_vfs}"
        yield Finding(Severity.WARNING, OPTION, what, SAME)


def _rules(settings: _Settings) -> Iterator[Finding]:
    """Settings that contradict each other on any firmware."""
    nic, wanted = settings.nic, settings.by_name
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
