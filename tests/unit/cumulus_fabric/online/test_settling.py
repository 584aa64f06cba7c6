# SPDX-License-Identifier: Apache-2.0
"""Waiting for a fabric to settle: few requests, only while waiting can help, in line with its size."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from apply import ApplyPolicy
from intent import expand, schema
from intent.model import Fabric, Segment
from lab.nvue import Issue
from online import Site
from unit.cumulus_fabric.fabrics import data
from unit.cumulus_fabric.online.site import InTurn, Rack, rack
from unit.cumulus_fabric.online.small import CHANGED, LAST, SMALL
from verify import verify

POLICY = ApplyPolicy()
MOST_REQUESTS = 60
SWITCHES = [switch.name for switch in SMALL.switches]


@pytest.fixture(params=["5.9.2", "5.15.0"])
def three(request: pytest.FixtureRequest) -> Iterator[Rack]:
    with rack(SMALL, release=request.param, applied=True, fleet=InTurn) as made:
        yield made


def after(three: Rack, name: str, happens: Any) -> None:
    """Let something happen when the switch applies the changed intent."""
    member = three.wires.members[name]
    original = member.apply

    def apply(tree: dict[str, Any]) -> Issue | None:
        if "50" in str(tree["bridge"]):
            happens()
        return original(tree)

    member.apply = apply


def change(three: Rack, *names: str) -> tuple[Any, float]:
    """Apply the changed intent, on one leaf alone if not told; the seconds until the rollback or the end."""
    said: list[tuple[str, float]] = []
    policy = replace(POLICY, announce=lambda line: said.append((line, three.clock.monotonic())))
    report = Site(CHANGED, three.site.fleet).apply(names or [LAST], policy=policy)
    end = next((at for line, at in said if line.startswith("rolling back")), three.clock.monotonic())
    return report, end - said[0][1]


def test_a_settle_window_takes_few_requests(three: Rack) -> None:
    after(three, LAST, lambda: three.wires.cut.add((LAST, "swp31")))
    report, took = change(three)
    assert not report.applied
    assert POLICY.settle <= took < POLICY.settle + 10
    calls = three.calls(LAST)
    window = calls[len(calls) - calls[::-1].index("confirm" if "confirm" in calls else "apply") :]
    looks = [call for call in window[: window.index("refuse")] if call.startswith("read")]
    assert 6 * 5 <= len(looks) <= MOST_REQUESTS
    for name in ("Spine0", "Leaf0-2"):  # these are only looked at, twice more before the run
        assert len(three.calls(name)) <= MOST_REQUESTS + 2 * 9


@pytest.mark.parametrize("seconds", [3, 20, 80])
def test_what_comes_up_late_but_in_time_is_applied(three: Rack, seconds: float) -> None:
    def cut_for_a_while() -> None:
        three.wires.cut.add((LAST, "swp31"))
        three.clock.later(seconds, three.wires.cut.clear)

    after(three, LAST, cut_for_a_while)
    report, took = change(three)
    assert report.applied, report.reasons
    assert seconds <= took <= seconds + 30


def test_a_wrong_cable_ends_the_wait(three: Rack) -> None:
    """The port was not connected before; nothing but a hand can move the cable."""
    before = deepcopy(three.applied)

    def swap() -> None:
        three.wires.cable((LAST, "swp31"), ("Spine0", "swp14"))
        three.wires.cable(("Leaf0-2", "swp31"), ("Spine0", "swp13"))

    after(three, LAST, swap)
    report, took = change(three)
    assert any("is wired to Spine0 swp14" in each.what for each in report.reasons)
    assert took < 10
    assert three.applied == before


def test_a_user_who_loses_the_access_ends_the_wait(three: Rack) -> None:
    after(three, "Leaf0-2", lambda: setattr(three.servers[LAST], "role", False))
    report, took = change(three, *SWITCHES)
    assert any("has no read access" in each.what for each in report.reasons)
    assert took < 20


class Counted:
    """Counts how often an ESI is spelled out."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number = 0
        spelled = Segment.esi.fget
        assert spelled is not None

        def esi(segment: Segment) -> str:
            self.number += 1
            return spelled(segment)

        monkeypatch.setattr(Segment, "esi", property(esi))


def of(racks: int) -> Fabric:
    content = data()
    content["spines"] |= {"count": 1, "downlinks": f"swp1-{2 * racks}", "ports": 64}
    content["leaves"]["uplinks"] = "swp31"
    content["racks"] = [{"count": racks, "hosts": "swp1-8"}]
    return expand.expand(schema.INTENT.read("", content))


def test_the_work_of_verify_grows_with_the_fabric_and_not_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    for racks in (2, 20):
        fabric, counted = of(racks), Counted(monkeypatch)
        with rack(fabric, applied=True) as made:
            seen = made.site.survey(state=True)
            counted.number = 0
            assert [each for each in verify(fabric, seen.patches, seen.observed) if each.severity > 0] == []
            counts.append(counted.number)
        monkeypatch.undo()
    assert counts[1] <= 10 * counts[0]
