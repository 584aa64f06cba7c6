# SPDX-License-Identifier: Apache-2.0
"""How the lab watches its guests under faults, with a modelled host in place of a guest."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab.observed import faults, modelled, scaled, watch

from cos import promtool
from cos.promtool import by_name
from cos.site import P0, Host, Site

HOST, PORT = "node-0", f"node-0 {P0}"


class Modelled(modelled.Exported):
    """A modelled host as the lab and as the guest that it scrapes."""

    def __init__(self, host: Host) -> None:
        super().__init__(lambda: host.machine)
        self.unplugged = host.machine.network.unplugged

    def until(self, holds: Callable[[], bool], limit: float) -> bool:
        return modelled.until(holds, min(limit, 90))

    def cut(self, alert: str) -> faults.Fault:
        begins, ends = lambda _: self.unplugged.add(P0), lambda _: self.unplugged.clear()
        return faults.Fault("a cable is cut", alert, (PORT,), begins, ends)

    def watched(self, directory: Path) -> Any:
        return watch.watching(self, [watch.Target(HOST, "sriov-switchdev/0", self)], directory)


@pytest.fixture(scope="module")
def host() -> Any:
    with pytest.MonkeyPatch.context() as patched:
        site = Site(patched, 1)
        site.run(1)
        yield Modelled(site.hosts[0])


def test_the_alert_of_a_fault_fires_alone_and_clears(host: Any, tmp_path: Path) -> None:
    with host.watched(tmp_path) as watched:
        assert faults.quiet(watched)
        seen = faults.try_out(watched, host.cut("OffloadLinkDown"))
    assert seen.holds
    assert seen.fired is not None
    assert seen.fired >= 5 * 60 / watched.factor
    assert "a cable is cut  OffloadLinkDown" in faults.table([seen], watched.factor)


def test_another_alert_is_told_beside_the_expected_one_that_never_fires(
    host: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "LIMIT", 45.0)
    with host.watched(tmp_path) as watched:
        seen = faults.try_out(watched, host.cut("OffloadPortGone"))
    assert not seen.holds
    assert (seen.fired, seen.others) == (None, (f"OffloadLinkDown {PORT}",))


def test_what_is_not_quiet_is_told(host: Any, tmp_path: Path) -> None:
    fault, late = host.cut("OffloadLinkDown"), f"the exporter of {HOST} does not answer"
    with host.watched(tmp_path) as watched:
        assert watched.restless() in ([], [late])
        assert faults.quiet(watched)
        fault.begins(host)
        assert host.until(lambda: watched.restless() == [f"OffloadLinkDown {PORT} is pending"], 60)
        assert not watched.quiet()
        fault.ends(host)
        assert host.until(watched.quiet, 60)


def test_the_rules_are_those_of_the_databag_in_a_faster_time(tmp_path: Path) -> None:
    shipped = by_name(promtool.databag()["metrics_alert_rules"])
    labels = {name: rule["labels"] for name, rule in shipped.items()}
    topology = {key: value for key, value in labels["OffloadPlannedReboot"].items() if "juju_" in key}
    faster = by_name(scaled.rules(12, topology))
    assert {name: rule["labels"] for name, rule in faster.items()} == labels
    assert promtool.check(scaled.rules(12, topology), tmp_path) == ""
    durations = re.compile(r"(?<=[\[:])(\d+[a-z]+)(?=[\]:])")
    for name, rule in faster.items():
        ranges = durations.findall(rule["expr"]), durations.findall(shipped[name]["expr"])
        for found, wanted in zip(*ranges, strict=True):
            assert found == f"{in_seconds(wanted) * 1000 // 12}ms"
        waits = in_seconds(shipped[name]["for"])
        if waits <= 300:
            assert rule["for"] == f"{waits * 1000 // 12}ms"


def in_seconds(duration: str) -> int:
    return int(duration[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[duration[-1]]


def test_what_a_rule_waits_beyond_five_minutes_is_a_tenth() -> None:
    faster = by_name(scaled.rules(10, {}))
    assert faster["OffloadFabricDrift"]["for"] == f"{(300 + 330) * 100}ms"


def test_the_alert_of_a_blocked_charm_still_comes_long_after_that_of_its_fault() -> None:
    waits = [by_name(scaled.rules(factor, {}))["OffloadBlocked"]["for"] for factor in (10, 30)]
    assert waits == ["180000ms", "120000ms"]


@pytest.mark.parametrize(("turn", "before", "after"), [(0, 3, 5), (400, 5, 8)])
def test_the_age_of_a_stuck_lock_is_in_the_faster_time_too(
    turn: float, before: int, after: int, tmp_path: Path
) -> None:
    """A lock that may be held for 30 minutes is stuck after three, where each counts as ten.

    On a machine whose nodes take longer for their turn, it is stuck after that time.
    """
    labels = {"charm": "sriov-switchdev", "unit": "sriov-switchdev/1"}
    known = {
        promtool.series("reboot_lock_age_seconds", "node-0", 0, **labels): "0+5x120",
        promtool.series("reboot_lock_limit_seconds", "node-0", 0, charm="sriov-switchdev"): "1800x120",
    }
    firing = 'ALERTS{alertname="OffloadRebootLockStuck",alertstate="firing"}'
    case: dict[str, Any] = {
        "interval": "5s",
        "input_series": [{"series": name, "values": values} for name, values in known.items()],
        "promql_expr_test": [
            {"expr": f"count({firing})", "eval_time": f"{minute}m", "exp_samples": samples}
            for minute, samples in ((before, []), (after, [{"labels": "{}", "value": 1}]))
        ],
    }
    assert promtool.test(scaled.rules(10, {}, turn), [case], tmp_path) == ""


def test_each_fault_of_a_node_expects_an_alert_that_is_shipped() -> None:
    assert {fault.alert for fault in faults.OF_A_NODE} <= by_name(scaled.rules(12, {})).keys()


def test_a_slow_guest_is_scraped_less_often() -> None:
    assert [scaled.interval(each) for each in (0.1, 1.5, 2.5, 4.0, 100.0)] == [2, 3, 5, 10, 60]
