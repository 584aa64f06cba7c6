# SPDX-License-Identifier: Apache-2.0
"""The output of the charms' actions on a node, for tests that have no charm.

Tests of sriov-switchdev and roce-qos (test_actions.py) compare these rows with what their actions print.
"""

OFF = "1 flow: other_config:hw-offload is not true (ovn-chassis option enable-hardware-offload)"
OWN = "1 flow: the kernel's classifier has it, but the NIC's driver did not take it (see the kernel log)"
NO_FLOW = "no flow: its instance has sent nothing yet, or flows ended (max-idle)"


def _row(port: str, representor: str, packets: int, *, in_nic: bool, why: str) -> dict[str, str]:
    """A port with one flow of so many packets; without packets it has no flow."""
    flows, none = ("1" if packets else "0", str(packets)), ("0", "0")
    (inside, inside_packets), (outside, outside_packets) = (flows, none) if in_nic else (none, flows)
    return {
        "in port": port,
        "representor of": representor,
        "in NIC": inside,
        "packets in NIC": inside_packets,
        "not in NIC": outside,
        "packets not in NIC": outside_packets,
        "tracked in NIC": "0 of 0",
        "why not": why,
    }


OFFLOAD = {
    state: [
        _row("enp59s0f0_0", "0000:3b:00.0 pf0vf0", 1200, in_nic=state == "on", why=why),
        _row("enp59s0f1_0", "0000:3b:00.1 pf1vf0", 0, in_nic=state == "on", why=NO_FLOW),
        _row("br-nvda", "the host", 9000, in_nic=False, why=OWN if state == "on" else why),
        _row("genev_sys_6081", "-", 7, in_nic=state == "on", why=why),
    ]
    for state, why in (("on", "-"), ("off", OFF))
}
"""The rows of show-offload for an instance's flows, while hw-offload of Open vSwitch is on, and off."""
COUNTER = {"port": "", "counter": "", "value": ""}
"""A row of show-counters."""
