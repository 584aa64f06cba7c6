# SPDX-License-Identifier: Apache-2.0
"""What the charms' actions print of a node, for tests that have no charm.

Tests of sriov-switchdev and roce-qos (test_actions.py) compare these rows with what their actions print.
"""

OFF = "1 flows: other_config:hw-offload is not true (ovn-chassis option enable-hardware-offload)"
OFFLOAD = {
    "on": [
        {
            "in port": "enp59s0f0_0",
            "representor of": "0000:3b:00.0 pf0vf0",
            "in NIC": "1",
            "packets in NIC": "1200",
            "not in NIC": "0",
            "packets not in NIC": "0",
            "tracked in NIC": "0 of 0",
            "why not": "-",
        },
        {
            "in port": "enp59s0f1_0",
            "representor of": "0000:3b:00.1 pf1vf0",
            "in NIC": "0",
            "packets in NIC": "0",
            "not in NIC": "0",
            "packets not in NIC": "0",
            "tracked in NIC": "0 of 0",
            "why not": "no flow: its instance has sent nothing yet, or flows ended (max-idle)",
        },
        {
            "in port": "genev_sys_6081",
            "representor of": "-",
            "in NIC": "1",
            "packets in NIC": "7",
            "not in NIC": "0",
            "packets not in NIC": "0",
            "tracked in NIC": "0 of 0",
            "why not": "-",
        },
    ],
    "off": [
        {
            "in port": "enp59s0f0_0",
            "representor of": "0000:3b:00.0 pf0vf0",
            "in NIC": "0",
            "packets in NIC": "0",
            "not in NIC": "1",
            "packets not in NIC": "1200",
            "tracked in NIC": "0 of 0",
            "why not": OFF,
        },
        {
            "in port": "enp59s0f1_0",
            "representor of": "0000:3b:00.1 pf1vf0",
            "in NIC": "0",
            "packets in NIC": "0",
            "not in NIC": "0",
            "packets not in NIC": "0",
            "tracked in NIC": "0 of 0",
            "why not": "no flow: its instance has sent nothing yet, or flows ended (max-idle)",
        },
        {
            "in port": "genev_sys_6081",
            "representor of": "-",
            "in NIC": "0",
            "packets in NIC": "0",
            "not in NIC": "1",
            "packets not in NIC": "7",
            "tracked in NIC": "0 of 0",
            "why not": OFF,
        },
    ],
}
"""The rows of show-offload for an instance's flows, while hw-offload of Open vSwitch is on, and off."""
COUNTER = {"port": "", "counter": "", "value": ""}
"""A row of show-counters."""
