# SPDX-License-Identifier: Apache-2.0
"""The recorded answers of a MAAS region: requests that the simulated region answers alike, and its lists."""

from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent
REFUSALS, LISTS = FOLDER / "refusals.yaml", FOLDER / "lists.json"
Pair = dict[str, Any]
"""A request, by its name, with the answer: `status` and `type` unless they are 200 and JSON, and `said`."""


def pairs() -> list[Pair]:
    """All requests with their answers."""
    return yaml.safe_load(REFUSALS.read_text())
