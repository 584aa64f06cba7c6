# SPDX-License-Identifier: Apache-2.0
"""The rungs, in order: the path, its security, and what is measured on it.

Each adds one thing to an earlier one (StackHPC's method), so that the first that loses tells what costs.
"""

from typing import NamedTuple

from acceptance.measure.tools import MEASURES, PAIRS, PINNED, PKTGEN, TESTPMD, Measure, pinned
from acceptance.sitefile import Site
from acceptance.wanted import DPDK_PORT

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
        server: the server at the other end of vm1.
        floating: whether the client connects to a floating IP.

    """

    key: str
    title: str
    port: str
    group: str | None
    measures: tuple[str, ...]
    judged: bool = True
    server: str = "vm2"
    floating: bool = False


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
    Rung("north-south", "North-south over a floating IP", "direct_nat", "data_policy", _PAIRS, floating=True),
    Rung("cross-rack", "VF on Geneve across racks", "direct_overlay", "", _PAIRS, server="vm3"),
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


def second_client(rung: Rung, site: Site) -> str:
    """The server that loads a port of the rung's: one of another node, if the site file names other-rack."""
    if not any(MEASURES[key].beside for key in rung.measures if key in MEASURES):
        return ""
    return "vm3" if site.other_rack else "vm1"


def lacks(measure: Measure, site: Site) -> str:
    """What the image lacks for a measurement; "" if it has all."""
    missing = [name for name in measure.software if name not in site.software]
    return (
        f"the image has no {' and no '.join(missing)}: see docs/how-to/prove-the-cloud.md" if missing else ""
    )


def skipped(rung: Rung, measure: Measure, site: Site, hosts: list[str]) -> str:
    """Why a measurement is not made on these compute hosts, "" for one that nobody sees; "" if it is."""
    if "" in hosts and (not rung.port or measure.meanwhile):
        return "it runs on compute nodes, which are not seen"
    if "" in hosts and measure.disturbs:
        return "it disturbs other traffic on compute nodes, which are not seen"
    if rung.server == "vm3" and not site.other_rack:
        return "the site file names no other-rack"
    protected = [host for host in hosts if host not in site.disturb]
    if measure.disturbs and protected:
        return (
            f"it disturbs other traffic, and the site file does not list {', '.join(protected)} under disturb"
        )
    return ""


def measures(rung: Rung, site: Site) -> list[Measure]:
    """What is measured on a rung."""
    return [pinned(site.flavor.vcpus) if key == PINNED else MEASURES[key] for key in rung.measures]
