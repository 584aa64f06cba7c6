# SPDX-License-Identifier: Apache-2.0
"""Processes that serve as long as their owner lives, each with a log and a group of its own."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from lab.patience import Patience
from lab.process import die_with_parent

LINES = 6
"""Lines of a log that an error quotes."""
STARTS = 120.0
"""Seconds on a quick and quiet machine for which a process may show no progress before it serves."""
ENDS = 10.0
"""Seconds between the request to end and its enforcement."""


class ServiceError(RuntimeError):
    """A process did not come up, or ended; the message is one sentence with the last lines of its log."""


class Processes:
    """Processes from ``with`` to its end, whatever ends it; each leads a group that ends with it.

    Args:
        folder: for their logs, which have the processes' names.
        environment: in addition to this process's own one.

    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder, self._environment = folder, {**os.environ, **environment}
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._running.values()):
            _signal(process, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDS)
            _signal(process, signal.SIGKILL)  # those of its group that are left, too
            process.wait()
        self._running.clear()

    def start(self, name: str, command: list[str], serves: Callable[[str], object]) -> None:
        """Start a process and wait until it serves, for as long as its log grows or it uses the processor.

        Args:
            name: of the process, for its log and for people.
            command: its program and arguments.
            serves: tells from the log whether it serves; a process without a sign in its log has its own one.

        Raises:
            ServiceError: it ended, or stands still.

        """
        with self.log(name).open("wb") as log:
            self._running[name] = process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                preexec_fn=die_with_parent, env=self._environment, cwd=self.folder,
            )  # fmt: skip
        patience, seen = Patience(STARTS, lambda: [process.pid]), -1
        while not serves(self.told(name)):
            if process.poll() is not None:
                raise ServiceError(f"{name} ended with status {process.returncode}: {self.last(name)}")
            size = self.log(name).stat().st_size
            if size != seen:
                seen = size
                patience.restart()
            if patience.over():
                raise ServiceError(f"{name} does not serve and has stopped talking: {self.last(name)}")
            time.sleep(0.05)

    def log(self, name: str) -> Path:
        """A process's log."""
        return self.folder / f"{name}.log"

    def told(self, name: str) -> str:
        """Return a process' log so far."""
        return self.log(name).read_text(errors="replace")

    def last(self, name: str) -> str:
        """The last lines of a process's log, in one."""
        lines = [line.strip() for line in self.told(name).splitlines() if line.strip()]
        return " | ".join(lines[-LINES:]) or "its log is empty"

    def check(self) -> None:
        """See that all of them still run.

        Raises:
            ServiceError: one has ended.

        """
        for name, process in self._running.items():
            if process.poll() is not None:
                raise ServiceError(f"{name} ended with status {process.returncode}: {self.last(name)}")


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """To a process's whole group, which may be gone."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
