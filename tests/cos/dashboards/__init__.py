# SPDX-License-Identifier: Apache-2.0
"""The dashboards that the charms ship, and the queries of their panels."""

import json
from collections.abc import Iterator
from importlib import resources
from typing import Any, NamedTuple

FOLDER = resources.files("exporter") / "cos" / "dashboards"
NAMES = ("site", "node", "fabric")

Dashboard = dict[str, Any]


class Query(NamedTuple):
    """A query of a panel, as Prometheus gets it."""

    dashboard: str
    panel: str
    expression: str
    column: str
    """Of a table; empty in other panels."""


def read(name: str) -> Dashboard:
    """A dashboard's document."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def queries(name: str, host: str) -> Iterator[Query]:
    """All of a dashboard's queries, with ``host`` as the one that is chosen."""
    for panel in read(name)["panels"]:
        names = dict[str, str]()
        for change in panel.get("transformations", ()):
            names |= change["options"].get("renameByName", {})
        for target in panel["targets"]:
            expression = target["expr"].replace("$instance", host)
            yield Query(name, panel["title"], expression, names.get(f"Value #{target['refId']}", ""))
