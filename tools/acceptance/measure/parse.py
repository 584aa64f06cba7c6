# SPDX-License-Identifier: Apache-2.0
"""The tools' output as figures. Formats: iperf3 3.9 and later, perftest 4.4, sysstat 12.5, DPDK 21.11.

Every reader raises StepError: with the tool's own words if its run failed, and if it prints another format.
"""

import json
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, ParamSpec

from converge import StepError

P = ParamSpec("P")
IDLE = "CPU idle in %"
"""A detail of a figure: the client's."""


class Figure(NamedTuple):
    """One measured value.

    Attributes:
        value: in `unit`: Gb/s, Mpps (million packets per second) or µs.
        details: what was measured beside it, by name, as `CPU idle in %`.

    """

    value: float
    unit: str
    details: dict[str, float]

    def __str__(self) -> str:
        beside = ", ".join(f"{what}: {value:.4g}" for what, value in self.details.items())
        return f"{self.value:.2f} {self.unit}" + (f" ({beside})" if beside else "")


def _of(tool: str) -> Callable[[Callable[P, Figure]], Callable[P, Figure]]:
    """Have a reader say that it cannot read what the tool prints."""

    def of(read: Callable[P, Figure]) -> Callable[P, Figure]:
        @wraps(read)
        def told(*arguments: P.args, **named: P.kwargs) -> Figure:
            try:
                return read(*arguments, **named)
            except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
                what = f"what {tool} prints cannot be read"
                raise StepError(
                    what, f"this tool reads the versions of {tool} that docs/how-to/prove-the-cloud.md names"
                ) from None

        return told

    return of


def documents(text: str) -> list[dict[str, Any]]:
    """JSON objects that follow one another."""
    decoder, found, at = json.JSONDecoder(), list[dict[str, Any]](), 0
    while (start := text.find("{", at)) >= 0:
        try:
            document, at = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            raise StepError("a tool's JSON ends too early", "run measure again") from None
        found.append(document)
    return found


def refusal(text: str) -> str | None:
    """Why iperf3 was not connected; "" if it was, None if it did not run."""
    for document in documents(text):
        return str(document.get("error", "")).removeprefix("error - ")
    return None


@_of("iperf3")
def tcp(text: str, pairs: int) -> Figure:
    """Gb/s that all servers of the iperf3 pairs received together, with retransmissions and idle CPU."""
    ends = _ends(text, pairs)
    total = sum(end["sum_received"]["bits_per_second"] for end in ends)
    resent = sum(end["sum_sent"].get("retransmits", 0) for end in ends)
    return Figure(total / 1e9, "Gb/s", {"retransmissions": resent, **_idle(text)})


@_of("iperf3")
def udp(text: str, pairs: int) -> Figure:
    """Mpps that arrived, with the share that was lost."""
    sums = [end["sum"] for end in _ends(text, pairs)]
    sent, lost = (sum(each[key] for each in sums) for key in ("packets", "lost_packets"))
    arrived = sum((each["packets"] - each["lost_packets"]) / each["seconds"] for each in sums)
    return Figure(arrived / 1e6, "Mpps", {"lost in %": 100 * lost / sent if sent else 0.0, **_idle(text)})


@_of("iperf3")
def outage(text: str, pairs: int) -> Figure:
    """The longest time in seconds in which all pairs together sent less than a tenth of their usual rate."""
    rates: dict[int, float] = {}
    resent = 0
    for run in _runs(text, pairs):
        resent += run.get("end", {}).get("sum_sent", {}).get("retransmits", 0)
        for interval in run["intervals"]:
            at = round(interval["sum"]["start"] * 10)  # intervals of 0.1 s
            rates[at] = rates.get(at, 0) + interval["sum"]["bits_per_second"]
    usual = sorted(rates.values())[len(rates) // 2] if rates else 0
    longest = now = 0
    for at in sorted(rates):
        now = now + 1 if rates[at] < usual / 10 else 0
        longest = max(longest, now)
    return Figure(longest / 10, "s", {"usual rate in Gb/s": usual / 1e9, "retransmissions": resent})


def _ends(text: str, pairs: int) -> list[dict[str, Any]]:
    return [run["end"] for run in _runs(text, pairs)]


def _runs(text: str, pairs: int) -> list[dict[str, Any]]:
    runs = [document for document in documents(text) if "sysstat" not in document]
    for run in runs:
        if run.get("error"):
            raise StepError(f"iperf3: {str(run['error']).removeprefix('error - ')}")
    if len(runs) != pairs:
        raise StepError(f"iperf3: {len(runs)} of {pairs} pairs have a result")
    return runs


def _idle(text: str) -> dict[str, float]:
    """The client's mean idle CPU as mpstat counts it, in %; nothing without mpstat."""
    for document in documents(text):
        if "sysstat" in document:
            samples = document["sysstat"]["hosts"][0]["statistics"]
            idle = [load["idle"] for each in samples for load in each["cpu-load"] if load["cpu"] == "all"]
            return {IDLE: sum(idle) / len(idle)} if idle else {}
    return {}


@_of("ib_write_bw")
def rdma_bandwidth(text: str) -> Figure:
    """ib_write_bw's average with --report_gbits."""
    names, row = _perftest(text)
    if "average[Gb/sec]" not in names:
        raise StepError("ib_write_bw reports no bandwidth in Gb/s")
    # "BW peak[…]" and "BW average[…]" are two words each.
    return Figure(float(row[3]), "Gb/s", {"message rate in Mpps": float(row[4])})


@_of("ib_write_lat")
def rdma_latency(text: str) -> Figure:
    """ib_write_lat's average, which each of its modes prints, with the 99th percentile if there is one."""
    names, row = _perftest(text)
    if "t_avg[usec]" not in names:
        raise StepError("ib_write_lat reports no average latency")
    details = {"99 % in µs": float(row[7])} if len(row) == 9 else {}
    return Figure(float(row[names.index("t_avg[usec]")]), "µs", details)


def _perftest(text: str) -> tuple[list[str], list[str]]:
    """The column names and the last row below them."""
    lines = text.splitlines()
    heads = [number for number, line in enumerate(lines) if line.strip().startswith("#bytes")]
    rows = [line.split() for line in lines[heads[-1] :] if re.fullmatch(r"[\d\s.]+", line)] if heads else []
    rows = [row for row in rows if len(row) >= 3]
    if not rows:
        said = [line.strip() for line in lines if line.strip() and not set(line.strip()) <= {"-", "*"}]
        raise StepError(f"perftest: {said[-1] if said else 'it printed nothing'}")
    return lines[heads[-1]].split(), rows[-1]


@_of("pktgen")
def pktgen(text: str) -> Figure:
    """Mpps that arrived: the packets that the receiver counted in the meantime, over the duration."""
    (seconds, before), (_, after) = (map(int, line.split()) for line in text.splitlines())
    if after <= before:
        raise StepError("pktgen: no packet arrived; see dmesg in the client")
    return Figure((after - before) / seconds / 1e6, "Mpps", {})


@_of("dpdk-testpmd")
def testpmd(text: str) -> Figure:
    """The highest rate that testpmd received in one period of its statistics, and what it could not take."""
    rates = [int(found) for found in re.findall(r"Rx-pps:\s+(\d+)", text)]
    if not rates:
        errors = re.findall(r"(?:EAL|testpmd): .*", text)
        raise StepError(f"dpdk-testpmd: {errors[-1] if errors else 'it printed no statistics'}")
    if not any(rates):
        raise StepError(
            "dpdk-testpmd: no packet arrived; see /tmp/testpmd and /tmp/testpmd-sends in the servers"
        )
    missed = re.findall(r"RX-missed:\s+(\d+)", text)
    return Figure(max(rates) / 1e6, "Mpps", {"missed": float(missed[-1])} if missed else {})
