# SPDX-License-Identifier: Apache-2.0
"""NAT and stateful security groups: the share of packets and connections in the NIC, and why not."""

from collections.abc import Iterator
from html import escape

from acceptance.measure import evidence
from acceptance.measure.ladder import titled
from acceptance.measure.results import Results
from acceptance.report import offload

_HEAD = ("rung", "node", "packets in NIC", "tracked connections in NIC", "flows in NIC that track", "why not")


def rows(results: Results) -> Iterator[tuple[str, ...]]:
    """Return a row for each node of each rung whose connections are tracked."""
    for key, rung in results.rungs.items():
        for node, told in rung.tracked.items():
            both = rung.evidence.get(node)
            share = offload.of_node(rung, node)
            connections = "unknown" if told.connections < 0 else f"{told.in_nic} of {told.connections}"
            why = told.why_not or (
                evidence.why_not([both]) if both and told.in_nic < told.connections else ""
            )
            packets = "unknown" if share is None else f"{share:.2%}"
            flows = "unknown" if told.flows < 0 else str(told.flows)
            yield titled(key), node, packets, connections, flows, why or "-"


def section(results: Results) -> Iterator[str]:
    """The part of the page; nothing without such a rung."""
    if found := list(rows(results)):
        yield "<h2>Floating IPs and stateful security groups</h2>"
        yield "<p>Read while pairs run: /proc/net/nf_conntrack, ovs-appctl dpctl/dump-flows.</p>"
        lines = ["".join(f"<th>{escape(cell)}</th>" for cell in _HEAD)]
        lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in found]
        yield "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
