# SPDX-License-Identifier: Apache-2.0
"""Faults of ports, cables, firmware and buffers."""

from cos.faults import P0, USED, WHO
from cos.promtool import Fault, series


def packets(way: str) -> dict[str, str]:
    """10,000 frames a second of the port."""
    return {series("port_packets_total", **P0, direction=way): "0+600000x90"}


FAULTS = [
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
        f"{WHO}: port p0: its link went up or down in 30 minutes of the last six hours.",
        40,
        10,
    ),
    Fault(
        "UplinkDown",
        {
            series("port_info", port="p0", bond="bond0", pci="0000:3b:00.0"): "1x90",
            series("port_info", port="p1", bond="bond0", pci="0000:3b:00.1"): "1x90",
            series("port_used", port="p0"): "1x90",
            series("port_used", port="p1"): "1x90",
            series("port_carrier", port="p0"): "1x5 0x80",
            series("port_carrier", port="p1"): "1x10 0x80",
        },
        {"uplink": "bond0"},
        f"{WHO}: no port of bond0 has a link (carrier 0): the host and its instances are cut off.",
        20,
        12,
    ),
    Fault(
        "NoLacpPartner",
        {series("port_lacp_partner", **P0): "1x10 0x80", series("port_carrier", **P0): "1x90"},
        P0,
        f"{WHO}: port p0 has had a link and no LACP partner for 15 minute(s) of the last hour.",
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
        f"{WHO}: port p0 has a link and an LACP partner, and its bond has not sent on it for 15 minute(s) "
        "of the last hour.",
        25,
        15,
    ),
    Fault(
        "FrameErrors",
        {series("port_crc_errors_total", **P0): "0+60x90"},
        P0,
        f"{WHO}: port p0 has received 3600 damaged frames in an hour.",
        60,
        5,
    ),
    Fault(
        "SymbolErrors",
        {series("port_symbol_errors_total", **P0): "0+120x90"},
        P0,
        f"{WHO}: port p0 has received 7200 symbols in an hour that FEC could not correct.",
        60,
        5,
    ),
    Fault(
        "FecAtItsLimit",
        {series("port_corrected_bits_total", **P0): "0+3e9x90"},
        P0,
        f"{WHO}: port p0: FEC corrects 50M bits a second, more than a sound cable needs; it loses frames "
        "when they become more.",
        60,
        5,
    ),
    Fault(
        "ModuleTooHot",
        {series("port_module_too_hot_total", **P0): "0+1x90"},
        P0,
        f"{WHO}: port p0: its transceiver became too hot 60 time(s) in an hour.",
        70,
    ),
    Fault(
        "ModuleUnplugged",
        {
            **USED,
            series("port_module_unplugged_total", **P0): "0x10 1x80",
            series("port_carrier", **P0): "1x10 0x80",
        },
        P0,
        f"{WHO}: port p0 has no link: its transceiver was unplugged 1 time(s) within a day.",
        89,
        10,
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
            series("port_module_silent_total", **P0): "0+1x90",
        },
        P0,
        f"{WHO}: port p0: its transceiver was found damaged or silent 30 time(s) in 30 minutes.",
    ),
    Fault(
        "FirmwareSilent",
        {**USED, series("firmware_answers", **P0): "1x10 0x80"},
        P0,
        f"{WHO}: port p0: its firmware has answered no command in 10 minute(s) of the last hour, whatever "
        "the link shows.",
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
            **packets("received"),
            series("priority_discards_total", **P0, priority="3"): "0+60x90",
            series("priority_pause_frames_total", **P0, priority="3", direction="sent"): "0+10x90",
        },
        {**P0, "priority": "3"},
        f"{WHO}: port p0 has dropped 3600 received frames in an hour of priority 3, which it pauses and "
        "should not lose.",
        70,
        5,
    ),
    Fault(
        "PortDiscards",
        {**packets("received"), series("port_received_discards_total", **P0): "0x5 0+12000x90"},
        P0,
        f"{WHO}: port p0 drops 2% of the frames that it receives: its buffer is full.",
        40,
        10,
    ),
    Fault(
        "SentDiscards",
        {**packets("sent"), series("port_sent_discards_total", **P0): "0x5 0+12000x90"},
        P0,
        f"{WHO}: port p0 drops 2% of the frames that it should send.",
        40,
        10,
    ),
    Fault(
        "OutOfBuffer",
        {**packets("received"), series("port_out_of_buffer_total", **P0): "0x5 0+12000x90"},
        P0,
        f"{WHO}: port p0 drops 2% of the frames that it receives: the host has no buffer ready.",
        40,
        10,
    ),
    Fault(
        "PcieStalls",
        {series("port_pci_stalled_write_seconds_total", **P0): "0x5 0+15x90"},
        P0,
        f"{WHO}: port p0: PCIe holds up what the NIC writes or reads for 25% of the time.",
        40,
        10,
    ),
    Fault(
        "PcieDegraded",
        {
            series("port_pci_lanes", **P0): "16x10 8x80",
            series("port_pci_lanes_limit", **P0): "16x90",
            series("port_pci_gigatransfers", **P0): "8x90",
            series("port_pci_gigatransfers_limit", **P0): "8x90",
        },
        P0,
        f"{WHO}: port p0: its PCIe link has 50% of the bandwidth that the card and its slot can have.",
        40,
        20,
    ),
    Fault(
        "PortSlow",
        {series("port_speed_megabits", **P0): "100000x10 25000x80"},
        P0,
        f"{WHO}: port p0 has a link of 25000 Mbit/s, slower than within the last month.",
        40,
        20,
    ),
]
