# SPDX-License-Identifier: Apache-2.0
"""Each pinned package has its reason, and the audit looks up all of them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from requirements.files import HERE

ROOT = Path(__file__).parents[2]
SOURCES = sorted(HERE.glob("*.in"))
PROJECTS = sorted(ROOT.glob("charms/*/pyproject.toml"))
PIN = re.compile(r"([A-Za-z0-9][\w.-]*)==([\w.!+-]+)")


def stated(text: str) -> list[str]:
    """The lines that name a package: those of an .in file, or of a project's dependencies."""
    listed = re.search(r"^dependencies = \[\n(.*?)^\]", text, flags=re.MULTILINE | re.DOTALL)
    lines = (listed[1] if listed else text).splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def pins() -> set[tuple[str, str]]:
    """Every pinned package with its version, as pip-audit names it."""
    return {
        (found[1], found[2])
        for path in HERE.glob("*.txt")
        for line in path.read_text().splitlines()
        if (found := PIN.match(line))
    }


@pytest.mark.parametrize("path", [*SOURCES, *PROJECTS], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_each_package_says_why_it_is_there(path: Path) -> None:
    lines = stated(path.read_text())
    assert lines
    assert [line for line in lines if not re.search(r"  # \w\S*( \S+){2,}", line)] == []


def test_each_pinned_package_of_a_charm_is_pinned_with_hashes() -> None:
    asked = {found.groups() for path in PROJECTS for found in PIN.finditer(path.read_text())}
    assert len(asked) >= 4
    assert {(name.lower(), version) for name, version in asked} <= pins()


def test_the_audit_looks_up_every_pin_and_its_answers_have_reasons() -> None:
    """Without --strict, pip-audit ends with 0 also if it could look nothing up."""
    text = (ROOT / "tox.ini").read_text().partition("[testenv:audit]\n")[2].partition("\n[testenv")[0]
    assert {*re.findall(r"-r ([\w-]+\.txt)", text.partition("commands =")[2])} == {
        path.name for path in HERE.glob("*.txt")
    }
    assert "look_up = --strict " in text
    answered = re.findall(r"^look_up = .*--ignore-vuln (\S+)", text, flags=re.MULTILINE)
    assert [each for each in answered if not re.search(rf"^# {each}: \w+", text, flags=re.MULTILINE)] == []


def test_a_name_without_a_file_is_refused_with_those_that_there_are() -> None:
    command = [sys.executable, "-m", "requirements.pin", "unit", "unti"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE.parent)
    names = ", ".join(path.stem for path in SOURCES)
    assert done.returncode == 2
    assert f"unti: no such name; there are {names}" in done.stderr
