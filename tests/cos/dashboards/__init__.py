# SPDX-License-Identifier: Apache-2.0
"""The dashboards that the charms ship, and the queries of their panels."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from exporter.dashboards import Document
from exporter.dashboards import read as published

NAMES = ("site", "node", "fabric")
CALM = re.compile(r"\bALERTS{|\bovn_offload_fabric_port_")
"""Series that are there only once something went wrong: alerts, and what ports pause, mark and drop."""


class Query(NamedTuple):
    """A query of a panel, as Prometheus gets it."""

    dashboard: str
    panel: str
    expression: str
    column: str
    """Of a table; empty in other panels."""

    @property
    def may_be_empty(self) -> bool:
        """Whether it gives nothing while all is well."""
        return bool(CALM.search(self.expression))


def read(name: str) -> Document:
    """A dashboard's document, as a charm that knows no address publishes it."""
    (found,) = (each for each in published() if each["title"] == f"Offload: {name}")
    return found


def queries(name: str, host: str) -> Iterator[Query]:
    """All of a dashboard's queries, with ``host`` as the one that is chosen."""
    for panel in read(name)["panels"]:
        names = dict[str, str]()
        for change in panel.get("transformations", ()):
            names |= change["options"].get("renameByName", {})
        for target in panel["targets"]:
            expression = target["expr"].replace("$instance", host)
            yield Query(name, panel["title"], expression, names.get(f"Value #{target['refId']}", ""))
