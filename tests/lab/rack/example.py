# SPDX-License-Identifier: Apache-2.0
"""`python -m lab.rack.example openstack.json report.html`: keep the acceptance report of a rack that ran.

`tox -e lab -- --scenario openstack` writes openstack.json, what `report --json` says of its last whole
measurement, beside the rack's report. The page is made of it anew, as of the day of the measurement.
"""

import json
import sys
from pathlib import Path

from acceptance.measure.results import of_data
from acceptance.report.judge import judge
from acceptance.report.page import page


def main(told: Path, target: Path) -> None:
    """Read what was measured, and write the page."""
    results = of_data(json.loads(told.read_text())["results"])
    target.write_text(page(results, judge(results), results.started))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
