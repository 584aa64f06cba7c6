# SPDX-License-Identifier: Apache-2.0
"""The changes that a plan's steps make: small frozen values that write, read back, and say why not.

Each ``run(system)`` returns when the machine reads back as asked, without a write when it already
did, and raises :class:`converge.StepError` otherwise. Deadlines are seconds; they are polled
through ``System.sleep``, so that a modelled host spends no real time.

A plan imports an operation where it builds the step: a hook that changes nothing loads none of them.
"""

from collections.abc import Callable

from hostnic.system import System

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 0.5
"""Between two readings: short at first, as most changes are immediate, then doubled up to the longest."""


def until(system: System, condition: Callable[[], bool], deadline: float) -> bool:
    """Wait until ``condition()`` is true or ``deadline`` seconds have passed; return whether it is true.

    It is asked at least once, and once more at the very end.
    """
    end = system.now() + deadline
    pause = FIRST_PAUSE_S
    while not condition():
        left = end - system.now()
        if left <= 0:
            return False
        system.sleep(min(pause, left))
        pause = min(pause * 2, LONGEST_PAUSE_S)
    return True
