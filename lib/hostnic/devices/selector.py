# SPDX-License-Identifier: Apache-2.0
"""Which ports the option ``devices`` selects: ``auto``, or names, for some charms with a number of VFs each.

``enp63s0f0:8 enp63s0f1:8`` is the form of ovn-chassis' ``sriov-numvfs``. PCI addresses (``0000:3f:00.0:8``)
and bonds (``bond0:8``: all ports of the bond) are names, too. All hosts of an application have the same
value although their devices differ: a name that matches no device on a host is skipped there, as long as
another one matches.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from converge import Finding, Severity
from converge.shape import InvalidValue

from hostnic.devices.port import Port

OPTION = "devices"
AUTO = "auto"
MOST = 0xFFFF
"""NumVFs is a field of 16 bits in the SR-IOV capability; the firmware's own limit is checked later."""
NAMES = "; these are netdevs, bonds or PCI addresses separated by spaces, "
WITH_COUNTS = (
    f"auto, or ports such as enp63s0f0:8{NAMES}each with ':' and 0 to {MOST} VFs if wanted, not all 0"
)
WITHOUT_COUNTS = f"auto, or ports without numbers of VFs{NAMES}such as 'enp63s0f0 enp63s0f1'"
ENTRY = re.compile(
    r"(?:(?P<address>(?:[0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7])|(?P<name>[A-Za-z0-9_.-]{1,15}))"
    r"(?::(?P<count>[0-9]{1,5}))?"
)


class Entry(NamedTuple):
    """One word of a selector: a netdev, bond or full PCI address, and VFs; None means the default."""

    name: str
    vfs: int | None


class Auto(NamedTuple):
    """A charm's rule for ``auto``."""

    means: Callable[[Port], object]  # whether it selects a port
    nothing: str  # what is missing if it selects none
    remedy: str  # of that finding
    # Of the command that names the ports which the host has. It comes before the remedy, so that
    # `juju status` shows it; empty if naming them does not help
    application: str = ""


class Chosen(NamedTuple):
    """A port, and how many VFs it is to have."""

    port: Port
    vfs: int


class Choice(NamedTuple):
    """The ports that a selector selects on one host."""

    chosen: tuple[Chosen, ...] = ()  # ports by BDF
    refusal: Finding | None = None  # why it selects nothing; blocking
    absent: tuple[str, ...] = ()  # names that match no device on this host

    @property
    def ports(self) -> tuple[Port, ...]:
        """The ports alone."""
        return tuple(chosen.port for chosen in self.chosen)


def parse(text: str, option: str = OPTION, *, counts: bool = True) -> tuple[Entry, ...]:
    """The selector's entries; none for ``auto``.

    ``option`` is its name, for the error; ``counts`` allows numbers of VFs. Raises InvalidValue about the
    first wrong word.
    """
    words = text.split()
    if words == [AUTO]:
        return ()
    allowed = WITH_COUNTS if counts else WITHOUT_COUNTS
    if not words:
        raise InvalidValue(option, "", allowed)
    entries = [_entry(word, option, allowed) for word in words]
    counted = next((word for word, entry in zip(words, entries, strict=True) if entry.vfs is not None), None)
    if counted and not counts:
        raise InvalidValue(option, counted, allowed)
    if all(entry.vfs == 0 for entry in entries):
        raise InvalidValue(option, words[0], f"VFs on one port at least, not all 0; allowed are {allowed}")
    return tuple(_distinct(entries, option))


def _entry(word: str, option: str, allowed: str) -> Entry:
    match = ENTRY.fullmatch(word)
    if match is None or word == AUTO or match["name"] in (".", ".."):
        raise InvalidValue(option, word, allowed)
    count = int(match["count"]) if match["count"] else None
    if count is not None and count > MOST:
        raise InvalidValue(option, word, allowed)
    address: str | None = match["address"]
    if address is None:
        return Entry(match["name"], count)
    return Entry((address if address.count(":") == 2 else f"0000:{address}").lower(), count)


def _distinct(entries: list[Entry], option: str) -> list[Entry]:
    seen: set[str] = set()
    for entry in entries:
        if entry.name in seen:
            raise InvalidValue(option, entry.name, "each device once")
        seen.add(entry.name)
    return entries


def choose(entries: Sequence[Entry], ports: Sequence[Port], auto: Auto, vfs: int = 0) -> Choice:
    """Choose the ports among ``ports`` that ``entries`` (from :func:`parse`) select.

    Args:
        entries: none means ``auto``.
        ports: of this host.
        auto: what ``auto`` selects.
        vfs: for entries without a number.

    """
    chosen: dict[str, Chosen] = {}
    absent: list[str] = []
    for entry in entries or [Entry(port.bdf, None) for port in ports if auto.means(port)]:
        named = [port for port in ports if entry.name in port.names]
        if not named:
            absent.append(entry.name)
        count = vfs if entry.vfs is None else entry.vfs
        for port in named:
            before = chosen.setdefault(port.bdf, Chosen(port, count))
            if before.vfs != count:
                return refuse(f"asks for both {before.vfs} and {count} VFs on {port.bdf}")
    if chosen:
        return Choice(tuple(chosen[bdf] for bdf in sorted(chosen)), absent=tuple(absent))
    there = f"; ports here are: {', '.join(port.netdev or port.bdf for port in ports)}" if ports else ""
    if entries:
        refused = refuse(f"matches no device on this host ({' '.join(absent)}){there}")
    else:
        command = f"run: juju config {auto.application} {OPTION}=PORTS; or "
        remedy = command + auto.remedy if ports and auto.application else auto.remedy
        refused = refuse(f"is auto, but {auto.nothing}", remedy + there)
    return refused._replace(absent=tuple(absent))


def refuse(what: str, remedy: str = f"correct {OPTION}") -> Choice:
    """A choice without ports, and the reason."""
    return Choice(refusal=Finding(Severity.BLOCKED, OPTION, what, remedy))


def infiniband(ports: Iterable[Port]) -> list[Finding]:
    """One finding about the InfiniBand ports that ``auto`` passes over; none without such."""
    listed = ", ".join(port.netdev or port.bdf for port in ports if port.infiniband)
    return [Finding(Severity.INFO, OPTION, f"auto leaves InfiniBand ports alone: {listed}")] if listed else []


def missing(names: Iterable[str]) -> list[Finding]:
    """One finding about names that match no device on this host although others do; none without names."""
    listed = ", ".join(names)
    return [Finding(Severity.INFO, OPTION, f"not on this host: {listed}")] if listed else []
