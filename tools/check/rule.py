# SPDX-License-Identifier: Apache-2.0
"""Rules: data plus one function each, which yields what is wrong, where, and what to write instead."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from converge.finding import few
from maas.sitefile.model import Site
from yamlfile.values import Place

from check.model import Bundle

Wrong = tuple[Place, str, str]
"""Where it stands, what is wrong, and what to write instead."""
Check = Callable[[Bundle], Iterator[Wrong]]
SiteCheck = Callable[[Bundle, Site], Iterator[Wrong]]
MISSPELT = 0.8
"""How alike a misspelt name and the right one are, by difflib's ratio."""
NAMED = 12
"""Names that a sentence lists."""


@dataclass(frozen=True)
class Finding:
    """One thing that a rule found."""

    place: Place
    rule: str
    what: str
    instead: str
    warning: bool

    def __str__(self) -> str:
        return f"{self.place}: {'warning: ' if self.warning else ''}{self.rule}: {self.what}. {self.instead}."


@dataclass(frozen=True)
class Rule:
    """One rule. A warning does not fail the check; one with `site` finds nothing where no site is known."""

    name: str
    about: str
    check: Check
    warning: bool
    site: bool

    def findings(self, bundle: Bundle) -> Iterator[Finding]:
        for place, what, instead in self.check(bundle):
            yield Finding(place, self.name, what, instead, self.warning)


RULES: list[Rule] = []

SILENCED = re.compile(r"#\s*ignore\s+([a-z-]+):\s*(\S.*)")
"""The comment that silences a rule for its own line, or for the line below, and says why."""


def is_silenced(finding: Finding, lines: Sequence[str]) -> bool:
    """Whether the file with these lines says why the rule does not hold at the finding's place."""
    at = finding.place.line - 1
    above = at - 1
    while above >= 0 and lines[above].lstrip().startswith("#"):
        above -= 1
    said = (SILENCED.search(line) for line in lines[above + 1 : at + 1])
    return any(found and found[1] == finding.rule for found in said)


def rule(name: str, about: str, warning: bool = False) -> Callable[[Check], Check]:
    """Add the function to RULES under this name."""

    def add(check: Check) -> Check:
        RULES.append(Rule(name, about, check, warning, site=False))
        return check

    return add


def site_rule(name: str, about: str, warning: bool = False) -> Callable[[SiteCheck], SiteCheck]:
    """The same for a function that is given the site, too, and is called only when that is known."""

    def add(check: SiteCheck) -> SiteCheck:
        def where_known(bundle: Bundle) -> Iterator[Wrong]:
            if bundle.site is not None:
                yield from check(bundle, bundle.site)

        RULES.append(Rule(name, about, where_known, warning, site=True))
        return check

    return add


def near(word: str, known: Iterable[str], otherwise: str = "Remove it") -> str:
    """The advice for a name that is not known."""
    matches = get_close_matches(word, sorted(known), n=3, cutoff=0.6)
    return f"Write {' or '.join(matches)}" if matches else otherwise


def misspelt(word: str, known: Iterable[str]) -> str:
    """The name that a word nearly is, and from which it differs in more than a number; empty if none."""
    alike = get_close_matches(word, sorted(known), cutoff=MISSPELT)
    return next((each for each in alike if re.sub(r"\d", "", each) != re.sub(r"\d", "", word)), "")


def listed(items: Iterable[str]) -> str:
    """Names in a sentence, which has the first of many."""
    return few(sorted(items), NAMED)
