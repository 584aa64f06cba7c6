# SPDX-License-Identifier: Apache-2.0
"""The page of the gallery of sites, from the data that its tests run."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tests"))

from sites import gallery


def page() -> str:
    """The page, as Markdown."""
    sites, rows = gallery.sites(), gallery.table()
    return "\n".join(
        [
            "# Sites that the tools are tested on",
            "",
            "Sites exist before these charms come. Each site here has something that others set up.",
            "Tests run the tools on it, with simulated switches, hosts, MAAS and OpenStack.",
            "The table has what each tool must say and write, and what it must never write.",
            "A tool that says or writes more fails its test; files and objects of its own are left out.",
            "",
            f"There are {len(sites)} sites and {len(rows) - 2} runs of tools on them.",
            f"{gallery.expected_alarms()} findings of a warning or worse are expected, and are no alarms:",
            "the site deserves them. Any other is a false alarm, and fails the test of its row,",
            "unless the row says what is pending.",
            f"{sum('`pending: ' in row for row in rows)} rows are pending.",
            "`PYTHONPATH=lib:tests python -m sites` runs all of them and counts the false alarms.",
            "",
            *(f"- **{site.name}**: {site.expected['about']}" for site in sites),
            "",
            *rows,
            "",
        ]
    )
