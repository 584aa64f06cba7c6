# SPDX-License-Identifier: Apache-2.0
"""Each incident is told in time, by its cause, and only then: promtool and Alertmanager say so."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cos import promtool
from cos.incidents import INCIDENTS, Incident, Seen, alerts, fired, given, slim, well
from cos.promtool import Alert
from cos.site import Site
from cos.test_inhibition import pages

RULES = promtool.injected()
PAGES = ("critical", "warning")


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """Half an hour of two hosts that are well, in the series of the real exporter."""
    with pytest.MonkeyPatch.context() as patched:
        site = Site(patched, 2)
        site.run(30)
        return site.recorded()


def in_full(incident: Incident, recorded: list[dict[str, str]], directory: Path) -> Seen:
    """The alerts of each minute of an incident, by all rules."""
    return promtool.firing(RULES, slim(given(incident, recorded), RULES), incident.minutes, directory)


@pytest.fixture(scope="session")
def seen(recorded: list[dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """The alerts of each minute of each incident."""
    directory = tmp_path_factory.mktemp("incidents")
    quiet = in_full(well(max(incident.minutes for incident in INCIDENTS.values())), recorded, directory)

    def judge(incident: Incident) -> Seen:
        work = directory / incident.name
        work.mkdir()
        return alerts(incident, recorded, RULES, quiet, work)

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # promtool takes the time, in one thread each
        return dict(zip(INCIDENTS, pool.map(judge, INCIDENTS.values())))


@pytest.fixture(scope="session")
def paged(seen: dict[str, Seen], tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The alerts of each incident that page somebody in some minute, as Alertmanager has it.

    All states of all incidents are given to it at once, each in a model of its own.
    """
    states: dict[str, tuple[str, list[Alert]]] = {}
    for name, minutes in seen.items():
        for text in {json.dumps(firing, sort_keys=True) for firing in minutes if firing}:
            states[f"model-{len(states)}"] = name, json.loads(text)
    raised = [{**alert, "juju_model_uuid": uuid} for uuid, (_, those) in states.items() for alert in those]
    found: dict[str, set[str]] = {name: set() for name in seen}
    for alert in pages(raised, tmp_path_factory.mktemp("alertmanager")):
        if alert["severity"] in PAGES:
            found[states[alert["juju_model_uuid"]][0]].add(alert["alertname"].removeprefix("Offload"))
    return found


def row(incident: Incident, seen: Seen, paged: set[str]) -> str:
    """A line of the table: when each alert came that has to, and what paged besides."""
    first: dict[str, int] = {}
    for (alert, _), minutes in fired(seen).items():
        name = alert.removeprefix("Offload")
        first[name] = min(first.get(name, minutes[0]), minutes[0])
    told = [
        f"{alert} {f'after {first[alert] - incident.begins} min' if alert in first else 'never'} (of {limit})"
        for alert, limit in incident.told.items()
    ]
    false = ", ".join(sorted(paged - incident.told.keys())) or "none"
    return f"{incident.name:40} {'; '.join(told) or 'nothing to tell':70} false: {false}"


def test_print_the_table(seen: dict[str, Seen], paged: dict[str, set[str]]) -> None:
    """Shown with ``-s``, and whenever one of the tests below fails."""
    print()
    for name, incident in INCIDENTS.items():
        print(row(incident, seen[name], paged[name]))


@pytest.mark.parametrize("name", INCIDENTS)
def test_it_is_told_in_time_by_cause_and_only_then(
    name: str, seen: dict[str, Seen], paged: dict[str, set[str]]
) -> None:
    incident = INCIDENTS[name]
    first: dict[str, int] = {}
    for (alert, _), minutes in fired(seen[name]).items():
        first.setdefault(alert.removeprefix("Offload"), minutes[0])
    late = {
        alert: first.get(alert)
        for alert, limit in incident.told.items()
        if alert not in first or not incident.begins <= first[alert] <= incident.begins + limit
    }
    assert (late, paged[name]) == ({}, {*incident.told}), row(incident, seen[name], paged[name])
    assert {*incident.info} <= first.keys()


def test_a_rule_that_an_incident_does_not_touch_tells_the_same_as_while_nothing_happens(
    recorded: list[dict[str, str]], seen: dict[str, Seen], tmp_path: Path
) -> None:
    """All rules evaluated on an incident tell what those that it touches do, beside what is always told."""
    name = "leaf-without-a-session-while-a-spine-is-drained"
    assert in_order(in_full(INCIDENTS[name], recorded, tmp_path)) == in_order(seen[name])


def in_order(seen: Seen) -> list[list[str]]:
    return [sorted(json.dumps(alert, sort_keys=True) for alert in minute) for minute in seen]
