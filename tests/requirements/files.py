# SPDX-License-Identifier: Apache-2.0
"""The files beside this one that a command line names."""

import argparse
from pathlib import Path

HERE = Path(__file__).parent


def asked(parser: argparse.ArgumentParser, ending: str, arguments: list[str]) -> list[Path]:
    """The files with this ending that are named, or all without a name; another name is refused."""
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help=f"such as unit, for unit.{ending}; all without one"
    )
    names = parser.parse_args(arguments).names
    every = sorted(HERE.glob(f"*.{ending}"))
    if unknown := {*names} - {each.stem for each in every}:
        known = ", ".join(each.stem for each in every)
        parser.error(f"{' '.join(sorted(unknown))}: no such name; there are {known}")
    return [each for each in every if not names or each.stem in names]
