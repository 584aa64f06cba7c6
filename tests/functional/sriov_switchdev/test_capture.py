# SPDX-License-Identifier: Apache-2.0
"""The capture of a node shows the same elsewhere: devices, plan and verify."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from functional.sriov_switchdev.node import Node
from lab.guest import Guest

ROOT = Path(__file__).parents[3]


def replayed(text: str, directory: Path) -> str:
    """Return the output of `tox -e replay` for it on this host."""
    file = directory / "capture.txt"
    file.write_text(text)
    path = os.pathsep.join(str(ROOT / part) for part in ("lib", "tools"))
    done = subprocess.run(
        [sys.executable, "-m", "replay", str(file)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def tables(node: Node) -> dict[str, str]:
    """Return the output of the node's actions."""
    return {
        "list-devices": node.unit.action("list-devices").results["devices"],
        "plan": node.unit.action("plan").results["plan"],
        "verify": node.findings(),
    }


@pytest.mark.thorough
@pytest.mark.parametrize("state", ["prepared", "converged"])
def test_a_capture_of_a_node_is_replayed_with_the_same_devices_plan_and_verify(
    state: str, machine: Guest, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    node: Node = request.getfixturevalue(state)
    captured = node.unit.action("capture")
    assert captured.failure is None
    shown = replayed(captured.results["capture"], tmp_path)
    for name, table in tables(node).items():
        assert f"sriov-switchdev {name}\n{table.rstrip()}\n" in shown
    assert captured.writes == []
    for secret in (machine.run("hostname").stdout.strip(), machine.read("/etc/machine-id").strip()):
        assert secret not in shown
