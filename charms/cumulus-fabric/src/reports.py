# SPDX-License-Identifier: Apache-2.0
"""The leader's memory from hook to hook: one host's report then costs neither the others' nor a switch.

Juju has a hook for each report of each host. Such a hook reads that report alone and compares it with what
the last survey took from the intent; to read the intent again would cost as much as there are hosts. The
switches are asked if they have not been asked for :data:`REST`; otherwise by the first hook after that, which
is update-status at the latest: once for all reports that came meanwhile.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from converge import Finding, Severity
from converge.shape import InvalidValue
from hosts import Expected
from intent import expand
from intent.model import Fabric
from online import Site
from survey import Survey
from tree import record
from tree.record import Record
from yamlfile.values import FileError

logger = logging.getLogger(__name__)

REST = 600.0
"""Seconds: two of the intervals between update-status hooks, which ask the switches anyway, as Juju has them.

Only in a model that has them less often does a host's report have a survey of its own.
"""

MADE = "made"
"""The databag's key of what this charm remembers of the switches."""

INTENT = "intent"
"""The databag's key of the intent that the switches have got last: a later one is compared with it."""


@dataclass
class Kept:
    """Plain values only: Juju's library writes them to a file. Made anew after a change of leaders."""

    # By unit, what its host reports; empty if nothing
    told: MutableMapping[str, str] = field(default_factory=dict[str, str])
    # By unit, the findings about its host where there are some
    differing: MutableMapping[str, Any] = field(default_factory=dict[str, Any])
    others: Sequence[Any] = field(default_factory=list[Any])  # the other findings of the last survey
    policy: str = ""  # of `hosts.Expected`, at the last survey
    ends: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])  # of the same
    surveyed: float = 0.0  # when it ended, in seconds since the epoch


class Reports:
    """The hosts' reports, and the known differences."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    @property
    def told(self) -> Mapping[str, str]:
        """The known reports, by unit."""
        return self._kept.told

    def forget(self) -> None:
        """Keep nothing."""
        for name, value in vars(Kept()).items():
            setattr(self._kept, name, value)

    def take(self, unit: str, text: str | None) -> bool:
        """Note what a unit reports, None if it has departed; False if its host is known to say just that."""
        before = self._kept.told.get(unit)
        if before == text:
            return False
        if text is None:
            del self._kept.told[unit]
        else:
            self._kept.told[unit] = text
        return bool(before or text)

    def rested(self, now: float) -> bool:
        """Whether the switches have not been asked for a while; also after the clock was set back."""
        return not 0 <= now - self._kept.surveyed < REST

    def compared(self, unit: str, findings: Sequence[Finding]) -> bool:
        """Note what differs on the host of a unit; False if that is known."""
        rows = _rows(findings)
        if _rows(_findings(self._kept.differing.get(unit, []))) == rows:
            return False
        if rows:
            self._kept.differing[unit] = rows
        else:
            del self._kept.differing[unit]
        return True

    @property
    def wanted(self) -> Expected:
        """The values that hosts are compared with."""
        return Expected(self._kept.policy, self._kept.ends)

    def surveyed(
        self, told: Mapping[str, str], differing: Mapping[str, Sequence[Finding]], wanted: Expected,
        others: Iterable[Finding], now: float,
    ) -> None:  # fmt: skip
        """Note all of a survey: reports and findings by unit, and the findings that are about no host."""
        self._kept.told = dict(told)
        self._kept.differing = {unit: _rows(found) for unit, found in differing.items() if found}
        self._kept.policy, self._kept.ends = wanted
        self.refused(others, now)

    def refused(self, others: Iterable[Finding], now: float) -> None:
        """Note why no switch could be asked."""
        self._kept.others, self._kept.surveyed = _rows(others), now

    @property
    def differing(self) -> Mapping[str, Sequence[Finding]]:
        """The known differences on hosts, by unit."""
        return {unit: _findings(self._kept.differing[unit]) for unit in sorted(self._kept.differing)}

    def findings(self) -> Sequence[Finding]:
        """All that is known to differ."""
        hosts = (each for found in self.differing.values() for each in found)
        return (*_findings(self._kept.others), *hosts)


def _rows(findings: Iterable[Finding]) -> list[Any]:
    return [[each.severity.value, each.subject, each.what, each.remedy] for each in findings]


def _findings(rows: Iterable[Any]) -> tuple[Finding, ...]:
    return tuple(Finding(Severity(row[0]), *row[1:]) for row in rows)


@dataclass(frozen=True)
class Notes:
    """The charm's notes in its peer relation on all that it has made, drained and applied."""

    databag: MutableMapping[str, str]

    @property
    def record(self) -> Record:
        """The record of the switches; an empty one if it is missing or cannot be read."""
        try:
            return record.read(self.databag.get(MADE, ""))
        except InvalidValue as error:
            logger.warning("what earlier applies have made is not known: %s", error)
            return Record()

    def remember(self, seen: Record, returned: Collection[str] = (), other: Collection[str] = ()) -> None:
        """Note what the switches have of the intent, so that it goes when it leaves the intent.

        Also which are drained, until they are ``returned`` by an action, and which device each of them is,
        until it is an ``other`` one.
        """
        before = self.record
        if (now := before.updated(seen, returned, other)) != before:
            try:
                self.databag[MADE] = record.written(now)
            except InvalidValue as error:
                logger.warning("the record of what was made stays as it is: %s", error)

    def last_intent(self, text: str, fabric: Fabric) -> Fabric | None:
        """The intent that the switches have got last; ``fabric`` itself if it is that of ``text``.

        None if it is not known, or written for another revision of this charm.
        """
        last = self.databag.get(INTENT, "")
        if last == text:
            return fabric
        try:
            return expand.read(last) if last else None
        except FileError:
            return None

    def surveyed(self, site: Site, survey: Survey, text: str) -> None:
        """Note what the switches run, and the intent with this ``text`` once they have all of its changes."""
        self.remember(survey.record)
        last = self.last_intent(text, site.fabric)
        known = last is site.fabric or len(survey.goals) < len(site.names)
        if not known and not (site.since(survey, last) if last else survey).changes:
            self.databag[INTENT] = text
