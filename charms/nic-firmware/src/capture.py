# SPDX-License-Identifier: Apache-2.0
"""The inputs of this charm's captures, and the actions that a replay shows: list-devices, plan and verify."""

import re
from typing import Any

from actions import devices
from config import PROFILES, Options
from hostnic import handover
from hostnic.capture.file import Inputs, Shown
from hostnic.firmware.mstdatabase import Database, Entry
from hostnic.system import System
from observe import NAME
from survey import survey


def known(system: System, options: Options, database: Database) -> list[list[Any]]:
    """The database's entries for what options, profiles and other charms name, as JSON has them."""
    others, _ = handover.read_others(system, NAME)
    requests = [name for other in others for values in other.parameters.values() for name in values]
    profiles = [name for profile in options.profiles for name in PROFILES[profile]]
    plain = {re.sub(r"_P[n1-9]$", "", name) for name in (*options.explicit, *profiles, *requests)}
    names = plain | {*options.explicit, *requests, "NUM_OF_VFS", "SRIOV_EN"}
    gates = {database.entries[name].gate for name in names if name in database.entries}
    return [list(entry) for name, entry in database.entries.items() if name in names | gates]


def show(system: System, inputs: Inputs) -> Shown:
    """Return the output of the actions; only read the host."""
    options = Options(**inputs["options"])
    entries = [Entry(*fields) for fields in inputs["database"]]
    database = Database({entry.name: entry for entry in entries})
    found = survey(system, options, database, inputs["resource"], inputs["application"])
    listed = devices(found.wanted, found.observed).text()
    return Shown(found.plan, found.findings, {"list-devices": listed})
