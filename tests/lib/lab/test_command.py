# SPDX-License-Identifier: Apache-2.0
"""The command line around a rack: its exit status, its reports, and what comes after the verdict."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lab import __main__ as command
from lab.rack import build
from lab.rack.checks import Check, equal
from lab.rack.controller import Controller
from lab.rack.deployment import Deployment
from lab.rack.display import Display
from lab.rack.figures import Figure
from lab.rack.machine import Floor, Machine

GOOD = Check("overlay", "node-0 to node-1", "10 received", "10 received", True)
BAD = equal("VF-LAG", "node-0 <b>", "active", "")


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Runs the command on a rack that was built and converged already."""
    ended: list[str] = []

    @contextmanager
    def rack(deployment: Deployment, spare: int) -> Iterator[build.Rack]:
        guest = SimpleNamespace(kill=lambda: None)
        floor = Floor([Machine("node-0", guest)], lambda: None)
        display = Display(floor.machines)
        display.phases.append(("nodes", 61.0))
        try:
            empty = Deployment({}, (), ("0",))
            yield build.Rack(empty, floor, Controller(empty, floor, {"0": "node-0"}), display, 1)
        finally:
            floor.stop()
            ended.append("rack")

    def run(*arguments: str, found: tuple[Check, ...] = (GOOD,)) -> int:
        monkeypatch.setattr(command, "converge", lambda rack: list(found))
        monkeypatch.setattr(sys, "argv", ["lab", "--html", str(tmp_path / "rack.html"), *arguments])
        return command.main()

    monkeypatch.setattr(build, "rack", rack)
    yield SimpleNamespace(run=run, ended=ended)
    assert ended == ["rack"]


def test_all_that_holds_is_a_success(lab: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert lab.run() == 0
    said = capsys.readouterr().out
    assert "  ok  node-0 to node-1  10 received" in said
    assert "All holds; " in said
    assert "nodes                      1 min 01 s" in said


def test_one_that_does_not_hold_is_a_failure_that_is_named(
    lab: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert lab.run("--json", str(tmp_path / "made/rack.json"), found=(GOOD, BAD)) == 1
    assert "BAD node-0 <b>        nothing   wanted: active" in capsys.readouterr().out
    said = json.loads((tmp_path / "made/rack.json").read_text())
    assert (said["holds"], [check["holds"] for check in said["checks"]]) == (False, [True, False])
    assert "node-0 &lt;b&gt;" in (tmp_path / "rack.html").read_text()


def test_keep_leaves_the_rack_running_until_enter(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr("builtins.input", lambda prompt: seen.append(list(lab.ended)))
    assert lab.run("--keep") == 0
    assert seen == [[]]


def test_the_shell_comes_after_the_verdict(
    lab: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []
    monkeypatch.setattr(command, "interact", lambda guest: said.append(capsys.readouterr().out))
    assert lab.run("--shell", "node-0") == 0
    assert "All holds; " in said[0]


def test_ctrl_c_ends_the_rack(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(prompt: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupted)
    assert lab.run("--keep") == 130


def test_scenarios_that_add_nodes_need_ports_for_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["lab", "--scenario", "all", "--nodes", "3"])
    with pytest.raises(SystemExit, match="2"):
        command.main()
    assert "all adds 2; the racks have ports for 4 nodes" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["lab", "--scenario", "adopt", "--nodes", "3"])
    assert (command.arguments().more, command.arguments().spare) == (["adopt"], 1)


def test_the_reports_have_the_figures(lab: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def acceptance(rack: build.Rack) -> list[Check]:
        rack.figures.append(Figure("TCP", "iperf3 there", "179.45 Gb/s", "iperf3 here", "0.3 Gb/s"))
        return [GOOD]

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(command.SCENARIOS, "acceptance", acceptance)
        assert lab.run("--scenario", "acceptance", "--json", str(tmp_path / "rack.json")) == 0
    assert "    RDG   179.45 Gb/s" in capsys.readouterr().out
    said = json.loads((tmp_path / "rack.json").read_text())["figures"]
    assert "not a performance claim" in said["title"]
    assert said["all"][0]["figure"] == "0.3 Gb/s"
    assert "<td>0.3 Gb/s" in (tmp_path / "rack.html").read_text()
