# SPDX-License-Identifier: Apache-2.0
"""Grafana's own types read each dashboard, and each query has data over what the real exporter gave."""

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from exporter.catalogue import METRICS, PREFIX

from cos import dashboards, promtool
from cos.dashboards import NAMES
from cos.dashboards.hour import NOW
from cos.promtool import series
from cos.server import Server


@pytest.mark.parametrize("name", NAMES)
def test_grafanas_own_types_hold_all_of_a_dashboard(name: str) -> None:
    given = dashboards.read(name)
    assert lost(given, through_grafana("dashboard", "Dashboard", given)) == []
    for panel in given["panels"]:
        assert lost(panel["options"], through_grafana(panel["type"], "Options", panel["options"])) == []


def through_grafana(module: str, kind: str, given: Any) -> Any:
    """A document as the types of Grafana's SDK, made from Grafana's schema, read it and write it again."""
    models = pytest.importorskip(f"grafana_foundation_sdk.models.{module}", reason="needs Python 3.11")
    encoder = importlib.import_module("grafana_foundation_sdk.cog.encoder").JSONEncoder()
    return json.loads(encoder.encode(getattr(models, kind).from_json(given)))


def lost(given: Any, kept: Any, where: str = "") -> list[str]:
    """The places of a document that read otherwise than they were written."""
    if isinstance(given, dict) and isinstance(kept, dict):
        return [each for key, value in given.items() for each in lost(value, kept.get(key), f"{where}.{key}")]
    if isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        pairs = enumerate(zip(given, kept))
        return [each for number, pair in pairs for each in lost(*pair, f"{where}[{number}]")]
    return [] if given == kept else [f"{where}: {given!r} was read as {kept!r}"]


def test_panels_do_not_overlap_and_fill_rows_of_24() -> None:
    for name in NAMES:
        taken = set[tuple[int, int]]()
        for panel in dashboards.read(name)["panels"]:
            place = panel["gridPos"]
            cells = {
                (x, y)
                for x in range(place["x"], place["x"] + place["w"])
                for y in range(place["y"], place["y"] + place["h"])
            }
            assert not taken & cells, f"{name}: {panel['title']}"
            assert place["x"] + place["w"] <= 24, f"{name}: {panel['title']}"
            taken |= cells


def test_each_query_asks_for_metrics_that_the_exporter_has() -> None:
    known = {metric.series for metric in METRICS.values()}
    for name in NAMES:
        for query in dashboards.queries(name, "node-0"):
            asked = {*re.findall(rf"{PREFIX}\w+", query.expression)}
            assert asked <= known, query


def test_no_panel_is_empty_over_an_hour_of_a_site(recorded: Server) -> None:
    for name in NAMES:
        found = [*dashboards.queries(name, "node-0")]
        assert found
        assert [query for query in found if not recorded.query(query.expression, time=NOW)] == []


def test_the_worst_host_and_the_worst_switch_have_the_most_problems(recorded: Server) -> None:
    for name, label, wanted in (
        ("site", "instance", {"node-0": 0, "node-1": 1}),
        ("fabric", "switch", {"Leaf0-1": 3, "Leaf0-2": 0, "Spine0": 9}),
    ):
        (problems,) = (
            query
            for query in dashboards.queries(name, "node-0")
            if query.panel.endswith("worst first") and query.column == "Problems"
        )
        found = recorded.query(problems.expression, time=NOW)
        assert {each["metric"][label]: int(each["value"][1]) for each in found} == wanted


def test_a_host_with_few_packets_has_no_share_in_software(tmp_path: Path) -> None:
    """All that the VFs of an idle host send passes in software: ARP and the like."""
    sent = series("vf_packets_total", port="enp59s0f0np0", vf="0", path="software")
    shares = [
        query.expression
        for name in NAMES
        for query in dashboards.queries(name, "node-0")
        if 'path="software"' in query.expression
    ]
    assert shares
    for a_second, shown in (50, []), (150, [{"labels": "{}", "value": 1}]):
        case = {
            "interval": "1m",
            "input_series": [{"series": sent, "values": f"0+{60 * a_second}x10"}],
            "promql_expr_test": [
                {"expr": f"sum({share})", "eval_time": "10m", "exp_samples": shown} for share in shares
            ],
        }
        assert promtool.test({"groups": []}, [case], tmp_path) == ""
