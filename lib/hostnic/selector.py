# SPDX-License-Identifier: Apache-2.0
"""Which PFs an operator means: ``auto``, or names with an optional number of VFs each.

``enp63s0f0:8 enp63s0f1:8`` is the form that ovn-chassis' ``sriov-numvfs`` has; addresses
(``0000:3f:00.0:8``) and bonds (``bond0:8``, both of its ports) name PFs as well. One option value
serves all hosts of an application, and their names differ: what a host does not have is skipped
there, as long as something remains.
"""

import re
from typing import NamedTuple

from converge import Finding, Severity

from hostnic.model import Host, Pf

AUTO = "auto"
MOST = 0xFFFF
"""NumVFs is a field of 16 bits in the SR-IOV capability; the firmware's own limit is checked later."""
ALLOWED = (
    "allowed are 'auto', or names of netdevs, bonds or PCI addresses separated by spaces, "
    f"each with ':' and 1 to {MOST} VFs if wanted, such as 'enp63s0f0:8 enp63s0f1:8'"
)
ENTRY = re.compile(
    r"(?:(?P<address>(?:[0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7])|(?P<name>[A-Za-z0-9_.-]{1,15}))"
    r"(?::(?P<count>[0-9]{1,5}))?"
)


class SelectorError(ValueError):
    """A value that says nothing: one sentence with the option, the value and what is allowed."""


class Entry(NamedTuple):
    """One word of a selector: a netdev, bond or full PCI address, and VFs; None means the default."""

    name: str
    vfs: int | None


class Chosen(NamedTuple):
    """A PF and how many VFs it is to have."""

    pf: Pf
    vfs: int


class Choice(NamedTuple):
    """What a selector means on one host.

    Attributes:
        chosen: PFs in order of BDF.
        findings: what keeps the selector from meaning something here; blocking.
        absent: names that this host does not have.

    """

    chosen: tuple[Chosen, ...] = ()
    findings: tuple[Finding, ...] = ()
    absent: tuple[str, ...] = ()


def parse(text: str, option: str = "devices") -> tuple[Entry, ...]:
    """The selector's entries; none for ``auto``.

    Raises:
        SelectorError: see there.

    """
    words = text.split()
    if words == [AUTO]:
        return ()
    if not words:
        raise SelectorError(f"{option} is empty; {ALLOWED}")
    return tuple(_distinct([_entry(word, option) for word in words], option))


def _entry(word: str, option: str) -> Entry:
    match = ENTRY.fullmatch(word)
    if match is None or word == AUTO or match["name"] in (".", ".."):
        raise SelectorError(f"{option} has {word!r}, which names no device; {ALLOWED}")
    count = int(match["count"]) if match["count"] else None
    if count is not None and not 1 <= count <= MOST:
        raise SelectorError(f"{option} asks for {count} VFs in {word!r}; {ALLOWED}")
    address: str | None = match["address"]
    if address is None:
        return Entry(match["name"], count)
    return Entry((address if address.count(":") == 2 else f"0000:{address}").lower(), count)


def _distinct(entries: list[Entry], option: str) -> list[Entry]:
    seen: set[str] = set()
    for entry in entries:
        if entry.name in seen:
            raise SelectorError(f"{option} names {entry.name} twice; name each device once")
        seen.add(entry.name)
    return entries


def resolve(entries: tuple[Entry, ...], host: Host, default: int, option: str = "devices") -> Choice:
    """What ``entries`` (as :func:`parse` gives them) mean on ``host``.

    Args:
        entries: none means ``auto``: the ports of mlx5 NICs that are members of a kernel bond.
        host: as observed.
        default: VFs for entries that say no number.
        option: the option's name, for findings.

    """
    wanted: dict[str, Chosen] = {}
    absent: list[str] = []
    for entry in entries or _bonded_ports(host):
        pfs = _named(entry.name, host)
        if not pfs:
            absent.append(entry.name)
        for pf in pfs:
            count = entry.vfs if entry.vfs is not None else default
            if pf.bdf in wanted and wanted[pf.bdf].vfs != count:
                return _blocked(option, f"asks for both {wanted[pf.bdf].vfs} and {count} VFs on {pf.bdf}")
            wanted[pf.bdf] = Chosen(pf, count)
    if not wanted:
        return _nothing(entries, host, option)
    strangers = [chosen.pf for chosen in wanted.values() if not chosen.pf.device.startswith("15b3:")]
    if strangers:
        return _blocked(option, f"names {strangers[0].bdf}, which is no ConnectX or BlueField NIC")
    return Choice(tuple(wanted[bdf] for bdf in sorted(wanted)), absent=tuple(absent))


def _bonded_ports(host: Host) -> tuple[Entry, ...]:
    return tuple(Entry(pf.bdf, None) for pf in host.pfs if pf.driver == "mlx5_core" and pf.bond)


def _named(name: str, host: Host) -> list[Pf]:
    bond = host.bond(name)
    if bond is not None:
        return [pf for pf in host.pfs if pf.netdev in bond.members]
    pf = host.pf(name)
    return [pf] if pf else []


def _nothing(entries: tuple[Entry, ...], host: Host, option: str) -> Choice:
    there = ", ".join(pf.netdev or pf.bdf for pf in host.pfs) or "none"
    if entries:
        names = " ".join(entry.name for entry in entries)
        return _blocked(option, f"names nothing that this host has ({names}); its SR-IOV ports are: {there}")
    return _blocked(
        option,
        f"is auto, but no port of an mlx5 NIC is in a kernel bond; SR-IOV ports here are: {there}",
        "bond the ports in MAAS, or name the devices",
    )


def _blocked(option: str, what: str, remedy: str = "") -> Choice:
    return Choice(findings=(Finding(Severity.BLOCKED, option, what, remedy or f"correct {option}"),))
