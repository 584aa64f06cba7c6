# SPDX-License-Identifier: Apache-2.0
"""What `python -m house` counts, and when it fails."""

from pathlib import Path

import pytest
from house import __main__ as command
from house.measure import measure
from house.table import Row, faults, read, updated, write

TREE = {
    "lib/converge/__init__.py": "from converge.plan import Plan\n",
    "lib/converge/plan.py": "Plan = 1\n\n\n",
    "lib/hostnic/__init__.py": "",
    "lib/hostnic/testing/__init__.py": "# the model\n",
    "charms/demo/charmcraft.yaml": "name: demo\n",
    "charms/demo/src/charm.py": "def f():\n    import plan\n",
    "charms/demo/src/plan.py": "from converge import Plan\n",
    "bundles/check/rule.py": "RULES = []\n",
}
LIMITS = "# the head\nlines  lib/converge  3  -\nfile  lib/converge/plan.py  400  300\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_lines_are_counted_by_package_and_of_all_that_is_shipped(tree: Path) -> None:
    sizes = measure(tree)
    assert {subject: size for (what, subject), size in sizes.items() if what == "lines"} == {
        "lib/converge": 4,
        "lib/hostnic": 0,
        "lib/hostnic/testing": 1,
        "charms/demo/src": 3,
        "bundles/check": 1,
        "shipped": 7,  # neither the model nor the checker
    }
    assert sizes["modules", "lib/converge"] == 2
    assert sizes["file", "lib/converge/plan.py"] == 3


def test_imports_are_followed_into_functions_and_packages(tree: Path) -> None:
    sizes = measure(tree)
    assert (sizes["imported-files", "demo/plan"], sizes["imported-lines", "demo/plan"]) == (3, 5)
    assert (sizes["imported-files", "demo/charm"], sizes["imported-lines", "demo/charm"]) == (4, 7)


def test_a_module_deep_in_a_package_loads_the_packages_above_it(tree: Path) -> None:
    (tree / "charms/demo/src/plan.py").write_text("import hostnic.testing\n")
    assert measure(tree)["imported-files", "demo/plan"] == 3


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ({("lines", "lib/converge"): 10}, []),
        ({("lines", "lib/converge"): 11}, ["lines lib/converge is 11, the limit is 10."]),
        (
            {("lines", "lib/converge"): 10, ("file", "lib/x.py"): 301},
            ["file lib/x.py is 301, the limit is 300."],
        ),
        (
            {("lines", "lib/converge"): 10, ("lines", "lib/x"): 1},
            ["lines lib/x has no row: add one with limit 1."],
        ),
        ({}, ["lines lib/converge has a row and does not exist: remove the row."]),
    ],
)
def test_what_grows_or_has_no_row_is_a_fault(sizes, says) -> None:
    assert list(faults(sizes, {("lines", "lib/converge"): Row(10)})) == says


@pytest.mark.parametrize(
    ("size", "larger", "row"),
    [
        pytest.param(30, False, Row(30, 25), id="lowered"),
        pytest.param(50, False, Row(40, 25), id="not raised"),
        pytest.param(50, True, Row(50, 25), id="raised, when it is asked for"),
        pytest.param(20, False, Row(25, 25), id="not lowered below its goal"),
    ],
)
def test_a_limit_goes_down_by_itself_and_up_only_when_that_is_asked_for(size, larger, row) -> None:
    subject = ("imported-files", "demo/plan")
    assert updated({subject: size}, {subject: Row(40, 25)}, larger=larger) == {subject: row}


def test_rows_that_the_default_limits_cover_are_left_out() -> None:
    sizes = {("file", "lib/x.py"): 300, ("file", "lib/y.py"): 301, ("modules", "lib"): 12}
    table = {("file", "lib/x.py"): Row(400, 300), ("lines", "lib/gone"): Row(9)}
    assert updated(sizes, table, larger=False) == {("file", "lib/y.py"): Row(301)}


def test_the_table_keeps_its_head_and_its_goals(tmp_path: Path) -> None:
    path = tmp_path / "limits.txt"
    path.write_text(LIMITS)
    table = read(path)
    assert table == {("lines", "lib/converge"): Row(3), ("file", "lib/converge/plan.py"): Row(400, 300)}
    write(path, table)
    assert path.read_text().startswith("# the head\nfile ")
    assert read(path) == table


def test_the_command_fails_when_a_size_grows_and_writes_smaller_ones(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = tree / "limits.txt"
    limits.write_text("# the head\n")
    monkeypatch.setattr(command, "ROOT", tree)
    monkeypatch.setattr(command, "LIMITS", limits)
    assert command.main(["--reset"]) == 0
    (tree / "lib/converge/plan.py").write_text("Plan = 1\n")
    assert command.main(["--lower"]) == 0
    assert read(limits)["lines", "lib/converge"] == Row(2)
    (tree / "lib/converge/plan.py").write_text("Plan = 1\n\n")
    capsys.readouterr()
    assert command.main([]) == 1
    said = capsys.readouterr()
    assert "lines lib/converge is 3, the limit is 2.\n" in said.err
    assert "lines          lib/converge                            3      2" in said.out
