# SPDX-License-Identifier: Apache-2.0
"""Which switches change together: a canary, then all or role by role, no more than are talked to at once."""

from collections.abc import Iterator

import pytest
from apply import ApplyPolicy, by_wave
from config import least_confirm
from online import Site
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import InTurn, Rack, rack
from unit.cumulus_fabric.online.small import CANARY, CHANGED, SMALL


@pytest.fixture
def three() -> Iterator[Rack]:
    with rack(SMALL, applied=True, fleet=InTurn) as made:
        yield made


def test_a_canary_goes_alone_and_first(three: Rack) -> None:
    seen: list[str] = []
    site = Site(CHANGED, three.site.fleet)
    assert site.apply(canary=CANARY, policy=ApplyPolicy(announce=seen.append)).applied
    assert seen == [f"applying on {CANARY}", "applying on Leaf0-1, Leaf0-2"]


def test_role_by_role(three: Rack) -> None:
    seen: list[str] = []
    site = Site(CHANGED, three.site.fleet)
    by_role = ApplyPolicy(order="role", announce=seen.append)
    assert site.apply(canary="Leaf0-2", policy=by_role).applied
    assert seen == ["applying on Leaf0-2", "applying on Spine0", "applying on Leaf0-1"]


@pytest.mark.parametrize(
    ("limit", "waves"),
    [
        (64, [["b"], ["a", "c", "d", "e"]]), (4, [["b"], ["a", "c", "d", "e"]]),
        (3, [["b"], ["a", "c", "d"], ["e"]]), (1, [["b"], ["a"], ["c"], ["d"], ["e"]]),
    ],
)  # fmt: skip
def test_no_wave_is_larger_than_the_limit(limit: int, waves: list[list[str]]) -> None:
    assert by_wave("abcde", "b", (), limit) == waves


def test_a_role_is_cut_by_itself() -> None:
    assert by_wave("abcde", "", ("abc", "de"), 2) == [["a", "b"], ["c"], ["d", "e"]]


def test_slow_switches_one_by_one_are_confirmed_in_time() -> None:
    """Each takes 30 s to apply: the first of five would have gone back before the fifth is done."""
    with rack(fabric(), limit=1) as made:
        for server in made.servers.values():
            server.switch.pace = 10
        report = made.site.apply(policy=ApplyPolicy(confirm=int(least_confirm(30)), settle=30, deadline=60))
        assert report.verdict == "fully applied: 6 switches changed", report.reasons
