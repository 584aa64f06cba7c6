# SPDX-License-Identifier: Apache-2.0
"""The protection of RoCE on a node while a second stream loads the port: ETS, PFC and DCQCN; only read.

DCQCN's switches are NVIDIA's for each port and priority: /sys/class/net/PORT/ecn/roce_np and roce_rp. The
kernel's own driver does not have them; there, the counters of marked packets tell whether it acts.
"""

import re
from typing import NamedTuple

from acceptance.measure.shells import UPLINKS, Node

LOOK = """\
for port in $(uplinks); do
    for side in np rp; do
        file=/sys/class/net/$port/ecn/roce_$side/enable/{priority}
        [ ! -r $file ] || echo "$port roce_$side $(cat $file)"
    done
done
"""


class Protection(NamedTuple):
    """The protection on one node.

    Attributes:
        unit: of roce-qos.
        priority: the first one with flow control; -1 for none.
        share: what ETS leaves to its class, in %; 0 if unknown.
        dcqcn: switches that were read.
        off: those that are off.

    """

    unit: str
    priority: int = -1
    share: int = 0
    dcqcn: int = 0
    off: str = ""


def protection(node: Node) -> Protection:
    """Read a node.

    Raises:
        StepError: roce-qos or the node does not answer.

    """
    rows, unit = node.table("roce-qos", "show-qos", "qos"), node.units["roce-qos"]
    said = {row.get("setting", ""): row.get("runs", "") for row in reversed(rows)}
    found = re.match(r"[0-7]\b", said.get("PFC", ""))
    if not found:
        return Protection(unit)
    share = re.search(rf"\b{found[0]}:(\d{{1,3}})%", said.get("ETS", ""))
    printed = node.run(UPLINKS + LOOK.format(priority=found[0]), 30)
    switches = re.findall(r"^(\S+ roce_[nr]p) ([01])$", printed, re.MULTILINE)
    off = ", ".join(name for name, value in switches if value == "0")
    return Protection(unit, int(found[0]), int(share[1]) if share else 0, len(switches), off)


def unprotected(key: str, found: dict[str, Protection]) -> str:
    """Why a measurement beside a second stream would not be of what it is named for; "" if it is."""
    for node, told in found.items():
        if key != "rdma-lossy" and told.priority < 0:
            return f"no priority has flow control on {node}; run juju run {told.unit} plan"
        if key == "rdma-dcqcn" and told.off:
            application = told.unit.partition("/")[0]
            return f"DCQCN is off on {node} ({told.off}); run juju config {application} ecn=on"
    return ""
