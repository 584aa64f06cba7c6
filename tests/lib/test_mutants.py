# SPDX-License-Identifier: Apache-2.0
"""The runner of `tox -e mutants`: its faults, the tests it chooses, and its verdict on a small project."""

from pathlib import Path
from textwrap import dedent

import pytest
import yaml
from mutants import __main__ as runner
from mutants.sites import Mutant, mutants
from unit.__main__ import Suite

TESTS = Path(__file__).parents[1]


def faults(source: str) -> list[str]:
    return [f"{mutant.old} -> {mutant.new}" for mutant in mutants("a.py", dedent(source))]


@pytest.mark.parametrize(
    ("source", "made"),
    [
        ("x < y <= z", ["x < y <= z -> x <= y <= z", "x < y <= z -> x < y < z"]),
        ("x in y", ["x in y -> x not in y"]),
        ("x and not y", ["x and not y -> ((not y))", "x and not y -> ((x))", "not y -> bool(y)"]),
        ("[n for n in x if n]", ["n -> True"]),
        ("any(x)", ["any(x) -> pass", "any -> all"]),
        ("if x:\n    y += z", ["x -> (not (x))", "y += z -> pass"]),
        ("x = 63, True, 'port', ''", ["63 -> 64", "True -> False", "'port' -> 'portx'", "'' -> 'x'"]),
        ("x.y = z", ["x.y = z -> pass"]),
        ("def f():\n    yield x", ["yield x -> yield from ()"]),
        ("for x in y:\n    continue", ["continue -> break"]),
        ("try:\n    x\nexcept OSError:\n    pass", ["OSError -> ()"]),
        ("if x:\n    raise E('no', 5)", ["x -> (not (x))", "raise E('no', 5) -> pass"]),
        ("'''A docstring.'''\nx = f'{y + 1}', 'two words'", []),
        ("@dataclass(frozen=True)\nclass C:\n    x: 'str'", []),
        ("def f(x: 'C') -> 'C':\n    logger.info(x, 5)", []),
        ("if TYPE_CHECKING:\n    y = 5\nx = cast('list', y)", []),
    ],
)
def test_each_kind_of_fault_is_made_and_wording_is_left_alone(source: str, made: list[str]) -> None:
    assert faults(source) == made


def test_a_fault_replaces_its_own_place_and_knows_its_function() -> None:
    source = "# ä\nclass C:\n    @property\n    def f(self):\n        return 'ä', 1, 1\n"
    found = list(mutants("lib/c.py", source))
    assert [mutant.key for mutant in found] == [
        "lib/c.py C.f: 'ä' -> 'äx'",
        "lib/c.py C.f: 1 -> 2",
        "lib/c.py C.f: 1 -> 2 #1",
    ]
    assert {(mutant.lines, mutant.imported) for mutant in found} == {(range(5, 6), False)}
    assert [mutant.text.decode().splitlines()[4].strip() for mutant in found] == [
        "return 'äx', 1, 1",
        "return 'ä', 2, 1",
        "return 'ä', 1, 2",
    ]


def test_the_lines_of_a_fault_are_those_of_its_statement_without_what_is_below() -> None:
    source = (
        "x = 1\ndef f(a=2):\n    if (a\n            > 3):\n        return 4\n    return (a +\n        5)\n"
    )
    found = {mutant.old: (list(mutant.lines), mutant.imported) for mutant in mutants("a.py", source)}
    assert found == {
        "1": ([1], True),
        "2": ([2], True),
        "a > 3": ([3, 4], False),
        "3": ([3, 4], False),
        "4": ([5], False),
        "a + 5": ([6, 7], False),
        "5": ([6, 7], False),
    }


def test_quick_tests_of_many_functions_go_first_and_what_takes_too_long_is_left_out() -> None:
    mutant = Mutant("lib/c.py", "C.f", "1", "2", 0, lines=range(3, 5), imported=False, text=b"")
    noted = {
        "t.py::test_slow": (9.0, ["lib/c.py:4"]),
        "t.py::test_other": (0.1, ["lib/c.py:30", "lib/d.py:3"]),
        "t.py::test_many[a]": (0.1, ["lib/c.py:3"]),
        "t.py::test_many[b]": (0.2, ["lib/c.py:3"]),
        "t.py::test_many[c]": (0.2, ["lib/c.py:3"]),
        "t.py::test_once": (0.5, ["lib/c.py:3"]),
        "t.py::test_constant": (0.0, []),
        "u.py::test_else": (0.0, ["lib/d.py:3"]),
    }
    quick = [f"t.py::test_{name}" for name in ("many[a]", "many[b]", "once", "many[c]")]
    assert runner.order(mutant, noted, 20) == [*quick, "t.py::test_slow"]
    assert runner.order(mutant, noted, 5) == quick

    beside = {test for test in noted if test.startswith("t.py")}
    assert set(runner.order(mutant._replace(scope="", imported=True), noted, 20)) == beside
    assert set(runner.order(mutant, {"": (0.0, ["lib/c.py:3"]), **noted}, 20)) == beside


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
