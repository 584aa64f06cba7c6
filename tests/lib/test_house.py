# SPDX-License-Identifier: Apache-2.0
"""The counts of `python -m house`, and its failures."""

from pathlib import Path

import pytest
from house import __main__ as command
from house.measure import measure, roofs
from house.table import Limit, faults

TREE = {
    "lib/converge/__init__.py": "from converge.plan import Plan\n",
    "lib/converge/plan.py": "Plan = 1\n\n\n",
    "lib/hostnic/__init__.py": '"""What the package is for."""\n',
    "lib/hostnic/devices/__init__.py": "MODEL = 1\n",
    "charms/demo/charmcraft.yaml": "name: demo\n",
    "charms/demo/src/plan.py": "def f():\n    from converge import Plan\n",
    "tools/check/rule.py": "RULES = []\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_files_and_the_modules_of_folders_are_counted(tree: Path) -> None:
    sizes = measure(tree)
    assert sizes["modules", "lib/converge"] == 2
    assert sizes["file", "lib/converge/plan.py"] == 3


def test_each_roof_is_counted(tree: Path) -> None:
    assert roofs(tree) == {"charms and lib": (5, 8), "tools": (1, 1), "tests/lab": (0, 0)}


def test_imports_are_followed_into_functions_and_packages(tree: Path) -> None:
    sizes = measure(tree)
    assert (sizes["imported-files", "demo/plan"], sizes["imported-lines", "demo/plan"]) == (3, 6)


def test_an_import_for_type_checkers_is_not_followed(tree: Path) -> None:
    (tree / "charms/demo/src/plan.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import hostnic.devices\n"
    )
    assert measure(tree)["imported-files", "demo/plan"] == 1


def test_a_module_deep_in_a_package_loads_the_packages_above_it_which_count_if_they_have_code(
    tree: Path,
) -> None:
    (tree / "charms/demo/src/plan.py").write_text("import hostnic.devices\n")
    assert measure(tree)["imported-files", "demo/plan"] == 2
    (tree / "lib/hostnic/__init__.py").write_text("import sys\n")
    assert measure(tree)["imported-files", "demo/plan"] == 3


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        pytest.param({("file", "lib/x.py"): 10, ("file", "lib/old.py"): 12}, [], id="within"),
        pytest.param(
            {("file", "lib/x.py"): 11, ("file", "lib/old.py"): 12},
            ["file lib/x.py is 11, the limit is 10."],
            id="over the limit of all",
        ),
        pytest.param(
            {("file", "lib/x.py"): 9, ("file", "lib/old.py"): 13},
            ["file lib/old.py is 13, the limit is 12."],
            id="over its own",
        ),
        pytest.param(
            {("file", "lib/x.py"): 9},
            ["file lib/old.py has a row and does not exist: remove the row."],
            id="a row about nothing",
        ),
    ],
)
def test_what_is_over_the_first_limit_that_covers_it_is_a_fault(sizes, says) -> None:
    assert list(faults(sizes, [Limit("file", "lib/old.py", 12), Limit("file", "*", 10)])) == says


def test_the_command_fails_when_a_size_is_over_its_limit(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = tree / "limits.txt"
    limits.write_text("imported-files * 9\nimported-lines * 9\nfile * 3\nmodules * 2\n")
    monkeypatch.setattr(command, "ROOT", tree)
    monkeypatch.setattr(command, "LIMITS", limits)
    assert command.main() == 0
    (tree / "lib/converge/plan.py").write_text("Plan = 1\n\n\n\n")
    assert command.main() == 1
    said = capsys.readouterr()
    assert "file lib/converge/plan.py is 4, the limit is 3.\n" in said.err
    assert "file            *" in said.out
