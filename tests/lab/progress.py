# SPDX-License-Identifier: Apache-2.0
"""Long work, told calmly: one line per step, with its elapsed time.

On a terminal one line is redrawn once a second, with all steps that run; elsewhere (CI, a file) each step
prints one plain line when it starts and one when it ends.
"""

import sys
import threading
import time
from shutil import get_terminal_size
from types import TracebackType
from typing import TextIO


def seconds(value: float) -> str:
    """A duration as people say it: ``4.2 s``, ``1 min 05 s``."""
    return f"{value:.1f} s" if value < 60 else f"{int(value // 60)} min {int(value % 60):02d} s"


def fitted(line: str, columns: int) -> str:
    """The line, or as many whole words of it as a terminal shows without a line break."""
    if len(line) < columns:
        return line
    return line[: columns - 2].rpartition(" ")[0].rstrip(" ;") + "…"


_running: list["Step"] = []
_screen = threading.Lock()


class Step:
    """One piece of work, from ``with`` to its end.

    Args:
        title: what is being done, in a few words.
        out: where to print.

    """

    def __init__(self, title: str, out: TextIO | None = None) -> None:
        self.title = title
        self._out = out or sys.stdout  # tox paints what comes on stderr red
        self._live = self._out.isatty()
        self._note = ""
        self._done = threading.Event()
        self._began = 0.0
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    @property
    def elapsed(self) -> float:
        """Seconds since the step began."""
        return time.monotonic() - self._began

    def note(self, text: str) -> None:
        """Show what is happening inside the step; terminals only."""
        self._note = text

    def __enter__(self) -> "Step":
        self._began = time.monotonic()
        if self._live:
            with _screen:
                _running.append(self)
            self._ticker.start()
        else:
            print(f"  ... {self.title}", file=self._out, flush=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._live:
            self._ticker.join()
            with _screen:
                _running.remove(self)
                self._out.write("\r\x1b[2K")
        mark = "ok " if kind is None else "FAILED"
        end = f" ({self._note})" if kind is None and self._note else ""
        print(f"  {mark} {self.title}{end}  {seconds(self.elapsed)}", file=self._out, flush=True)

    def _tick(self) -> None:
        while True:
            with _screen:
                steps = (f"{each.title}  {seconds(each.elapsed)}  {each._note}" for each in _running)
                line = fitted(f"  ... {'; '.join(map(str.rstrip, steps))}", get_terminal_size().columns)
                self._out.write(f"\r\x1b[2K{line}")
                self._out.flush()
            if self._done.wait(1.0):
                return
