# SPDX-License-Identifier: Apache-2.0
"""What of the traffic runs in the NIC, per representor, and why the rest does not."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

from charmkit.output import Table
from desired import Desired
from hostnic import flows, inventory, ovs
from hostnic.flows import Flow, Surroundings
from hostnic.system import Link, System
from observe import Observed

NO_FLOW = "no flow: its instance has sent nothing yet, or flows ended (max-idle)"


def offload(system: System, wanted: Desired, observed: Observed) -> Table:
    """One row per representor of the selected ports, then one per other port that has flows.

    Raises:
        OSError: Open vSwitch or iproute2 does not answer.

    """
    settings = ovs.settings(system)
    links = system.links()
    around = Surroundings(
        hw_offload=settings.hw_offload,
        tc_policy=settings.tc_policy,
        kernel=_release(observed.host.kernel),
        internal_endpoint=_internal(system, links, settings.encap_ip),
    )
    found = flows.parse(ovs.dump_flows(system, "all"))
    rows: list[dict[str, str]] = []
    for port in wanted.ports:
        for link in inventory.representors(links, port.bdf):
            what = f"{port.bdf} {link.port_name}"
            rows.append(_row(link.name, what, [flow for flow in found if flow.in_port == link.name], around))
    known = {row["in port"] for row in rows}
    for name in sorted({flow.in_port for flow in found} - known):
        rows.append(_row(name, "-", [flow for flow in found if flow.in_port == name], around))
    return Table(rows, "No representor and no datapath flow: nothing to offload yet.")


def _row(name: str, what: str, found: Sequence[Flow], around: Surroundings) -> dict[str, str]:
    inside = [flow for flow in found if flow.offloaded]
    reasons = Counter(flows.why_not(flow, around) for flow in found if not flow.offloaded)
    why = "; ".join(f"{count} flows: {reason}" for reason, count in reasons.most_common())
    return {
        "in port": name,
        "representor of": what,
        "in NIC": str(len(inside)),
        "packets in NIC": str(sum(flow.packets for flow in inside)),
        "not in NIC": str(len(found) - len(inside)),
        "why not": why or ("-" if found else NO_FLOW),
    }


def _release(kernel: str) -> tuple[int, int]:
    numbers = re.match(r"(\d+)\.(\d+)", kernel)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def _internal(system: System, links: Sequence[Link], encap_ip: str | None) -> bool:
    """Whether the tunnel endpoint's address is on an OVS internal port, or on a VLAN of one."""
    if encap_ip is None:
        return False
    internal = {link.name for link in links if link.kind == "openvswitch"}
    shown = cast("list[dict[str, Any]]", json.loads(system.run(["ip", "-json", "address", "show"])))
    return any(
        {item.get("ifname"), item.get("link")} & internal
        for item in shown
        if any(address.get("local") == encap_ip for address in item.get("addr_info", []))
    )
