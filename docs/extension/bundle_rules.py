# SPDX-License-Identifier: Apache-2.0
"""The page of the rules of `tox -e bundle`, from the rules themselves."""

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "lib"), str(ROOT / "tools")]

from check.checker import RULES  # noqa: E402 - the repository's own packages, which are not installed


def page() -> str:
    """The page, as Markdown."""
    return "\n".join(
        [
            "# Rules for a bundle",
            "",
            "`tox -e bundle -- BUNDLE` merges a bundle and its overlays as Juju does. It names what breaks "
            "one of these rules, with file and line. Warnings do not fail it.",
            "",
            "A comment at the end of a line, or above it, silences one rule for that line, and says why:",
            "",
            "    num-vfs: 127 # ignore vf-lag-count: our firmware forms VF-LAG with 127 VFs",
            "",
            "| rule | what it asks | |",
            "|---|---|---|",
            *rows(),
            "",
        ]
    )


def rows() -> Iterator[str]:
    """A row of the table for each rule."""
    for rule in sorted(RULES, key=lambda rule: rule.name):
        notes = [*(["a warning"] if rule.warning else []), *(["with `--site`"] if rule.site else [])]
        yield f"| `{rule.name}` | {rule.about} | {', '.join(notes)} |"
