# SPDX-License-Identifier: Apache-2.0
"""Faults of VFs and of Open vSwitch."""

from cos import promtool
from cos.faults import OF_VF, P0, WHO
from cos.promtool import Fault, series


def flows(inside: str, others: str) -> dict[str, str]:
    return {series("flows", path="hardware"): inside, series("flows", path="software"): others}


FAULTS = [
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
        {**OF_VF, series("vf_roce_out_of_sequence_total", **P0, vf="2"): "0x5 0+1200x90"},
        {**P0, "vf": "2"},
        f"{WHO}: port p0, VF 2: 1% of its packets are RoCE that comes out of sequence: "
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
        {**OF_VF, series("vf_roce_out_of_buffer_total", **P0, vf="2"): "0x5 0+1200x90"},
        {**P0, "vf": "2"},
        f"{WHO}: port p0, VF 2: 1% of its packets are RoCE that finds no receive buffer: "
        "the tenant's application is slow.",
        40,
        10,
    ),
    Fault(
        "HostInSoftware",
        {
            series("vf_packets_total", **P0, vf=vf, path=path): f"0+{number}x90"
            for vf in ("1", "2")
            for path, number in (("software", 90000), ("hardware", 10000))
        },
        {},
        f"{WHO}: 90% of the packets of all its VFs pass in software.",
        40,
        5,
    ),
    Fault(
        "NoFlowOffloaded",
        {**OF_VF, **flows("900x10 0x80", "20x10 920x80")},
        {},
        f"{WHO}: nearly none of its flows is in a NIC: Open vSwitch has 920 others.",
        40,
        10,
    ),
    Fault(
        "FlowTableFull",
        {**flows("900x10 1900x80", "100x90"), series("flows_limit"): "2000x90"},
        {},
        f"{WHO}: Open vSwitch holds 100% of the flows that it keeps at most; beyond, packets of new flows "
        "wait for its processes.",
        40,
        10,
    ),
    Fault(
        "FlowLimitCut",
        {series("flows_limit"): "200000x10 2000x80"},
        {},
        f"{WHO}: Open vSwitch keeps only 2000 flows at most, less than half of before: its revalidators are "
        "too slow.",
        40,
        10,
    ),
    Fault(
        "ConnectionsNotOffloaded",
        {series("connections_offloaded"): "40000x10 7x80"},
        {},
        f"{WHO}: the NICs handle 7 tracked connections, less than a twentieth of what they did "
        "within six hours.",
        40,
        10,
    ),
    Fault(
        "OvsSilent",
        {
            series("flows_limit"): "200000x10 stale",
            series("charm_findings", charm=promtool.APP, severity="blocked"): "0x90",
        },
        {},
        f"{WHO}: Open vSwitch no longer says how many flows it has (at most 200000 when it last did).",
        40,
        10,
    ),
    Fault(
        "VfLinkLost",
        {series("vf_carrier", **P0, vf="2"): "1x10 0x80"},
        {**P0, "vf": "2"},
        f"{WHO}: port p0, VF 2: its representor has lost its link (carrier 0).",
        20,
        10,
    ),
    Fault(
        "VfLinkFlaps",
        {series("vf_carrier", **P0, vf="2"): "1x10 0 1 0 1 0 1 0 1x75"},
        {**P0, "vf": "2"},
        f"{WHO}: port p0, VF 2: the link of its representor went up or down 8 times in an hour.",
        40,
        10,
    ),
]
