# SPDX-License-Identifier: Apache-2.0
"""When a unit is to be woken: tests of the charms and of charmkit read it off what its hooks ran."""

from lab.modelled import FakeHost


def wakes_in(host: FakeHost, charm: str) -> int | None:
    """In how many seconds systemd wakes the charm's unit, as its last hook asked; None if it did not ask."""
    unit = f"--unit=ovn-offload-{charm}-dispatch-later"
    timers = [argv for argv in host.spawned if unit in argv]
    assert len(timers) <= 1, timers
    option = "--on-active="
    return next((int(word.removeprefix(option)) for argv in timers for word in argv if option in word), None)
