# SPDX-License-Identifier: Apache-2.0
"""Long work, told calmly: one line per step, with its number, its elapsed time, and the time left.

On a terminal one line is redrawn once a second, with all steps that run; elsewhere (CI, a file) each step
prints one plain line when it starts and one when it ends.
"""

import contextlib
import itertools
import json
import sys
import textwrap
import threading
import time
from shutil import get_terminal_size
from types import TracebackType
from typing import TextIO

from lab import store

_numbers = itertools.count(1)


def seconds(value: float) -> str:
    """A duration as people say it: ``4.2 s``, ``1 min 05 s``."""
    return f"{value:.1f} s" if value < 60 else f"{int(value // 60)} min {int(value % 60):02d} s"


def fitted(line: str, columns: int) -> str:
    """The line, or as many whole words of it as a terminal shows without a line break."""
    if len(line) < columns:
        return line
    return line[: columns - 2].rpartition(" ")[0].rstrip(" ;") + "…"


def _learnt() -> dict[str, float]:
    """The seconds that steps of these titles took when they ended last, as the cache's folder keeps them."""
    try:
        kept = json.loads((store.folder() / "durations.json").read_text())
        return {str(title): float(took) for title, took in kept.items()}
    except (OSError, ValueError, TypeError, AttributeError):  # none yet, or not ours: as on the first run
        return {}


def _learn(title: str, took: float) -> None:
    with contextlib.suppress(OSError):  # a full or read-only disk ends no step that has ended well
        path = store.folder() / "durations.json"
        beside = path.with_name(f"{path.name}.{threading.get_ident()}")
        beside.write_text(json.dumps({**_learnt(), title: round(took, 1)}, indent=0))
        beside.replace(path)


class Stopwatch:
    """A step's number in this process, and its times: elapsed, and left by what the last run took.

    Args:
        title: of the step, by which its time is kept.

    """

    def __init__(self, title: str) -> None:
        self.number = next(_numbers)
        self.title = title
        self.began = time.monotonic()
        self._usual = _learnt().get(title)

    @property
    def elapsed(self) -> float:
        """Seconds since the step began."""
        return time.monotonic() - self.began

    @property
    def left(self) -> str:
        """The time left in words; nothing before a first run has ended this step."""
        if self._usual is None:
            return ""
        left = self._usual - self.elapsed
        if left > 0:
            return f"about {seconds(left)} left"
        return f"longer than the last time, {seconds(self._usual)}"

    def ended(self) -> None:
        """The step has ended well: the next run expects the same time."""
        _learn(self.title, self.elapsed)

    def __str__(self) -> str:
        times = f"{self.number}. {self.title}  {seconds(self.elapsed)}"
        return f"{times}, {self.left}" if self.left else times


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
        self._note = self._waits = ""
        self._done = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def note(self, text: str) -> None:
        """Show what is happening inside the step; terminals only."""
        self._note = text

    def waits(self, text: str) -> None:
        """Show for whom or what the step waits: as a note, and elsewhere in a line of its own."""
        if text != self._waits and not self._live:
            print(f"  ... {text}", file=self._out, flush=True)
        self._note = self._waits = text

    def __enter__(self) -> "Step":
        self._watch = Stopwatch(self.title)
        if self._live:
            with _screen:
                _running.append(self)
            self._ticker.start()
        else:
            expected = f", {self._watch.left}" if self._watch.left else ""
            print(f"  ... {self._watch.number}. {self.title}{expected}", file=self._out, flush=True)
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
        took = seconds(self._watch.elapsed)
        line = f"  {mark} {self._watch.number}. {self.title}{end}  {took}"
        if self._live:  # the terminal itself would break it within a word
            columns = get_terminal_size().columns - 1
            line = textwrap.fill(line, columns, subsequent_indent=" " * 6, break_long_words=False)
        print(line, file=self._out, flush=True)
        if kind is None:
            self._watch.ended()

    def _tick(self) -> None:
        while True:
            with _screen:
                steps = (f"{each._watch}  {each._note}" for each in _running)
                line = fitted(f"  ... {'; '.join(map(str.rstrip, steps))}", get_terminal_size().columns)
                self._out.write(f"\r\x1b[2K{line}")
                self._out.flush()
            if self._done.wait(1.0):
                return
