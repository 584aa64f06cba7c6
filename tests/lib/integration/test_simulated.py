# SPDX-License-Identifier: Apache-2.0
"""The integration tests against a simulated `juju`: they pass on 3.6 and 4.0; each fault makes one fail."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from integration.said import CHARMS

TESTS = Path(__file__).parents[2]
BY_DAY = "deaf to options"
ONE = "lacks or (values and roce) or (action and sriov)"
FAILS = {
    "deaf to options": "lacks or (values and sriov)",
    "accepts everything": "lacks or (values and fabric)",
    "stays refused": "lacks or (values and nic)",
    "hook fails": "lacks",
    "one unit lags": "lacks",
    "leaves files": "lacks or behind",
    "unit stays": "lacks or behind",
    "no reboot": "lacks or request",
    "reboots all": "lacks or request",
    "reboots twice": "lacks or request",
    "action fails": "lacks or action",
    "refresh is stuck": "lacks or forth",
    "secret is cached": "lacks or secret",
}
"""Each fault, and tests of which at least one must notice it."""


def outcome(folder: Path, *options: str, **simulated: str) -> tuple[int, str]:
    """The exit status and the last line, without what takes its time."""
    (folder / "bin").mkdir()
    (folder / "bin/juju").write_text("#!/bin/sh\nexit 9\n")
    (folder / "bin/juju").chmod(0o755)
    for charm in CHARMS:
        (folder / f"{charm}_ubuntu@22.04-amd64.charm").touch()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("JUJU_")} | {
        "PATH": f"{folder}/bin:{os.environ['PATH']}",
        "PYTHONPATH": str(TESTS),
        "PYTHONDONTWRITEBYTECODE": "1",
        **simulated,
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "lab.jujumodel", "-p", "no:cacheprovider"]
    given = [*options, "--charms", str(folder), "--previous", str(folder)]
    run = subprocess.run(
        [*command, "-p", "no:xdist", *given, "test_charms.py", "test_refresh.py"],
        cwd=TESTS / "integration",
        env=environment,
        text=True,
        capture_output=True,
        check=False,
    )
    return run.returncode, re.sub(r" in [\d.]+s.*", "", run.stdout.splitlines()[-1])


def test_all_tests_pass(tmp_path: Path) -> None:
    status, said = outcome(tmp_path)
    assert (status, re.sub(r"\d+", "N", said)) == (0, "N passed")
    assert int(said.split()[0]) > 50


def test_on_juju_3_as_well(tmp_path: Path) -> None:
    status, said = outcome(tmp_path, "-k", ONE, SIMULATED_VERSION="3.6.11")
    assert (status, re.sub(r"\d+", "N", said)) == (0, "N passed, N deselected")


def by_night(fault: str) -> object:
    return fault if fault == BY_DAY else pytest.param(fault, marks=pytest.mark.thorough)


@pytest.mark.parametrize("fault", [by_night(fault) for fault in FAILS])
def test_a_fault_is_noticed(tmp_path: Path, fault: str) -> None:
    status, said = outcome(tmp_path, "-x", "-k", FAILS[fault], SIMULATED=fault)
    assert status == 1, said
    assert "1 failed" in said
