# SPDX-License-Identifier: Apache-2.0
"""Hundreds of calls side by side, with the time left."""

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from converge import StepError

AT_ONCE = 8
"""Calls at a time: what a controller, or a MAAS, answers beside its other work."""
Job = TypeVar("Job")
Result = TypeVar("Result")


def progress(text: str) -> None:
    """Tell whoever waits at a terminal."""
    if sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)


def side_by_side(
    work: Callable[[Job], Result], jobs: Sequence[Job], what: str, size: Callable[[Job], int] = lambda _: 1
) -> list[Result | StepError]:
    """Do all jobs and return, in their order, a result of each or why it has none. No job waits for another.

    Args:
        work: does one of the jobs.
        jobs: all of them.
        what: is done to how many, such as "units asked": how far it is, is told.
        size: of a job; together they are how many there are.

    """

    def attempt(job: Job) -> Result | StepError:
        try:
            return work(job)
        except StepError as error:
            return error

    every, done, began = sum(map(size, jobs)), 0, time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        sizes = {pool.submit(attempt, job): size(job) for job in jobs}
        try:
            for future in as_completed(sizes):
                future.result()  # raises what is no StepError
                done += sizes[future]
                left = (time.monotonic() - began) / done * (every - done)
                progress(f"{done} of {every} {what}, about {left:.0f} s left")
        except BaseException:  # such as Control-C: what has begun ends, and nothing else begins
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in sizes]


def all_of(work: Callable[[Job], Result], jobs: Sequence[Job], what: str) -> list[Result]:
    """The same where the result of each job is needed. Raises the first StepError, once all have ended."""
    done = list[Result]()
    for each in side_by_side(work, jobs, what):
        if isinstance(each, StepError):
            raise each
        done.append(each)
    return done
