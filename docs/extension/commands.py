# SPDX-License-Identifier: Apache-2.0
"""Each command of a page in a block of its own, whose button takes it alone.

The documents have commands that follow each other in one block, which is easier to read where they are
written and on GitHub. What a block is made of is read as the tests of the documents read it.
"""

import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

sys.path.append(str(Path(__file__).parents[2] / "tests"))

from bundle.documents import begins, joined

GAP = re.compile(r"\s{3,}(?=#\s)")
"""The spaces that align the comments of a block."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Have each page's blocks divided when it has been read."""
    app.connect("doctree-read", _divide)
    return {"parallel_read_safe": True}


def divided(lines: list[str]) -> Iterator[str]:
    """The text of each command of a block, with the comments before it and beside it."""
    ends = [last + 1 for _, last, _ in joined(0, lines)]
    for start, end in pairwise([0, *ends[:-1], len(lines)]):
        yield GAP.sub("  ", "\n".join(lines[start:end]).strip("\n"))


def _divide(_app: Sphinx, doctree: nodes.document) -> None:
    for block in list(doctree.findall(nodes.literal_block)):
        lines = block.astext().splitlines()
        if not begins(lines):
            continue
        several = nodes.container(classes=["commands"])
        for text in divided(lines):
            one = nodes.literal_block(text, text, language="sh")
            one.source, one.line = block.source, block.line
            several += one
        block.replace_self(several)
