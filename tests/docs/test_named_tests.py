# SPDX-License-Identifier: Apache-2.0
"""The tests that a document names exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from links import ROOT

NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
ATTACKER = ROOT / "docs/explanation/what-an-attacker-could-do.md"
DOCUMENTS = [
    path for path in ROOT.glob("**/*.md") if ".tox" not in path.parts and NAMED.search(path.read_text())
]


def missing(text: str) -> Iterator[str]:
    """Tests that a text names and that are not there."""
    for file, name in NAMED.findall(text):
        path = ROOT / file
        body = ast.walk(ast.parse(path.read_text())) if path.exists() else ()
        if not any(isinstance(node, ast.FunctionDef) and node.name == name for node in body):
            yield f"{file}::{name}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_test_that_a_document_names_exists(document: Path) -> None:
    assert list(missing(document.read_text())) == []


def test_a_test_that_is_not_there_is_found() -> None:
    named = "`tests/docs/test_named_tests.py::test_gone` `tests/docs/test_gone.py::test_a` "
    assert len(list(missing(named))) == 2


@pytest.mark.parametrize("means", ["LLDP", "metadata", "name"])
def test_what_a_tenants_machine_could_send_has_a_row(means: str) -> None:
    section = ATTACKER.read_text().partition("## A tenant's virtual machine")[2].partition("\n## ")[0]
    assert [row for row in section.splitlines() if row.startswith("| ") and means in row.split(" | ")[0]]


def test_the_check_of_our_files_has_rows() -> None:
    """Owner, mode and links: who else could have written a file that root believes."""
    named = {name for file, name in NAMED.findall(ATTACKER.read_text()) if file.endswith("/test_own.py")}
    assert len(named) >= 4


def test_each_row_about_an_attacker_has_a_test_or_says_that_nothing_stops_them() -> None:
    rows = [line for line in ATTACKER.read_text().splitlines() if line.startswith("| ")]
    rows = [row for row in rows if not row.startswith("| they could ")]
    assert len(rows) > 30
    for row in rows:
        assert NAMED.search(row) or "**nothing**" in row, row
