# SPDX-License-Identifier: Apache-2.0
"""The charms' rules as Prometheus evaluates them, and promtool, which tries them on series."""

import json
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import ops
import yaml
from charmkit.observability import KEY, Observability
from exporter.catalogue import PREFIX, THRESHOLDS
from ops import testing

from cos.tools import tool

APP = "sriov-switchdev"
MODEL = testing.Model("site", uuid="0123abcd-0000-4000-8000-000000000000")
TOPOLOGY = {"juju_model": MODEL.name, "juju_model_uuid": MODEL.uuid, "juju_application": APP}
JOB = {"job": f"{APP}_default_8cdaba4d", **TOPOLOGY}
META = {
    "name": APP,
    "provides": {
        "cos-agent": {"interface": "cos_agent", "limit": 1},
        "metrics-endpoint": {"interface": "prometheus_scrape"},
    },
}

Rules = dict[str, Any]
Alert = dict[str, str]


class Fault(NamedTuple):
    """A fault, and the alert that has to fire.

    Attributes:
        alert: its name, without the prefix.
        given: the series by what they are about, and their values a minute apart.
        labels: which the alert has besides the topology.
        summary: its sentence.
        at: the minute in which it has to fire, after its ``for``.
        before: a minute in which it must not fire yet.

    """

    alert: str
    given: Mapping[str, str]
    labels: Mapping[str, str]
    summary: str
    at: int = 40
    before: int = 0


class _Charm(ops.CharmBase):
    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self.observability = Observability(self, lambda: "node-0")


def published(relation: str, charm: type[ops.CharmBase] = _Charm) -> testing.Relation:
    """A relation after a hook of the leader, whose databags have what it published."""
    context = testing.Context(charm, meta=META, app_name=APP, unit_id=0, juju_version="3.6.0")
    related = testing.Relation(relation, remote_app_name="other")
    state = testing.State(relations={related}, model=MODEL, leader=True)
    found = context.run(context.on.config_changed(), state).get_relation(related.id)
    assert isinstance(found, testing.Relation)
    return found


def databag() -> dict[str, Any]:
    """Return the databag that a unit publishes for the collector."""
    return json.loads(published("cos-agent").local_unit_data[KEY])


def injected() -> Rules:
    """The rules with the matchers that Canonical's cos-tool puts into each selector of an application."""
    rules: Rules = databag()["metrics_alert_rules"]
    matchers = ",".join(f'{name}="{value}"' for name, value in TOPOLOGY.items())

    def narrow(found: re.Match[str]) -> str:
        return f"{found[1]}{{{','.join(filter(None, (matchers, found[2])))}}}"

    for group in rules["groups"]:
        for rule in group["rules"]:
            rule["expr"] = re.sub(rf"\b(up|{PREFIX}\w+)\b(?:{{([^}}]*)}})?", narrow, rule["expr"])
    return rules


def by_name(rules: Rules) -> dict[str, dict[str, Any]]:
    """Each rule by its alert's name."""
    return {rule["alert"]: rule for group in rules["groups"] for rule in group["rules"]}


def series(metric: str, /, host: str = "node-0", number: int = 0, **labels: str) -> str:
    """A series of a host's exporter, as the collector has labelled it."""
    known = {**JOB, "instance": host, "juju_unit": f"{APP}/{number}", **labels}
    full = metric if metric == "up" else PREFIX + metric
    return f"{full}{{{','.join(f'{label}={json.dumps(value)}' for label, value in sorted(known.items()))}}}"


def thresholds(minutes: int, host: str = "node-0", number: int = 0, **labels: str) -> dict[str, str]:
    """The exporter's thresholds, for so many minutes."""
    return {
        series("threshold", host, number, name=name, **labels): f"{value}x{minutes}"
        for name, value in THRESHOLDS.items()
    }


def check(rules: Rules, directory: Path) -> str:
    """Return promtool's complaints about the rules; nothing if they are sound."""
    path = directory / "rules.yaml"
    path.write_text(yaml.safe_dump(rules, width=4096))
    return _run("check", "rules", str(path))


def test(rules: Rules, cases: Iterable[Mapping[str, Any]], directory: Path) -> str:
    """Return promtool's complaints about the rules on each case's series; nothing if all is as expected."""
    (directory / "rules.yaml").write_text(json.dumps(rules))  # it is YAML, too, and written in no time
    document = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [*cases]}
    (directory / "test.yaml").write_text(json.dumps(document))
    return _run("test", "rules", str(directory / "test.yaml"))


def firing(rules: Rules, given: list[dict[str, str]], minutes: int, directory: Path) -> list[list[Alert]]:
    """The labels of all alerts that fire, for each minute: what promtool has where nothing is expected."""
    tests = [{"expr": 'ALERTS{alertstate="firing"}', "eval_time": f"{minute}m"} for minute in range(minutes)]
    case = {"interval": "1m", "input_series": given, "promql_expr_test": tests}
    found: list[list[Alert]] = [[] for _ in range(minutes)]
    said = test(rules, [case], directory)
    for moment, got in re.findall(r"time: (\w+),.*?got:(.*?)(?=expr:|\Z)", said, re.DOTALL):
        parts = {unit: int(number) for number, unit in re.findall(r"(\d+)([hms])", moment)}
        minute = 60 * parts.get("h", 0) + parts.get("m", 0)
        for labels in re.findall(r'{__name__="ALERTS", (.*?)} 1', got):
            pairs = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            found[minute].append({key: value for key, value in pairs.items() if key != "alertstate"})
    return found


def _run(*arguments: str) -> str:
    """Run promtool, which may use a few times its memory before it collects garbage: less than 200 MB."""
    environment = {"GOGC": "400", **os.environ}
    done = subprocess.run([tool("promtool"), *arguments], capture_output=True, text=True, env=environment)
    return done.stderr + done.stdout if done.returncode else ""
