# SPDX-License-Identifier: Apache-2.0
"""What actions answer: configurations, the fabric's picture, reports of a run. Pure."""

import json
from collections.abc import Mapping, Sequence

import formats
from apply import Report
from config import Rendering, Showing
from converge import Finding, findings_as_table, worst_first
from model import Dialect, Fabric, Switch


def rendered(
    fabric: Fabric, chosen: Sequence[Switch], dialects: Mapping[str, Dialect], params: Rendering
) -> str:
    """One configuration as it is, several under their names.

    Raises:
        formats.FormatError: a switch cannot be written in that format.

    """
    texts = {each.name: formats.write(fabric, each, dialects[each.name], params.format) for each in chosen}
    if len(texts) == 1:
        return next(iter(texts.values()))
    if params.format == "json":
        return json.dumps({name: json.loads(text) for name, text in texts.items()})
    return "\n".join(f"# {name}\n{text}" for name, text in texts.items())


def drawn(fabric: Fabric, found: Sequence[Finding], params: Showing) -> str:
    """The fabric as text or picture, with what was found about each part of it when health was asked for."""
    import picture  # hooks do without them
    import show

    worst_last = reversed(worst_first(found))
    health = {each.subject: each.severity for each in worst_last} if params.health else None
    return (picture.as_svg if params.format == "svg" else show.as_text)(fabric, health)


def told(report: Report, others: Sequence[Finding] = ()) -> dict[str, str]:
    """A run's results; ``others`` is what switches that were typed in have to say."""
    rows = [f"{name}: {result.value}" for name, result in sorted(report.results.items())]
    reasons = (*report.reasons, *others)
    return {
        "applied": str(report.applied).lower(),
        "result": report.verdict,
        "switches": "\n".join(rows),
        "reasons": findings_as_table(reasons) if reasons else "",
    }
