# SPDX-License-Identifier: Apache-2.0
"""The dashboards over what Prometheus has scraped of guests."""

from collections.abc import Iterable

from cos import dashboards

from lab.observed.watch import Watch

HUGE_PAGES = "echo 4 >/proc/sys/vm/nr_hugepages"
"""What the virtual machines of a compute node use, and its dashboard shows."""
NOT_HERE = ("vf_roce",)
"""Part of metrics that the virtual card does not give: an RDMA device's counters."""


def empty(watch: Watch, names: Iterable[str], host: str) -> list[str]:
    """The queries that give nothing, of those whose metrics the virtual card has."""
    return [
        f"{query.dashboard}, {query.panel}: {query.expression}"
        for name in names
        for query in dashboards.queries(name, host)
        if not any(part in query.expression for part in NOT_HERE) and not watch.series.query(query.expression)
    ]
