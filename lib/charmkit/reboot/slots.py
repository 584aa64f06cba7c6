# SPDX-License-Identifier: Apache-2.0
"""How many hosts may be down at once, and which ones together. Pure functions.

A host on which containers start goes alone: it may hold a member of a quorum. Others go together only within
one availability zone, since tenants spread their replicas over zones. A host whose zone Juju does not name
goes alone, too: it may be in any zone.
"""

import re
from collections.abc import Collection, Mapping

from converge.shape import InvalidValue

from charmkit.reboot.state import UnitState

OPTION = "reboot-parallel"
ALLOWED = "a number of units from 1, or a percentage of all units from 1% to 100%"

_NUMBER = r"[1-9][0-9]{0,4}"
_PERCENTAGE = r"([1-9][0-9]?|100)%"


def check(parallel: str) -> None:
    """Check a value of the option.

    Raises:
        InvalidValue: it is neither a number nor a percentage.

    """
    if not re.fullmatch(f"{_NUMBER}|{_PERCENTAGE}", parallel):
        raise InvalidValue(OPTION, parallel, ALLOWED)


def allowed(parallel: str, units: int) -> int:
    """How many of ``units`` may be down at once; a percentage is rounded down, to at least one."""
    number = parallel.removesuffix("%")
    return int(number) if number == parallel else max(units * int(number) // 100, 1)


def joins(unit: str, down: Collection[str], units: Mapping[str, UnitState], slots: int) -> bool:
    """Whether ``unit`` may reboot while the hosts of the units ``down`` are, or may be, down."""
    if not down:
        return True
    if len(down) >= slots:
        return False
    states = [units.get(name, UnitState()) for name in (unit, *down)]
    zones = {state.zone for state in states}
    return all(state.shares for state in states) and len(zones) == 1 and "" not in zones
