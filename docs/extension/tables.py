# SPDX-License-Identifier: Apache-2.0
"""Tables that fit a phone: there, a row of a wide table is a list, in which each cell has its column's name.

site.css lays them out. Names in code may be broken after `_`, `/` and `::`, so that a column of them does
not push the others out of the page.
"""

import re
from collections.abc import Sequence

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

FEWEST = 3
"""Columns of a table that is too wide for a phone, whatever is in it."""
LONG, LONGEST_NAME = 40, 20
"""Characters of the first cell, and of one name, for which one of two columns is too narrow there.

With more than that, the first cell is a sentence, or a name pushes the other column out of the page.
"""
BREAK = re.compile(r"(?<=\w[_/])(?=\w)|(?<=::)(?=\w)")
"""Where a name may go on in the next line; never in a tag, whose slash follows no letter."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Have each page's cells labelled when it has been read, and written with their labels."""
    app.connect("doctree-read", _label)
    app.set_translator("html", Translator)
    return {"parallel_read_safe": True}


def _label(_app: Sphinx, doctree: nodes.document) -> None:
    for table in doctree.findall(nodes.table):
        head, *rows = table.findall(nodes.row)
        columns = [entry.astext() for entry in head]
        if not is_wide([[entry.astext() for entry in row] for row in rows]):
            continue
        table["classes"].append("stacked")
        for row in rows:
            for column, entry in zip(columns, row, strict=True):
                entry["column"] = column


def is_wide(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a table with these cells is too wide for a phone."""
    if any(len(row) >= FEWEST or len(row[0]) > LONG for row in rows):
        return True
    names = (name for row in rows for cell in row for word in cell.split() for name in BREAK.split(word))
    return any(len(name) > LONGEST_NAME for name in names)


class Translator(HTML5Translator):
    """Sphinx' own, with the labels of cells, and with places at which a name may be broken."""

    def visit_entry(self, node: nodes.entry) -> None:
        """Begin a cell, with its label if it has one."""
        super().visit_entry(node)
        if "column" in node:
            label = self.attval(node["column"])
            self.body[-1] = self.body[-1].replace("<td", f'<td data-label="{label}"', 1)

    def visit_Text(self, node: nodes.Text) -> None:  # noqa: N802 - docutils' name
        """Write a text; one in code with breaks."""
        before = len(self.body)
        super().visit_Text(node)
        if self.protect_literal_text:
            self.body[before:] = [BREAK.sub("<wbr>", part) for part in self.body[before:]]
