# SPDX-License-Identifier: Apache-2.0
"""Docstrings name the thing: a noun for a module, a class or a value, a verb for a function."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("lib", "charms", "tools", "docs/extension", "tests")


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Line and first line of each docstring, also of those below a constant or a field."""
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield statement.lineno, text.strip().partition("\n")[0]


def riddles(source: str) -> list[str]:
    """The docstrings that make their reader find out what is meant: "What was asked of a host"."""
    return [f"{line}: {text}" for line, text in docstrings(source) if text.split()[:1] == ["What"]]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_docstring_begins_with_what(folder: str) -> None:
    found = {
        path.relative_to(ROOT).as_posix(): riddles(path.read_text())
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    assert found
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    [
        '"""What this module has."""\n',
        'class Asked:\n    """What was asked of a host."""\n',
        'class Asked:\n    calls: int\n    """What was called."""\n',
        'def asked():\n    """What an act asks.\n\n    Of a host.\n    """\n',
        'LIMIT = 3\n"""What is allowed."""\n',
    ],
)
def test_each_kind_of_docstring_is_read(source: str) -> None:
    assert riddles(source)


def test_a_docstring_that_names_the_thing_passes() -> None:
    assert riddles('"""Whatever the option: names, and what they mean."""\n\nTEXT = "What was asked"\n') == []
