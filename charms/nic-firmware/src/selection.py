# SPDX-License-Identifier: Apache-2.0
"""From options, other charms' requests and the host's NICs to the settings of each port. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from config import OPTIONAL, PROFILES, Options
from converge import Finding, Severity
from desired import Desired, Setting
from hostnic.devices import selector
from hostnic.devices.pci import MAX_VFS_WITH_LAG
from hostnic.devices.port import Nic, Port
from hostnic.devices.selector import Auto, Entry
from hostnic.firmware.mstconfig import NUM_OF_VFS, PER_PF, PF_NUM_OF_VF
from hostnic.firmware.mstdatabase import ADVANCED, Database, ValueRefused, plain
from hostnic.handover import Handover

OPTION = "option parameters"
GATED = {"MAX_ACC_OUT_READ": ADVANCED, PF_NUM_OF_VF: PER_PF}
"""Known gates, for use without a database."""


def _any_port(_: Port) -> bool:
    return True


AUTO = Auto(_any_port, "this host has no Mellanox NIC", "relate this charm to applications on hosts with one")


def choose(entries: Sequence[Entry], nics: Sequence[Nic]) -> tuple[tuple[Nic, ...], list[Finding]]:
    """The NICs that ``entries`` select, all NICs without entries; and findings about names that match none.

    A NIC is chosen as a whole: its ports share most of their parameters.
    """
    choice = selector.choose(entries, [port for nic in nics for port in nic.ports], AUTO)
    if choice.refusal:
        return (), [choice.refusal]
    slots = {port.nic for port in choice.ports}
    return tuple(nic for nic in nics if nic.slot in slots), selector.missing(choice.absent)


def resolve(
    options: Options, nics: Sequence[Nic], others: Iterable[Handover], database: Database
) -> tuple[Desired, tuple[Finding, ...]]:
    """Decide what each port's firmware is set to.

    Returns:
        The desired state, and findings: names that do not exist, values that contradict each other, and
        conflicting requests. With a blocking finding the desired state must not be applied.

    """
    chosen, findings = choose(options.selected, nics)
    findings += _unknown(options.explicit, database)
    ports: dict[str, dict[str, Setting]] = {}
    handovers = tuple(others)
    for nic in chosen:
        for port, settings in _nic(nic, options, handovers, database, findings):
            ports[port.bdf] = settings
    desired = Desired(ports, "gpudirect" in options.profiles, options.allow_ethernet_loss)
    return desired, tuple(dict.fromkeys(findings))


def explicit(
    given: Mapping[str, str], nics: Iterable[Nic], database: Database, source: str
) -> tuple[Desired, tuple[Finding, ...]]:
    """Only these settings, on all of ``nics``; for actions."""
    findings = _unknown(given, database, source)
    ports: dict[str, dict[str, Setting]] = {}
    for nic in nics:
        ports.update({port.bdf: {} for port in nic.ports})
        for name, text in given.items():
            setting = _setting(name, text, source, database, findings, required=True)
            if setting:
                _place(nic, setting, database, ports)
    return Desired(ports), tuple(dict.fromkeys(findings))


def _nic(
    nic: Nic,
    options: Options,
    others: tuple[Handover, ...],
    database: Database,
    findings: list[Finding],
) -> Iterator[tuple[Port, dict[str, Setting]]]:
    """The settings of each port of one NIC: profiles, then other charms' requests, then ``parameters``."""
    ports: dict[str, dict[str, Setting]] = {port.bdf: {} for port in nic.ports}
    for setting in _of_profiles(nic, options, others, database, findings):
        _place(nic, setting, database, ports)
    given = options.explicit
    for setting in _of_others(nic, others, given, ports, database, findings):
        _place(nic, setting, database, ports)
    for name, text in given.items():
        setting = _setting(name, text, OPTION, database, findings, required=True)
        if setting:
            findings += _too_few(nic, setting, ports)
            _place(nic, setting, database, ports)
    vfs = ports[nic.ports[0].bdf].get(NUM_OF_VFS)
    if vfs and PER_PF not in ports[nic.ports[0].bdf]:
        _place(
            nic, Setting(PER_PF, 0, vfs.source, optional=True), database, ports
        )  # else the number has no effect
    findings += _rules(nic, ports)
    return ((port, ports[port.bdf]) for port in nic.ports)


def _of_profiles(
    nic: Nic,
    options: Options,
    others: tuple[Handover, ...],
    database: Database,
    findings: list[Finding],
) -> Iterator[Setting]:
    for profile in options.profiles:
        for name, text in PROFILES[profile].items():
            for each in _per_port(name, len(nic.ports)):
                setting = _setting(each, text, f"profile {profile}", database, findings)
                if setting:
                    yield setting._replace(optional=name in OPTIONAL)
    yield from _vfs(nic, options, others)


def _vfs(nic: Nic, options: Options, others: tuple[Handover, ...]) -> Iterator[Setting]:
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
    nic: Nic,
    others: tuple[Handover, ...],
    given: Mapping[str, str],
    ports: Mapping[str, Mapping[str, Setting]],
    database: Database,
    findings: list[Finding],
) -> Iterator[Setting]:
    """Other charms' requests. Options and earlier charms take precedence; a finding names the conflict."""
    taken: dict[str, Setting] = {name: own for of_port in ports.values() for name, own in of_port.items()}
    for other in others:
        for port in nic.ports:
            for name, value in other.parameters.get(port.bdf, {}).items():
                text = str(int(value)) if isinstance(value, bool) else str(value)
                setting = _setting(name, text, other.charm, database, findings)
                own = _setting(name, given[name], OPTION, database, []) if name in given else taken.get(name)
                if setting is None:
                    continue
                if own is None or (own.value == setting.value and own.source == setting.source):
                    taken[name] = setting
                    yield setting
                elif own.value != setting.value:
                    what = f"{other.charm} needs {setting}, {own.source} says {own}, which is set"
                    findings.append(
                        Finding(Severity.WARNING, nic.slot, what, "set both to the same value, or remove one")
                    )


def _setting(
    name: str, text: str, source: str, database: Database, findings: list[Finding], required: bool = False
) -> Setting | None:
    entry = database.get(name)
    gate = entry.gate if entry else GATED.get(name, "")
    number = plain(text)
    value: int | str = text if number is None else number
    if entry is not None:
        try:
            value = entry.number(text)
        except ValueRefused as error:
            findings.append(Finding(Severity.BLOCKED, source, str(error), "correct it"))
            return None
    elif text.lower() in ("true", "false"):
        value = int(text.lower() == "true")
    return Setting(name, value, source, gate=gate, required=required)


def _place(nic: Nic, setting: Setting, database: Database, ports: Mapping[str, dict[str, Setting]]) -> None:
    """Add a setting to the first port if the NIC's ports share it, else to each port."""
    entry = database.get(setting.name)
    shared = entry.per_nic if entry else setting.name in (NUM_OF_VFS, PER_PF)
    if setting.name == PER_PF and setting.value:
        shared = False  # it makes the firmware offer PF_NUM_OF_VF, which each port has for itself
    for port in nic.ports[: 1 if shared else None]:
        ports[port.bdf][setting.name] = setting


def _per_port(name: str, count: int) -> tuple[str, ...]:
    if not name.endswith("_Pn"):
        return (name,)
    return tuple(f"{name[:-1]}{port}" for port in range(1, count + 1))


def _unknown(given: Mapping[str, str], database: Database, source: str = OPTION) -> list[Finding]:
    """Names that mstflint's database does not have: a warning, since it may be older than the NIC."""
    findings: list[Finding] = []
    for name in given if database.entries else ():
        if database.get(name) is None:
            near = database.near(name)
            meant = f"; near: {', '.join(near)}" if near else ""
            what = f"mstflint's database has no {name}{meant}"
            findings.append(Finding(Severity.WARNING, source, what, "correct it, unless the NIC supports it"))
    return findings


def _too_few(nic: Nic, setting: Setting, ports: Mapping[str, Mapping[str, Setting]]) -> Iterator[Finding]:
    """The option parameters may lower NUM_OF_VFS, but not below what another charm needs."""
    need = ports[nic.ports[0].bdf].get(NUM_OF_VFS)
    if setting.name != NUM_OF_VFS or need is None or need.source.startswith("option"):
        return
    if _count(setting) < _count(need):
        what = f"{setting} is fewer than the {need.value} VFs that {need.source} needs on {nic.short}"
        yield Finding(Severity.BLOCKED, OPTION, what, f"raise it, or lower num-vfs of {need.source}")


def _rules(nic: Nic, ports: Mapping[str, Mapping[str, Setting]]) -> Iterator[Finding]:
    """Settings that contradict each other on any firmware."""
    wanted = {name: setting for settings in ports.values() for name, setting in settings.items()}
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
