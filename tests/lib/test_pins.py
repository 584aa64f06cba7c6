# SPDX-License-Identifier: Apache-2.0
"""Each pinned package has its reason, and each known vulnerability of one its answer."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from requirements import audit, files
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


def test_every_answer_is_for_a_pin() -> None:
    answers = audit.read(audit.ANSWERS.read_text())
    assert {(answer.package, answer.version) for answer in answers} <= pins()


ANSWER = "{id: GHSA-1, package: one, version: '1.0', reason: the server is not started}"
FOUND = {"id": "PYSEC-1", "aliases": ["GHSA-1", "CVE-1"], "fix_versions": ["1.1"], "description": "..."}


def report(*vulnerabilities: object) -> list[tuple[str, dict[str, object]]]:
    """What pip-audit prints for guest.txt, with these for its one package."""
    return [("guest", {"dependencies": [{"name": "one", "version": "1.0", "vulns": [*vulnerabilities]}]})]


def test_a_vulnerability_without_an_answer_is_a_fault() -> None:
    assert audit.faults(report(FOUND), [], whole=True) == ["one 1.0 has PYSEC-1, fixed in 1.1"]


def test_an_answer_is_for_one_version_of_one_package() -> None:
    answers = audit.read(f"[{ANSWER}]")
    assert audit.faults(report(FOUND), answers, whole=True) == []
    other = audit.read(f"[{ANSWER.replace('1.0', '0.9')}]")
    assert audit.faults(report(FOUND), other, whole=False) == ["one 1.0 has PYSEC-1, fixed in 1.1"]


def test_an_answer_that_nothing_needs_is_a_fault_of_a_whole_audit() -> None:
    answers = audit.read(f"[{ANSWER}]")
    assert audit.faults(report(), answers, whole=True) == ["answers.yaml: one 1.0 has no GHSA-1 any more"]
    assert audit.faults(report(), answers, whole=False) == []


def test_what_could_not_be_looked_up_is_a_fault() -> None:
    """pip-audit itself ends with "No known vulnerabilities found" and 0 then."""
    skipped = {"dependencies": [{"name": "ruff", "skip_reason": "Dependency not found on PyPI"}]}
    assert audit.faults([("lint", skipped), ("pack", {"error": "no route"})], [], whole=True) == [
        "ruff of lint.txt could not be looked up: Dependency not found on PyPI",
        "pack.txt could not be looked up: no route",
    ]


NOT_FOUND = "Dependency not found on PyPI and could not be audited: {} (1.0)"


def missing(*names: str) -> dict[str, list[object]]:
    """What pip-audit prints if PyPI, or what answers in its place, answers 404 for these packages."""
    return {"dependencies": [{"name": name, "skip_reason": NOT_FOUND.format(name)} for name in names]}


def prints(
    reports: dict[str, dict[str, list[object]]],
    answers: str,
    place: pytest.MonkeyPatch,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> tuple[int, list[str]]:
    """Exit status and lines of an audit of these files, with a pip-audit that reports this of each."""
    for name in reports:
        (folder / f"{name}.txt").write_text("")
    (folder / "answers.yaml").write_text(answers)
    (folder / "pip_audit.py").write_text(
        f"import json, pathlib, sys\nprint(json.dumps({reports!r}[pathlib.Path(sys.argv[-1]).stem]))\n"
    )
    place.setenv("PYTHONPATH", str(folder))
    place.setattr(files, "HERE", folder)
    place.setattr(audit, "ANSWERS", folder / "answers.yaml")
    return audit.main([]), capsys.readouterr().out.splitlines()


def test_a_pypi_that_cannot_be_asked_is_one_sentence_with_what_to_check(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No answer counts as needless then, either."""
    reports = {"guest": missing("one", "two"), "lint": missing("ruff")}
    status, lines = prints(reports, f"[{ANSWER}]", monkeypatch, tmp_path, capsys)
    assert (status, len(lines)) == (2, 1)
    assert lines[0].startswith(f"Nothing could be looked up, such as: {NOT_FOUND.format('one')}. Check that")
    assert "curl https://pypi.org/pypi/pip/json" in lines[0]
    assert "HTTPS_PROXY and pip config list" in lines[0]


def test_the_same_if_no_file_could_be_looked_up_for_another_reason() -> None:
    error = {"error": "Could not connect to PyPI's vulnerability feed"}
    assert "Could not connect to PyPI" in audit.unanswered([("guest", error), ("lint", missing("ruff"))])


def test_only_what_was_not_found_is_named_if_the_rest_was_looked_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether the answer for it is still needed nobody knows."""
    found: list[object] = [{"name": "two", "version": "1.0", "vulns": []}, *missing("one")["dependencies"]]
    reports = {"guest": {"dependencies": found}}
    status, lines = prints(reports, f"[{ANSWER}]", monkeypatch, tmp_path, capsys)
    assert status == 1
    assert lines == [
        f"one of guest.txt could not be looked up: {NOT_FOUND.format('one')}",
        "2 pins of 1 files: 1 faults, 1 answered findings",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[text]",
        f"[{ANSWER.replace(', reason: the server is not started', '')}]",
        f"[{ANSWER.replace('the server is not started', ' ' + repr(''))}]",
        f"[{ANSWER.replace('GHSA-1', '7')}]",
    ],
)
def test_an_answer_that_is_not_whole_is_refused(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"^answers\.yaml.* each with (text|id, package, version, reason)\.$"
    ):
        audit.read(text)


@pytest.mark.parametrize(("program", "kind"), [("pin", "in"), ("audit", "txt")])
def test_a_name_without_a_file_is_refused_with_those_that_there_are(program: str, kind: str) -> None:
    command = [sys.executable, "-m", f"requirements.{program}", "unit", "unti"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE.parent)
    names = ", ".join(path.stem for path in sorted(HERE.glob(f"*.{kind}")))
    assert done.returncode == 2
    assert f"unti: no such name; there are {names}" in done.stderr
