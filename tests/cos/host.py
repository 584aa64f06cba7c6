# SPDX-License-Identifier: Apache-2.0
"""Faults of a host in the series of the exporter there, and the alert of each."""

from cos import promtool
from cos.promtool import Fault, series

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
