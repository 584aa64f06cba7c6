# SPDX-License-Identifier: Apache-2.0
"""Which datapath flows run in the NIC, which do not, and why, as far as the kernel and OVS report it."""

import re
from dataclasses import dataclass

IN_PORT = re.compile(r"\bin_port\(([^)]+)\)")
TUNNEL = re.compile(r"\btunnel\(|\bset\(tunnel\(|\btnl_push\(")
STATE = re.compile(r"\boffloaded:(yes|no|partial)\b")
DATAPATH = re.compile(r"\bdp:(\w+)")
COUNT = re.compile(r"\bpackets:(\d{1,20})(?!\d)")
CT_STATE = re.compile(r"\bct_state\(([^)/]*)(?:/([^)]*))?\)")
CT_ACTION = re.compile(r"(?:^|[,(])ct(?=[,()]|$)")
ACTIONS = re.compile(r"\bactions:(.*)$")
UNOFFLOADED = ("icmp", "icmpv6", "skb_mark", "dp_hash", "skb_priority")
"""Matches that OVS keeps from the kernel's classifier (lib/netdev-offload-tc.c test_key_and_mask)."""

UNTRACKED = {0x01: "+new", 0x04: "+rel", 0x10: "+inv"}
"""Connection states that mlx5 does not offload (en/tc_ct.c: mlx5_tc_ct_match_add), by OVS_CS_F_* bit."""


@dataclass(frozen=True)
class Flow:
    """One line of ``dpctl/dump-flows -m``."""

    in_port: str  # name of the port, most often a representor, the bond or the tunnel device
    offloaded: bool  # it runs in the NIC
    datapath: str  # `tc` when the kernel's classifier has it, `ovs` when only its module has
    packets: int  # that it has matched
    tunnel: bool  # it decapsulates or encapsulates
    tracked: bool  # it needs connection tracking: it matches a connection's state, or sends to the tracker
    actions: str  # as printed
    text: str  # the whole line

    @property
    def ports(self) -> frozenset[str]:
        """All that may be a name of its ports: the one that it comes from, and the words of its actions."""
        return frozenset((self.in_port, *re.findall(r"[\w.:-]+", self.actions)))


@dataclass(frozen=True)
class Surroundings:
    """The conditions of offload besides the flow itself."""

    no_flow: str  # why OVS gives the NIC no flow at all; empty if it does
    kernel: tuple[int, int]  # (major, minor)
    internal_endpoint: bool  # the tunnel endpoint's address is on an OVS internal port
    # Addresses of the ports whose eswitch takes no tunnel (encap-mode none)
    without_encap: tuple[str, ...] = ()


def parse(dump: str) -> list[Flow]:
    """The flows of a dump; other lines are skipped."""
    found: list[Flow] = []
    for line in dump.splitlines():
        port, actions = IN_PORT.search(line), ACTIONS.search(line)
        if port is None or actions is None:
            continue
        state, datapath, count = STATE.search(line), DATAPATH.search(line), COUNT.search(line)
        found.append(
            Flow(
                in_port=port.group(1),
                offloaded=state is not None and state.group(1) == "yes",
                datapath=datapath.group(1) if datapath else "ovs",
                packets=int(count.group(1)) if count else 0,
                tunnel=TUNNEL.search(line) is not None,
                tracked=_matches(line, "ct_state") or CT_ACTION.search(actions.group(1)) is not None,
                actions=actions.group(1).strip(),
                text=line.strip(),
            )
        )
    return found


def why_not(flow: Flow, around: Surroundings) -> str:
    """Why ``flow`` does not run in the NIC, in one sentence; empty when it does."""
    if flow.offloaded:
        return ""
    if around.no_flow:
        return around.no_flow
    if "userspace(" in flow.actions:
        return "its action goes to user space"
    if flow.tunnel and around.internal_endpoint and around.kernel < (5, 16):
        return "the tunnel endpoint is on an OVS internal port, which mlx5 offloads from kernel 5.16 on"
    if flow.tunnel and around.without_encap:
        return f"encap-mode of {' and '.join(around.without_encap)} is none (devlink: encap-mode basic)"
    if flow.datapath == "tc" and (states := _untracked(flow.text)):
        return f"it matches ct_state {' '.join(states)}, which mlx5 does not offload"
    if flow.datapath == "tc":
        return "the kernel's classifier has it, but the NIC's driver did not take it (see the kernel log)"
    matched = [key for key in UNOFFLOADED if _matches(flow.text, key)]
    if matched:
        return f"it matches {matched[0]}, which OVS does not offload"
    return "OVS could not express it for the kernel's classifier (see ovs-vswitchd.log)"


def _untracked(text: str) -> list[str]:
    """States that the flow matches and mlx5 does not offload; a full dump has numbers, a short one flags."""
    found = CT_STATE.search(text.partition("actions:")[0])
    if found is None:
        return []
    value, mask = found[1], found[2]
    try:
        bits = int(value, 0) & (int(mask, 0) if mask else ~0)
    except ValueError:
        return [flag for flag in UNTRACKED.values() if flag in value]
    return [flag for bit, flag in UNTRACKED.items() if bits & bit]


def _matches(text: str, key: str) -> bool:
    """Whether the flow matches on ``key``; in a full dump, fields that do not matter have a mask of zero."""
    found = re.search(rf"\b{key}\(([^)]*)\)", text.partition("actions:")[0])
    return found is not None and any(not re.search(r"/(0x)?0+$", part) for part in found.group(1).split(","))
