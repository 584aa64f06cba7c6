# SPDX-License-Identifier: Apache-2.0
"""A rung's connections on a compute node while they run: tracked, forwarded in the NIC, and why not.

The kernel marks what the NIC tracks as HW_OFFLOAD (5.8 and later, nf_conntrack_standalone.c). Open vSwitch
gives the classifier no flow that goes on after the tracker without NET_TC_SKB_EXT.
"""

import re
from typing import NamedTuple

_OPTIONS = {
    "NET_TC_SKB_EXT": "no flow that goes on after the tracker is given to the NIC",
    "NET_ACT_CT": "no flow that uses the tracker is given to the NIC",
    "NF_FLOW_TABLE": "no connection is given to the NIC",
}
"""The kernel's options for it, and what happens without one."""
LOOK = f"""\
for option in {" ".join(_OPTIONS)}; do
    [ -r /boot/config-$(uname -r) ] && ! grep -qE "^CONFIG_$option=[ym]" /boot/config-$(uname -r) &&
        echo "lacks $option"
done
if [ -r /proc/net/nf_conntrack ]; then
    head -c 100000000 /proc/net/nf_conntrack | grep -E " tcp .*=({{addresses}}) " |
        grep -E "ESTABLISHED|OFFLOAD" |
        awk "{{{{ all++ }}}} /HW_OFFLOAD/ {{{{ nic++ }}}} END {{{{ print \\"tracked\\", nic + 0, all + 0 }}}}"
fi
told=$(set -o pipefail; timeout 20 ovs-appctl dpctl/dump-flows type=offloaded 2>/dev/null |
    awk "/ct_state/ {{{{ all++ }}}} END {{{{ print all + 0 }}}}") || told=-1
echo "flows $told"
"""
"""Prints how many of the established TCP connections of some addresses are in the NIC.

Those of the measurement before stay in TIME_WAIT, and pings for half a minute: neither is ever in the NIC.
A connection in the NIC has no state in this file.
"""
_NUMBER = r"[0-9]{1,12}"


class Tracked(NamedTuple):
    """A node's connections of a rung while they run.

    Attributes:
        in_nic: how many the NIC tracks, of `connections`; -1 where the kernel does not tell.
        connections: all established ones over TCP that the node tracks; -1 where the kernel does not tell.
        flows: of Open vSwitch in the NIC that match a connection's state; -1 if it has not listed all of them
            within 20 s.
        why_not: why the kernel cannot have them in the NIC, or does not tell; "" if nothing is known.

    """

    in_nic: int = -1
    connections: int = -1
    flows: int = 0
    why_not: str = ""


def look(addresses: set[str]) -> str:
    """The script for the connections of these addresses."""
    return LOOK.format(addresses="|".join(sorted(each.replace(".", "[.]") for each in addresses)))


def read(text: str) -> Tracked | None:
    """Read the output of the script; None if it did not run."""
    flows = re.search(rf"^flows (-1|{_NUMBER})$", text, re.MULTILINE)
    if flows is None:
        return None
    told = re.search(rf"^tracked ({_NUMBER}) ({_NUMBER})$", text, re.MULTILINE)
    in_nic, connections = (int(told[1]), int(told[2])) if told else (-1, -1)
    lacks = re.findall(r"^lacks (\w{1,40})$", text, re.MULTILINE)
    reasons = [
        f"the kernel has no CONFIG_{each}: {_OPTIONS[each]}"
        for each in dict.fromkeys(lacks)
        if each in _OPTIONS
    ]
    if told is None:
        reasons.append("the kernel has no /proc/net/nf_conntrack (CONFIG_NF_CONNTRACK_PROCFS)")
    return Tracked(in_nic, connections, int(flows[1]), "; ".join(reasons))
