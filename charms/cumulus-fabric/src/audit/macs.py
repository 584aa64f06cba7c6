# SPDX-License-Identifier: Apache-2.0
"""Audits of the MAC addresses that leaves share: of segments, and of the distributed gateways. Pure."""

from collections import defaultdict
from collections.abc import Iterator

from converge import Finding, Severity
from converge.finding import few
from intent.model import Fabric, Role

RECOMMENDED = "44:38:39:FF:"
"""NVIDIA recommends 44:38:39:ff:00:00 to 44:38:39:ff:ff:ff for segment MACs (EVPN multihoming guide)."""

ZERO = "00:00:00:00:00:00"


def segment_macs(fabric: Fabric) -> Iterator[Finding]:
    """Segment MACs that cannot be an LACP system, or are outside NVIDIA's range for segment MACs."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for leaf in fabric.by_role(Role.LEAF):
        for bond in leaf.bonds:
            found[bond.segment.path][bond.segment.mac] = None
    for path, macs in found.items():
        if group := [mac for mac in macs if _multicast(mac)]:
            what = f"{few(group)} is a multicast address, which is not valid for an LACP system"
            yield Finding(Severity.BLOCKED, path, what, f"use one that starts with {RECOMMENDED}")
        elif ZERO in macs:
            what = f"{ZERO} is not valid for an LACP system"
            yield Finding(Severity.BLOCKED, path, what, f"use one that starts with {RECOMMENDED}")
        elif outside := [mac for mac in macs if not mac.startswith(RECOMMENDED)]:
            what = f"{few(outside)} is outside the range that NVIDIA recommends for segment MACs"
            yield Finding(Severity.WARNING, path, what, f"use {RECOMMENDED}00:00 to {RECOMMENDED}FF:FF")


def anycast_mac(fabric: Fabric) -> Iterator[Finding]:
    """An anycast MAC that no gateway can have, or that a segment has: hosts would see it on two devices."""
    leaves = fabric.by_role(Role.LEAF)
    path, remedy = "leaves.anycast-mac", "use a unicast address that no segment has"
    for mac in dict.fromkeys(leaf.anycast_mac for leaf in leaves if leaf.anycast_mac):
        if _multicast(mac) or mac == ZERO:
            kind = "all zeros" if mac == ZERO else "a multicast address"
            what = f"the anycast MAC {mac} is {kind}, which is not valid for a gateway"
            yield Finding(Severity.BLOCKED, path, what, remedy)
        same = next((leaf for leaf in leaves if any(bond.segment.mac == mac for bond in leaf.bonds)), None)
        if same:
            what = f"the anycast MAC {mac} is also the segment MAC of rack {same.rack}"
            yield Finding(Severity.WARNING, path, what, remedy)


def _multicast(mac: str) -> bool:
    return bool(int(mac[:2], 16) & 1)
