# SPDX-License-Identifier: Apache-2.0
"""The page of the alerts, from the rules that the charms publish."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

SEVERITIES = ("critical", "warning", "info")
"""The most urgent first."""
RULES = Path(__file__).parents[2] / "lib/exporter/cos"


def page() -> str:
    """The page, as Markdown."""
    return "\n".join(
        [
            "# Alerts",
            "",
            "Prometheus has these rules once a charm is [related](../../how-to/observe.md). The sentence "
            "names the host or the switch, the unit, the port and the number where `…` stands here.",
            "",
            *_table("alerts.json"),
            "## From the kernel's log",
            "",
            "Loki has these rules, from the lines of mlx5_core that a collector ships.",
            "",
            *_table("logs.json"),
        ]
    )


def _table(name: str) -> Iterator[str]:
    yield from ("| alert | severity | after | what it says | what helps |", "|---|---|---|---|---|")
    rules = [rule for group in json.loads((RULES / name).read_text())["groups"] for rule in group["rules"]]
    for rule in sorted(rules, key=lambda rule: SEVERITIES.index(rule["labels"]["severity"])):
        told = rule["annotations"]
        page = f"../../{told['runbook'].removeprefix('docs/')}"
        said = re.sub(r"{{.*?}}", "…", told["summary"])
        yield (
            f"| `{rule['alert']}` | {rule['labels']['severity']} | {rule['for']} | {said} "
            f"| [how to mend it]({page}) |"
        )
    yield ""
