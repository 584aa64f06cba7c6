# SPDX-License-Identifier: Apache-2.0
"""Each rule of the charms: its form, and that it fires on its fault with a sentence that names it."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from exporter import install
from exporter.catalogue import METRICS, PREFIX

from cos import promtool
from cos.dashboards import NAMES, queries
from cos.faults import P0, USED, fabric, host, nic, vfs
from cos.promtool import JOB, Fault, by_name, series, thresholds

ROOT = Path(__file__).parents[2]
FAULTS = [*host.FAULTS, *nic.FAULTS, *vfs.FAULTS]
RULES = promtool.injected()
LOGS = promtool.databag()["log_alert_rules"]
EVERY = {**by_name(RULES), **by_name(LOGS)}
FOREIGN = {
    *("HostDown", "HostMetricsMissing", "HostReboot", "AggregatorMetricsMissing"),
    *("HostNetworkBondDegraded", "HostInterfaceSpeed", "HostInterfaceMTUSize"),
}
"""Alerts of the collector's own rules."""
HOUR = 60
AGGREGATED = {
    "OffloadRebootLockStuck": {"job", "instance", "juju_unit"},
    "OffloadPlannedReboot": {"job", "instance"},
}
"""Labels that these alerts lack: they are about another machine than the one that told of it."""


def filled(text: str, labels: Mapping[str, str]) -> str:
    """A text of a rule without values."""
    application = r'{{ reReplaceAll "/\.\*" "" \$labels\.(\w+) }}'
    text = re.sub(application, lambda found: labels[found[1]].partition("/")[0], text)
    return re.sub(r"{{ \$labels\.(\w+) }}", lambda found: labels[found[1]], text)


def case(fault: Fault, unit: str = f"{promtool.APP}/0") -> dict[str, Any]:
    """A fault as promtool takes it: the alert is silent before, and then has these labels and texts."""
    name = f"Offload{fault.alert}"
    rule = EVERY[name]
    host = {**JOB, "instance": "node-0", "juju_unit": unit}
    known = {key: value for key, value in host.items() if key not in AGGREGATED.get(name, ())}
    labels = {**known, **fault.labels, **rule["labels"]}
    told = {**rule["annotations"], "summary": fault.summary}
    told["description"] = filled(told["description"], labels)
    given = {**thresholds(fault.at + 1, juju_unit=unit), **fault.given}
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in given.items()],
        "alert_rule_test": [
            {"eval_time": f"{fault.before}m", "alertname": name, "exp_alerts": []},
            {
                "eval_time": f"{fault.at}m",
                "alertname": name,
                "exp_alerts": [{"exp_labels": labels, "exp_annotations": told}],
            },
        ],
    }


def alone(name: str) -> promtool.Rules:
    """One rule: over the hours that some faults take, all of them would take minutes."""
    return {"groups": [{"name": "alone", "rules": [by_name(RULES)[name]]}]}


@pytest.mark.parametrize("fault", [*FAULTS, *fabric.FAULTS], ids=lambda fault: fault.alert)
def test_each_rule_fires_on_its_fault(fault: Fault, tmp_path: Path) -> None:
    of = case(fault, fabric.UNIT) if fault in fabric.FAULTS else case(fault)
    assert promtool.test(alone(f"Offload{fault.alert}"), [of], tmp_path) == ""


def test_each_rule_has_its_fault() -> None:
    told = [f"Offload{fault.alert}" for fault in (*FAULTS, *fabric.FAULTS)]
    assert sorted(told) == sorted(by_name(RULES))


def test_a_needed_reboot_leads_to_its_reason() -> None:
    """Which is no label: it is text of the charm, and the alert would begin anew with each change of it."""
    rule = EVERY["OffloadRebootNeeded"]
    where = (
        "'juju status' of the unit of {{ $labels.charm }} on this machine says what for; its action verify"
    )
    assert rule["annotations"]["description"].startswith(where)
    assert not {name for name in rule["labels"] if "reason" in name}


def test_a_host_that_stays_away_for_days_stays_told(tmp_path: Path) -> None:
    """The exporter has answered before, however long ago that is."""
    hours = 50
    given = {**thresholds(20), series("up"): f"1x20 0x{hours * HOUR}"}
    down = {"expr": 'count(ALERTS{alertname="OffloadExporterDown",alertstate="firing"})'}
    case = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in given.items()],
        "promql_expr_test": [
            {**down, "eval_time": f"{hour}h", "exp_samples": [{"labels": "{}", "value": 1}]}
            for hour in (1, 30, hours)
        ],
    }
    assert promtool.test(alone("OffloadExporterDown"), [case], tmp_path) == ""


INTERVAL = 60
"""Seconds between two scrapes of a collector that is set up as it comes."""


@pytest.mark.parametrize("name", by_name(RULES))
def test_its_windows_hold_four_scrapes(name: str) -> None:
    windows = re.findall(r"\[(\d+)([mhd])\]", EVERY[name]["expr"])
    seconds = [int(number) * {"m": 60, "h": 3600, "d": 86400}[unit] for number, unit in windows]
    assert all(window >= 5 * INTERVAL for window in seconds), "four scrapes, wherever the window begins"


def test_an_hour_between_two_hooks_is_no_silence(tmp_path: Path) -> None:
    """Juju's longest update-status-hook-interval, which it lengthens by up to a fifth at random."""
    looks = " ".join(["0+60x72"] * 8)
    given = {
        **thresholds(8 * 73),
        series("charm_look_age_seconds", charm=promtool.APP, unit=f"{promtool.APP}/0"): looks,
        series("fabric_look_age_seconds"): looks,
    }
    fired = {"expr": 'count_over_time(ALERTS{alertstate="firing"}[1d])', "eval_time": "8h", "exp_samples": []}
    case = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in given.items()],
        "promql_expr_test": [fired],
    }
    assert promtool.test(RULES, [case], tmp_path) == ""


def test_no_alert_fires_of_what_a_drained_switch_takes_away(tmp_path: Path) -> None:
    given = [{"series": name, "values": values} for name, values in fabric.DRAINED.items()]
    firing = {"expr": 'ALERTS{alertstate="firing"}', "eval_time": "80m", "exp_samples": []}
    case = {"interval": "1m", "input_series": given, "promql_expr_test": [firing]}
    assert promtool.test(RULES, [case], tmp_path) == ""


@pytest.mark.parametrize("changes", ["12x9 _x5 9x75", "1x20 3 5 7x70"], ids=["boot", "three flaps"])
def test_what_is_no_flapping_link(changes: str, tmp_path: Path) -> None:
    """At a boot a port begins to count anew; its link goes up and down for the mode, the bond and PFC."""
    given = {**USED, series("port_carrier_changes_total", **P0): changes}
    case = {
        "interval": "59s",  # no sample at the moment of an evaluation, as in a cloud
        "input_series": [{"series": name, "values": values} for name, values in given.items()],
        "promql_expr_test": [
            {
                "expr": 'count_over_time(ALERTS{alertstate="firing"}[1d])',
                "eval_time": "60m",
                "exp_samples": [],
            }
        ],
    }
    assert promtool.test(RULES, [case], tmp_path) == ""


def test_prometheus_takes_the_rules(tmp_path: Path) -> None:
    assert promtool.check(RULES, tmp_path) == ""
    assert promtool.check(promtool.databag()["metrics_alert_rules"], tmp_path) == ""


@pytest.mark.parametrize("name", EVERY)
def test_its_form(name: str) -> None:
    rule = EVERY[name]
    assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert set(rule["annotations"]) == {"summary", "description", "runbook"}
    summary = rule["annotations"]["summary"]
    assert "$value" in summary
    assert re.search(r"\$labels\.(instance|unit|juju_unit)", summary)
    if ("port=" in rule["expr"] or "port)" in rule["expr"]) and "without (port)" not in rule["expr"]:
        assert "$labels.port" in summary


def test_no_name_is_taken_or_used_twice() -> None:
    assert len(EVERY) == len(by_name(RULES)) + len(by_name(LOGS)) >= 27
    assert EVERY.keys() & FOREIGN == set()
    assert all(name.startswith("Offload") for name in EVERY)


def test_rules_ask_for_metrics_that_the_exporter_has() -> None:
    assert asked(json.dumps(RULES)) - {metric.series for metric in METRICS.values()} == set()


def asked(text: str) -> set[str]:
    return set(re.findall(r"\bovn_offload_\w+", text))


NO_WITNESS = {
    "port_bytes": "traffic, which is neither good nor bad",
    "maintenance": "a host that does not settle keeps its lock, whose age OffloadRebootLockStuck tells",
    "reboot_queue": "those that wait behind a stuck lock; OffloadRebootLockStuck tells of it",
    "port_ecn_marked": "marks are how ECN works; without them pauses grow, which have rules",
    "priority_ecn_marked": "the same, of what the NIC marked",
    "vf_bytes": "traffic, which is neither good nor bad",
}
"""Metrics that are the witness of no fault, and why."""


def test_each_metric_has_a_rule_a_panel_or_a_reason() -> None:
    boards = "".join(query.expression for name in NAMES for query in queries(name, "node-0"))
    ruled, shown = asked(json.dumps(RULES)), asked(boards)
    for metric in METRICS.values():
        reason = NO_WITNESS.get(metric.name.removeprefix(PREFIX))
        assert metric.series in ruled | shown or reason, metric.name
        assert not (metric.series in ruled and reason), f"{metric.name} has a rule"


@pytest.mark.parametrize("name", EVERY)
def test_its_runbook_is_a_section_of_the_documents(name: str) -> None:
    page, _, anchor = EVERY[name]["annotations"]["runbook"].partition("#")
    text = (ROOT / page).read_text()
    headings = {
        re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }
    assert not anchor or anchor in headings


ACTIONS = {
    charm: yaml.safe_load((ROOT / "charms" / charm / "charmcraft.yaml").read_text())["actions"].keys()
    for charm in install.CHARMS
}
OF_OTHERS = ("firmware_parameters", "qos")
"""Settings of nic-firmware and roce-qos. sriov-switchdev has the others, and its exporter speaks for all."""


@pytest.mark.parametrize("name", by_name(RULES))
def test_the_unit_that_it_has_run_an_action_can_tell(name: str) -> None:
    """An exporter speaks for all charms of a machine under the name of the one unit that is related."""
    expression, description = EVERY[name]["expr"], EVERY[name]["annotations"]["description"]
    about = "".join(re.findall(r"setting=\"(\w+)\"", expression))
    by_setting = ["sriov-switchdev"] if about and about not in OF_OTHERS else install.CHARMS[:3]
    charms = ["cumulus-fabric"] if "ovn_offload_fabric" in expression else by_setting
    for action in re.findall(r"juju run {{ \$labels\.juju_unit }} ([a-z-]+)", description):
        assert about not in OF_OTHERS
        assert all(action in ACTIONS[charm] for charm in charms)


def test_a_hosts_pauses_and_the_networks_have_runbooks_of_their_own() -> None:
    books: list[Any] = [
        EVERY[name]["annotations"]["runbook"] for name in ("OffloadPausesNetwork", "OffloadPausedByNetwork")
    ]
    assert books[0] != books[1]
