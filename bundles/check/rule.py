# SPDX-License-Identifier: Apache-2.0
"""Rules: data plus one function each, which yields what is wrong, where, and what to write instead."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from check.model import Bundle
from check.source import Place

Wrong = tuple[Place, str, str]
"""Where it stands, what is wrong, and what to write instead."""


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
    """One rule. A warning does not fail the check; a rule with `site` needs to know the site."""

    name: str
    about: str
    check: Callable[[Bundle], Iterator[Wrong]]
    warning: bool
    site: bool

    def findings(self, bundle: Bundle) -> Iterator[Finding]:
        if self.site and bundle.site is None:
            return
        for place, what, instead in self.check(bundle):
            yield Finding(place, self.name, what, instead, self.warning)


RULES: list[Rule] = []


def rule(
    name: str, about: str, warning: bool = False, site: bool = False
) -> Callable[[Callable[[Bundle], Iterator[Wrong]]], Callable[[Bundle], Iterator[Wrong]]]:
    """Add the function to RULES under this name."""

    def add(check: Callable[[Bundle], Iterator[Wrong]]) -> Callable[[Bundle], Iterator[Wrong]]:
        RULES.append(Rule(name, about, check, warning, site))
        return check

    return add


def near(word: str, known: Iterable[str], otherwise: str = "Remove it") -> str:
    """The advice for a name that is not known."""
    matches = get_close_matches(word, sorted(known), n=3, cutoff=0.6)
    return f"Write {' or '.join(matches)}" if matches else otherwise


def listed(items: Iterable[str]) -> str:
    """Names in a sentence."""
    return ", ".join(sorted(items))
