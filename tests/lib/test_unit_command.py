# SPDX-License-Identifier: Apache-2.0
"""The paths in the arguments of `tox -e unit`, and the exit statuses of its pytest runs."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from unit.__main__ import (
    ROOM,
    ROOT,
    WRONG_USE,
    Suite,
    in_memory,
    is_path,
    main,
    run,
    selected,
    suites,
    verdict,
)

BUSY = """
import subprocess, sys, time

WAIT = "import time; [None for _ in iter(lambda: time.process_time() < 1, False)]"

def test_in_this_process():
    exec(WAIT)

def test_in_another_one():
    subprocess.run([sys.executable, "-c", WAIT])
    assert False
"""
"""A second of processor time in the process of pytest, and one in a process below it."""


@pytest.mark.parametrize(
    ("statuses", "options", "status"),
    [
        pytest.param([0, 0, 0], [], 0, id="all pass"),
        pytest.param([0, 1, 0], [], 1, id="one fails"),
        pytest.param([0, -11, 0], [], -11, id="one crashes"),
        pytest.param([5, 0, 5], ["-k", "lag"], 0, id="one has what was asked for"),
        pytest.param([5, 1, 5], ["-k", "lag"], 1, id="one has, and it fails"),
        pytest.param([5, 5, 5], ["-k", "lga"], 5, id="none has"),
        pytest.param([0, 5, 0], [], 5, id="a charm lost its tests"),
    ],
)
def test_the_exit_status_is_zero_only_if_something_ran_and_all_of_it_passed(
    statuses: list[int], options: list[str], status: int
) -> None:
    assert verdict(statuses, options) == status


@pytest.mark.parametrize(
    ("paths", "runs"),
    [
        pytest.param(
            ["tests/lib/test_house.py"], {"lib": ["tests/lib/test_house.py"]}, id="a file of one suite"
        ),
        pytest.param(
            ["tests/unit/roce_qos/test_plan.py::test_a[b/c]"],
            {"roce-qos": ["tests/unit/roce_qos/test_plan.py::test_a[b/c]"]},
            id="one test of a file",
        ),
        pytest.param(
            ["tests/lib/intent", "tests/unit/acceptance", "tests/lib/converge"],
            {"lib": ["tests/lib/intent", "tests/lib/converge"], "acceptance": ["tests/unit/acceptance"]},
            id="folders of two suites",
        ),
    ],
)
def test_a_path_runs_only_the_suite_that_has_it(paths: list[str], runs: dict[str, list[str]]) -> None:
    assert {suite.title: parts for suite, parts in selected(paths)} == runs


def test_a_folder_above_several_suites_runs_each_of_them_as_a_whole() -> None:
    suites = {suite.title: (suite, parts) for suite, parts in selected(["tests/unit"])}
    assert "lib" not in suites
    assert {"acceptance", "cumulus-fabric"} < set(suites)
    assert all(parts == [str(suite.tests)] for suite, parts in suites.values())


def test_without_a_path_every_suite_runs_as_a_whole() -> None:
    assert all(parts == [str(suite.tests)] for suite, parts in selected([]))


def test_every_charm_has_its_suite() -> None:
    charms = {path.parent.name for path in ROOT.glob("charms/*/charmcraft.yaml")}
    assert charms - {suite.title for suite in suites()} == set()


def test_a_path_that_no_suite_has_is_refused_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-q", "tests/functional/test_lab.py"]) == WRONG_USE
    said = capsys.readouterr()
    assert said.out == ""
    refused = "tests/functional/test_lab.py is in none of the folders whose tests run here: "
    assert said.err.startswith(f"{refused}tests/unit/cumulus_fabric,")


@pytest.mark.parametrize(
    "argument", ["-k", "lib", "tests", "lib/intent", "--record", "tests/lib/test_nothing.py"]
)
def test_what_is_not_below_tests_is_left_to_pytest(argument: str) -> None:
    assert not is_path(argument)


def test_a_run_ends_with_its_processor_time(tmp_path: Path) -> None:
    test = tmp_path / "test_busy.py"
    test.write_text(BUSY)
    status, printed = run(
        Suite("busy", tmp_path, ["tests"]), ["-p", "no:cacheprovider"], [str(test)], str(tmp_path)
    )
    assert status == 1
    assert "1 failed, 1 passed" in printed
    (seconds,) = re.findall(r"^busy: (\d+) s of processor time$", printed, re.MULTILINE)
    assert int(seconds) >= 2


def test_what_a_run_writes_for_its_tests_is_where_it_is_told_to_be(tmp_path: Path) -> None:
    files, test = tmp_path / "files", tmp_path / "test_writes.py"
    files.mkdir()
    test.write_text("def test_writes(tmp_path):\n    (tmp_path / 'note').write_text('')\n")
    status, _ = run(Suite("writes", tmp_path, ["tests"]), ["-p", "no:cacheprovider"], [str(test)], str(files))
    assert status == 0
    assert list(files.rglob("note"))


@pytest.mark.parametrize(("free", "kept"), [(ROOM, True), (ROOM - 1, False)])
def test_files_are_kept_in_memory_if_there_is_room(
    free: int, kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unit.__main__.MEMORY", tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free))
    assert in_memory() == (tmp_path if kept else None)


def test_a_system_without_that_directory_keeps_them_on_its_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unit.__main__.MEMORY", tmp_path / "missing")
    assert in_memory() is None
