# SPDX-License-Identifier: Apache-2.0
"""Grafana's own types read each dashboard, and each query has data over what the real exporter gave."""

import importlib
import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from exporter import facts
from exporter.catalogue import METRICS, PREFIX
from exporter.main import Exporter
from hostnic.testing import FakeHost

from cos import dashboards
from cos.dashboards import NAMES
from cos.promtool import JOB, series
from cos.server import Server, prometheus
from cos.site import EPOCH, P1, Site
from cos.tools import tool

MINUTES = 75
"""More than the longest range of a query, apart from those that look for the last value of a day."""
EACH = dict.fromkeys(facts.OBJECTS, 2)
FABRIC = facts.Fabric(
    at=0,
    switches=(
        facts.Switch("Leaf0-1", answers=True, drift=2, declared=EACH, actual={**EACH, "segments": 1}),
        facts.Switch("Leaf0-2", answers=True, declared=EACH, actual=EACH),
        facts.Switch("Spine0", answers=False, declared=EACH),
    ),
    hosts={"roce-qos/0": {"policy": 1, "cables": 0, "report": 0}},
)
"""Of a fabric whose one switch has lost a segment, and whose other one does not answer."""

PAGES = "/sys/devices/system/node/node1/hugepages/hugepages-1048576kB"
MEMORY = {
    f"{PAGES}/nr_hugepages": 64,
    f"{PAGES}/free_hugepages": 3,
    "/proc/sys/net/netfilter/nf_conntrack_count": 70,
    "/proc/sys/net/netfilter/nf_conntrack_max": 100,
}


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
    now = EPOCH + 60 * (MINUTES - 1)
    for name in NAMES:
        found = [*dashboards.queries(name, "node-0")]
        assert found
        assert [query for query in found if not recorded.query(query.expression, time=now)] == []


def test_the_worst_host_and_the_worst_switch_have_the_most_problems(recorded: Server) -> None:
    now = EPOCH + 60 * (MINUTES - 1)
    for name, label, wanted in (
        ("site", "instance", {"node-0": 0, "node-1": 1}),
        ("fabric", "switch", {"Leaf0-1": 3, "Leaf0-2": 0, "Spine0": 9}),
    ):
        (problems,) = (
            query
            for query in dashboards.queries(name, "node-0")
            if query.panel.endswith("worst first") and query.column == "Problems"
        )
        found = recorded.query(problems.expression, time=now)
        assert {each["metric"][label]: int(each["value"][1]) for each in found} == wanted


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Prometheus with what the exporters of two hosts and of the fabric's unit gave, a scrape a minute.

    A cable of node-1 has been cut.
    """
    directory = tmp_path_factory.mktemp("prometheus")
    with pytest.MonkeyPatch.context() as patched:
        site = Site(patched)
        for host in site.hosts:
            for path, text in MEMORY.items():
                host.machine.disk.install(path, f"{text}\n".encode(), 0o444)
            for port in host.machine.network.ports():
                port.temperature = 41.0
        site.run(MINUTES - 10)
        site.hosts[1].machine.network.unplugged.add(P1)
        site.run(10)
        kept = {each["series"]: each["values"].split() for each in site.recorded()}
    kept |= {name: [f"{value:g}"] * MINUTES for name, value in of_the_fabric().items()}
    (directory / "series.txt").write_text(openmetrics(kept))
    blocks = ["tsdb", "create-blocks-from", "openmetrics", "series.txt", "data"]
    subprocess.run([tool("promtool"), *blocks], cwd=directory, check=True, capture_output=True)
    with prometheus(directory, "{}\n") as server:
        yield server


def of_the_fabric() -> dict[str, float]:
    """One scrape of the exporter beside cumulus-fabric."""
    machine, unit = FakeHost(), "cumulus-fabric/0"
    findings = {**facts.count(()), "blocked": 1}
    facts.publish(machine, facts.Facts("cumulus-fabric", unit, 0, findings, fabric=FABRIC))
    topology = {**JOB, "juju_application": "cumulus-fabric", "juju_unit": unit, "instance": "controller"}
    return {
        series(sample.name.removeprefix(PREFIX), **{**topology, **sample.labels}): sample.value
        for family in Exporter(lambda: machine, 5.0).collect()
        for sample in family.samples
    }


def openmetrics(kept: Mapping[str, list[str]]) -> str:
    """Series, by name and with a value for each minute, in OpenMetrics' text."""
    lines = [
        f"{name} {value} {EPOCH + 60 * minute}"
        for name, values in sorted(kept.items())
        for minute, value in enumerate(values)
        if value != "_"
    ]
    return "\n".join([*lines, "# EOF\n"])
