# SPDX-License-Identifier: Apache-2.0
"""Which NICs and ports a selector selects, and what is to become of each port. Pure."""

import enum
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from converge import Finding, Severity
from hostnic.devices import selector
from hostnic.devices.inventory import CONNECTX3
from hostnic.devices.port import FLASH_RECOVERY, Nic, Port
from hostnic.devices.selector import Auto, Choice, Entry
from hostnic.firmware.msterrors import BURN, LIVEFISH

NOTHING, REMEDY = "this host has no Mellanox NIC", "relate it to applications on hosts with one"


class Role(enum.Enum):
    """The kind of a port of a NIC, as far as its settings depend on it."""

    ETHERNET = "Ethernet"
    BECOMES = "InfiniBand that becomes Ethernet, even if it is in use"
    IN_USE = "in use as InfiniBand"
    BESIDE = "InfiniBand, of a NIC without Ethernet that is in use"
    UNDECIDED = "InfiniBand that nothing uses and nobody has decided about"


TAKEN = (Role.ETHERNET, Role.BECOMES)
"""Ports that are set; the others are left alone."""


class Chosen(NamedTuple):
    """The NICs and ports that a selector selects."""

    nics: tuple[Nic, ...] = ()  # NICs with those of their ports that are configured
    whole: Mapping[str, Nic] = {}  # the host's NICs by slot, with all of their ports
    findings: tuple[Finding, ...] = ()  # names that match none, and InfiniBand ports that are left alone
    roles: Mapping[str, Role] = {}  # by BDF, of all ports
    named: frozenset[str] = frozenset()  # InfiniBand ports that the selector names
    # By BDF, what could make a port Ethernet that is in use as InfiniBand, and not named; on any NIC
    watched: Mapping[str, str] = {}
    # InfiniBand ports without a use that are left alone only because nobody decided about them
    unused: tuple[Port, ...] = ()


def role(port: Port, nic: Nic, named: Collection[str], uses: Mapping[str, str], *, convert: bool) -> Role:
    """The role of a port: the first line that fits.

    Args:
        port: one of the NIC's.
        nic: with all of its ports.
        named: InfiniBand ports that the selector names themselves.
        uses: by BDF, what uses a port as InfiniBand.
        convert: unused InfiniBand ports become Ethernet without being named.

    """
    if not port.infiniband:
        return Role.ETHERNET
    if port.bdf in named:
        return Role.BECOMES
    if port.bdf in uses:
        return Role.IN_USE
    if all(each.infiniband for each in nic.ports) and _in_use(nic, named, uses):
        return Role.BESIDE
    return Role.BECOMES if convert else Role.UNDECIDED


def choose(
    entries: Sequence[Entry], nics: Sequence[Nic], uses: Mapping[str, str], *, convert: bool = False
) -> Chosen:
    """The NICs that ``entries`` select, all NICs without entries.

    A NIC is chosen as a whole, since its ports share most of their parameters, but without ports that are
    left alone. ``uses`` and ``convert`` are as :func:`role` has them.
    """
    names = {entry.name for entry in entries}
    ports = [port for nic in nics for port in nic.ports]
    named = frozenset(port.bdf for port in ports if port.infiniband and not names.isdisjoint(port.names))
    roles = {port.bdf: role(port, nic, named, uses, convert=convert) for nic in nics for port in nic.ports}
    dead = {nic.slot for nic in _dead(nics)}
    passed = dead | {nic.slot for nic in _old(entries, nics)}

    def is_configured(port: Port) -> bool:
        return roles[port.bdf] in TAKEN and port.nic not in passed

    choice = selector.choose(entries, ports, Auto(is_configured, NOTHING, REMEDY))
    chosen = {port.nic for port in choice.ports} - dead
    reduced = (nic._replace(ports=tuple(p for p in nic.ports if roles[p.bdf] in TAKEN)) for nic in nics)
    about = {port.nic for port in (choice.ports if entries else ports)}
    return Chosen(
        nics=tuple(nic for nic in reduced if nic.ports and nic.slot in chosen),
        whole={nic.slot: nic for nic in nics},
        findings=tuple(_said(entries, nics, choice, roles, uses)),
        roles=roles,
        named=named,
        watched={p.bdf: f"LINK_TYPE_P{p.number}" for p in ports if roles[p.bdf] is Role.IN_USE},
        unused=tuple(port for port in ports if port.nic in about and roles[port.bdf] is Role.UNDECIDED),
    )


def _said(
    entries: Sequence[Entry],
    nics: Sequence[Nic],
    choice: Choice,
    roles: Mapping[str, Role],
    uses: Mapping[str, str],
) -> Iterator[Finding]:
    """Yield the findings on a choice: why it is empty, which ports are left alone, which are not there."""
    old = _old(entries, nics)
    left = [(nic, port) for nic in nics for port in nic.ports if roles[port.bdf] not in TAKEN]
    dead = [port for nic in _dead(nics) for port in nic.ports]
    refused = choice.refusal if entries or not (left or old or dead) else None
    if refused:
        yield refused
    slots = {port.nic for port in choice.ports} if entries else {nic.slot for nic in nics}
    for nic, port in left:
        if nic.slot in slots:
            yield _left(port, _why_left(port, nic, roles, uses))
    if old:
        what = f"auto leaves ConnectX-3 cards alone: {', '.join(nic.short for nic in old)}"
        yield Finding(Severity.INFO, selector.OPTION, what)
    yield from (_without_firmware(port) for port in dead if port.nic in slots)
    if not refused:
        yield from selector.missing(choice.absent)


def _old(entries: Sequence[Entry], nics: Sequence[Nic]) -> list[Nic]:
    """The cards that ``auto`` passes over."""
    return [] if entries else [nic for nic in nics if nic.ports[0].device in CONNECTX3]


def _dead(nics: Sequence[Nic]) -> list[Nic]:
    """NICs without firmware, of which nothing can be set."""
    return [nic for nic in nics if nic.ports[0].device in FLASH_RECOVERY]


def _in_use(nic: Nic, named: Collection[str], uses: Mapping[str, str]) -> bool:
    """Whether a port of a NIC is in use as InfiniBand, and not named."""
    return any(port.bdf in uses and port.bdf not in named for port in nic.ports)


def _why_left(port: Port, nic: Nic, roles: Mapping[str, Role], uses: Mapping[str, str]) -> str:
    """Why an InfiniBand port is left alone; empty if nobody has decided."""
    if roles[port.bdf] is Role.BESIDE:
        used = next(bdf for bdf in sorted(each.bdf for each in nic.ports) if roles[bdf] is Role.IN_USE)
        return f"{used} of the same NIC is in use as InfiniBand"
    return uses[port.bdf] if roles[port.bdf] is Role.IN_USE else ""


def _without_firmware(port: Port) -> Finding:
    """A NIC in flash recovery: the operator has to see it, but what other NICs wait for goes on."""
    return Finding(Severity.HELD, port.bdf, LIVEFISH, BURN.replace("BDF", port.bdf))


def _left(port: Port, used: str) -> Finding:
    remedy = f"name {port.bdf} in option devices if it is to be Ethernet"
    why = used or "unused, and nobody has decided that it is to be Ethernet"
    return Finding(Severity.INFO, port.bdf, f"InfiniBand port, left alone: {why}", remedy)
