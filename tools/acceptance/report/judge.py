# SPDX-License-Identifier: Apache-2.0
"""Judges results by thresholds.yaml, and names the rung that explains a loss."""

from collections.abc import Iterator
from typing import NamedTuple

from converge import Finding, Severity
from hostnic.cpus import written

from acceptance.measure import evidence
from acceptance.measure.ladder import HOST, RUNGS, Rung, known, titled
from acceptance.measure.parse import Figure
from acceptance.measure.results import Results, RungResult
from acceptance.measure.run import SECOND
from acceptance.measure.tools import CLOSED, MEASURES, title
from acceptance.report import cores, load, offload
from acceptance.report.causes import ADDED, CAUSES
from acceptance.report.verdict import THRESHOLDS, State, Verdict


def judge(results: Results) -> list[Verdict]:
    """Every check that applies to each rung, in the ladder's order."""
    host, virtio = (results.rungs.get(key, RungResult()) for key in (HOST, "virtio"))
    line, unseen = results.line_rate, next(iter(results.unseen), "")
    alone = results.rungs.get("vf-rdma", RungResult()).figures.get("rdma-bw")
    return [
        verdict
        for rung in known(results.rungs)
        if (result := results.rungs.get(rung.key)) and _meant(result)
        for verdict in load.judged(
            rung.key,
            result,
            line,
            list(_rung(rung, result, host, virtio, alone, unseen, line, results.line_share)),
        )
    ]


def overall(results: Results, verdicts: list[Verdict]) -> State:
    """Failed, if one check failed; passed, if all passed and nothing is missing."""
    states = {verdict.state for verdict in verdicts}
    if State.FAIL in states:
        return State.FAIL
    judged = [results.rungs.get(rung.key, RungResult()) for rung in RUNGS if rung.judged]
    complete = results.finished and any(map(_meant, judged))
    return State.PASS if complete and states == {State.PASS} else State.UNKNOWN


def _meant(result: RungResult) -> bool:
    """Whether some measurement of the rung was to be made."""
    return bool(result.figures or result.problems)


def _rung(
    rung: Rung,
    result: RungResult,
    host: RungResult,
    virtio: RungResult,
    alone: Figure | None,
    unseen: str,
    line: float,
    share: int,
) -> Iterator[Verdict]:
    if "" in result.problems:
        yield Verdict(rung.key, "vf-to-host", State.UNKNOWN, result.problems[""])
        return
    for key, problem in result.problems.items():
        # Nobody needs the reported rungs to judge, but the baseline is needed by all.
        if rung.judged or rung.key == HOST:
            yield Verdict(rung.key, "vf-to-host", State.UNKNOWN, f"{title(key)}: {problem}")
    yield from _mtu(rung, result)
    if rung.key == HOST:
        yield from _line(result, line, share)
    yield from _closed(rung, result)
    samples = list(result.evidence.values())
    if unseen and not samples:
        yield from _without_nodes(rung, result, unseen)
        return
    if rung.judged:
        yield from _in_nic(rung, result)
        yield from _host_cpu(rung, result, virtio)
    pairs = max((MEASURES[key].pairs for key in result.figures if key in MEASURES), default=0)
    if pairs >= THRESHOLDS["both-ports"]["from-pairs"] and rung.key != "virtio":
        yield from _both_ports(rung, result)
    beside = rung.judged and result.protection and result.figures
    if beside:
        yield from _class_share(rung, result, alone)
    if "rdma-bw" in result.figures or beside:
        yield _lossless(rung, samples, result)
    if rung.judged:
        yield from _to_host(rung, result, host)
        yield from _failover(rung, result)


def _line(result: RungResult, line: float, share: int) -> Iterator[Verdict]:
    """Host to host is what VFs are compared with: it must reach a part of the line rate itself."""
    best = max((each.value for each in result.figures.values() if each.unit == "Gb/s"), default=0.0)
    if not best:
        return
    if not line:
        yield Verdict(HOST, "line-rate", State.UNKNOWN, f"{best:.1f} Gb/s; the nodes' ports tell no speed")
        return
    state = State.PASS if best >= line * share / 100 else State.FAIL
    measured = f"{best:.1f} of {line:g} Gb/s = {best / line:.0%}, and at least {share}% are wanted"
    why = [f"{node}: {each}" for node, both in result.evidence.items() for each in both.after.slows]
    yield Verdict(HOST, "line-rate", state, measured, "; ".join(why) if state is State.FAIL else "")


def _failover(rung: Rung, result: RungResult) -> Iterator[Verdict]:
    """How long a port that goes and comes back stops the servers' traffic."""
    if cut := result.figures.get("link-cut"):
        state = State.PASS if cut.value <= THRESHOLDS["failover"]["most"] else State.FAIL
        resent = cut.details.get("retransmissions", 0)
        measured = f"{cut.value:.1f} s without traffic, {resent:.0f} packets sent again"
        yield Verdict(rung.key, "failover", state, measured)


def _without_nodes(rung: Rung, result: RungResult, unseen: str) -> Iterator[Verdict]:
    """Judge by the servers alone: gaps that their RDMA devices saw; the rest of the rung is not judged."""
    gaps = sum(told.lost for told in result.guests.values())
    if "rdma-bw" in result.figures and gaps > THRESHOLDS["lossless"]["most"]:
        yield Verdict(rung.key, "lossless", State.FAIL, f"{gaps} gaps seen by RDMA; ports are not seen")
    if rung.judged:
        for check in ("in-nic", "vf-to-host"):
            yield Verdict(rung.key, check, State.UNKNOWN, f"not seen: {unseen}")


def _mtu(rung: Rung, result: RungResult) -> Iterator[Verdict]:
    if result.probe is not None:
        size = f" of {result.probed} bytes" if result.probed else ""
        arrived = (
            f"a packet{size} arrives"
            if not result.probe
            else f"a packet{size} does not arrive: {result.probe}"
        )
        yield Verdict(rung.key, "mtu", State.FAIL if result.probe else State.PASS, arrived)


def _closed(rung: Rung, result: RungResult) -> Iterator[Verdict]:
    said = result.refused
    if said is None:
        return
    if "timed out" in said:
        yield Verdict(rung.key, "closed", State.PASS, "no connection: timed out")
    elif not said or "refused" in said:  # by the other end, which the packet has reached then
        yield Verdict(rung.key, "closed", State.FAIL, f"TCP port {CLOSED} is reached")
    else:
        yield Verdict(rung.key, "closed", State.UNKNOWN, said)


def _in_nic(rung: Rung, result: RungResult) -> Iterator[Verdict]:
    """One for each kind of traffic: the share of the node and the witness that have the least."""
    for kind, keys in offload.by_kind(result).items():
        found = offload.least(result, keys)
        if found is None or found.shown is None:
            why = f"{found.node}: {found.why}" if found else "no compute node is seen"
            yield Verdict(rung.key, "in-nic", State.UNKNOWN, f"{kind}: not shown: {why}")
            continue
        measured = f"{kind}: {found.shown.words} on {found.node} ({title(found.measure)})"
        cause = "" if found.good else _why_not(result)
        yield Verdict(rung.key, "in-nic", State.PASS if found.good else State.FAIL, measured, cause)


def _why_not(result: RungResult) -> str:
    """Return the words of Open vSwitch and the kernel on flows that are not in the NIC."""
    kernel = [f"{node}: {told.why_not}" for node, told in result.tracked.items() if told.why_not]
    return "; ".join(filter(None, (evidence.why_not(list(result.evidence.values())), *kernel)))


def _host_cpu(rung: Rung, result: RungResult, virtio: RungResult) -> Iterator[Verdict]:
    """Judge the busier host's CPU time for a VF, beside virtio at the same measurement."""
    limits = THRESHOLDS["host-cpu"]
    for key, figure in result.figures.items():
        base = virtio.figures.get(key)
        spent, least = cores.beyond(result, key), cores.beyond(virtio, key)
        if base is None or not base.value or not figure.value or spent is None or not least:
            continue
        ratio = (spent / figure.value) / (least / base.value)
        passed = spent <= limits["few"] or ratio <= limits["most"]
        measured = f"{title(key)}: {spent:.1f} cores for {figure.value:.1f} {figure.unit}, "
        measured += f"{ratio:.0%} of what virtio spends on each"
        yield Verdict(rung.key, "host-cpu", State.PASS if passed else State.FAIL, measured)


def _both_ports(rung: Rung, result: RungResult) -> Iterator[Verdict]:
    for node, both in result.evidence.items():
        if len(both.after.ports) == 1:  # by design: the overlay single-port
            continue
        if both.after.active:
            yield _active(rung, node, both.after.active, load.parts(result, node))
            continue
        shares = load.least_port(result, node) or evidence.least_port(both)
        if len(shares) < 2:
            yield Verdict(rung.key, "both-ports", State.UNKNOWN, f"{node}: no two ports with counters")
            continue
        state = State.PASS if min(shares.values()) >= THRESHOLDS["both-ports"]["least"] else State.FAIL
        told = ", ".join(f"{word} {share:.0%}" for word, share in shares.items())
        measured = f"{node}: the less used port {told} of an equal share"
        cause = f"{' and '.join(both.after.down)} of {node} is down" if both.after.down else ""
        yield Verdict(rung.key, "both-ports", state, measured, cause if state is State.FAIL else "")


def _active(rung: Rung, node: str, active: str, parts: dict[str, dict[str, float]]) -> Verdict:
    """An active-backup bond uses one port, by design."""
    shares = [ports.get(active, 0.0) for ports in parts.values()]
    if not shares:
        return Verdict(rung.key, "both-ports", State.UNKNOWN, f"{node}: no counters of {active}")
    state = State.PASS if min(shares) >= 1 - THRESHOLDS["both-ports"]["least"] else State.FAIL
    measured = f"{node}: {min(shares):.0%} over {active}, the active port of an active-backup bond"
    return Verdict(rung.key, "both-ports", state, measured)


def _lossless(rung: Rung, samples: list[evidence.Evidence], result: RungResult) -> Verdict:
    """The ports count what they drop, and RDMA what switches dropped: a gap in what arrives."""
    dropped, most = evidence.drops(samples), THRESHOLDS["lossless"]["most"]
    gaps = evidence.lost(samples) + sum(told.lost for told in result.guests.values())
    if (
        "rdma-lossless" in result.figures
    ):  # the gaps of its second stream, which may lose packets, count there too
        gaps = 0
    if dropped is None and gaps <= most:
        return Verdict(rung.key, "lossless", State.UNKNOWN, "no port counts drops of a lossless priority")
    state = State.PASS if (dropped or 0) + gaps <= most else State.FAIL
    seen = "" if "rdma-lossless" in result.figures else f", {gaps} gaps seen by RDMA"
    return Verdict(rung.key, "lossless", state, f"{dropped or 0} dropped by ports{seen}")


def _class_share(rung: Rung, result: RungResult, alone: Figure | None) -> Iterator[Verdict]:
    """RoCE beside a second stream: of its own class, which both share, or of one that ETS limits."""
    for key, figure in result.figures.items():
        due = 50 if key == "rdma-dcqcn" else min(told.share for told in result.protection.values())
        if alone is None or not alone.value or not due:
            why = "ETS gives its class no share" if alone and alone.value else "RoCE alone was not measured"
            yield Verdict(rung.key, "class-share", State.UNKNOWN, f"{title(key)}: {why}")
            continue
        ratio = figure.value / (alone.value * due / 100)
        state = State.PASS if ratio >= THRESHOLDS["class-share"]["least"] else State.FAIL
        second = figure.details.get(SECOND, 0.0)
        if state is State.PASS and figure.value + second < THRESHOLDS["class-share"]["loaded"] * alone.value:
            both = f"{figure.value:.2f} Gb/s, and the second stream {second:.2f}: they do not fill the port"
            yield Verdict(rung.key, "class-share", State.UNKNOWN, f"{title(key)}: {both}")
            continue
        measured = f"{figure.value:.2f} Gb/s; {due}% of {alone.value:.2f} Gb/s are due: {ratio:.0%} of that"
        yield Verdict(rung.key, "class-share", state, measured)


def _to_host(rung: Rung, result: RungResult, host: RungResult) -> Iterator[Verdict]:
    for key, figure in result.figures.items():
        baseline = MEASURES[key].baseline if key in MEASURES else "tcp-32"
        if not baseline:
            continue
        base = host.figures.get(baseline)
        if base is None or not base.value:
            yield Verdict(
                rung.key, "vf-to-host", State.UNKNOWN, f"{title(key)}: not measured from host to host"
            )
            continue
        ratio = figure.value / base.value
        state = State.PASS if ratio >= THRESHOLDS["vf-to-host"]["least"] else State.FAIL
        measured = f"{title(key)}: {figure.value:.2f} of {base.value:.2f} {figure.unit} = {ratio:.0%}"
        gpus = [f"{vm}: {each}" for vm, told in result.gpus.items() for each in told]
        found = gpus if key in MEASURES and MEASURES[key].software else []
        cause = "; ".join(filter(None, [*found, _tuning(result)])) if state is State.FAIL else ""
        yield Verdict(rung.key, "vf-to-host", state, measured, cause)


def _tuning(result: RungResult) -> str:
    """Name all that is not tuned on nodes and servers as the RDG tunes it; "" if nothing is known."""
    found = [
        f"{vm} has {told.queues} queues for {told.cpus} CPUs"
        for vm, told in result.guests.items()
        if told.queues and told.queues < told.cpus
    ]
    for node, both in result.evidence.items():
        found += [
            f"vCPUs of {domain} on {node} are not pinned"
            for domain, cpus in both.after.pins.items()
            if any(not cpu.isdecimal() for cpu in cpus.split())
        ]
        if away := evidence.far(both.after):
            found.append(
                f"vCPUs on {node} use CPUs {written(away)}, and the NIC's NUMA node has {both.after.near}"
            )
    return "; ".join(found)


QUOTED = 3
"""Failures of one check that the explanation quotes; the table has all of them."""


def explanation(verdicts: list[Verdict]) -> Finding | None:
    """The first rung that fails, with what most likely costs there, and its remedy."""
    first = next((verdict.rung for verdict in verdicts if verdict.state is State.FAIL), None)
    if first is None:
        return None
    failed = [verdict for verdict in verdicts if verdict.rung == first and verdict.state is State.FAIL]
    check, cause, remedy = next(each for each in CAUSES if each[0] in {verdict.check for verdict in failed})
    about = [verdict for verdict in failed if verdict.check == check]
    if check == "vf-to-host" and not any(verdict.cause for verdict in about):
        cause, remedy = ADDED.get(first, (cause, remedy))
    said = [verdict.measured for verdict in about[:QUOTED]]
    said += [f"and {len(about) - QUOTED} more"] if len(about) > QUOTED else []
    said += dict.fromkeys(verdict.cause for verdict in about if verdict.cause)
    return Finding(
        Severity.BLOCKED, titled(first), f"{cause} ({THRESHOLDS[check]['what']}: {'; '.join(said)})", remedy
    )


def unmeasured(results: Results) -> list[str]:
    """List the measurements that could not be made, each with its reason."""
    return [
        f"{titled(key)}{', ' if measure else ''}{title(measure)}: {problem}"
        for key, result in results.rungs.items()
        for measure, problem in result.problems.items()
    ]


class Reference(NamedTuple):
    """A figure of the RDG beside the one measured here.

    `scaled` is for this site's line rate. With `detail` it is what was measured beside the figure.
    """

    rung: str
    measure: str
    measured: float | None
    rdg: float
    scaled: float | None
    unit: str
    source: str
    detail: str = ""


def references(results: Results) -> list[Reference]:
    """The RDG's figures, scaled to the ports' speed; latency does not scale."""
    found: list[Reference] = []
    for row in THRESHOLDS["reference"]:
        figure = results.rungs.get(row["rung"], RungResult()).figures.get(row["measure"])
        scale = results.line_rate / row["gbits"] if row["gbits"] else 1.0
        scaled = row["value"] * scale if scale else None
        detail = row.get("detail", "")
        measured = (figure.details.get(detail) if detail else figure.value) if figure else None
        what = (row["rung"], row["measure"], measured, row["value"], scaled, row["unit"], row["source"])
        found.append(Reference(*what, detail))
    return found
