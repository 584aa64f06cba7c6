# SPDX-License-Identifier: Apache-2.0
"""The table at the end of a run: the results on each release, and their seconds."""

from collections import Counter
from collections.abc import Iterable
from pathlib import PurePath

import pytest
from converge.render import table

NONE = "any"
"""For tests without a choice: switches run one release alone, and some tests start no guest."""


def note(item: pytest.Item, release: str) -> None:
    """Let each report of a test carry the release of its guest, to the process that prints, too."""
    item.user_properties.append(("release", release or NONE))


def by_release(reports: Iterable[pytest.TestReport]) -> str:
    """A line for each file and a column for each release.

    A cell has the results of the file's tests ("12 passed, 1 failed") and the seconds that they took, with
    the start of their guest.
    """
    results: dict[tuple[str, str], Counter[str]] = {}
    seconds: Counter[tuple[str, str]] = Counter()
    for report in reports:
        cell = report.nodeid.partition("::")[0], dict(report.user_properties).get("release", NONE)
        seconds[cell] += report.duration
        counted = results.setdefault(cell, Counter())
        if report.when == "call" or report.skipped:
            counted[report.outcome] += 1
        elif report.failed:  # in a fixture
            counted["errors"] += 1
    releases = sorted({release for _, release in results})
    files = sorted({path for path, _ in results})
    return table(
        ["", *releases],
        [[_short(path), *(_cell(results, seconds, (path, each)) for each in releases)] for path in files],
    )


def _cell(
    results: dict[tuple[str, str], Counter[str]], seconds: Counter[tuple[str, str]], cell: tuple[str, str]
) -> str:
    counted = results.get(cell)
    if not counted:
        return "-"
    return f"{', '.join(f'{number} {word}' for word, number in counted.items())}, {seconds[cell]:.0f} s"


def _short(path: str) -> str:
    return str(PurePath(path).relative_to("tests/functional"))
