# SPDX-License-Identifier: Apache-2.0
"""Differences from the desired state, in the operator's words."""

import enum
from collections.abc import Iterable, Sequence
from typing import NamedTuple

RETRIED = "retried at the next hook"
"""The remedy where the charm tries again by itself."""


DIGEST = " #"
"""Begins a digest at the end of a phrase: it tells phrases with the same words apart, and is not shown."""


def one_line(text: str) -> str:
    """``text`` in one line that can be printed.

    Parts of it were written by others: the name of a switch, the error of a tool. Juju's commands cannot be
    started with a NUL byte or half of a surrogate pair in an argument.
    """
    if text.isprintable():
        return text
    shown = (each if each.isprintable() or each.isspace() else "\ufffd" for each in text)
    return " ".join("".join(shown).split())


def without_query(text: str) -> str:
    """An address, or what is said of one, up to its query, which may have a token."""
    before, mark, _ = text.partition("?")
    return f"{before}?..." if mark else before


def cause(error: Exception | str) -> str:
    """Return an error as a part of a sentence: without the kernel's number and the full stop."""
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).rstrip(".")


def words(error: Exception | str) -> str:
    """The same with the error's file, if it has one."""
    return f"{cause(error)} ({file})" if (file := getattr(error, "filename", None)) else cause(error)


class Severity(enum.IntEnum):
    """How much a finding matters; the worst one of a unit decides its status."""

    INFO = 0
    """True and worth knowing; changes no status."""
    WARNING = 1
    """Works, but not as well as it could."""
    PLANNED = 2
    """The next reboot changes it; another finding says what that reboot waits for."""
    WAITING = 3
    """Something else has to finish first; resolves itself."""
    HELD = 4
    """Waits for the operator, and keeps nothing else from going on: most are planned, and need approval."""
    BLOCKED = 5
    """Only the operator can mend it."""


class Finding(NamedTuple):
    """One difference, and what to do about it."""

    severity: Severity  # how much it matters
    subject: str  # what it is about: a BDF, a bond, an option
    what: str  # one clear sentence; no trailing full stop, so that it reads well in a status
    remedy: str = ""  # what the operator (or the other charm) has to do; empty when nothing is needed

    def sentence(self) -> str:
        """The finding as one line: subject, fact, remedy."""
        line = f"{self.subject}: {self.what}" if self.subject else self.what
        return one_line(f"{line}; {self.remedy}" if self.remedy else line)

    def phrase(self) -> str:
        """The fact alone, in one line."""
        return one_line(self.what)


def few(names: Sequence[str], most: int = 3) -> str:
    """The first names of a list, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def unfinished(findings: Iterable[Finding]) -> Finding | None:
    """The first finding that says that something is not as declared; None if there are only warnings."""
    return next((finding for finding in findings if finding.severity >= Severity.PLANNED), None)


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """``findings`` by falling severity; equals keep their order."""
    return sorted(findings, key=lambda finding: -finding.severity)
