# SPDX-License-Identifier: Apache-2.0
"""The operator's options for reboots: which ones need no approval, and how many hosts go down at once."""

import re
from typing import Literal, NamedTuple

from converge.shape import InvalidValue

PARALLEL = "a number of units from 1, or a percentage of all units from 1% to 100%"
"""What the option ``reboot-parallel`` allows."""

_NUMBER = r"[1-9][0-9]{0,4}"
_PERCENTAGE = r"([1-9][0-9]?|100)%"

Mode = Literal["manual", "when-idle", "always"]


class RebootPolicy(NamedTuple):
    """The options ``reboot-policy``, ``reboot-settle`` (seconds) and ``reboot-parallel``."""

    mode: Mode = "manual"
    settle: int = 300
    parallel: str = "1"


def check_parallel(parallel: str) -> None:
    """Check a value of the option ``reboot-parallel``.

    Raises InvalidValue if it is neither a number nor a percentage.
    """
    if not re.fullmatch(f"{_NUMBER}|{_PERCENTAGE}", parallel):
        raise InvalidValue("reboot-parallel", parallel, PARALLEL)


def slots(parallel: str, units: int) -> int:
    """How many of ``units`` may be down at once; a percentage is rounded down, to at least one."""
    number = parallel.removesuffix("%")
    return int(number) if number == parallel else max(units * int(number) // 100, 1)
