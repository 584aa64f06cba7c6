# SPDX-License-Identifier: Apache-2.0
"""The cost of a change of a switch's settings for those who use it. Pure."""

from collections.abc import Iterator

from converge import Disruption

from tree import OF_IP, Path, Tree, covers, get_path, leaves, overlaps

COSTS_NOTHING = ("system/hostname", "interface/*/description", "evpn/multihoming/startup-delay")
"""Settings that touch no link and no session: LLDP and the prompt show them, or the next boot."""

CUTS_NETWORK = (
    "router/bgp/autonomous-system",
    "router/bgp/router-id",
    "router/bgp/enable",
    "router/bgp/state",
    "vrf/default/router/bgp/autonomous-system",
    "vrf/default/router/bgp/router-id",
    "vrf/*/router/bgp/neighbor/*",
    "vrf/*/evpn/*",
    "interface/*/vrf",
    *(f"interface/*/{key}/{part}" for key in OF_IP for part in ("vrf", "vrr")),
    "nve/vxlan/source/address",
    "bridge/domain/br_default/vlan/*",
    "interface/*/bridge/domain/br_default/*",
    "interface/*/bond/mode",
    "interface/*/evpn/multihoming/segment/*",
    "evpn/multihoming/segment/*",
    "evpn/vni/*/route-target",
    "interface/lo/*",
)
"""Settings whose change or removal interrupts the hosts' network for a moment."""


FLAPS = (*(f"interface/*/link/{each}" for each in ("speed", "fec", "auto-negotiate", "state/down")),)
"""Settings by which a port that is in use loses its link, also where they are new on it."""

RUNS_BGP = (("router", "bgp", "enable"), ("router", "bgp", "state"))
RUNS_BFD = ("router", "bfd", "state")
"""Whether FRR has a daemon for these. NVUE restarts all of FRR where the list of its daemons changes.

Up to 5.14 another service than FRR does BFD (user guide, "Bidirectional Forwarding Detection").
"""


def restarts_frr(patch: Tree, before: Tree) -> bool:
    """Whether a patch starts or ends BGP on a switch, or BFD in FRR."""
    set_to = dict(leaves(patch))
    for path in (*RUNS_BGP, RUNS_BFD):
        changed = next((path[:end] for end in range(len(path), 0, -1) if path[:end] in set_to), ())
        if changed and _on(set_to[changed]) != _on(get_path(before, path)):
            return True
    return False


def _on(value: object) -> bool:
    return value in ("on", "enabled")


def disruption(patch: Tree, before: Tree) -> Disruption:
    """Return the cost: none for new objects; more if the running configuration of an object changes."""
    return max((cost for _, cost in costs(patch, before)), default=Disruption.NONE)


def costs(patch: Tree, before: Tree) -> Iterator[tuple[Path, Disruption]]:
    """Yield the cost of each setting of a patch."""
    for path, value in leaves(patch):
        if any(covers(pattern, path) for pattern in COSTS_NOTHING):
            continue
        have = get_path(before, path)
        if path == RUNS_BFD and _on(value) != _on(have) and get_path(before, RUNS_BGP[0][:2]):
            yield path, Disruption.HOST_NETWORK_CUT
            continue
        if value is not None and have is None and not get_path(before, path[:2]):
            continue
        if value is None or have is not None:
            cutting = any(overlaps(pattern, path) for pattern in CUTS_NETWORK)
            yield path, Disruption.HOST_NETWORK_CUT if cutting else Disruption.LINK_FLAP
        elif path[2:4] == ("bond", "member") or any(covers(pattern, path) for pattern in FLAPS):
            yield path, Disruption.LINK_FLAP
