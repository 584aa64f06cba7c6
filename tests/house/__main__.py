# SPDX-License-Identifier: Apache-2.0
"""Print how large the project's code is, beside the limits of limits.txt; fail when a size is over its limit.

python -m house             what `tox -e lint` runs
python -m house --lower     write smaller sizes into the table: do that after each move that shrinks one
python -m house --reset     write all sizes into the table, larger ones too: say in the commit why
"""

import argparse
import sys
from pathlib import Path

from house.measure import measure
from house.table import DEFAULTS, faults, read, updated, write

ROOT = Path(__file__).parents[2]
LIMITS = Path(__file__).with_name("limits.txt")


def main(arguments: list[str]) -> int:
    """Measure, print, and compare or update; 1 when a size is over its limit."""
    parser = argparse.ArgumentParser(
        prog="python -m house", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--lower", action="store_true")
    which.add_argument("--reset", action="store_true")
    options = parser.parse_args(arguments)
    sizes, table = measure(ROOT), read(LIMITS)
    if options.lower or options.reset:
        table = updated(sizes, table, larger=options.reset)
        write(LIMITS, table)
    print(f"{'':50}{'now':>6}{'limit':>7}{'goal':>7}")
    for subject, size in sorted(sizes.items()):
        if row := table.get(subject):
            print(f"{subject[0]:15}{subject[1]:35}{size:>6}{row.limit:>7}{row.goal or '':>7}")
    for what, limit in DEFAULTS.items():
        others = {
            subject[1]: size for subject, size in sizes.items() if subject[0] == what and subject not in table
        }
        largest = max(others, key=lambda name: others[name])
        print(f"{what:15}{largest:35}{others[largest]:>6}{limit:>7}        the largest of the others")
    wrong = sorted(faults(sizes, table))
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
