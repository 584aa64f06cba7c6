# SPDX-License-Identifier: Apache-2.0
"""A warning for each option, action or parameter that a page spells in a way that no charm knows.

Checked are literals with a hyphen in them, such as `reboot-policy` or `reboot-policy=manual`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

ROOT = Path(__file__).parents[2]
WORD = re.compile(r"([a-z0-9]+(?:-[a-z0-9]+)+)(?:=.*)?")
LITERAL = re.compile(r"`([^`\n]+)`")
VALUE = re.compile(r'"([a-z0-9]+(?:-[a-z0-9]+)+)"')
"""An option's values, as its description has them."""
OTHERS = Path(__file__).with_name("names.txt")
"""Names that are not our charms': of upstream charms, spaces, commands; one on each line."""

log = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, bool]:
    """Have each page checked when it has been read."""
    app.add_config_value("known_names", known(), "env")
    app.connect("doctree-read", _check)
    return {"parallel_read_safe": True}


def known() -> list[str]:
    """All names that a page may use, sorted."""
    names = {line for line in OTHERS.read_text().split("\n") if line and not line.startswith("#")}
    for path in ROOT.glob("charms/*/charmcraft.yaml"):
        declared: dict[str, Any] = yaml.safe_load(path.read_text())
        options = declared.get("config", {}).get("options", {})
        names |= {declared["name"], *options}
        names |= {value for option in options.values() for value in VALUE.findall(option["description"])}
        for name, action in declared.get("actions", {}).items():
            names |= {name, *action.get("params", {})}
        for kind in ("requires", "provides", "peers"):
            names |= set(declared.get(kind, {}))
    return sorted(names | {path.stem for path in ROOT.glob("overlays/*.yaml")})


def unknown(text: str) -> Iterator[str]:
    """The names among a Markdown text's literals that nothing has."""
    names = known()
    for literal in LITERAL.findall(text):
        found = WORD.fullmatch(literal)
        if found and found[1] not in names:
            yield found[1]


def _check(app: Sphinx, tree: nodes.document) -> None:
    if "generated" in app.env.docname:
        return
    for literal in tree.findall(nodes.literal):
        found = WORD.fullmatch(literal.astext())
        if found and found[1] not in app.config.known_names:
            log.warning(
                "no option, action or parameter is called %r; correct it, or add it to names.txt",
                found[1],
                location=literal,
            )
