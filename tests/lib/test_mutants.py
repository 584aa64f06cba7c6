# SPDX-License-Identifier: Apache-2.0
"""The runner of `tox -e mutants`: its verdict on a small project, and the survivors that are named."""

from pathlib import Path

import pytest
import yaml
from mutants import __main__ as runner
from mutants.sites import mutants
from unit.__main__ import Suite

TESTS = Path(__file__).parents[1]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one function with two mutants, of which its test sees one."""
    for name, text in {
        "lib/small/positive.py": "def positive(n: int) -> bool:\n    return n > 0\n",
        "tests/test_positive.py": "from small.positive import positive\n\n"
        "def test_it():\n    assert positive(2)\n    assert not positive(0)\n",
        "survivors.yaml": "[]",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "tests/mutants").symlink_to(TESTS / "mutants")
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(runner, "FILES", ("lib/**/*.py",))
    monkeypatch.setattr(runner, "SURVIVORS", tmp_path / "survivors.yaml")
    monkeypatch.setattr(runner, "suites", lambda: [Suite("one", tmp_path / "tests", ["lib"])])
    return tmp_path


def test_a_mutant_that_no_test_sees_fails_the_run_until_it_is_named(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert runner.main([]) == 1
    survived = "lib/small/positive.py positive: 0 -> 1"
    *_, row, said = capsys.readouterr().out.splitlines()
    assert row.split() == ["all", "2", "1", "0", "1"]
    assert said == f"lib/small/positive.py:2 survived: {survived}"

    (project / "survivors.yaml").write_text(yaml.safe_dump([{"mutant": survived, "reason": "for this test"}]))
    assert runner.main(["--only", "0 -> 1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["all", "1", "0", "1", "0"]


def test_each_named_survivor_is_a_mutant_of_todays_code_and_has_a_reason() -> None:
    rows = yaml.safe_load(runner.SURVIVORS.read_text())
    known = {
        mutant.key
        for path in {row["mutant"].partition(" ")[0] for row in rows}
        for mutant in mutants(path, (runner.ROOT / path).read_text())
    }
    assert [row["mutant"] for row in rows if row["mutant"] not in known] == []
    assert [row["mutant"] for row in rows if len(row["reason"].split()) < 4] == []
    assert len({row["mutant"] for row in rows}) == len(rows)
