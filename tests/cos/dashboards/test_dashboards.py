# SPDX-License-Identifier: Apache-2.0
"""Grafana's own types read each dashboard, and each query has data over what the real exporter gave."""

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from exporter.catalogue import FABRIC, METRICS, PREFIX
from exporter.facts import OBJECTS

from cos import dashboards, promtool
from cos.dashboards import NAMES, picture
from cos.dashboards.hour import EACH, HOST, NOW
from cos.dashboards.values import COLOURS, shown
from cos.promtool import by_name, series
from cos.server import Server
from cos.site import P0, P1


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
        found = [*dashboards.queries(name, HOST)]
        assert found
        assert [query for query in found if not recorded.query(query.expression, time=NOW)] == []


def fields(panel: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The options of a panel's columns by name; those of a tile by its title."""
    shown = panel["fieldConfig"]
    named = {each["matcher"]["options"]: each["properties"] for each in shown["overrides"]}
    columns = {name: {each["id"]: each["value"] for each in given} for name, given in named.items()}
    return {panel["title"]: shown["defaults"]} if panel["type"] == "stat" else columns


def every(kind: str) -> list[tuple[str, dict[str, Any]]]:
    """All panels of a kind, each with its dashboard's name."""
    found = [(name, panel) for name in NAMES for panel in dashboards.read(name)["panels"]]
    return [each for each in found if each[1]["type"] == kind]


def rows(recorded: Server, title: str, at: int = NOW, host: str = HOST) -> list[dict[str, Any]]:
    """The rows of the table of this title, as it is sorted."""
    (panel,) = (panel for _, panel in every("table") if panel["title"] == title)
    return picture.merged(panel, picture.Asked(recorded, host, at, 60))[1]


def test_what_needs_work_is_above_all_else() -> None:
    """First tiles, then tables, then lines; in the tables first the rows with most problems."""
    order = ["stat", "table", "timeseries"]
    for name in NAMES:
        panels = sorted(dashboards.read(name)["panels"], key=lambda each: each["gridPos"]["y"])
        kinds = [order.index(each["type"]) for each in panels if each["title"] != "Findings"]
        assert kinds == sorted(kinds), name
        assert panels[kinds.count(0)]["title"].endswith("worst first"), name


def test_tiles_count_the_links_sessions_segments_and_vnis_that_the_switches_lack(recorded: Server) -> None:
    tiles = {panel["title"]: panel["targets"][0]["expr"] for name, panel in every("stat") if name == "fabric"}
    for kind, object_ in zip(OBJECTS, ("Links", "Sessions", "Segments", "VNIs")):
        (found,) = recorded.query(tiles[f"{object_} missing"], time=NOW)
        lost_by_leaf = int(kind == "segments")
        assert float(found["value"][1]) == lost_by_leaf + EACH[kind], "a silent switch lacks all of its own"


def test_a_drained_switch_lacks_nothing_and_a_silent_one_all(tmp_path: Path) -> None:
    declared = [series("fabric_declared", switch=name, object="links") for name in ("drained", "silent")]
    given = {
        **dict.fromkeys(declared, "4x10"),
        series("fabric_actual", switch="drained", object="links"): "1x10",
        series("fabric_switch_drained", switch="drained"): "1x10",
        series("fabric_switch_drained", switch="silent"): "0x10",
    }
    (tile,) = (panel for name, panel in every("stat") if panel["title"] == "Links missing")
    assert tried(tile["targets"][0]["expr"], given, tmp_path, 4) == ""


def tried(expression: str, given: dict[str, str], folder: Path, value: float) -> str:
    """Promtool's complaint unless the expression has this value ten minutes after the series' begin."""
    case = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in given.items()],
        "promql_expr_test": [
            {"expr": expression, "eval_time": "10m", "exp_samples": [{"labels": "{}", "value": value}]}
        ],
    }
    return promtool.test({"groups": []}, [case], folder)


@pytest.mark.parametrize("title", ["Hosts, worst first", "Ports, worst first", "Switches, worst first"])
@pytest.mark.parametrize("minutes_ago", [0, 15, 30, 70])
def test_problems_counts_the_red_cells_of_its_row(title: str, minutes_ago: int, recorded: Server) -> None:
    (panel,) = (panel for _, panel in every("table") if panel["title"] == title)
    looks = fields(panel)
    found = rows(recorded, title, NOW - 60 * minutes_ago)
    assert found
    for row in found:
        cells = {name: shown(value, looks.get(name, {}))[1] for name, value in row.items()}
        red = [name for name, fill in cells.items() if fill == COLOURS["red"] and name != "Problems"]
        assert row["Problems"] == len(red), (row, red)
    assert [row["Problems"] for row in found] == sorted((row["Problems"] for row in found), reverse=True)


def test_the_worst_host_port_and_switch_of_the_hour_are_on_top(recorded: Server) -> None:
    assert [(row["Host"], row["Problems"]) for row in rows(recorded, "Hosts, worst first")] == [
        ("node-1", 1),
        ("node-0", 0),
    ]
    assert [(row["Port"], row["Problems"]) for row in rows(recorded, "Ports, worst first")] == [
        (P1, 3),
        (P0, 0),
    ]
    assert [(row["Switch"], row["Problems"]) for row in rows(recorded, "Switches, worst first")] == [
        ("Spine0", 5),
        ("Leaf0-1", 3),
        ("Leaf0-2", 0),
    ]


def test_a_silent_host_keeps_its_row(tmp_path: Path) -> None:
    """All of its other series end; those of the last day tell that it is one of these hosts."""
    (panel,) = (panel for _, panel in every("table") if panel["title"] == "Hosts, worst first")
    gone = {
        series("up", "node-7"): "1x3 0x10",
        series("port_present", "node-7", port=P0): "1x3 _x10",
    }
    assert tried(f"sum({panel['targets'][0]['expr']})", gone, tmp_path, 1) == ""


STATE = re.compile(r"(?:max|min) by \([\w, ]+\) \((\w+)(?:{.*})?\)")


def test_a_state_is_a_word_and_not_a_number() -> None:
    seen = set[str]()
    for name, panel in every("table"):
        names = panel["transformations"][1]["options"]["renameByName"]
        for target in panel["targets"]:
            found = STATE.fullmatch(target["expr"])
            if found and found[1] in METRICS and METRICS[found[1]].help.endswith("1 or 0."):
                column = names[f"Value #{target['refId']}"]
                said = [shown(each, fields(panel)[column])[0] for each in (0.0, 1.0)]
                assert not any(re.search(r"\d", each) for each in said), f"{name}: {column}: {said}"
                seen.add(column)
    assert seen == {"Function", "Link", "LACP partner", "In the bond", "Firmware", "Reads", "In use"}


def test_what_is_declared_as_on_or_off_says_so(recorded: Server) -> None:
    (states,) = (panel for _, panel in every("table") if panel["title"].startswith("States"))
    looks = fields(states)
    told = {
        tuple(shown(row[name], looks[name])[0] for name in ("Setting", "Actual", "Differs"))
        for row in rows(recorded, states["title"])
    }
    assert told == {("switchdev mode", "on", "no"), ("VF-LAG", "on", "no"), ("hw-tc-offload", "on", "no")}


def test_a_link_that_was_lost_once_has_one_flap(tmp_path: Path) -> None:
    """Prometheus extrapolates the two changes of the counter, down and up, to 2.2."""
    (flaps,) = (each for each in dashboards.queries("node", HOST) if each.column == "Flaps in 1 h")
    given = {series("port_carrier_changes_total", HOST, port=P0): "4x4 6x20"}
    assert tried(f"sum({flaps.expression})", given, tmp_path, 1) == ""


def test_a_colour_has_one_meaning() -> None:
    """Green: nothing to do. Red is what problems are, orange less than that, and blue is on purpose."""
    reached = dict[str, set[tuple[Any, ...]]]()
    for _, panel in (*every("stat"), *every("table")):
        for field, look in fields(panel).items():
            if "thresholds" not in look:
                continue
            (base, *steps) = look["thresholds"]["steps"]
            if panel["type"] == "stat" or field == "Problems":
                assert base["color"] == "green", field
            else:
                assert "green" not in {step["color"] for step in (base, *steps)}, field
            reached.setdefault(field, set()).add(tuple((step["color"], step["value"]) for step in steps))
    assert {field: found for field, found in reached.items() if len(found) > 1} == {}
    assert reached["Drained"] == reached["In use"] == reached["Planned reboots"] == {(("blue", 1),)}


def test_a_share_of_14_percent_in_software_is_not_green() -> None:
    columns = [fields(panel)["In software"] for _, panel in every("table") if "In software" in fields(panel)]
    assert [shown(0.14, look) for look in columns] == [("14.0 %", COLOURS["orange"])] * 2
    assert [shown(0.5, look) for look in columns] == [("50.0 %", COLOURS["red"])] * 2
    assert [shown(0.01, look) for look in columns] == [("1.0 %", "")] * 2


def test_hosts_lead_to_their_dashboard() -> None:
    """Its uid is of the form that Canonical's libraries keep; they replace others."""
    uids = [dashboards.read(name)["uid"] for name in NAMES]
    assert all(re.fullmatch("[0-9a-f]{40}", uid) for uid in uids)
    node, told = dashboards.read("node")["uid"], list[str]()
    for name, panel in every("table"):
        if "Host" not in panel["transformations"][1]["options"]["renameByName"].values():
            continue
        links = panel["fieldConfig"]["defaults"].get("links") or fields(panel)["Host"]["links"]
        told += [
            f"{name}: {panel['title']}" for link in links if f"/d/{node}?var-instance=${{__" in link["url"]
        ]
    assert told == [
        "site: Hosts, worst first",
        "site: Alerts that fire, worst first",
        "fabric: Hosts, those that differ first",
    ]


def test_the_fabrics_hosts_have_their_names(recorded: Server) -> None:
    found = rows(recorded, "Hosts, those that differ first")
    assert [(row["Unit"], row["Host"]) for row in found] == [
        ("roce-qos/0", "node-0"),
        ("roce-qos/1", "node-1"),
    ]


def test_a_host_without_a_name_keeps_its_row(tmp_path: Path) -> None:
    (query,) = (each for each in dashboards.queries("fabric", HOST) if each.column == "Differences")
    given = {series("fabric_host_differences", unit="roce-qos/9", about="cables"): "2x10"}
    assert tried(f"sum({query.expression})", given, tmp_path, 2) == ""


@pytest.mark.parametrize("name", NAMES)
def test_each_alert_that_fires_leads_to_its_runbook(name: str, recorded: Server) -> None:
    (panel,) = (panel for board, panel in every("table") if board == name and "Alerts" in panel["title"])
    look = fields(panel)["Runbook"]
    (link,) = look["links"]
    assert link["url"] == "${documents:raw}${__value.text}"
    found = picture.merged(panel, picture.Asked(recorded, HOST, NOW, 60))[1]
    rules = by_name(promtool.injected())
    assert {row["Alert"]: shown(row["Runbook"], look)[0] for row in found} == {
        row["Alert"]: rules[row["Alert"]]["annotations"]["runbook"] for row in found
    }
    severities = [shown(row["Severity"], fields(panel)["Severity"]) for row in found]
    assert [said for said, _ in severities] == [rules[row["Alert"]]["labels"]["severity"] for row in found]
    assert {fill for said, fill in severities if said == "warning"} == {COLOURS["orange"]}


def test_only_alerts_and_the_trouble_of_switches_ports_may_show_nothing() -> None:
    empty = {query.panel for name in NAMES for query in dashboards.queries(name, HOST) if query.may_be_empty}
    assert {panel for panel in empty if "by port" not in panel and "lerts" not in panel} == {
        "Warnings",
        "Switches with problems",
        "RoCE frames dropped",
        "Switches, worst first",
    }


def test_each_counter_of_roce_at_the_switches_ports_has_a_panel() -> None:
    asked = "".join(query.expression for query in dashboards.queries("fabric", HOST))
    counters = [metric.series for name, metric in FABRIC.items() if name.startswith(f"{PREFIX}fabric_port")]
    assert len(counters) == 5
    assert [name for name in counters if name not in asked] == []


def test_a_host_with_few_packets_has_no_share_in_software(tmp_path: Path) -> None:
    """All that the VFs of an idle host send passes in software: ARP and the like."""
    sent = series("vf_packets_total", port="enp59s0f0np0", vf="0", path="software")
    shares = [
        query.expression
        for name in NAMES
        for query in dashboards.queries(name, "node-0")
        if query.column == "In software" or query.panel == "Packets in software, by host"
    ]
    assert len(shares) == 3
    for a_second, samples in (50, []), (150, [{"labels": "{}", "value": 1}]):
        case = {
            "interval": "1m",
            "input_series": [{"series": sent, "values": f"0+{60 * a_second}x10"}],
            "promql_expr_test": [
                {"expr": f"sum({share})", "eval_time": "10m", "exp_samples": samples} for share in shares
            ],
        }
        assert promtool.test({"groups": []}, [case], tmp_path) == ""
