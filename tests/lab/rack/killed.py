# SPDX-License-Identifier: Apache-2.0
"""The verbs drain and roll as an operator types them, of which a run is killed at a chosen moment."""

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

from acceptance.cloud import Clock
from converge import StepError
from drain import command
from operate.__main__ import parser
from operate.client import Juju
from operate.process import Process

from lab.rack.operator import Lines

LIMIT = 1800.0
"""Seconds of its clock after which a run is killed in any case."""


class Killed(BaseException):
    """A run ends here, as where its terminal is gone."""


class Moment(NamedTuple):
    """A moment of a run.

    Attributes:
        step: how a step's sentence begins, which the verb tells before it does anything for it.
        pause: without it, the moment is this one; with it, that step's first pause after which it holds.

    """

    step: str
    pause: Callable[[], bool] | None = None


class Ran(NamedTuple):
    """One run: its exit status (None if it was killed), its output, and whether its moment came."""

    status: int | None
    said: str
    reached: bool

    @property
    def ended(self) -> str:
        """In one line: how it ended, and what it said last."""
        last = next(iter(reversed(self.said.strip().splitlines())), "it says nothing")
        how = "killed" if self.status is None else f"exit status {self.status}"
        return f"{how}, {last}"[:300]


class Verbs:
    """The verbs on one cloud.

    Args:
        connection: openstacksdk's, of an administrator.
        juju: runs Juju's client.
        clock: of the verbs.
        show: takes each line that they print.

    """

    def __init__(
        self, connection: Any, juju: Process, clock: Clock, show: Callable[[str], object] = lambda line: None
    ) -> None:
        self._connection, self._juju, self._clock, self._show = connection, juju, clock, show

    def run(self, *words: str, at: Moment | None = None, then: Callable[[], object] | None = None) -> Ran:
        """A verb with --apply.

        Args:
            words: the verb and its arguments.
            at: a moment.
            then: what happens at that moment; without it, the run is killed.

        """
        watched = _Watched(self._clock, self._show, at, then)
        said = Lines(watched.hear)
        options = parser().parse_args([*words, "--cloud", "rack", "--apply"])
        around = command.Around(lambda *_: self._connection, watched)
        status = None
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                status = command.VERBS[options.verb](Juju(run=self._juju), options, around)
            except StepError as error:  # as operate's main does
                print("; ".join(filter(None, (str(error), error.remedy))))
                status = 2
            except Killed:
                pass
        return Ran(status, said.getvalue(), watched.reached)


class _Watched:
    """The clock of a run, which hears its output as well."""

    def __init__(
        self,
        clock: Clock,
        show: Callable[[str], object],
        at: Moment | None,
        then: Callable[[], object] | None,
    ) -> None:
        self._clock, self._show, self._at, self._then = clock, show, at, then
        self._end = clock.time() + LIMIT
        self._inside = self.reached = False

    def hear(self, line: str) -> None:
        self._show(line)
        if self._at and line.startswith(self._at.step):
            self._inside = True
            if self._at.pause is None:
                self._reach()

    def time(self) -> float:
        return self._clock.time()

    def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)
        if self._at and self._inside and self._at.pause and self._at.pause():
            self._reach()
        if self._clock.time() >= self._end:
            raise Killed

    def _reach(self) -> None:
        """The moment comes once."""
        if self.reached:
            return
        self.reached = True
        if self._then is None:
            raise Killed
        self._then()
