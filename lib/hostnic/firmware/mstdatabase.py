# SPDX-License-Identifier: Apache-2.0
"""Names, types and allowed values of firmware parameters, from the database that mstconfig itself uses.

``mlxconfig_host.db`` of the package mstflint is an SQLite file: ``tlvs(name, class, …)`` and
``params(mlxconfig_name, tlv_name, type, textual_values, size, dependency, array_length, …)``. It has the
parameters of all firmware; which of them a given NIC has, only mstconfig tells. It may be older than the NIC:
a name that it lacks may be right, so that its absence is only a warning.
"""

import difflib
import re
import sqlite3
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hostnic.firmware.mstconfig import NUM_OF_VFS, PER_PF, PF_NUM_OF_VF

PATH = "/usr/share/mstflint/mlxconfig_dbs/mlxconfig_host.db"

_PORT = re.compile(r"_P[1-9]$")
_NIC_WIDE, _PER_PORT = 0, 1
_QUERY = """
    SELECT CAST(params.mlxconfig_name AS TEXT), COALESCE(CAST(params.type AS TEXT), ''),
           COALESCE(CAST(params.textual_values AS TEXT), ''), COALESCE(CAST(params.size AS TEXT), ''),
           COALESCE(CAST(params.dependency AS TEXT), ''),
           CAST(params.array_length AS INTEGER), CAST(tlvs.class AS INTEGER)
    FROM params JOIN tlvs ON params.tlv_name = tlvs.name
    WHERE params.mlxconfig_name IS NOT NULL AND params.mlxconfig_name <> ''
"""
"""SQLite keeps values of any type in any column; another release may leave one out."""
_SIZE = re.compile(r"0x([0-9a-fA-F]{1,2})\.([0-9]{1,3})")
_TRUE, _FALSE = ("true", "1", "0x1"), ("false", "0", "0x0")
ADVANCED = "ADVANCED_PCI_SETTINGS"
_GATES = {
    ADVANCED: re.compile(r"\$nv_pci_conf\.advanced_pci_settings\s*!=\s*0"),
    PER_PF: re.compile(r"\$nv_global_pci_conf\.per_pf_total_vf\s*==\s*1"),
}
"""Parameters that must be 1 at the next boot, by how the ``dependency`` of others names them."""
_KNOWN_GATES = {"MAX_ACC_OUT_READ": ADVANCED, PF_NUM_OF_VF: PER_PF}
_KNOWN_SHARED = (NUM_OF_VFS, PER_PF)
"""For use without a database."""


class ValueRefused(ValueError):
    """A value that a parameter does not take; the sentence says what it takes."""


class Entry(NamedTuple):
    """One parameter."""

    name: str  # without the suffix of a port
    kind: str  # `BOOL`, `UNSIGNED`, `ENUM`, `BINARY`, `BYTES`, `STRING` or `INTEGER`
    words: Mapping[str, int] = {}  # of an enumeration, to numbers
    bits: int = 32  # width of a number
    per_port: bool = False  # it takes the suffix `_P1`, `_P2`
    per_nic: bool = True  # all PFs of a NIC share it; otherwise each PF has its own value
    length: int = 0  # of an array; 0 for a plain parameter
    # The parameter that must be 1 at the next boot before this one can be set; empty when none
    gate: str = ""

    @property
    def takes(self) -> str:
        """The allowed values, as the end of a sentence."""
        if self.kind == "BOOL":
            return "true or false"
        if self.kind == "ENUM":
            return ", ".join(f"{word} ({number})" for word, number in self.words.items())
        if self.kind in ("UNSIGNED", "INTEGER"):
            return f"a whole number from 0 to {(1 << self.bits) - 1}"
        return "nothing that this charm can set"

    def number(self, text: str) -> int:
        """The value that ``text`` means: ``true``, ``ETH``, ``44``, ``0x2c``.

        Raises ValueRefused, which names the parameter, the value and what is allowed.
        """
        value = self._number(text.strip())
        if value is None or self.length:
            raise ValueRefused(f"{self.name}: {text[:40]!r} is not allowed; it takes {self.takes}")
        return value

    def _number(self, text: str) -> int | None:
        if self.kind == "BOOL":
            return 1 if text.lower() in _TRUE else 0 if text.lower() in _FALSE else None
        value = plain(text)
        if self.kind == "ENUM":
            named = {word.lower(): number for word, number in self.words.items()}
            return named.get(text.lower(), value if value in self.words.values() else None)
        if self.kind not in ("UNSIGNED", "INTEGER"):
            return None
        return value if value is not None and value < 1 << self.bits else None


class Meaning(NamedTuple):
    """A text as a value of a parameter, and what the database knows of the parameter."""

    value: int | str  # a number; text only if the database lacks the parameter
    gate: str = ""  # as an :class:`Entry` has it
    # Known names that resemble that of a parameter which the database lacks; None if it has it, or is empty
    near: tuple[str, ...] | None = None


class Database(NamedTuple):
    """All parameters that this release of mstflint knows; empty without a database."""

    entries: Mapping[str, Entry] = {}

    def get(self, name: str) -> Entry | None:
        """The entry of ``name``, which has a suffix ``_P<n>`` if and only if each port has its own value."""
        entry = self.entries.get(name)
        if entry is not None:
            return None if entry.per_port else entry
        entry = self.entries.get(_PORT.sub("", name))
        return entry if entry and entry.per_port and _PORT.search(name) else None

    def meaning(self, name: str, text: str) -> Meaning:
        """The meaning of ``text`` as a value of ``name``.

        Raises ValueRefused if the parameter does not take it.
        """
        entry = self.get(name)
        if entry is not None:
            return Meaning(entry.number(text), entry.gate)
        flag = {"true": 1, "false": 0}.get(text.lower())
        value = plain(text) if flag is None else flag
        near = self.near(name) if self.entries else None
        return Meaning(text if value is None else value, self.gate(name), near)

    def gate(self, name: str) -> str:
        """The parameter that must be 1 for the firmware to take ``name``; empty if it takes it anyway."""
        entry = self.get(name)
        return entry.gate if entry else _KNOWN_GATES.get(name, "")

    def shared(self, name: str) -> bool:
        """Whether all PFs of a NIC share one value of ``name``."""
        entry = self.get(name)
        return entry.per_nic if entry else name in _KNOWN_SHARED

    def near(self, name: str) -> tuple[str, ...]:
        """Up to three known names that resemble ``name``."""
        known: list[str] = []
        for entry in self.entries.values():
            known += [f"{entry.name}_P1", f"{entry.name}_P2"] if entry.per_port else [entry.name]
        by_capitals = {
            each.upper(): each for each in known
        }  # mstconfig itself tells small letters from capitals
        near = difflib.get_close_matches(name.upper(), by_capitals, n=3, cutoff=0.6)
        return tuple(by_capitals[each] for each in near)


def plain(text: str) -> int | None:
    """A number in decimal or hexadecimal, or None."""
    return int(text, 0) if re.fullmatch(r"0x[0-9a-fA-F]{1,16}|[1-9][0-9]{0,19}|0", text) else None


def read(path: str = PATH) -> Database:
    """Read the database; an empty one if there is none or it cannot be read."""
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            return _from_rows(connection.execute(_QUERY))
        finally:
            connection.close()
    except sqlite3.Error:
        return Database()


def _from_rows(rows: Iterable[tuple[str, str, str, str, str, int | None, int | None]]) -> Database:
    entries: dict[str, Entry] = {}
    for name, kind, words, size, dependency, length, scope in rows:
        entries[name] = Entry(
            name=name,
            kind=kind,
            words=_words(words),
            bits=_bits(size),
            per_port=scope == _PER_PORT,
            per_nic=scope in (_NIC_WIDE, _PER_PORT),
            length=length or 0,
            gate=next((gate for gate, rule in _GATES.items() if rule.search(dependency)), ""),
        )
    return Database(entries)


def _words(text: str) -> dict[str, int]:
    """``IB=0x1,ETH=0x2``."""
    pairs = (item.partition("=") for item in text.split(","))
    return {word: value for word, _, number in pairs if word and (value := plain(number)) is not None}


def _bits(size: str) -> int:
    """``0x0.10`` is ten bits, ``0x2.0`` two bytes."""
    match = _SIZE.fullmatch(size)
    return int(match.group(1), 16) * 8 + int(match.group(2)) if match else 32
