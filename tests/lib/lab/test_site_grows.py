# SPDX-License-Identifier: Apache-2.0
"""The simulated site at 8 and 64 nodes, as ``tests/bench/site.py`` runs it; 256 nodes run at night."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PHASES = (
    "deployment",
    "one option of sriov-switchdev",
    "the intent: another MTU for hosts",
    "the loss of one node",
    "one more rack",
    "update-status of all",
    "nodes that reboot one at a time",
)


@pytest.fixture(scope="module")
def printed() -> str:
    """Return the program's output; it ends with 1 if a deployment costs the fabric's unit too much."""
    done = subprocess.run(
        [sys.executable, ROOT / "tests/bench/site.py", "8", "64"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "lib"), str(ROOT / "tests")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("phase", PHASES)
def test_each_phase_has_a_table_for_both_sizes(printed: str, phase: str) -> None:
    columns = re.findall(rf"^{phase}\s+8\s+64$", printed, re.MULTILINE)
    assert columns or len(re.findall(rf"^{phase}: [0-9.]+ hours", printed, re.MULTILINE)) == 2


def test_the_fabrics_unit_takes_at_most_ten_times_the_processor_time_for_eight_times_the_nodes(
    printed: str,
) -> None:
    assert "in a deployment of 64 nodes against 8: " in printed
    assert "allowed 10.0" in printed
