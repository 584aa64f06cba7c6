# SPDX-License-Identifier: Apache-2.0
"""A check's verdict, and the thresholds that it is by."""

import enum
from pathlib import Path
from typing import Any, NamedTuple

import yaml

THRESHOLDS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("thresholds.yaml").read_text())


class State(enum.IntEnum):
    """A verdict; the number is the exit status."""

    PASS = 0
    FAIL = 1
    UNKNOWN = 2

    @property
    def words(self) -> str:
        return {State.PASS: "passed", State.FAIL: "failed", State.UNKNOWN: "not measured"}[self]


class Verdict(NamedTuple):
    """One check of one rung.

    Attributes:
        check: the threshold's key in thresholds.yaml.
        measured: what was found, in words, or why nothing was.
        cause: why it failed, as far as a tool knows; "" if it passed.

    """

    rung: str
    check: str
    state: State
    measured: str
    cause: str = ""
