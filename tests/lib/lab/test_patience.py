# SPDX-License-Identifier: Apache-2.0
"""The deadlines of the lab, beside real processes that take the processor away."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import pytest
from lab.channel import Agent, NoAnswer
from lab.patience import Patience, scheduled

BUSY = "while True: pass"


@contextmanager
def busy(count: int) -> Iterator[list[int]]:
    """Processes that want the first processor that this one may use, all the time."""
    (processor, *_) = sorted(os.sched_getaffinity(0))
    with ExitStack() as stack:
        processes = [
            stack.enter_context(subprocess.Popen([sys.executable, "-c", BUSY])) for _ in range(count)
        ]
        for process in processes:
            stack.callback(process.kill)
            os.sched_setaffinity(process.pid, {processor})
        yield [process.pid for process in processes]


def counted(process: int, seconds: float) -> float:
    """Which part of the wall clock's time counts for a process, looked at for so long."""
    began = time.monotonic()
    patience = Patience(3600, lambda: [process])
    while time.monotonic() < began + seconds:
        time.sleep(0.1)
        assert not patience.over()
    return patience.spent / (time.monotonic() - began)


def test_a_process_that_waits_for_something_else_is_given_all_the_time() -> None:
    with subprocess.Popen(["sleep", "60"]) as asleep:
        time.sleep(0.3)  # until it has started
        assert counted(asleep.pid, 0.5) > 0.8
        asleep.kill()


def test_the_time_for_which_others_had_the_processor_does_not_count() -> None:
    with busy(3) as processes:
        assert counted(processes[0], 1.5) < 0.6  # about a third


def test_a_limit_is_reached_by_time_that_counts() -> None:
    patience = Patience(0.2)
    assert not patience.over()
    time.sleep(0.25)
    end = time.monotonic() + 60  # on a slow machine it takes as many times longer
    while not patience.over():
        assert time.monotonic() < end
        time.sleep(0.05)
    patience.restart()
    assert not patience.over()


def test_a_process_that_has_ended_takes_no_time_back() -> None:
    gone = subprocess.Popen([sys.executable, "-c", "sum(range(10**7))"])
    patience = Patience(60, lambda: [gone.pid])
    gone.wait()
    assert not patience.over()
    assert patience.spent > 0


def test_a_process_that_ends_as_it_is_looked_at_counts_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:

        def ending(read: Callable[[Any], Any], path: Any) -> Any:
            process.kill()
            process.wait()
            return read(path)

        for name in ("scandir", "listdir"):
            monkeypatch.setattr(os, name, partial(ending, getattr(os, name)))
        assert scheduled([process.pid]) == (0.0, 0.0)
    assert process.returncode == -signal.SIGKILL


def test_an_agent_that_says_nothing_is_named_with_the_time_it_had() -> None:
    near, far = socket.socketpair()
    with near, far:
        agent = Agent(near, lambda seconds: Patience(seconds / 100))
        assert not agent.sync(timeout=2)
        with pytest.raises(NoAnswer, match="the guest's agent has not answered for 1 s"):
            agent.call("guest-info")
