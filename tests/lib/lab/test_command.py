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
from lab.host import HostError, require
from lab.rack import build
from lab.rack.checks import Check, equal
from lab.rack.controller import Controller
from lab.rack.deployment import Deployment
from lab.rack.display import Display
from lab.rack.machine import Floor, Machine

GOOD = Check("overlay", "node-0 to node-1", "10 received", "10 received", True)
BAD = equal("VF-LAG", "node-0 <b>", "active", "")


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Runs the command on a rack that was built and converged already."""
    ended: list[str] = []
    units: dict[str, Any] = {}

    @contextmanager
    def rack(deployment: Deployment, spare: int, *, cloud: bool) -> Iterator[build.Rack]:
        assert not cloud
        guest = SimpleNamespace(kill=lambda: None)
        floor = Floor([Machine("node-0", guest)], lambda: None)
        display = Display(floor.machines)
        display.phases.append(("nodes", 61.0))
        controller = Controller(Deployment({}, (), ("0",)), floor, {"0": "node-0"})
        controller.units.update(units)
        try:
            yield build.Rack(controller.deployment, floor, controller, display, 1)
        finally:
            floor.stop()
            ended.append("rack")

    def run(*arguments: str, found: tuple[Check, ...] = (GOOD,)) -> int:
        monkeypatch.setattr(command, "converge", lambda rack, scenarios: list(found))
        monkeypatch.setattr(sys, "argv", ["lab", "--html", str(tmp_path / "rack.html"), *arguments])
        return command.main()

    monkeypatch.setattr(build, "rack", rack)
    yield SimpleNamespace(run=run, ended=ended, units=units)
    assert set(ended) == {"rack"}


def test_all_that_holds_is_a_success(lab: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert lab.run() == 0
    said = capsys.readouterr().out
    assert "  ok  node-0 to node-1  10 received" in said
    assert "All holds; " in said
    assert "Left out" not in said
    assert "nodes                      1 min 01 s" in said


def test_one_that_does_not_hold_is_a_failure_that_is_named(
    lab: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert lab.run("--json", str(tmp_path / "made/rack.json"), found=(GOOD, BAD)) == 1
    assert "BAD node-0 <b>        nothing   wanted: active" in capsys.readouterr().out
    said = json.loads((tmp_path / "made/rack.json").read_text())
    assert (said["holds"], [check["holds"] for check in said["checks"]]) == (False, [True, False])
    assert "node-0 &lt;b&gt;" in (tmp_path / "rack.html").read_text()


def test_scenarios_that_add_nodes_need_ports_for_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["lab", "--scenario", "all", "--nodes", "3"])
    with pytest.raises(SystemExit, match="2"):
        command.main()
    assert "all adds 2; the racks have ports for 4 nodes" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["lab", "--scenario", "adopt", "--nodes", "3"])
    assert (command.arguments().more, command.arguments().spare) == (["adopt"], 1)


def test_no_scenario_begins_on_a_rack_that_has_not_converged(
    lab: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = SimpleNamespace(meta={})
    lab.units["cumulus-fabric/0"] = unit = SimpleNamespace(
        app=app,
        started=True,
        status=("blocked", "Leaf1-1: 401"),
        machine=SimpleNamespace(name="fabric"),
        hooks={},
    )
    began: list[str] = []
    monkeypatch.setitem(command.SCENARIOS, "fault", lambda rack: began.append("fault") or [GOOD])
    assert lab.run("--scenario", "fault", found=(BAD,)) == 1
    assert "Left out, since the rack has not converged: fault\n" in capsys.readouterr().out
    unit.status = ("active", "")
    assert lab.run("--scenario", "fault", found=(BAD,)) == 1
    assert began == ["fault"]


def test_a_host_without_the_tools_and_without_apt_is_told_so_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["lab", "--html", str(tmp_path / "rack.html")])

    assert command.main() == 1

    said = capsys.readouterr().err.strip()
    assert said.startswith("The test machine needs ")
    assert "qemu-system-x86" in said
    assert "\n" not in said


@pytest.mark.parametrize(("user", "says"), [(0, "run: apt-get install -y "), (1000, "run: sudo apt-get ")])
def test_what_is_missing_is_told_as_this_user_types_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, user: int, says: str
) -> None:
    """A root shell, as in containers and CI, often has no sudo."""
    for name in ("apt-get", "sudo", "env"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: user)
    with pytest.raises(HostError, match=says):
        require()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--shell", "node-2"], "--shell node-2 is not in this rack: node-0, node-1, fabric"),
        (["--nodes", "1", "--scenario", "refresh"], "--nodes 1 is too few for refresh: 2 or more"),
        (["--nodes", "1", "--scenario", "all"], "--nodes 1 is too few for acceptance, link-cut, refresh, "),
        (["--shell", "node-1", "--nodes", "1"], "--shell node-1 is not in this rack: node-0, fabric"),
    ],
)
def test_what_this_rack_cannot_do_is_refused_before_it_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["lab", *arguments])
    with pytest.raises(SystemExit, match="2"):
        command.arguments()
    assert said in capsys.readouterr().err
