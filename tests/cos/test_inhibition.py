# SPDX-License-Identifier: Apache-2.0
"""With the collector's own rules loaded, a planned reboot pages nobody: Alertmanager itself says so."""

import json
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cos import promtool
from cos.promtool import APP, MODEL, Alert, firing
from cos.server import Server, alertmanager, free_port
from cos.site import COLLECTOR, Host, Site
from cos.tools import tool

CONFIG = Path(__file__).parents[2] / "docs/how-to/alertmanager.yaml"
PLANNED = "OffloadPlannedReboot"
LAST = [
    {"alertname": name, "juju_model_uuid": "last", "juju_unit": f"{APP}/0"} for name in (PLANNED, "HostDown")
]
"""Raised after all others: a cause and its effect, in a model of their own."""


def injected(units: Sequence[str]) -> dict[str, Any]:
    """Rules as the collector and Prometheus' charm bring them, and ours.

    HostDown is for what Prometheus scrapes itself, HostMetricsMissing for each unit that sends to it.
    """
    common = {"juju_model": MODEL.name, "juju_model_uuid": MODEL.uuid}
    down = {
        "alert": "HostDown",
        "expr": "up < 1",
        "for": "5m",
        "labels": {**common, "severity": "critical"},
    }
    missing = [
        {
            "alert": "HostMetricsMissing",
            "expr": f'absent(up{{juju_unit="{unit}"}})',
            "for": "5m",
            "labels": {**common, "severity": "critical", "juju_unit": unit},
        }
        for unit in units
    ]
    rules = promtool.injected()
    rules["groups"].append({"name": "HostHealth", "rules": [down, *missing]})
    return rules


def collector(host: Host) -> str:
    return f"{COLLECTOR}/{host.number + 5}"


def up(site: Site, away: Sequence[Sequence[str]]) -> list[dict[str, str]]:
    """``up`` of each host as Prometheus scrapes it, and as its collector sends it while the host is there."""
    found: list[dict[str, str]] = []
    for host in site.hosts:
        there = [host.name not in names for names in away]
        scraped = promtool.series("up", host.name, host.number, job="prometheus_scrape")
        found.append({"series": scraped, "values": " ".join(str(int(each)) for each in there)})
        labels = {"job": "otelcol", "juju_application": COLLECTOR, "juju_unit": collector(host)}
        sent = promtool.series("up", host.name, host.number, **labels)
        found.append({"series": sent, "values": " ".join("1" if each else "stale" for each in there)})
    return found


def pages(alerts: Sequence[Alert], directory: Path) -> list[Alert]:
    """Those of the alerts that go to the operators: neither muted nor routed to nobody."""
    work = directory / f"am-{time.monotonic_ns()}"
    work.mkdir()
    with alertmanager(work, CONFIG, free_port()) as server:
        server.raise_alerts([*alerts, *LAST])
        told = _taken_in(server)
    assert len(told) == len(alerts)
    return [
        each["labels"]
        for each in told
        if each["status"]["state"] != "suppressed" and each["receivers"] != [{"name": "nobody"}]
    ]


def _taken_in(server: Server) -> list[dict[str, Any]]:
    """The alerts once the inhibitor has seen all of them.

    Alertmanager answers the request that brings alerts before its inhibitor has taken them in, one by one and
    in their order (inhibit/inhibit.go: ``Inhibitor.run``). So the last of them is muted last.
    """
    for _ in range(600):
        told = {json.dumps(each["labels"], sort_keys=True): each for each in server.alerts()}
        last = [told.pop(json.dumps(each, sort_keys=True)) for each in LAST]
        if last[-1]["status"]["state"] == "suppressed":
            return [*told.values()]
        time.sleep(0.1)
    raise AssertionError("Alertmanager does not mute what the last planned reboot explains")


def paged(alerts: Sequence[Alert], directory: Path) -> set[tuple[str, str]]:
    """The same by name and unit."""
    return {(each["alertname"], each.get("juju_unit", "")) for each in pages(alerts, directory)}


def test_a_rolling_reboot_with_the_collectors_rules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    site = Site(monkeypatch)
    away: list[list[str]] = []
    site.run(5)
    away += [[]] * 5
    site.configure(num_vfs=4)
    for _ in range(60):
        site.tick()
        away.append(site.away)
    rules = injected([collector(host) for host in site.hosts])
    seen = firing(rules, [*site.recorded(), *up(site, away)], site.minute, tmp_path)
    critical = {
        (alert["alertname"], alert["juju_unit"])
        for alerts in seen
        for alert in alerts
        if alert["severity"] == "critical"
    }
    assert critical == {
        (name, unit)
        for host in site.hosts
        for name, unit in (("HostDown", f"{APP}/{host.number}"), ("HostMetricsMissing", collector(host)))
    }
    distinct = {json.dumps(alerts, sort_keys=True) for alerts in seen if alerts}
    assert {name for alerts in distinct for name, _ in paged(json.loads(alerts), tmp_path)} == set()


def test_another_host_that_is_down_meanwhile_pages(tmp_path: Path) -> None:
    common = {"juju_model_uuid": MODEL.uuid, "severity": "critical"}
    alerts = [
        {"alertname": PLANNED, "juju_unit": f"{APP}/0", **common},
        {"alertname": "HostDown", "juju_unit": f"{APP}/0", **common},
        {"alertname": "HostDown", "juju_unit": f"{APP}/1", **common},
        {"alertname": "HostDown", "juju_unit": f"{APP}/0", **common, "juju_model_uuid": "another"},
        {"alertname": "OffloadRebootLockStuck", "unit": f"{APP}/0", **common},
    ]
    assert paged(alerts, tmp_path) == {
        ("HostDown", f"{APP}/1"),
        ("HostDown", f"{APP}/0"),
        ("OffloadRebootLockStuck", ""),
    }
    assert paged(alerts[:2], tmp_path) == set()


def test_a_host_that_does_not_come_back_pages_once_its_lock_is_too_old(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    site = Site(monkeypatch)
    site.run(5)  # Prometheus knows the units of each machine from the scrapes before
    site.configure(num_vfs=4)
    while not site.away:
        site.tick()
    (lost,) = [host for host in site.hosts if host.name in site.away]
    lost.back_at = -1
    before = site.minute
    site.run(80)
    away = [[]] * before + [[lost.name]] * 80
    rules = injected([collector(host) for host in site.hosts])
    seen = firing(rules, [*site.recorded(), *up(site, away)], site.minute, tmp_path)
    units = {f"{APP}/{lost.number}", collector(lost)}
    muted = seen[before + 20]
    assert {alert["juju_unit"] for alert in muted if alert["alertname"] == PLANNED} >= units
    assert paged(muted, tmp_path) == set()
    assert {("HostDown", f"{APP}/{lost.number}"), ("OffloadRebootLockStuck", "")} <= paged(seen[-1], tmp_path)


def test_amtool_takes_the_configuration() -> None:
    for arguments in ["check-config", str(CONFIG)], _routed(PLANNED), _routed("HostDown"):
        done = subprocess.run([tool("amtool"), *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def _routed(alert: str) -> list[str]:
    receiver = "nobody" if alert == PLANNED else "operators"
    return [
        *("config", "routes", "test", f"--config.file={CONFIG}", f"--verify.receivers={receiver}"),
        f"alertname={alert}",
    ]
