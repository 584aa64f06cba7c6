# SPDX-License-Identifier: Apache-2.0
"""The faults of one REST call."""

from dataclasses import dataclass, field

ENDLESS = ("drip", "flood", "stall")
"""An answer that never ends: one byte now and then; more and more; or no more after its headers."""

KINDS = ("hang", "302", "500", "500-after", "reset", "reset-after", "partial", "certificate", *ENDLESS)
"""``-after``: the switch does what it was asked, and the answer is lost.

``302`` is a redirect with an empty object. ``hang`` answers after the client has given up, ``partial`` stops
in the middle of the body, ``certificate`` closes the connection, and the next one sees another certificate,
as if somebody stood in between.
"""

AFTER = ("500-after", "reset-after", "partial", *ENDLESS)


@dataclass
class Fault:
    """One fault.

    Attributes:
        kind: one of :data:`KINDS`.
        at: the call that it hits, counted from 0 since the fault was set.
        times: how many calls it hits from there on; 0 for all.
        call: where given, calls are counted from the first one of this name (see Call.name).

    """

    kind: str
    at: int = 0
    times: int = 1
    call: str = ""
    start: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.kind} is no fault")

    def hits(self, number: int, name: str) -> bool:
        """Whether it hits the call with this number and name."""
        if self.start is None and self.call in ("", name):
            self.start = number if self.call else 0
        if self.start is None:
            return False
        number -= self.start
        return number >= self.at and (not self.times or number < self.at + self.times)
