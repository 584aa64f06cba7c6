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
from exporter.catalogue import METRICS

from cos import fabric, promtool
from cos.promtool import JOB, Fault, by_name, series, thresholds

ROOT = Path(__file__).parents[2]
RULES = promtool.injected()
LOGS = promtool.databag()["log_alert_rules"]
EVERY = {**by_name(RULES), **by_name(LOGS)}
FOREIGN = {
    *("HostDown", "HostMetricsMissing", "HostReboot", "AggregatorMetricsMissing"),
    *("HostNetworkBondDegraded", "HostInterfaceSpeed", "HostInterfaceMTUSize"),
}
"""Alerts of the collector's own rules."""
HOUR = 60


P0 = {"port": "p0"}
WHO = "node-0 (sriov-switchdev/0)"
USED = {series("port_used", **P0): "1x90", series("port_present", **P0): "1x90"}


def declared(setting: str, wanted: int, values: str) -> dict[str, str]:
    return {
        series("declared", **P0, setting=setting): f"{wanted}x90",
        series("actual", **P0, setting=setting): values,
    }


def differs(alert: str, setting: str, wanted: int, found: int, summary: str, at: int) -> Fault:
    values = f"{wanted}x10 {found}x80"
    return Fault(
        alert,
        declared(setting, wanted, values),
        {**P0, "setting": setting},
        f"{WHO}: port p0 {summary}",
        at,
        10,
    )


FAULTS = [
    Fault(
        "ExporterDown",
        {series("up"): "1x10 0x80"},
        {},
        f"{WHO}: the exporter answers no scrape (0 of 1).",
        25,
        15,
    ),
    Fault(
        "SourceSilent",
        {series("source_age_seconds", source="counters p0"): "0x5 0+60x80"},
        {"source": "counters p0"},
        f"{WHO}: counters p0 has not answered the exporter for 15m 0s; its values are as old.",
        21,
        10,
    ),
    Fault(
        "CharmSilent",
        {series("charm_look_age_seconds", charm="roce-qos", unit="roce-qos/3"): "0+60x90"},
        {"charm": "roce-qos", "unit": "roce-qos/3"},
        f"{WHO}: no hook of roce-qos/3 has looked for 1h 20m 0s.",
        80,
        70,
    ),
    Fault(
        "Blocked",
        {series("charm_findings", charm="roce-qos", severity="blocked"): "0x5 2x80"},
        {"charm": "roce-qos"},
        f"{WHO}: roce-qos has 2 finding(s) that only the operator can mend.",
        40,
        30,
    ),
    Fault(
        "StepsHeld",
        {series("charm_held_steps", charm="roce-qos"): "0x5 3x800"},
        {"charm": "roce-qos"},
        f"{WHO}: 3 step(s) of roce-qos wait for the operator or for a reboot.",
        730,
        700,
    ),
    Fault(
        "TrackingFull",
        {series("connections_tracked"): "10x10 95x80", series("connections_limit"): "100x90"},
        {},
        f"{WHO}: 95% of the connections that the kernel tracks at most are tracked; "
        "new ones are dropped at 100%.",
        25,
        15,
    ),
    Fault(  # also while it waits for a reboot, as after a boot that failed
        "VfsMissing",
        {**declared("vfs", 8, "8x10 0x80"), series("reboot_needed", charm=promtool.APP): "1x90"},
        {**P0, "setting": "vfs"},
        f"{WHO}: port p0 has 0 VFs, fewer than declared.",
        30,
        10,
    ),
    differs(
        "NotSwitchdev",
        "switchdev",
        1,
        0,
        "is not in switchdev mode (switchdev 0, declared 1): nothing is offloaded.",
        30,
    ),
    differs(
        "VfLagLost",
        "vf_lag",
        1,
        0,
        "is not in VF-LAG (vf_lag 0, declared 1): flows through the bond are not offloaded.",
        25,
    ),
    differs(
        "TcOffloadOff",
        "hw_tc_offload",
        1,
        0,
        "has hw-tc-offload off (0, declared 1): flows stay in software.",
        30,
    ),
    differs("QueuesDiffer", "queues", 63, 1, "has 1 queues, another number than declared.", 45),
    Fault(
        "FirmwareDiffers",
        declared("firmware_parameters", 12, "12x5 11x80"),
        {**P0, "setting": "firmware_parameters"},
        f"{WHO}: port p0: only 11 firmware parameters are as declared.",
        70,
        40,
    ),
    differs("QosDiffers", "qos", 1, 0, "is not set up for lossless RoCE as declared (qos 0 of 1).", 30),
    Fault(
        "PortGone",
        {series("port_used", **P0): "1x90", series("port_present", **P0): "1x10 0x80"},
        P0,
        f"{WHO}: port p0 is gone: its PCI function has no netdev (present 0).",
        25,
        15,
    ),
    Fault(
        "LinkDown",
        {**USED, series("port_carrier", **P0): "1x10 0x80"},
        P0,
        f"{WHO}: port p0 has no link (carrier 0).",
        20,
        12,
    ),
    Fault(
        "LinkFlaps",
        {**USED, series("port_carrier_changes_total", **P0): "1x10 3+2x80"},
        P0,
        f"{WHO}: port p0: its link went up or down 30 times in 15 minutes.",
        40,
        10,
    ),
    Fault(
        "NoLacpPartner",
        {series("port_lacp_partner", **P0): "1x10 0x80", series("port_carrier", **P0): "1x90"},
        P0,
        f"{WHO}: port p0 has a link and no LACP partner (0).",
        25,
        15,
    ),
    Fault(
        "NotDistributing",
        {
            series("port_distributing", **P0): "1x10 0x80",
            series("port_lacp_partner", **P0): "1x90",
            series("port_carrier", **P0): "1x90",
        },
        P0,
        f"{WHO}: port p0 has a link and an LACP partner, and its bond does not send on it (0).",
        25,
        15,
    ),
    Fault(
        "FrameErrors",
        {series("port_crc_errors_total", **P0): "0x5 0+60x90"},
        P0,
        f"{WHO}: port p0 receives 1.0 damaged frames a second.",
        60,
        5,
    ),
    Fault(
        "SymbolErrors",
        {series("port_symbol_errors_total", **P0): "0x5 0+120x90"},
        P0,
        f"{WHO}: port p0 receives 2.0 symbols a second that FEC cannot correct.",
        60,
        5,
    ),
    Fault(
        "ModuleHot",
        {
            series("port_module_temperature_celsius", **P0): "60x10 75x80",
            series("port_module_temperature_limit_celsius", **P0): "75x90",
        },
        P0,
        f"{WHO}: port p0: its transceiver has 75 degrees Celsius, its limit or more.",
        20,
        12,
    ),
    Fault(
        "ModuleFault",
        {
            series("port_module_damaged_total", **P0): "0x90",
            series("port_module_silent_total", **P0): "0+1x90",
        },
        P0,
        f"{WHO}: port p0: its transceiver was found damaged or silent 30 time(s) in 30 minutes.",
    ),
    Fault(
        "FirmwareSilent",
        {**USED, series("firmware_answers", **P0): "1x10 0x80"},
        P0,
        f"{WHO}: port p0: its firmware answers no command (0), whatever the link shows.",
        20,
        12,
    ),
    Fault(
        "FirmwareUnhealthy",
        {series("health_reporter_healthy", **P0, reporter="fw_fatal"): "1x10 0x80"},
        {**P0, "reporter": "fw_fatal"},
        f"{WHO}: port p0: devlink's health reporter fw_fatal is in error (healthy 0).",
        20,
        12,
    ),
    Fault(
        "FirmwareErrors",
        {series("health_reporter_errors_total", **P0, reporter="fw"): "0+1x90"},
        {**P0, "reporter": "fw"},
        f"{WHO}: port p0: devlink's health reporter fw has counted 60 error(s) in an hour.",
        70,
    ),
    Fault(
        "PausedByNetwork",
        {series("priority_pause_seconds_total", **P0, priority="3", direction="received"): "0x5 0+30x90"},
        {**P0, "priority": "3", "direction": "received"},
        f"{WHO}: port p0: the network stops priority 3 for 50% of the time.",
        40,
        10,
    ),
    Fault(
        "PausesNetwork",
        {series("priority_pause_seconds_total", **P0, priority="3", direction="sent"): "0x5 0+30x90"},
        {**P0, "priority": "3", "direction": "sent"},
        f"{WHO}: port p0: the host stops the network's priority 3 for 50% of the time; "
        "the congestion spreads.",
        40,
        10,
    ),
    Fault(
        "LosslessLoses",
        {
            series("priority_discards_total", **P0, priority="3"): "0x5 0+60x90",
            series("priority_pause_frames_total", **P0, priority="3", direction="sent"): "0+10x90",
        },
        {**P0, "priority": "3"},
        f"{WHO}: port p0 drops 1.0 frames a second of priority 3, which it pauses and should not lose.",
        40,
        8,
    ),
    Fault(
        "PortDiscards",
        {series("port_received_discards_total", **P0): "0x5 0+12000x90"},
        P0,
        f"{WHO}: port p0 drops 200 received frames a second: its buffer is full.",
        40,
        10,
    ),
    Fault(
        "OutOfBuffer",
        {series("port_out_of_buffer_total", **P0): "0x5 0+12000x90"},
        P0,
        f"{WHO}: port p0 drops 200 received frames a second: the host has no buffer ready.",
        40,
        10,
    ),
    Fault(
        "PcieStalls",
        {series("port_pci_stalled_write_seconds_total", **P0): "0x5 0+15x90"},
        P0,
        f"{WHO}: port p0: PCIe holds up what the NIC writes for 25% of the time.",
        40,
        10,
    ),
    Fault(
        "FlowsInSoftware",
        {
            series("vf_packets_total", **P0, vf="2", path="software"): "0x5 0+60000x90",
            series("vf_packets_total", **P0, vf="2", path="hardware"): "0x5 0+60000x90",
        },
        {**P0, "vf": "2", "path": "software"},
        f"{WHO}: port p0, VF 2: 50% of its packets pass in software.",
        40,
        10,
    ),
    Fault(
        "RoceOutOfSequence",
        {series("vf_roce_out_of_sequence_total", **P0, vf="2"): "0x5 0+1200x90"},
        {**P0, "vf": "2"},
        f"{WHO}: port p0, VF 2: 20.0 RoCE packets a second come out of sequence: "
        "this tenant loses packets on the way.",
        40,
        10,
    ),
    Fault(
        "RoceTimeouts",
        {series("vf_roce_timeouts_total", **P0, vf="2"): "0x5 0+120x90"},
        {**P0, "vf": "2"},
        f"{WHO}: port p0, VF 2: 2.0 RoCE acknowledgements a second do not come: "
        "this tenant's connections stall.",
        40,
        10,
    ),
    Fault(
        "RoceOutOfBuffer",
        {series("vf_roce_out_of_buffer_total", **P0, vf="2"): "0x5 0+1200x90"},
        {**P0, "vf": "2"},
        f"{WHO}: port p0, VF 2: 20.0 RoCE packets a second find no receive buffer: "
        "the tenant's application is slow.",
        40,
        10,
    ),
    Fault(
        "RebootNeeded",
        {series("reboot_needed", charm="nic-firmware"): "1x1600"},
        {"charm": "nic-firmware"},
        f"{WHO}: nic-firmware has needed a reboot for a day (1).",
        1450,
        1400,
    ),
    Fault(
        "RebootLockStuck",
        {
            series("reboot_lock_age_seconds", charm=promtool.APP, unit="offload-rack2/4"): "0+60x90",
            series("reboot_lock_limit_seconds", charm=promtool.APP): "2400x90",
        },
        {"charm": promtool.APP, "unit": "offload-rack2/4"},
        "offload-rack2/4 has held the reboot lock for 1h 0m 0s, longer than a reboot takes; all others wait.",
        60,
        42,
    ),
    Fault(
        "PlannedReboot",
        {
            series("reboot_lock_age_seconds", charm=promtool.APP, unit=f"{promtool.APP}/0"): "_x10 0+60x50",
            series("reboot_lock_limit_seconds", charm=promtool.APP): "2400x90",
            series("machine_unit", unit=f"{promtool.APP}/0"): "1x12",
        },
        {"unit": f"{promtool.APP}/0", "juju_unit": f"{promtool.APP}/0"},
        "The machine of sriov-switchdev/0 is in a planned reboot (1).",
        30,
        9,
    ),
]
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


def test_each_rule_fires_on_its_fault(tmp_path: Path) -> None:
    of_fabric = [case(fault, fabric.UNIT) for fault in fabric.FAULTS]
    assert promtool.test(RULES, [*map(case, FAULTS), *of_fabric], tmp_path) == ""
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
    assert promtool.test(RULES, [case], tmp_path) == ""


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
    if "port=" in rule["expr"] or "port)" in rule["expr"]:
        assert "$labels.port" in summary


def test_no_name_is_taken_or_used_twice() -> None:
    assert len(EVERY) == len(by_name(RULES)) + len(by_name(LOGS)) >= 27
    assert EVERY.keys() & FOREIGN == set()
    assert all(name.startswith("Offload") for name in EVERY)


def test_rules_ask_for_metrics_that_the_exporter_has() -> None:
    asked = set(re.findall(r"\bovn_offload_\w+", json.dumps(RULES)))
    assert asked - {metric.series for metric in METRICS.values()} == set()


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
