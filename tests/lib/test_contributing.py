# SPDX-License-Identifier: Apache-2.0
"""CONTRIBUTING.md names the tests of every part of the code, and the guides name only files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
ROWS = TEXT.partition("| code | its tests |\n")[2].partition("\n\n")[0]
TOLD = [[re.findall(r"`([\w./-]+)`", cell) for cell in row.split("|")[1:3]] for row in ROWS.splitlines()[1:]]


def parts() -> set[str]:
    """The packages and charms, the commands of bundles/, and the lab's packages."""
    found = {
        path.parent.relative_to(ROOT).as_posix()
        for pattern in ("lib/*/__init__.py", "charms/*/charmcraft.yaml", "tests/lab/*/__init__.py")
        for path in ROOT.glob(pattern)
    }
    return found | {path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("tools/*/__main__.py")}


def test_the_table_has_a_row_for_every_part() -> None:
    assert parts() - {path for code, _ in TOLD for path in code} == set()


def test_everything_that_it_names_exists() -> None:
    named = {path for row in TOLD for cell in row for path in cell}
    assert len(named) > 30
    assert {path for path in named if not (ROOT / path).exists()} == set()


def test_every_folder_of_tests_is_some_parts() -> None:
    tests = {path for _, cell in TOLD for path in cell}
    folders = {
        path.parent.relative_to(ROOT).as_posix()
        for tier in ("lib/*", "unit/*", "functional/*", "bundle", "maas", "pack", "integration")
        for path in ROOT.glob(f"tests/{tier}/test_*.py")
    }
    assert [folder for folder in folders if not any(path.startswith(folder) for path in tests)] == []


def test_each_question_of_a_newcomer_is_answered_in_at_most_four_files() -> None:
    rows = TEXT.partition("| question | open, in this order |\n")[2].partition("\n\n")[0].splitlines()[1:]
    assert len(rows) == 5
    for row in rows:
        question, answer = row.split("|")[1:3]
        files = re.findall(r"`([\w./-]+/[\w.-]+)`", answer)
        assert 1 <= len(files) <= 4, question
        assert [file for file in files if not (ROOT / file).exists()] == [], question
        for file, name in re.findall(r"`([\w./-]+)` \(`(\w+)`", answer):
            assert re.search(rf"^(?:def|class) {name}\b", (ROOT / file).read_text(), re.MULTILINE), question


@pytest.mark.parametrize(
    "charm", sorted((ROOT / "charms").glob("*/README.md")), ids=lambda path: path.parent.name
)
def test_the_files_that_a_charm_says_to_read_exist(charm: Path) -> None:
    (section,) = re.findall(
        r"^## Read the code in this order\n(.*?)(?=^## |\Z)", charm.read_text(), re.DOTALL | re.MULTILINE
    )
    files = re.findall(r"^\d\. `([\w./]+)`", section, re.MULTILINE)
    assert len(files) == 8
    assert [file for file in files if not (charm.parent / file).exists()] == []
