# SPDX-License-Identifier: Apache-2.0
"""The dashboards over what Prometheus has scraped of guests."""

from collections.abc import Iterable

from cos import dashboards

from lab.observed.watch import Watch


def empty(watch: Watch, names: Iterable[str], host: str) -> list[str]:
    """The queries that give nothing and should give something."""
    return [
        f"{query.dashboard}, {query.panel}: {query.expression}"
        for name in names
        for query in dashboards.queries(name, host)
        if not query.may_be_empty and not watch.series.query(query.expression)
    ]
