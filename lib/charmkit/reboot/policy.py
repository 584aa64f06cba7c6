# SPDX-License-Identifier: Apache-2.0
"""The operator's options for reboots: which ones need no approval, and how many hosts go down at once."""

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast, get_args

from converge.shape import InvalidValue

from charmkit.options import check, option

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


@dataclass(frozen=True)
class RebootOptions:
    """These options, which those of a charm extend."""

    reboot_policy: str = option("manual", choices=get_args(Mode))
    reboot_settle: int = option(300, minimum=0, maximum=3600)
    reboot_parallel: str = option("1")

    def __post_init__(self) -> None:
        check(self)
        if not re.fullmatch(f"{_NUMBER}|{_PERCENTAGE}", self.reboot_parallel):
            raise InvalidValue("reboot-parallel", self.reboot_parallel, PARALLEL)

    @property
    def reboots(self) -> RebootPolicy:
        """What they ask for."""
        return RebootPolicy(cast("Mode", self.reboot_policy), self.reboot_settle, self.reboot_parallel)


def slots(parallel: str, units: int) -> int:
    """How many of ``units`` may be down at once; a percentage is rounded down, to at least one."""
    number = parallel.removesuffix("%")
    return int(number) if number == parallel else max(units * int(number) // 100, 1)
