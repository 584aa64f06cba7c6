# SPDX-License-Identifier: Apache-2.0
"""Print how large the project's code is, beside the limits of limits.txt; fail when a size is over its limit.

Run as ``python -m house``, as `tox -e lint` does.
"""

import sys
from pathlib import Path

from house.measure import measure, roofs
from house.table import faults, largest, read

ROOT = Path(__file__).parents[2]
LIMITS = Path(__file__).with_name("limits.txt")


def main() -> int:
    """Measure, print and compare; 1 when a size is over its limit."""
    sizes, limits = measure(ROOT), read(LIMITS)
    print(f"{'':16}{'':30}{'now':>6}{'limit':>7}  largest")
    for limit, found in largest(sizes, limits):
        size, name = found[0] if found else (0, "")
        print(f"{limit.what:16}{limit.pattern:30}{size:>6}{limit.size:>7}  {name}")
    for roof, (files, lines) in roofs(ROOT).items():
        print(f"{roof}: {lines:,} lines in {files} files")
    wrong = sorted(faults(sizes, limits))
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
