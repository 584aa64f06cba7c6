# SPDX-License-Identifier: Apache-2.0
"""The dashboards that the charms ship, with what is known only when they are published.

Prometheus' series of an alert has no annotations, so that a panel learns from here which runbook an alert
has. The address of the documents is known to a packed charm alone.
"""

import json
from collections.abc import Iterator
from importlib import resources
from typing import Any

RUNBOOK = "Runbook"
"""The column of a panel whose value is an alert's name, and which shows the path of its runbook."""
DOCUMENTS = "documents"
"""The variable with the address to which a runbook's path is appended."""

Document = dict[str, Any]


def read(address: str = "") -> Iterator[Document]:
    """All dashboards, by name.

    Args:
        address: of the folder that has `docs/`, ending in a slash; empty if unknown.

    """
    shipped = resources.files("exporter") / "cos"
    rules = json.loads((shipped / "alerts.json").read_text())
    books = {
        rule["alert"]: rule["annotations"]["runbook"] for group in rules["groups"] for rule in group["rules"]
    }
    shown = [{"type": "value", "options": {name: {"text": book} for name, book in books.items()}}]
    for path in sorted((shipped / "dashboards").iterdir(), key=lambda path: path.name):
        document: Document = json.loads(path.read_text())
        for variable in document["templating"]["list"]:
            if variable["name"] == DOCUMENTS:
                variable |= {"query": address, "current": {"text": address, "value": address}}
        for panel in document["panels"]:
            for override in panel["fieldConfig"]["overrides"]:
                if override["matcher"]["options"] == RUNBOOK:
                    override["properties"].append({"id": "mappings", "value": shown})
        yield document
