# SPDX-License-Identifier: Apache-2.0
"""The rights of each service on a host in the table of SECURITY.md."""

import re
from pathlib import Path
from typing import NamedTuple

SECURITY = Path(__file__).resolve().parents[1] / "SECURITY.md"


class Told(NamedTuple):
    """The capabilities of a service, and its exposure by `systemd-analyze security`."""

    capabilities: set[str]
    exposure: float


def told() -> dict[str, Told]:
    """Each service of the table; of the capabilities, "the same" are those of the row above.

    The last cell has one exposure for all services of the row, or one for each.
    """
    table = SECURITY.read_text().partition("| service | capabilities |")[2].partition("\n\n")[0]
    found: dict[str, Told] = {}
    above: set[str] = set()
    for row in table.splitlines()[2:]:
        services, capabilities, *_, last = row.strip("| ").split(" | ")
        own = set(re.findall(r"CAP_[A-Z_]+", capabilities))
        above = own | above if capabilities.startswith("the same") else own
        names, exposures = services.split(", "), [float(each) for each in last.split(", ")]
        each_one = exposures * len(names) if len(exposures) == 1 else exposures
        found |= {name: Told(above, exposure) for name, exposure in zip(names, each_one, strict=True)}
    return found


def name_of(unit: str) -> str:
    """The name that a unit has in the table."""
    return re.sub(r"^ovn-offload-(transient-)?|\.service$", "", re.sub("^.*-(?=dispatch)", "CHARM-", unit))
