# SPDX-License-Identifier: Apache-2.0
"""The operator changes reboot-parallel during a roll: what is decided next goes by the new value."""

from dataclasses import replace
from typing import Any

import pytest
from charmkit.reboot.databag import KEY, decode_cluster, decode_unit
from charmkit.reboot.policy import RebootOptions
from charmkit.reboot.state import Cluster, Need, Slot, UnitNow
from charmkit.reboot.unit import decide
from lib.reboot_decisions import WANTS, WHY

ZONE = "zone-a"


def fleet(application: Any, mode: str, parallel: str, count: int) -> Any:
    """A leader that needs nothing, and units in one zone that need a reboot."""
    app = application(count + 1, mode)
    app.policy = replace(app.policy, reboot_parallel=parallel)
    app.hook(0)
    for number in range(1, count + 1):
        app.nodes[number].zone = ZONE
        app.nodes[number].needs = WHY
        app.hook(number)
        app.changed(0, of=number)
    return app


def held(app: Any) -> list[str]:
    return sorted(decode_cluster(app.app_data[KEY]).held)


def lower(app: Any, parallel: str) -> None:
    """As ``juju config`` does it, before any unit has run its hook."""
    app.policy = replace(app.policy, reboot_parallel=parallel)


@pytest.mark.parametrize(
    ("before", "after", "most"),
    [("100%", "1", 1), ("100%", "2", 2), ("5", "50%", 3), ("1", "100%", 5), ("100%", "0", 1)],
)
def test_an_approval_grants_by_the_option_as_it_is(application: Any, before: str, after: str, most: int):
    """The last value is refused, and the default holds until it is mended."""
    app = fleet(application, "manual", before, 5)
    if after == "0":
        app.option = after
    else:
        lower(app, after)

    app.action(0, "approve-reboot")

    assert len(held(app)) == most


def test_a_slot_that_is_given_back_is_granted_by_the_option_as_it_is(application: Any):
    app = fleet(application, "always", "2", 4)
    assert held(app) == ["sriov/1", "sriov/2"]
    for number in (1, 2):
        app.changed(number)
        app.nodes[number].boot()
        app.hook(number)
        app.nodes[number].host.sleep(300)
    lower(app, "1")

    app.hook(1)
    app.changed(0, of=1)
    assert held(app) == ["sriov/2"]

    app.hook(2)
    app.changed(0, of=2)
    assert held(app) == ["sriov/3"]


def test_holders_that_are_too_many_by_now_give_the_lock_back_and_go_one_after_the_other(application: Any):
    app = fleet(application, "always", "3", 3)
    assert held(app) == ["sriov/1", "sriov/2", "sriov/3"]
    app.changed(1)
    assert app.reboots == [0, 1, 0, 0]

    lower(app, "1")
    for number in (2, 3):
        app.changed(number)
        app.changed(0, of=number)

    assert app.reboots == [0, 1, 0, 0]
    assert held(app) == ["sriov/1"], "the host that goes down keeps it"


HOST = UnitNow("sriov/2", "boot 1", 5000, 1_000_000, leader=False, need=Need(WHY), zone=ZONE)


@pytest.mark.parametrize(
    ("parallel", "units", "goes"),
    [
        ("3", 10, True),
        ("2", 10, False),
        ("1", 10, False),
        ("30%", 10, True),
        ("29%", 10, False),
        ("100%", 10, True),
        # A leader of another revision does not tell how many units there are, and decides by itself.
        ("1", 0, True),
        ("10%", 0, True),
    ],
)
def test_a_holder_goes_together_with_as_many_as_the_option_allows_now(parallel: str, units: int, goes: bool):
    cluster = Cluster(grant=3, units=units)
    cluster = cluster._replace(held={f"sriov/{number}": Slot(number, 1_000_000) for number in (1, 2, 3)})
    host, own = HOST._replace(has_containers=False), WANTS._replace(zone=ZONE)

    decision = decide(host, RebootOptions("always", 300, parallel), own, {}, cluster)

    assert decision.reboot is goes
    assert decision.own.released == (0 if goes else 2)


def test_a_host_that_is_down_already_keeps_the_lock_that_it_used(application: Any):
    app = fleet(application, "always", "2", 2)
    for number in (1, 2):
        app.changed(number)
        app.nodes[number].boot()
    lower(app, "1")

    app.hooks(1, 2)

    assert held(app) == ["sriov/1", "sriov/2"]
    published = [decode_unit(app.nodes[number].data[KEY]) for number in (1, 2)]
    assert [state.released for state in published] == [0, 0]
