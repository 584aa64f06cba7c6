# SPDX-License-Identifier: Apache-2.0
"""The charm's sentences about its options and parameters, in the words of the command line. Pure.

Findings and remedies are those of the charm's actions, to which an operator gives `plan=DIGEST`. On the
command line this is `--plan DIGEST`.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from converge import Finding, Plan

T = TypeVar("T")

WORDS = (
    (r"\b(plan|remove|replaced|cut-off)=(?=\S)", r"--\1 "),
    (r"\bwithout (plan|remove)\b", r"without --\1"),
    (r"\bthe action (\w+)", r"\1"),
    (r"\bsettle-timeout\b", "--settle"),
    (r"\brequest-timeout\b", "--timeout"),
    (r"\bset ca-certificate to the authority that signed it", "give the authority that signed it with --ca"),
    (r"\bwith pinned-certificates\b", "with --pin"),
    (r"\boption juju-https-proxy\b", "variable https_proxy"),
    (
        r"\bput client-certificate and client-key into the secret\b",
        "give --client-certificate and --client-key",
    ),
    (r"\bput the new one into the secret\b", "put the new one into the file of --credentials"),
)
"""Patterns of the charm's words, and what the command line has instead."""


def translated(text: str) -> str:
    """A sentence of the charm in the command line's words."""
    text = re.sub(r"\bswitch='([^']*)'", lambda names: _switches(names[1]), text)
    for pattern, words in WORDS:
        text = re.sub(pattern, words, text)
    return text


def _switches(names: str) -> str:
    return " ".join(f"--switch {name}" for name in names.split())


def of_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Findings whose facts and remedies name what is typed here."""
    return [each._replace(what=translated(each.what), remedy=translated(each.remedy)) for each in findings]


def of_plan(plan: Plan[T]) -> Plan[T]:
    """A plan with such findings."""
    held = (replace(each, release=translated(each.release)) for each in plan.held)
    return replace(plan, held=tuple(held), findings=tuple(of_findings(plan.findings)))
