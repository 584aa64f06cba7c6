# SPDX-License-Identifier: Apache-2.0
"""Incidents of others in the series of the exporter: what happens minute by minute, and what has to be told.

Each file is one incident. ``what`` and ``source`` say what happened and where that is public; a source that
names the review has no public number. ``series`` change a site that is well (:func:`healthy`), each entry one
metric:

- ``metric`` and ``labels``; a label with a list means one series for each. Without ``metric``, all series of
  the host whose text has ``matching``.
- ``host``: the number of the host, 0 unless it is said; ``[0, 1, 2]`` for several. ``fabric`` is its unit.
- ``from``, ``until``: minutes; ``every: [period, length]`` within them: only then the change applies.
- one of ``set`` (the value), ``add`` (a minute's growth, on top of what the counter does), ``gone`` (no
  sample) and ``restart`` (a counter begins anew).

``told`` has the alerts that have to page, with the minutes after ``begins`` (30 unless it is said) within
which they fire. No other page may come; ``info`` are alerts that must fire and page nobody.
"""

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from exporter.catalogue import PREFIX

from cos import promtool
from cos.promtool import Alert, series

FOLDER = Path(__file__).parent
BEGINS, LASTS = 30, 110
FABRIC = "cumulus-fabric/0"
COUNTER, VF = re.compile(r"\w+_total{"), re.compile(r'vf="(\d+)"')
FEW = 4
"""VFs of a port: so many tell the same as all of them, in less time."""

Values = list[float | None]
Seen = list[list[Alert]]
"""The alerts that fire, for each minute."""


class Incident(NamedTuple):
    """One file.

    Attributes:
        name: of the file.
        what, source: what happened, and where that can be read.
        minutes: how long it is watched.
        begins: the minute of the fault.
        changes: of the series.
        told: minutes after its begin within which each alert has to fire.
        info: alerts that fire and page nobody.

    """

    name: str
    what: str
    source: str
    minutes: int
    begins: int
    changes: list[dict[str, Any]]
    told: dict[str, int]
    info: tuple[str, ...]


def read(path: Path) -> Incident:
    """An incident's file."""
    found: dict[str, Any] = yaml.safe_load(path.read_text())
    return Incident(
        path.stem,
        found["what"],
        found["source"],
        found.get("minutes", LASTS),
        found.get("begins", BEGINS),
        found["series"],
        found.get("told") or {},
        tuple(found.get("info", ())),
    )


INCIDENTS = {path.stem: read(path) for path in sorted(FOLDER.glob("*.yaml"))}


def healthy(recorded: list[dict[str, str]], minutes: int) -> dict[str, Values]:
    """Series of a site that is well, recorded and gone on with; its fabric has two leaves and two spines."""
    found: dict[str, Values] = {}
    for each in recorded:
        if (vf := VF.search(each["series"])) and int(vf[1]) >= FEW:
            continue
        values = [None if text == "_" else float(text) for text in each["values"].split()]
        step = 0.0
        if COUNTER.search(each["series"]) and None not in values[-2:]:
            step = (values[-1] or 0) - (values[-2] or 0)
        period = 5 if "look_age" in each["series"] else 1
        while len(values) < minutes:
            last = values[-period]
            values.append(None if last is None else last + step)
        found[each["series"]] = values[:minutes]
    for switch, segments in (("leaf0", 16), ("leaf1", 16), ("spine0", 0), ("spine1", 0)):
        at = {"juju_unit": FABRIC, "switch": switch}
        known: dict[str, float] = {
            series("fabric_switch_answers", **at): 1,
            series("fabric_switch_drained", **at): 0,
            series("fabric_drift", **at): 0,
            series("fabric_miswired", **at): 0,
        }
        for kind, number in ("links", 2), ("sessions", 2), ("segments", segments), ("vnis", segments and 20):
            known[series("fabric_declared", **at, object=kind)] = number
            known[series("fabric_actual", **at, object=kind)] = number
        found |= {name: [value] * minutes for name, value in known.items()}
    found |= {name: [float(text.partition("x")[0])] * minutes for name, text in _of_fabric(minutes).items()}
    return found


def _of_fabric(minutes: int) -> dict[str, str]:
    return {**promtool.thresholds(minutes, juju_unit=FABRIC), series("up", juju_unit=FABRIC): f"1x{minutes}"}


def given(incident: Incident, recorded: list[dict[str, str]]) -> list[dict[str, str]]:
    """The incident's series as promtool takes them."""
    found = healthy(recorded, incident.minutes)
    for change in incident.changes:
        for name in _named(change, found):
            _change(found.setdefault(name, [None] * incident.minutes), change, incident.begins)
    return [
        {"series": name, "values": " ".join("_" if each is None else f"{each:.9g}" for each in values)}
        for name, values in sorted(found.items())
        if any(each is not None for each in values)
    ]


def _named(change: Mapping[str, Any], known: Mapping[str, Values]) -> Iterator[str]:
    """The series that a change is about; more hosts than are recorded are like the first one."""
    hosts = change.get("host", 0)
    for host in hosts if isinstance(hosts, list) else [hosts]:
        unit = {"juju_unit": FABRIC} if host == "fabric" else {}
        number, name = (0, "node-0") if host == "fabric" else (host, f"node-{host}")
        if "metric" not in change:
            about = json.dumps(FABRIC if unit else name)
            counters = "restart" not in change
            yield from (
                each
                for each in known
                if about in each and change.get("matching", "") in each and (counters or COUNTER.search(each))
            )
            continue
        labels: dict[str, Any] = {**unit, **change.get("labels", {})}
        options = [value if isinstance(value, list) else [value] for value in labels.values()]
        for chosen in itertools.product(*options):
            yield series(change["metric"], name, number, **dict(zip(labels, map(str, chosen))))


def _change(values: Values, change: Mapping[str, Any], begins: int) -> None:
    first, last = change.get("from", begins), change.get("until", len(values))
    period, length = change.get("every", (1, 1))
    more, base = 0.0, 0.0
    for minute in range(first, len(values)):
        applies = minute < last and (minute - first) % period < length
        if "add" in change:
            more += change["add"] * applies
            values[minute] = (values[minute] or 0) + more
        elif "restart" in change:
            base = base or values[minute] or 0
            values[minute] = max((values[minute] or 0) - base, 0)
        elif applies:
            values[minute] = None if "gone" in change else change["set"]


def well(minutes: int) -> Incident:
    """Nothing happens for so many minutes."""
    return Incident("well", "", "", minutes, BEGINS, [], {}, ())


def alerts(
    incident: Incident, recorded: list[dict[str, str]], rules: promtool.Rules, quiet: Seen, directory: Path
) -> Seen:
    """The alerts of each minute of an incident.

    Args:
        incident: what happens.
        recorded: of hosts that are well.
        rules: by which alerts are told.
        quiet: the alerts while nothing happens: those of a rule that reads no series which the incident
            changes are the same, so that promtool need not evaluate it once more.
        directory: for promtool.

    """
    now = given(incident, recorded)
    changed = differing(given(well(incident.minutes), recorded), now)
    asked = touched(rules, changed)
    named = promtool.by_name(asked)
    found = promtool.firing(asked, slim(now, asked), incident.minutes, directory)
    return [
        [*told, *(alert for alert in before if alert["alertname"] not in named)]
        for told, before in zip(found, quiet)
    ]


def differing(before: list[dict[str, str]], now: list[dict[str, str]]) -> set[str]:
    """The metrics of which a series is another one, has come, or has gone."""
    one, other = ({(row["series"], row["values"]) for row in rows} for rows in (before, now))
    return {_metric(series) for series, _ in one ^ other}


def touched(rules: promtool.Rules, metrics: set[str]) -> promtool.Rules:
    """The rules that read any of these metrics."""
    groups = [
        {**group, "rules": [rule for rule in group["rules"] if any(map(_read_by(rule), metrics))]}
        for group in rules["groups"]
    ]
    return {**rules, "groups": [group for group in groups if group["rules"]]}


def slim(rows: list[dict[str, str]], rules: promtool.Rules) -> list[dict[str, str]]:
    """Only what the rules ask for."""
    read = [_read_by(rule) for group in rules["groups"] for rule in group["rules"]]
    return [row for row in rows if any(reads(_metric(row["series"])) for reads in read)]


def _metric(series: str) -> str:
    return series.partition("{")[0]


def _read_by(rule: Mapping[str, Any]) -> Callable[[str], bool]:
    """Whether a rule asks for a metric, by its name or by a pattern of names."""
    own = f'ALERTS{{alertname="{rule["alert"]}"}}'
    assert "ALERTS" not in rule["expr"].replace(own, ""), "what it tells depends on other rules"
    names = {*re.findall(rf"\b(?:up|{PREFIX}\w+)\b", rule["expr"])}
    patterns = re.findall(r'__name__=~"([^"]*)"', rule["expr"])
    return lambda metric: metric in names or any(re.fullmatch(each, metric) for each in patterns)


def fired(seen: Seen) -> dict[tuple[str, str], list[int]]:
    """The minutes of each alert, by its name and what it is about."""
    found: dict[tuple[str, str], list[int]] = {}
    about = ("instance", "port", "priority", "vf", "switch", "source", "setting", "charm")
    for minute, alerts in enumerate(seen):
        for alert in alerts:
            where = " ".join(alert[label] for label in about if label in alert)
            found.setdefault((alert["alertname"], where), []).append(minute)
    return found
