# SPDX-License-Identifier: Apache-2.0
"""Directories of shipped code have the mode that the code says, under any umask of a hook."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WHOLE_TREES = ("makedirs", "copytree", "extractall", "unpack_archive")
"""They make directories whose modes nobody says; that of ``makedirs`` is for the last one alone."""

MAKERS = ("mkdir", "install -d", *WHOLE_TREES)
SHIPPED = [
    path
    for folder in ("lib", "charms", "tools")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if any(maker in path.read_text() for maker in MAKERS)
]


def unsaid(source: str) -> Iterator[str]:
    """Each place that creates a directory, in Python or in a shell, without saying its mode."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            named = {keyword.arg: keyword.value for keyword in node.keywords}
            by_os = isinstance(node.func.value, ast.Name) and node.func.value.id == "os"
            # Of a System it is a request to configfs, where hostnic.machine says the mode.
            of_system = isinstance(node.func.value, ast.Attribute) and node.func.value.attr == "files"
            made = node.func.attr == "mkdir" and not of_system
            said = ("mode" in named or len(node.args) == 1 + by_os) and "parents" not in named
            if node.func.attr in WHOLE_TREES or (made and not said):
                yield f"line {node.lineno}: {node.func.attr}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" in node.value:
            for line in node.value.splitlines():
                if re.search(r"^\s*(\(.*)?(mkdir|install -d)\s", line) and not re.search(
                    r"umask \d|-m ?\d", line
                ):
                    yield f"line {node.lineno}: {line.strip()}"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_mode_of_every_directory_is_said(path: Path) -> None:
    assert len(SHIPPED) >= 3, "hostnic.machine, its callers, and the script that wakes a unit"
    assert list(unsaid(path.read_text())) == []


@pytest.mark.parametrize(
    "source",
    [
        "os.mkdir(path)",
        "os.makedirs(path, 0o755)",
        "Path(path).mkdir()",
        "Path(path).mkdir(0o755, parents=True)",
        "shutil.copytree(one, other)",
        "archive.extractall(path)",
        'BODY = """\n    mkdir -p "$directory"\n"""',
    ],
)
def test_a_directory_without_a_mode_is_found(source: str) -> None:
    assert len(list(unsaid(source))) == 1
