# SPDX-License-Identifier: Apache-2.0
"""Run every tool on every site of the gallery and print the table: `PYTHONPATH=lib:tests python -m sites`."""

import sys

from unit.__main__ import run, suites


def main() -> int:
    """The first exit status that is a failure; 1 with a false alarm, else 0."""
    ran = [(suite, path) for suite in suites() if (path := suite.tests / "test_sites.py").exists()]
    statuses, rows, rest = [], [], []
    for suite, path in ran:
        status, printed = run(suite, ["-q", "-s"], [str(path)])
        statuses.append(status)
        for line in printed.splitlines():
            at = line.find("| ")
            if at >= 0 and line.endswith("false alarms"):
                rows.append(line[at:])
            elif status:
                rest.append(line)
    alarms = sum(int(row.rpartition("| ")[2].split()[0]) for row in rows)
    print(
        "\n".join(
            ["| site | tool | findings | writes | false alarms", "|---|---|---|---|---|", *sorted(rows)]
        )
    )
    print(f"\n{len(rows)} runs of tools on sites, {alarms} false alarms.")
    print("\n".join(rest), file=sys.stderr)
    return next(filter(None, statuses), 1 if alarms or not rows else 0)


if __name__ == "__main__":
    sys.exit(main())
