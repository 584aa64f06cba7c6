# SPDX-License-Identifier: Apache-2.0
"""How often each unit's hooks ran, and what for: by unit and event, as `lab.juju.service` counts them."""

from collections import Counter
from collections.abc import Iterator, Mapping

Counts = Mapping[str, Mapping[str, int]]
"""By event: `ran`, `observed` (it looked at the machine) and `wrote` (it changed something there)."""


def total(counts: Counts) -> dict[str, int]:
    """Of all events."""
    found = Counter({"ran": 0, "observed": 0, "wrote": 0})
    for each in counts.values():
        found.update(each)
    return dict(found)


def text(units: Mapping[str, Counts]) -> Iterator[str]:
    """A line for each unit, its events in the order in which they first ran; then the sums."""
    if not units:
        return
    yield from ("", "Hooks: ran, looked at the machine, wrote there")
    width = max(map(len, units))
    sums = Counter[str]()
    for name, counts in units.items():
        own = total(counts)
        sums.update(own)
        events = ", ".join(f"{event.replace('_', '-')} {each['ran']}" for event, each in counts.items())
        yield f"  {name.ljust(width)} {_numbers(own)}  {events}"
    yield f"  {'all'.ljust(width)} {_numbers(sums)}"


def _numbers(counts: Mapping[str, int]) -> str:
    return " ".join(f"{counts[what]:>4}" for what in ("ran", "observed", "wrote"))
