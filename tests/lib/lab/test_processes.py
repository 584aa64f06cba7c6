# SPDX-License-Identifier: Apache-2.0
"""Services that tests start: a failure is one sentence with the log's last lines; nothing is left running."""

import os
import signal
import time
from pathlib import Path

import pytest
from lab.neutron.processes import Processes, ServiceError
from lab.patience import Patience


def test_one_that_ends_before_it_serves_says_so_with_its_last_lines(tmp_path: Path) -> None:
    command = ["sh", "-c", "echo starting; echo 'Address already in use' >&2; exit 3"]
    with (
        Processes(tmp_path, {}) as processes,
        pytest.raises(ServiceError, match=r"^north ended with status 3: starting \| Address already in use$"),
    ):
        processes.start("north", command, lambda told: "serving" in told)


def test_one_that_ends_later_is_named_when_it_is_next_used(tmp_path: Path) -> None:
    with Processes(tmp_path, {}) as processes:
        processes.start("south", ["sh", "-c", "echo serving; read _; exit 1"], lambda told: "serving" in told)
        with pytest.raises(ServiceError, match="south ended with status 1: serving"):
            check_until_it_fails(processes)  # its standard input is empty


def check_until_it_fails(processes: Processes) -> None:
    patience = Patience(30)
    while not patience.over():
        processes.check()
        time.sleep(0.05)


def test_its_whole_group_ends_with_the_owner_even_if_it_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.neutron.processes.ENDS", 0.2)
    script = "trap '' TERM; sleep 60 & echo child $!; wait; sleep 60"
    with Processes(tmp_path, {}) as processes:
        processes.start("stubborn", ["sh", "-c", script], lambda told: "child" in told)
        child = int(processes.told("stubborn").split()[1])
        os.kill(child, 0)
    patience = Patience(30)
    while not patience.over():
        try:
            state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":  # nobody has collected it yet
            return
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    raise AssertionError("a child of the service still runs")
