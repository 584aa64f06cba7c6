# SPDX-License-Identifier: Apache-2.0
"""Answers that were taken from real software; README.md lists them with version and date."""

import argparse


def parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """The arguments that each program has: `python -m recorded.NAME [--record]`."""
    made = argparse.ArgumentParser(
        prog=f"python -m recorded.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--record", action="store_true", help="keep what differs")
    return made
