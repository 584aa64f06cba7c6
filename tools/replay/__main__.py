# SPDX-License-Identifier: Apache-2.0
"""`tox -e replay -- FILE`: what a host charm makes of the host in a capture, without that host.

FILE has what the action `capture` printed. Shown are the charm's devices (or settings), plan and verify, as
this revision of the charm computes them. If the host has another revision, its boot copy counts as different.
"""

import argparse
import importlib
import json
import sys
from pathlib import Path

from converge import words
from converge.shape import InvalidValue
from hostnic.capture.file import Capture, CaptureError, Shown, read
from yamlfile import reader
from yamlfile.values import FileError

MOST_SAID = 200
"""Characters of an error that are shown."""

CHARMS = Path(__file__).parents[2] / "charms"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="tox -e replay --", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    top.add_argument("file", metavar="FILE", type=Path, help="the output of the action capture")
    top.add_argument(
        "--content", action="store_true", help="print all that the capture has, as JSON, instead"
    )
    return top


def main(arguments: list[str]) -> int:
    """Replay one capture; 0 if it could be shown, 2 if not."""
    options = parser().parse_args(arguments)
    try:
        capture = read(reader.text_of(options.file))
        if options.content:
            print(json.dumps(capture.content, indent=1, sort_keys=True))
            return 0
        shown = replay(capture)
    except FileError as error:
        print(error, file=sys.stderr)
        return 2
    except (OSError, CaptureError) as error:
        print(f"{options.file}: {words(error)}", file=sys.stderr)
        return 2
    for name, table in shown.tables.items():
        print(f"{capture.charm} {name}\n{table}\n")
    return 0


def replay(capture: Capture) -> Shown:
    """Show the charm's results for the kept answers.

    Raises CaptureError if there is no such charm here, or its capture has another shape than this revision's,
    and OSError if the charm could not read the host, and so it says here.
    """
    source = CHARMS / capture.charm / "src"
    if capture.charm not in {path.parents[1].name for path in CHARMS.glob("*/src/capture.py")}:
        raise CaptureError(
            f"it is of a charm {capture.charm[:40]!r}, which has no captures in this repository"
        )
    sys.path.insert(0, str(source))
    charm = importlib.import_module("capture")
    try:
        return charm.show(capture.system, capture.inputs)
    except (InvalidValue, LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        # Options and answers are those of the revision that took it.
        said = f"{type(error).__name__}: {error}"[:MOST_SAID]
        what = f"this revision cannot replay it ({said}): check out the revision of the charm that took it"
        raise CaptureError(what) from None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
