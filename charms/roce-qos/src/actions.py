# SPDX-License-Identifier: Apache-2.0
"""The actions other than plan, apply and verify: they show settings and counters."""

from collections.abc import Callable, Iterator

from charmkit.output import Table
from desired import Desired
from hostnic.devices import rdma
from hostnic.netlink import dcb
from hostnic.system import System
from nic.judge import CONNECTIONS, DCBX, DSCP_MAP, Judged, Judgement, Verdict
from observed import Observed, QosPort

COUNTERS = (
    "np_cnp_sent",
    "np_ecn_marked_roce_packets",
    "rp_cnp_handled",
    "rp_cnp_ignored",
    "out_of_sequence",
    "packet_seq_err",
    "roce_adp_retrans",
)
"""The counters of an RDMA device that show congestion."""

SOFTWARE_COUNTERS = ("out_of_seq_request", "rcvd_seq_err")
"""The counters of rdma_rxe, which has other names for them."""


FIRST = (DCBX, DSCP_MAP, "ETS", "PFC", "cable length", "global pause")
"""The verdicts that come first, and in this order."""


def qos(system: System, wanted: Desired, judgement: Judgement) -> Table:
    """Each setting of each port: the current and the desired one."""
    rows: list[dict[str, str]] = [
        {"port": judged.port.netdev, "setting": name, "runs": runs, "wanted": want}
        | {"": "" if runs == want else "differs"}
        for judged in judgement.ports
        if judged.port.dcb is not None
        for name, runs, want in _settings(system, wanted, judged)
    ]
    return Table(rows, "No port is selected.")


def _settings(system: System, wanted: Desired, judged: Judged) -> Iterator[tuple[str, str, str]]:
    port = judged.port
    for verdict in sorted(judged.verdicts, key=_place):
        runs, want = verdict.words(verdict.now), verdict.words(verdict.wanted)
        if verdict.name == DSCP_MAP:
            if port.driver.dscp:
                yield from _trust(wanted, port)
        elif verdict.name == CONNECTIONS and port.rdma:
            yield f"{verdict.name} ({port.rdma.device})", runs, want
            gids = (f"{index}: {gid}" for index, gid in rdma.gids(system, port.rdma).items())
            indexes = ", ".join(gids) or "none"
            yield f"GID index, RoCE v2 ({port.rdma.device})", indexes, indexes
        else:
            yield verdict.name, runs, want


def _place(verdict: Verdict) -> int:
    return FIRST.index(verdict.name) if verdict.name in FIRST else len(FIRST)


def _trust(wanted: Desired, port: QosPort) -> Iterator[tuple[str, str, str]]:
    scheme = wanted.qos
    yield "trust", port.trust, scheme.trust
    if scheme.trust == "dscp":
        for name, mark in (("RoCE", scheme.roce), ("CNP", scheme.cnp)):
            now = port.dscp_map.get(mark.dscp)
            runs = "not mapped" if now is None else f"priority {now}"
            yield f"{name} DSCP {mark.dscp}", runs, f"priority {mark.priority}"
        wanted_map = {dscp: wanted.priority(dscp) for dscp in range(dcb.DSCPS)}
        yield "DSCP map", _words(port.dscp_map), _words(wanted_map)


def _words(mapped: dict[int, int]) -> str:
    """``0-7:0 8-15:1``: runs of DSCPs with the same priority."""
    runs: list[tuple[int, int, int]] = []
    for dscp, priority in sorted(mapped.items()):
        if runs and runs[-1][1] == dscp - 1 and runs[-1][2] == priority:
            runs[-1] = (runs[-1][0], dscp, priority)
        else:
            runs.append((dscp, dscp, priority))
    words = (f"{first}:{p}" if first == last else f"{first}-{last}:{p}" for first, last, p in runs)
    return " ".join(words) or "none"


def counters(system: System, wanted: Desired, look: Callable[[], Observed], seconds: int) -> Table:
    """Pause frames of lossless priorities and signs of congestion; with ``seconds`` also their rates."""
    begin, first = system.now(), _read(system, wanted, look())
    if seconds:
        system.sleep(seconds)
        last, elapsed = _read(system, wanted, look()), system.now() - begin
    else:
        last, elapsed = first, 0.0
    rows: list[dict[str, str]] = []
    for (port, name), value in last.items():
        rows.append({"port": port, "counter": name, "value": str(value)})
        if seconds:
            rows[-1]["per second"] = f"{(value - first.get((port, name), value)) / elapsed:.1f}"
    return Table(rows, "No port is selected.")


def _read(system: System, wanted: Desired, observed: Observed) -> dict[tuple[str, str], int]:
    """Values by port, or RDMA device, and counter."""
    found = dict[tuple[str, str], int]()
    for port in observed.among(wanted.ports):
        pfc = port.dcb.pfc if port.dcb else None
        if pfc is not None:
            # mlx5 answers dcbnl with what ethtool read last; other drivers have these names in dcbnl alone.
            now = system.ethtool.statistics(port.netdev)
            for priority in wanted.qos.pfc:
                for way, frames in (("tx", pfc.sent), ("rx", pfc.received)):
                    name = f"{way}_prio{priority}_pause"
                    found[port.netdev, name] = now.get(name, frames[priority])
        told = rdma.counters(system, port.rdma) if port.rdma else {}
        for name in (*COUNTERS, *SOFTWARE_COUNTERS):
            if name in told and port.rdma:
                found[port.rdma.device, name] = told[name]
    return found
