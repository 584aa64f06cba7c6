# SPDX-License-Identifier: Apache-2.0
"""Waiting for the kernel to get there, with a deadline."""

from collections.abc import Callable

from hostnic.system import System

SHORTEST, LONGEST = 0.02, 0.5
"""Seconds between two looks: quick at first, as most changes are immediate, then unhurried."""


def until(system: System, true: Callable[[], bool], deadline: float) -> bool:
    """Look until ``true()`` holds or ``deadline`` seconds have passed; whether it came to hold.

    Looks at least once, and once more at the very end.
    """
    end = system.now() + deadline
    pause = SHORTEST
    while not true():
        left = end - system.now()
        if left <= 0:
            return False
        system.sleep(min(pause, left))
        pause = min(pause * 2, LONGEST)
    return True
