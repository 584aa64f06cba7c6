# SPDX-License-Identifier: Apache-2.0
"""The actions that are not one of the four verbs."""

import errno
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import desired
import record
from boot import bootfile
from charmkit.output import Table
from charmkit.reconcile import ActionError
from converge import StepError
from desired import Desired
from hostnic.devices.lag import release
from hostnic.devices.model import Pf
from hostnic.devices.port import MLX5, representors_of
from hostnic.network import flows, ovs
from hostnic.network.flows import Flow, Surroundings
from hostnic.ops.files import InstallFile
from hostnic.system import Link, System
from hostnic.tuning import advice
from hostnic.tuning import observe as tuning
from nic.judge import joined
from observe import next_boot
from observed import NextBoot, Observed

NO_FLOW = "no flow: its instance has sent nothing yet, or flows ended (max-idle)"


Tables = Mapping[str, Table]
"""An action's results, by name."""


def devices(system: System, wanted: Desired, observed: Observed) -> Tables:
    """Every SR-IOV capable port, and what the option ``devices`` makes of it."""
    rows = [_device(pf, wanted, next_boot(system, pf.bdf)) for pf in observed.host.pfs]
    return {"devices": Table(rows, "This host has no SR-IOV capable NIC.")}


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


def host(system: System, wanted: Desired, observed: Observed) -> Tables:
    """How the host is tuned for instances with VFs of the selected ports, and advice; see hostnic.tuning."""
    kept = [now.pf for nic in joined(wanted, observed) for now in nic.ports]
    rows = [
        {
            "check": check,
            "verdict": each.verdict,
            "found": each.found,
            "remedy": each.remedy or "-",
            "owner": each.owner.value,
        }
        for check, each in advice.advise(tuning.observe(system, kept))
    ]
    return {"host": Table(rows, "There is nothing to check.")}


def offload(system: System, wanted: Desired, observed: Observed) -> Tables:
    """Show the traffic that runs in the NIC, and the reasons why the rest does not.

    ``offload``: one row per representor of the selected ports, then one per other port that has flows; what
    comes from an internal port of Open vSwitch is the host's own traffic, which no NIC forwards.
    ``nics``: one row per NIC of the selected ports.

    Raises OSError if Open vSwitch or iproute2 does not answer.
    """
    settings = ovs.settings(system)
    links = system.links.all()
    there = [now.pf for nic in joined(wanted, observed) for now in nic.ports]
    encap = {pf.bdf: pf.encap_mode for pf in there if pf.port.driver == MLX5}
    around = Surroundings(
        no_flow=settings.no_flow[0],
        kernel=release(observed.host.kernel),
        internal_endpoint=_internal(system, links, settings.endpoints),
        without_encap=tuple(bdf for bdf, mode in encap.items() if mode == "none"),
    )
    found = flows.parse(ovs.dump_flows(system))
    rows: list[dict[str, str]] = []
    for port in wanted.ports:
        for link in representors_of(links, port.bdf):
            what = f"{port.bdf} {link.port_name}"
            rows.append(_row(link.name, what, [flow for flow in found if flow.in_port == link.name], around))
    known = {row["in port"] for row in rows}
    own = _internal_ports(links)
    for name in sorted({flow.in_port for flow in found} - known):
        what = "the host" if name in own else "-"
        rows.append(_row(name, what, [flow for flow in found if flow.in_port == name], around))
    counts = ovs.counts(system) if found else None
    nics = {slot: [port.bdf for port in ports] for slot, ports in wanted.nics().items()}
    return {
        "offload": Table(rows, "No representor and no datapath flow: nothing to offload yet."),
        "nics": Table(
            [_nic(system, slot, bdfs, links, found, encap, counts) for slot, bdfs in nics.items()],
            "No NIC is selected.",
        ),
    }


TABLES: Mapping[str, Callable[[System, Desired, Observed], Tables]] = {
    "list-devices": devices,
    "show-offload": offload,
    "check-host": host,
}
"""By action."""


def accept_nic(system: System, observed: Observed) -> Mapping[str, str]:
    """Have the declared ports be those of the cards that are there now.

    Ports that are gone are dropped. Names of other ports in option ``devices`` mean those ports again. VFs
    and modes that something else has changed are noted as they are. Only the files that the next hook and the
    next boot compare with are written.

    Raises ActionError if that changes nothing, or the file cannot be written.
    """
    before = observed.previous
    pairs = [(port, pf) for port in before.ports if (pf := observed.host.pf(port.bdf))]
    unread = {finding.subject for finding in observed.host.findings}
    others = {port.bdf: pf.mac for port, pf in pairs if port.is_other(pf.mac)}
    there = {port.bdf for port, _ in pairs} | unread
    gone = [*(port for port in before.ports if port.bdf not in there), *before.absent]
    names = {
        name: other.bdf
        for port, pf in pairs
        for name in port.former
        if (other := observed.host.pf(name)) and other != pf
    }
    changed = [port.bdf for port in before.ports if port.bdf in observed.undone]
    if not (others or gone or names or changed):
        raise ActionError("nothing to accept: every declared port is there")
    ports = tuple(
        port._replace(
            mac=others.get(port.bdf, port.mac),
            former=tuple(name for name in port.former if name not in names),
        )
        for port in before.ports
        if port not in gone
    )
    try:
        text = before._replace(ports=ports, absent=()).to_json()
        InstallFile(desired.PATH, text.encode(), 0o600, bootfile.from_json).run(system)
    except StepError as error:
        raise ActionError(error.reason) from error
    record.note_left(system, changed)
    told = {
        "accepted": ", ".join(f"{bdf} with {mac}" for bdf, mac in others.items()),
        "dropped": ", ".join(f"{port.netdev} ({port.bdf})" for port in gone),
        "names": ", ".join(f"{name} is {bdf} again" for name, bdf in names.items()),
        "vfs": ", ".join(changed),
    }
    return {what: listed for what, listed in told.items() if listed}


def _nic(
    system: System,
    slot: str,
    bdfs: Sequence[str],
    links: Sequence[Link],
    found: Sequence[Flow],
    encap: Mapping[str, str | None],
    counts: ovs.Counts | None,
) -> dict[str, str]:
    """One NIC: its encapsulation mode, and what it holds of flows and of tracked connections.

    mlx5 tells no number of rules that it has room for (it registers no such devlink resource), so that the
    most that OVS keeps stands beside them.
    """
    of_ports = [link for link in links if link.pci in bdfs]
    bonds = {link.name for link in links if link.kind == "bond"} & {link.master for link in of_ports}
    own = bonds | {link.name for link in of_ports}
    inside = [flow for flow in found if flow.offloaded and not own.isdisjoint(flow.ports)]
    modes = {encap.get(bdf) or "unknown" for bdf in bdfs}
    connections = ovs.connections(system, bdfs)
    limit = counts.limit if counts else "an unknown number"
    return {
        "nic": slot,
        "encap-mode": " and ".join(sorted(modes)),
        "flows in NIC": str(len(inside)),
        "room for flows": f"not told by the driver; OVS keeps {limit} per host",
        "tracked flows in NIC": str(sum(flow.tracked for flow in inside)),
        "connections in NIC": "not told by the driver" if connections is None else str(connections),
    }


def _row(name: str, what: str, found: Sequence[Flow], around: Surroundings) -> dict[str, str]:
    inside = [flow for flow in found if flow.offloaded]
    reasons = Counter(flows.why_not(flow, around) for flow in found if not flow.offloaded)
    why = "; ".join(
        f"{count} {'flow' if count == 1 else 'flows'}: {reason}" for reason, count in reasons.most_common()
    )
    return {
        "in port": name,
        "representor of": what,
        "in NIC": str(len(inside)),
        "packets in NIC": str(sum(flow.packets for flow in inside)),
        "not in NIC": str(len(found) - len(inside)),
        "packets not in NIC": str(sum(flow.packets for flow in found if not flow.offloaded)),
        "tracked in NIC": f"{sum(flow.tracked for flow in inside)} of {sum(flow.tracked for flow in found)}",
        "why not": why or ("-" if found else NO_FLOW),
    }


def _internal_ports(links: Sequence[Link]) -> set[str]:
    """The names of the OVS internal ports, through which the host itself sends."""
    return {link.name for link in links if link.kind == "openvswitch"}


def _internal(system: System, links: Sequence[Link], endpoints: frozenset[str]) -> bool:
    """Whether an address of the tunnel endpoint is on an OVS internal port, or on a VLAN of one."""
    if not endpoints:
        return False
    internal = _internal_ports(links)
    try:
        shown = cast("list[dict[str, Any]]", json.loads(system.query(["ip", "-json", "address", "show"])))
        return any(
            {item.get("ifname"), item.get("link")} & internal
            for item in shown
            if any(address.get("local") in endpoints for address in item.get("addr_info", []))
        )
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise OSError(errno.EPROTO, "what ip -json address show prints cannot be read") from None
