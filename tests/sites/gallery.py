# SPDX-License-Identifier: Apache-2.0
"""The gallery: whole sites as folders of plain data, and what each tool must say of them and write there."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import yaml

FOLDER = Path(__file__).parent
INPUTS = {
    "checker": ("bundle", "overlay", "running", "maas"),
    "adopt": ("overlay", "running"),
    "maas": ("maas",),
    "fabric": ("intent", "switches"),
    **dict.fromkeys(("nic-firmware", "sriov-switchdev", "roce-qos"), ("host",)),
    "acceptance": ("cloud",),
}
"""The files of a site that a tool reads. Without one, it would only read the reference's again."""
TOOLS = tuple(INPUTS)
KEYS = {"findings", "told", "unsaid", "writes", "never", "pending"}
"""The keys of expected.yaml for a tool."""
OWN: dict[str, list[str]] = yaml.safe_load((FOLDER / "own.yaml").read_text())
"""The writes of a tool at every site: files and objects of its own."""
HARMLESS = ("info",)
"""Severities that raise no alarm."""


class Found(NamedTuple):
    """A finding of any tool: how much it matters, its rule or subject, and its sentence."""

    severity: str
    about: str
    says: str


class Seen(NamedTuple):
    """The findings of a tool on a site, and its writes there."""

    findings: list[Found]
    writes: list[str]


class Site(NamedTuple):
    """One folder of the gallery."""

    name: str
    folder: Path

    @property
    def expected(self) -> dict[str, Any]:
        """The expected result, by tool; with ``as``, that of the site of that name, too."""
        found = self.data("expected")
        return {tool: _with_others(tool, said) for tool, said in found.items() if tool != "not"}

    @property
    def untried(self) -> dict[str, str]:
        """Tools that do not read what the site has for them, and why not."""
        return self.data("expected").get("not", {})

    @property
    def readers(self) -> set[str]:
        """The tools for which the site has something."""
        return {tool for tool, names in INPUTS.items() if any(map(self.has, names))}

    def has(self, name: str) -> bool:
        """Whether it has this file."""
        return (self.folder / f"{name}.yaml").exists()

    def data(self, name: str) -> Any:
        """One of its files; empty if it has none of this name."""
        path = self.folder / f"{name}.yaml"
        return (yaml.safe_load(path.read_text()) if path.exists() else None) or {}

    def __str__(self) -> str:
        return self.name


def _with_others(tool: str, said: Any) -> Any:
    """Return a site's expectation of a tool, after that of the site under ``as``."""
    if not isinstance(said, dict) or "as" not in said:
        return said
    name = said["as"]
    other = _with_others(tool, Site(name, FOLDER / name).data("expected")[tool])
    own = {key: value for key, value in said.items() if key != "as"}
    return {**other, **own, **{key: [*other[key], *own[key]] for key in other.keys() & own.keys()}}


def sites(folder: Path = FOLDER) -> list[Site]:
    """All of them, by name."""
    return [Site(path.parent.name, path.parent) for path in sorted(folder.glob("*/expected.yaml"))]


def of(tool: str) -> list[Site]:
    """The sites that a tool is run for."""
    return [site for site in sites() if tool in site.expected]


def false_alarms(expected: dict[str, Any], seen: Seen) -> list[Found]:
    """Findings that are worth a warning or more, and that the site does not deserve."""
    alarms = [each for each in seen.findings if each.severity not in HARMLESS]
    named = expected.get("findings", ())
    return [found for found in alarms if not any(_is(found, each) for each in named)]


def complaints(expected: dict[str, Any], seen: Seen, own: Sequence[str] = ()) -> list[str]:
    """Where a tool did something else than the site expects, in sentences; empty if all is well.

    Every write has to be expected, or be among its ``own``.
    """
    wrong = [f"false alarm: {found}" for found in false_alarms(expected, seen)]
    for each in (*expected.get("findings", ()), *expected.get("told", ())):
        if not any(_is(found, each) for found in seen.findings):
            wrong.append(f"not found: {each}, but {seen.findings}")
    said = [found.says for found in seen.findings]
    wrong += [f"said: {words}" for words in expected.get("unsaid", ()) if any(words in each for each in said)]
    patterns = expected.get("writes", ())
    wrong += [f"no such write: {each}, but {seen.writes}" for each in patterns if not _made(each, seen)]
    wrong += [f"harm: {write}" for each in expected.get("never", ()) for write in _made(each, seen)]
    wrong += [
        f"unexpected write: {write}"
        for write in seen.writes
        if not any(fnmatchcase(write, each) for each in (*patterns, *own))
    ]
    return wrong


def _is(found: Found, expected: dict[str, str]) -> bool:
    return (
        found.severity == expected.get("severity", "info")
        and fnmatchcase(found.about, expected["about"])
        and expected.get("says", "") in found.says
    )


def _made(pattern: str, seen: Seen) -> list[str]:
    return [write for write in seen.writes if fnmatchcase(write, pattern)]


def table() -> list[str]:
    """Return the expected findings of each tool on each site, as rows of a Markdown table."""
    rows = ["| site | tool | findings | writes |", "|---|---|---|---|"]
    return rows + [
        row(site, tool, site.expected[tool]) for site in sites() for tool in TOOLS if tool in site.expected
    ]


def expected_alarms() -> int:
    """How many findings of a warning or worse the sites deserve."""
    runs = [site.expected[tool] for site in sites() for tool in TOOLS if tool in site.expected]
    found = [each for run in runs for each in run.get("findings", ())]
    return sum(each.get("severity", "info") not in HARMLESS for each in found)


def row(site: Site, tool: str, expected: dict[str, Any]) -> str:
    """One of them."""
    named = [*expected.get("findings", ()), *expected.get("told", ())]
    findings = [f"{each.get('severity', 'info')}: {each['about']}" for each in named]
    writes = [*expected.get("writes", ()), *(f"never {each}" for each in expected.get("never", ()))]
    if "pending" in expected:
        findings.append(f"pending: {expected['pending']}")
    cells = (site.name, tool, *(_cell(each) for each in (findings, writes)))
    return "| " + " | ".join(cells) + " |"


def _cell(items: list[str]) -> str:
    return "<br>".join(f"`{each}`".replace("|", "\\|") for each in items) or "none"
