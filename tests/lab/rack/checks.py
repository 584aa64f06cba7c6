# SPDX-License-Identifier: Apache-2.0
"""Checks of a converged rack by kernel, firmware, FRR and OVN, not only by the charms."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from lab import checks
from lab.checks import Check, equal
from lab.guest import Guest
from lab.rack import layout, ovn, writes
from lab.rack.build import Rack
from lab.site import PFS

JUMBO = ovn.MTU - 28  # bytes of data in a ping that fills the instances' MTU
PING = f"ip netns exec {ovn.INSTANCE} ping -q -n"
OFFLOADED = "ovs-appctl dpctl/dump-flows -m type=offloaded"
ESTABLISHED = "established"


def charms(rack: Rack) -> Iterator[Check]:
    """Each unit is active and verifies; one more hook writes nothing."""
    controller = rack.controller
    for name, unit in controller.units.items():
        yield Check(
            "charms",
            f"{name} status",
            "active",
            ": ".join(filter(None, unit.status)),
            unit.status[0] == "active",
        )
    machines = {unit.machine.name for unit in controller.units.values()}
    before = writes.written(rack, machines)
    for unit in controller.units.values():
        controller.queue(unit, "update_status")
    for name, result in zip(controller.units, controller.action(controller.units, "verify")):
        yield equal("charms", f"{name} verify", "true", result.results.get("verified", "no answer"))
    yield from writes.none("charms", "once more", writes.since(before, writes.written(rack, machines)))


def nodes(rack: Rack) -> Iterator[Check]:
    """Firmware, VFs, eswitch, VF-LAG, QoS and the network of each node."""
    vfs, priorities = rack.option("num-vfs", 0), rack.option("pfc-priorities", "none")
    firmware = rack.on_nodes(
        f"mstconfig -d {next(iter(PFS))} query SRIOV_EN NUM_OF_VFS NUM_VF_MSIX MAX_ACC_OUT_READ", timeout=300
    )
    for name in rack.nodes:
        values = dict(re.findall(r"^\W*([A-Z_]{6,})\s+(\S+)\s*$", firmware[name], re.MULTILINE))
        yield equal("firmware", f"{name} NUM_OF_VFS", str(vfs), values.get("NUM_OF_VFS", ""))
        yield equal("firmware", f"{name} SRIOV_EN", "True(1)", values.get("SRIOV_EN", ""))
    found = rack.floor.each("", dict.fromkeys(rack.nodes, partial(node, vfs=vfs)))
    every = [replace(each, subject=f"{name} {each.subject}") for name in rack.nodes for each in found[name]]
    for area in dict.fromkeys(each.area for each in every):
        yield from (each for each in every if each.area == area)
    lossless = rack.on_nodes("; ".join(f"dcb pfc show dev {netdev}" for netdev in PFS.values()))
    for name in rack.nodes:
        on = " ".join(re.findall(r"(\d):on", lossless[name])) or "none"
        wanted = " ".join(2 * [priorities]) if priorities != "none" else "none"
        yield equal("QoS", f"{name} lossless priorities of both ports", wanted, on)
    reached = rack.on_nodes(f"ping -q -n -c 2 -W 5 {layout.CONTROLLER} | grep -o '[0-9]* received'")
    for name in rack.nodes:
        yield equal("network", f"{name} reaches controller and gateway", "2 received", reached[name].strip())


def node(guest: Guest, vfs: int) -> list[Check]:
    """Check one converged node, apart from its firmware and QoS."""
    return [
        *checks.ports(guest, vfs), checks.aggregated(guest), checks.bridged(guest), checks.failed_units(guest)
    ]  # fmt: skip


def fabric(rack: Rack) -> Iterator[Check]:
    """BGP sessions and Ethernet segments as FRR has them, and who the nodes' LACP partner is."""
    for switch in layout.wiring().switches:
        said = rack.on(layout.FABRIC, f"vtysh -N {switch} -c 'show bgp l2vpn evpn summary json'")
        peers = json.loads(said or "{}").get("peers", {}).values()
        states = [str(peer["state"]).lower() for peer in peers]
        wanted = 4 if switch.startswith("Spine") else 2
        up = states.count(ESTABLISHED)
        yield Check(
            "fabric",
            f"{switch} EVPN sessions",
            str(wanted),
            f"{up} of {len(states)}",
            up == wanted == len(states),
        )
    partners = rack.on_nodes("grep -m1 'Partner Mac' /proc/net/bonding/bond0 | cut -d: -f2-")
    for name, number in rack.nodes.items():
        # The reference design counts the racks in the segment MAC's last byte.
        yield equal(
            "fabric", f"{name} LACP partner", f"44:38:39:be:ef:{number % 2 + 1:02x}", partners[name].strip()
        )


def overlay(rack: Rack) -> Iterator[Check]:
    """From instance to instance through Geneve, in the longest frames, and where their flows are."""
    names = list(rack.nodes)
    rack.floor.each("instances", {layout.FABRIC: lambda guest: ovn.network(guest, len(names))})
    rack.floor.each(
        "instances",
        {name: lambda guest, n=number: ovn.instance(guest, n) for name, number in rack.nodes.items()},
    )
    northd = version(rack.on(layout.FABRIC, "ovn-appctl -t ovn-northd version"))
    for name, said in rack.on_nodes("ovn-appctl -t ovn-controller version").items():
        yield equal("overlay", f"{name} OVN, as the databases' northd", northd, version(said))
    pairs = [(one, other) for one in names for other in names if one != other]
    for one, other in pairs:
        address = ovn.address(rack.nodes[other])
        said = rack.on(
            one,
            f"for i in 1 2 3 4 5 6; do {PING} -c 1 -W 5 {address} >/dev/null && break; done; "
            f"{PING} -M do -s {JUMBO} -i 0.2 -c 10 -W 5 {address}",
            timeout=120,
        )
        yield equal(
            "overlay", f"{one} to {other}, {ovn.MTU} bytes unfragmented", "10 received", received(said)
        )
    for one, other in pairs[:1]:
        address = ovn.address(rack.nodes[other])
        rack.on(one, f"{PING} -i 0.2 -c 25 -W 5 {address}", timeout=120)  # flows need traffic to be there
        for name in (one, other):
            out, back = geneve(rack.on(name, OFFLOADED))
            subject = f"{name} Geneve flows in the NIC, out and in"
            yield Check("offload", subject, "at least 1 and 1", f"{out} and {back}", bool(out and back))


def version(said: str) -> str:
    """Of `ovn-northd 24.03.8` or `ovn-controller 24.03.8`: the version."""
    words = said.split()
    return words[1] if len(words) > 1 else said.strip() or "none"


def geneve(flows: str) -> tuple[int, int]:
    """Of datapath flows for IPv4: how many go into a tunnel, and how many come out of one."""
    parted = [line.partition("actions:") for line in flows.splitlines() if "eth_type(0x0800)" in line]
    out = sum("set(tunnel(" in actions for _, _, actions in parted)
    return out, sum("tunnel(tun_id=" in match for match, _, _ in parted)


def received(said: str) -> str:
    """Of ping's summary: how many were answered."""
    found = re.search(r"(\d+) received", said)
    return f"{found[1]} received" if found else said.strip()[-60:]
