# SPDX-License-Identifier: Apache-2.0
"""Inputs of this charm's captures, and the actions of a replay: list-devices, check-host, plan, verify."""

import json
from typing import Any

from actions import devices, host
from config import Options
from converge import Finding, Severity
from hostnic.capture.file import Inputs, Shown
from hostnic.system import System
from observed import Judged, Setting, Writer
from survey import survey


def show(system: System, inputs: Inputs) -> Shown:
    """Return the output of the actions; only read the host."""
    options, controllers = Options(**inputs["options"]), tuple(inputs["controllers"])
    kept = inputs.get("writers")
    found = survey(system, options, controllers, inputs["application"], kept and _judged(kept))
    judged = found.observed.vf_writers, found.observed.unclear
    return Shown(
        found.plan,
        found.findings,
        {
            "list-devices": devices(system, found.wanted, found.observed)["devices"].text(),
            "check-host": host(system, found.wanted, found.observed)["host"].text(),
        },
        {"writers": json.loads(json.dumps(judged, default=sorted))},  # a set of ports as a list
    )


def _judged(kept: Any) -> Judged:  # noqa: ANN401 - JSON's values
    """Return the host's files as they were judged there: a replay does not have their texts."""
    writers, findings = kept
    found = [
        Writer(path, tuple(_setting(*each) for each in settings), tool, creates)
        for path, settings, tool, creates in writers
    ]
    return tuple(found), tuple(Finding(Severity(level), *words) for level, *words in findings)


def _setting(name: str, keys: list[str], ports: list[str] | None, vfs: str) -> Setting:
    return Setting(name, tuple(keys), None if ports is None else frozenset(ports), vfs)
