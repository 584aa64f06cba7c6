# SPDX-License-Identifier: Apache-2.0
"""From options, other charms' wishes and the NICs that are there to the settings of each port. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import ethernet
from config import Options
from converge import Finding, Severity
from desired import Desired, Setting
from hostnic.handover import Handover
from hostnic.mstdatabase import ADVANCED, Database, ValueRefused, plain
from hostnic.nics import Card, Port
from hostnic.selector import Entry
from profiles import PROFILES

OPTION = "option parameters"
VFS = "NUM_OF_VFS"
GATED = {"MAX_ACC_OUT_READ": ADVANCED}
"""What holds without a database, too."""
MAX_VFS_WITH_LAG = 64
"""Some firmware refuses VF-LAG when it offers more (Mellanox/ovs-tests, test-vf-lag-warn-65-vfs.sh)."""


@dataclass(frozen=True)
class Choice:
    """The ports that an option names on this host, by card, and what it names in vain."""

    cards: tuple[Card, ...] = ()
    findings: tuple[Finding, ...] = ()


def choose(entries: Iterable[Entry], cards: Iterable[Card]) -> Choice:
    """The cards whose ports ``entries`` name: by netdev, PCI address or bond; all of them for none.

    A card is chosen as a whole: its ports share most of their parameters.
    """
    there, named = tuple(cards), tuple(entry.name for entry in entries)
    if not named:
        nothing = Finding(
            Severity.BLOCKED, "devices", "this host has no Mellanox NIC", "remove the charm here"
        )
        return Choice(there, () if there else (nothing,))
    known = {name for card in there for port in card.ports for name in _names(port)}
    chosen = tuple(card for card in there if any(name in _names(p) for p in card.ports for name in named))
    if not chosen:
        ports = ", ".join(port.netdev or port.bdf for card in there for port in card.ports) or "none"
        what = f"names nothing that this host has ({' '.join(named)}); its ports are: {ports}"
        return Choice((), (Finding(Severity.BLOCKED, "devices", what, "correct devices"),))
    absent = [name for name in named if name not in known]
    note = Finding(Severity.INFO, "devices", f"not on this host: {', '.join(absent)}")
    return Choice(chosen, (note,) if absent else ())


def _names(port: Port) -> tuple[str, ...]:
    return tuple(name for name in (port.bdf, port.netdev, port.master if port.bonded else None) if name)


def resolve(
    options: Options, cards: Iterable[Card], others: Iterable[Handover], database: Database
) -> tuple[Desired, tuple[Finding, ...]]:
    """Decide what each port's firmware is set to.

    Returns:
        The desired state, and findings: what does not exist, does not go together, or is asked for twice.
        With a blocking finding the desired state must not be applied.

    """
    choice = choose(options.selected, cards)
    findings = list(choice.findings)
    findings += _unknown(options.explicit, database)
    ports: dict[str, dict[str, Setting]] = {}
    wishes = tuple(others)
    for card in choice.cards:
        for port, settings in _card(card, options, wishes, database, findings):
            ports[port.bdf] = settings
    desired = Desired(ports, "gpudirect" in options.profiles, options.allow_ethernet_loss)
    return desired, tuple(dict.fromkeys(findings))


def explicit(
    given: Mapping[str, str], cards: Iterable[Card], database: Database, source: str
) -> tuple[Desired, tuple[Finding, ...]]:
    """Just these settings on all of ``cards``; for actions."""
    findings = _unknown(given, database, source)
    ports: dict[str, dict[str, Setting]] = {}
    for card in cards:
        ports.update({port.bdf: {} for port in card.ports})
        for name, text in given.items():
            setting = _setting(name, text, source, database, findings, required=True)
            if setting:
                _place(card, setting, database, ports)
    return Desired(ports), tuple(dict.fromkeys(findings))


def _card(
    card: Card,
    options: Options,
    others: tuple[Handover, ...],
    database: Database,
    findings: list[Finding],
) -> Iterator[tuple[Port, dict[str, Setting]]]:
    """The settings of each port of one card: profiles, then other charms' wishes, then ``parameters``."""
    ports: dict[str, dict[str, Setting]] = {port.bdf: {} for port in card.ports}
    for setting in _of_profiles(card, options, others, database, findings):
        _place(card, setting, database, ports)
    given = options.explicit
    for setting in _of_others(card, others, given, ports, database, findings):
        _place(card, setting, database, ports)
    for name, text in given.items():
        setting = _setting(name, text, OPTION, database, findings, required=True)
        if setting:
            findings += _too_few(card, setting, ports)
            _place(card, setting, database, ports)
    findings += _rules(card, ports)
    return ((port, ports[port.bdf]) for port in card.ports)


def _of_profiles(
    card: Card,
    options: Options,
    others: tuple[Handover, ...],
    database: Database,
    findings: list[Finding],
) -> Iterator[Setting]:
    for profile in options.profiles:
        for name, text in PROFILES[profile].items():
            for each in _per_port(name, len(card.ports)):
                setting = _setting(each, text, f"profile {profile}", database, findings)
                if setting:
                    yield replace(setting, required=False)
    yield from _vfs(card, options, others)


def needless(setting: Setting) -> bool:
    """Whether a NIC that lacks this parameter is as wanted anyway: one without LINK_TYPE is Ethernet only."""
    return setting.name.startswith("LINK_TYPE_P") and str(setting.value) in ethernet.KEEPS["LINK_TYPE"]


def _vfs(card: Card, options: Options, others: tuple[Handover, ...]) -> Iterator[Setting]:
    """The larger of num-vfs and what another charm needs on any port of the card."""
    count, source = (options.num_vfs, "option num-vfs") if "ovn-offload" in options.profiles else (0, "")
    for other in others:
        for port in card.ports:
            if other.vfs.get(port.bdf, 0) > count:
                count, source = other.vfs[port.bdf], other.charm
    if count:
        yield Setting("SRIOV_EN", 1, source)
        yield Setting(VFS, count, source, at_least=True)


def _of_others(
    card: Card,
    others: tuple[Handover, ...],
    given: Mapping[str, str],
    ports: Mapping[str, Mapping[str, Setting]],
    database: Database,
    findings: list[Finding],
) -> Iterator[Setting]:
    """Other charms' wishes; what an option, or another charm before, says otherwise wins and is named."""
    taken: dict[str, Setting] = {name: own for of_port in ports.values() for name, own in of_port.items()}
    for other in others:
        for port in card.ports:
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
                        Finding(Severity.WARNING, card.slot, what, "let both say the same, or drop one")
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


def _place(card: Card, setting: Setting, database: Database, ports: Mapping[str, dict[str, Setting]]) -> None:
    """Want it of the first port when the card shares it, else of each."""
    entry = database.get(setting.name)
    shared = entry.per_card if entry else setting.name == VFS
    for port in card.ports[: 1 if shared else None]:
        ports[port.bdf][setting.name] = setting


def _per_port(name: str, count: int) -> tuple[str, ...]:
    if not name.endswith("_Pn"):
        return (name,)
    return tuple(f"{name[:-1]}{port}" for port in range(1, count + 1))


def _unknown(given: Mapping[str, str], database: Database, source: str = OPTION) -> list[Finding]:
    """Names that mstflint's database does not have: a warning, as databases age."""
    findings: list[Finding] = []
    for name in given if database.entries else ():
        if database.get(name) is None:
            near = database.near(name)
            meant = f"; near: {', '.join(near)}" if near else ""
            what = f"mstflint's database has no {name}{meant}"
            findings.append(Finding(Severity.WARNING, source, what, "correct it, unless the NIC knows it"))
    return findings


def _too_few(card: Card, setting: Setting, ports: Mapping[str, Mapping[str, Setting]]) -> Iterator[Finding]:
    """The option parameters may lower NUM_OF_VFS, but not below what another charm needs."""
    need = ports[card.ports[0].bdf].get(VFS)
    if setting.name != VFS or need is None or need.source.startswith("option"):
        return
    if _count(setting) < _count(need):
        what = f"{setting} is fewer than the {need.value} VFs that {need.source} needs on {card.short}"
        yield Finding(Severity.BLOCKED, OPTION, what, f"raise it, or lower num-vfs of {need.source}")


def _rules(card: Card, ports: Mapping[str, Mapping[str, Setting]]) -> Iterator[Finding]:
    """What does not go together, whatever the firmware offers."""
    wanted = {name: setting for settings in ports.values() for name, setting in settings.items()}
    for setting in wanted.values():
        gate = wanted.get(setting.gate)
        if gate is not None and gate.value == 0:
            what = f"{setting} needs {setting.gate}=1, and {gate.source} says 0"
            yield Finding(Severity.BLOCKED, setting.source, what, f"drop one of the two on {card.short}")
    vfs, enabled = wanted.get(VFS), wanted.get("SRIOV_EN")
    if vfs and enabled and enabled.value == 0 and vfs.value:
        what = f"{vfs} ({vfs.source}) and SRIOV_EN=0 ({enabled.source}) contradict each other"
        yield Finding(Severity.BLOCKED, card.slot, what, "drop one of the two")
    if vfs and _count(vfs) > MAX_VFS_WITH_LAG and all(port.bonded for port in card.ports):
        what = f"{vfs}: some firmware refuses VF-LAG above {MAX_VFS_WITH_LAG} VFs, and the ports are bonded"
        yield Finding(Severity.WARNING, card.slot, what, f"ask for {MAX_VFS_WITH_LAG} or fewer")


def _count(setting: Setting) -> int:
    return setting.value if isinstance(setting.value, int) else 0
