# SPDX-License-Identifier: Apache-2.0
"""The operator's options for reboots: which ones need no approval, and how many hosts go down at once."""

import re
from dataclasses import dataclass

from converge.shape import InvalidValue

from charmkit.options import check, option

PARALLEL = "a number of units from 1, or 1% to 100% of them"
"""The values that the option ``reboot-parallel`` allows."""

_NUMBER = r"[1-9][0-9]{0,4}"
_PERCENTAGE = r"([1-9][0-9]?|100)%"


@dataclass(frozen=True)
class RebootOptions:
    """The options of the rolling reboot, which those of a charm extend."""

    reboot_policy: str = option("manual", choices=("manual", "when-idle", "always"))
    reboot_settle: int = option(300, minimum=0, maximum=3600)  # seconds
    reboot_parallel: str = option("1")

    def __post_init__(self) -> None:
        check(self)
        if not re.fullmatch(f"{_NUMBER}|{_PERCENTAGE}", self.reboot_parallel):
            raise InvalidValue("reboot-parallel", self.reboot_parallel, PARALLEL)


def slots(parallel: str, units: int) -> int:
    """How many of ``units`` may be down at once; a percentage is rounded down, to at least one."""
    number = parallel.removesuffix("%")
    return int(number) if number == parallel else max(units * int(number) // 100, 1)
