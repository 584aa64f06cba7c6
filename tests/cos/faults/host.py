# SPDX-License-Identifier: Apache-2.0
"""Faults of a host, of its settings and of its reboots."""

from cos import promtool
from cos.faults import P0, WHO
from cos.promtool import Fault, series


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
        f"{WHO}: the exporter fails: it has answered 42.31% of the scrapes of the last hour.",
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
    Fault(
        "SourceFails",
        {series("source_up", source="counters p0"): "1x9 " + "0 1 " * 12},
        {"source": "counters p0"},
        f"{WHO}: counters p0 has answered the exporter only 63.64% of the times of the last hour.",
        32,
        10,
    ),
    Fault(
        "FactsRefused",
        {series("source_up", source="facts roce-qos"): "0x60"},
        {"source": "facts roce-qos"},
        f"{WHO}: the exporter leaves out the facts roce-qos: others than root can write them "
        "(0 of 1 believed).",
    ),
    Fault(
        "AgentNotBack",
        {
            series("charm_look_age_seconds", charm="roce-qos", unit="roce-qos/3"): "60x10 _x8 0+60x40",
            series("charm_findings", charm="roce-qos", severity="blocked"): "0x10 stale",
        },
        {"charm": "roce-qos", "unit": "roce-qos/3"},
        f"{WHO}: no hook of roce-qos/3 has run in the 22m 0s since the host booted.",
        41,
        30,
    ),
    Fault(
        "CountersGone",
        {
            series("port_crc_errors_total", **P0): "0x35 stale",
            series("port_symbol_errors_total", **P0): "0x90",
            series("source_up", source="counters p0"): "1x90",
            series("port_present", **P0): "1x90",
        },
        P0,
        f"{WHO}: port p0 no longer has 1 kind(s) of counters that it had within the last day, although its "
        "driver answers.",
        60,
        34,
    ),
    Fault(
        "Warned",
        {series("charm_findings", charm="roce-qos", severity="warning"): "2x1500"},
        {"charm": "roce-qos"},
        f"{WHO}: roce-qos has warned of 2 thing(s) for a day.",
        1450,
        1400,
    ),
    Fault(
        "HugePagesUsedUp",
        {
            series("huge_pages", numa_node="1", size="1048576"): "64x90",
            series("huge_pages_free", numa_node="1", size="1048576"): "3x10 0x80",
        },
        {"numa_node": "1", "size": "1048576"},
        f"{WHO}: NUMA node 1 has 0 free huge pages of 1048576 kB: no more instances start there.",
        45,
        30,
    ),
    Fault(
        "SettingFlaps",
        {
            series("declared", **P0, setting="vf_lag"): "1x90",
            series("actual", **P0, setting="vf_lag"): "1x10 0 1 0 1 0 1x75",
        },
        {**P0, "setting": "vf_lag"},
        f"{WHO}: port p0: its setting vf_lag has changed 6 times in an hour.",
        30,
        10,
    ),
]
