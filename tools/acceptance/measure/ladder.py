# SPDX-License-Identifier: Apache-2.0
"""The rungs, in order: the path, its security, and what is measured on it.

Each adds one thing to an earlier one (StackHPC's method), so that the first that loses tells what costs. The
last ones send through every node that the others do not use.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from acceptance.measure.tools import MEASURES, PAIRS, PINNED, PKTGEN, TESTPMD, Measure, pinned
from acceptance.sitefile import SiteFile
from acceptance.wanted import DPDK_PORT, GROUPS

ACROSS = "across"
"""The server in the other rack, which the site file may ask for; its name depends on the number of nodes."""
_PAIRS = tuple(f"{kind}-{pairs}" for kind in ("udp", "tcp") for pairs in PAIRS)


class Rung(NamedTuple):
    """One path.

    Attributes:
        key: its name in results.
        title: its name for people.
        port: of each server: the port's name before its number; "" for the compute nodes themselves.
        group: security group of the ports; "" for none and no port security, None to leave them as they are.
        measures: keys in their order. The pairs come last: the evidence afterwards is about them.
        judged: whether it is compared with host to host; else it is only reported.
        client: the server that sends.
        server: the server at the other end.
        floating: whether the client connects to a floating IP.
        ipv6: whether it is measured over IPv6, which the site file may ask for.

    """

    key: str
    title: str
    port: str
    group: str | None
    measures: tuple[str, ...]
    judged: bool = True
    client: str = "vm1"
    server: str = "vm2"
    floating: bool = False
    ipv6: bool = False

    @property
    def tracked(self) -> bool:
        """Whether its connections are tracked: by a stateful security group, or for a floating IP."""
        return self.floating or GROUPS.get(self.group or "", (False, []))[0]


HOST = "host"
RUNGS = (
    Rung(HOST, "Host to host", "", None, ("rdma-lat", "rdma-bw", *_PAIRS), judged=False),
    Rung("virtio", "virtio on Geneve", "normal", None, (PKTGEN, *_PAIRS), judged=False),
    Rung("vf", "VF on Geneve", "direct_overlay", "", ("link-cut", PKTGEN, *_PAIRS, PINNED)),
    Rung(
        "vf-group",
        "VF with a stateful security group",
        "direct_overlay",
        "data_policy",
        (*_PAIRS, PINNED),
    ),
    Rung("vf-rdma", "RoCE on a VF", "direct_overlay", "data_sl_policy", ("rdma-lat", "rdma-bw", "gpu-bw")),
    Rung("vf-vlan", "VF on VLAN", "direct_vlan", "", _PAIRS),
    Rung("vf-ipv6", "VF on Geneve over IPv6", "direct_overlay", "", ("udp-8", "tcp-8"), ipv6=True),
    Rung("vf-vlan-ipv6", "VF on VLAN over IPv6", "direct_vlan", "", ("udp-8", "tcp-8"), ipv6=True),
    Rung("north-south", "North-south over a floating IP", "direct_nat", "data_policy", _PAIRS, floating=True),
    Rung("cross-rack", "VF on Geneve across racks", "direct_overlay", "", _PAIRS, server=ACROSS),
    Rung(
        "lossy",
        "RoCE beside a stream, without protection",
        "direct_overlay",
        "data_sl_policy",
        ("rdma-lossy",),
        judged=False,
    ),
    Rung(
        "lossless",
        "RoCE beside a stream, with ETS and PFC",
        "direct_overlay",
        "data_sl_policy",
        ("rdma-lossless",),
    ),
    Rung("dcqcn", "RoCE beside RoCE, with DCQCN", "direct_overlay", "data_sl_policy", ("rdma-dcqcn",)),
    Rung("dpdk-virtio", "DPDK on virtio", DPDK_PORT, "", (TESTPMD,), judged=False),
    Rung("dpdk", "DPDK on a VF", "direct_overlay", "", (TESTPMD, "dpdk")),
    Rung(
        "dpdk-group",
        "DPDK on a VF with a stateless security group",
        "direct_overlay",
        "data_sl_policy",
        ("dpdk",),
    ),
)


_FURTHER = re.compile(r"node-(vm\d{1,4})-(vm\d{1,4})")


def _further(client: str, server: str) -> Rung:
    """A VF's path between two servers, one of which at least is on a node that no other rung uses.

    32 pairs hash to both ports of a bond in practice, on each of many nodes.
    """
    title = f"VF on Geneve, {client} to {server}"
    measured = ("udp-32", "tcp-32")
    return Rung(
        f"node-{client}-{server}", title, "direct_overlay", "", measured, client=client, server=server
    )


def whole(rungs: Sequence[Rung], site: SiteFile, servers: Iterable[str]) -> tuple[Rung, ...]:
    """The ladder of a site: these rungs, and those for the nodes of the servers from the third one on.

    These servers are paired with one another; if one is left, it sends to the first server.
    """
    placed = list(servers)
    across = placed.pop() if site.other_rack and len(placed) > 2 else ""
    odd = placed[2:] + placed[:1] * (len(placed[2:]) % 2)
    found = (rung._replace(server=across) if rung.server == ACROSS and across else rung for rung in rungs)
    return (*found, *map(_further, odd[::2], odd[1::2]))


def known(keys: Iterable[str]) -> list[Rung]:
    """All rungs, with those for further nodes that are among these keys of results."""
    return [*RUNGS, *(_further(*found.groups()) for key in keys if (found := _FURTHER.fullmatch(key)))]


def titled(key: str) -> str:
    """A rung's name for people; its key if it is none of this version's."""
    return next((rung.title for rung in known([key]) if rung.key == key), key)


def second_client(rung: Rung, site: SiteFile, servers: Sequence[str]) -> str:
    """The server that loads a port of the rung's: one of another node, if the site file names other-rack."""
    if not any(MEASURES[key].beside for key in rung.measures if key in MEASURES):
        return ""
    return servers[-1] if site.other_rack and len(servers) > 2 else rung.client


def lacks(measure: Measure, site: SiteFile) -> str:
    """Name the software that the image lacks for a measurement; "" if it has all."""
    missing = [name for name in measure.software if name not in site.software]
    return (
        f"the image has no {' and no '.join(missing)}: see docs/how-to/prove-the-cloud.md" if missing else ""
    )


def skipped(rung: Rung, measure: Measure, site: SiteFile, hosts: list[str]) -> str:
    """Why a measurement is not made on these compute hosts, "" for one that nobody sees; "" if it is."""
    if "" in hosts and (not rung.port or measure.meanwhile):
        return "it runs on compute nodes, which are not seen"
    if "" in hosts and measure.disturbs:
        return "it disturbs other traffic on compute nodes, which are not seen"
    if rung.ipv6 and not site.ipv6:
        return "the site file does not ask for ipv6"
    if rung.server == ACROSS and not site.other_rack:
        return "the site file names no other-rack"
    protected = [host for host in hosts if host not in site.disturb]
    if measure.disturbs and protected:
        return (
            f"it disturbs other traffic, and the site file does not list {', '.join(protected)} under disturb"
        )
    return ""


def measures(rung: Rung, site: SiteFile) -> list[Measure]:
    """Return the measurements of a rung."""
    return [pinned(site.flavor.vcpus) if key == PINNED else MEASURES[key] for key in rung.measures]
