# SPDX-License-Identifier: Apache-2.0
"""What the actions do that are not one of the four verbs."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

from charmkit.output import Table
from desired import Desired
from hostnic.devices.lag import release
from hostnic.devices.model import Pf
from hostnic.devices.port import representors_of
from hostnic.network import flows, ovs
from hostnic.network.flows import Flow, Surroundings
from hostnic.system import Link, System
from observe import next_boot
from observed import NextBoot, Observed

NO_FLOW = "no flow: its instance has sent nothing yet, or flows ended (max-idle)"


def devices(system: System, wanted: Desired, observed: Observed) -> Table:
    """Every SR-IOV capable port, and what the option ``devices`` makes of it."""
    rows = [_device(pf, wanted, next_boot(system, pf.bdf)) for pf in observed.host.pfs]
    return Table(rows, "This host has no SR-IOV capable NIC.")


def _device(pf: Pf, wanted: Desired, after: NextBoot) -> dict[str, str]:
    port = wanted.port(pf.bdf)
    return {
        "port": pf.bdf,
        "netdev": pf.netdev or "-",
        "driver": pf.port.driver or "-",
        "firmware": f"{pf.firmware or '-'} ({pf.psid or 'no PSID'})",
        "numa": str(pf.numa_node),
        "bond": pf.bond or "-",
        "vfs": str(pf.port.num_vfs),
        "offered": str(pf.port.total_vfs),
        "next boot": str(after.vfs) if after.vfs is not None else "unknown",
        "mode": pf.eswitch_mode or "-",
        "vf-lag": {True: "active", False: "no", None: "unknown"}[pf.lag.vf_lag],
        "wanted": f"{port.num_vfs} VFs" if port else "not selected",
    }


def offload(system: System, wanted: Desired, observed: Observed) -> Table:
    """What of the traffic runs in the NIC, and why the rest does not.

    One row per representor of the selected ports, then one per other port that has flows.

    Raises:
        OSError: Open vSwitch or iproute2 does not answer.

    """
    settings = ovs.settings(system)
    links = system.links.all()
    around = Surroundings(
        hw_offload=settings.hw_offload,
        tc_policy=settings.tc_policy,
        kernel=release(observed.host.kernel),
        internal_endpoint=_internal(system, links, settings.encap_ip),
    )
    found = flows.parse(ovs.dump_flows(system, "all"))
    rows: list[dict[str, str]] = []
    for port in wanted.ports:
        for link in representors_of(links, port.bdf):
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
        "packets not in NIC": str(sum(flow.packets for flow in found if not flow.offloaded)),
        "why not": why or ("-" if found else NO_FLOW),
    }


def _internal(system: System, links: Sequence[Link], encap_ip: str | None) -> bool:
    """Whether the tunnel endpoint's address is on an OVS internal port, or on a VLAN of one."""
    if encap_ip is None:
        return False
    internal = {link.name for link in links if link.kind == "openvswitch"}
    shown = cast("list[dict[str, Any]]", json.loads(system.query(["ip", "-json", "address", "show"])))
    return any(
        {item.get("ifname"), item.get("link")} & internal
        for item in shown
        if any(address.get("local") == encap_ip for address in item.get("addr_info", []))
    )
