# SPDX-License-Identifier: Apache-2.0
"""An apply on simulated switches: all of it or nothing, and nothing at all the second time."""

from collections.abc import Iterator
from copy import deepcopy

import pytest
from converge import Severity
from lab.nvue import Fault
from output.report import Result
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import InTurn, Rack, rack
from unit.cumulus_fabric.online.small import small


@pytest.fixture(params=["5.9.2", "5.15.0"])
def release(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["confirm", "ays"])
def rdg(request: pytest.FixtureRequest, release: str) -> Iterator[Rack]:
    """The guide's six switches as they come, in either dialect, waiting for confirmations in either state."""
    with rack(fabric(), release=release, waits=request.param) as made:
        yield made


def test_six_switches_as_they_come_are_brought_to_the_intent(rdg: Rack) -> None:
    report = rdg.site.apply()
    assert [each.severity for each in report.reasons] == [Severity.INFO] * 2  # what NVUE said
    assert report.verdict == "fully applied: 6 switches changed"
    assert set(report.results.values()) == {Result.APPLIED}
    assert [each for each in rdg.site.verify() if each.severity > 0] == []


def test_a_second_apply_writes_nothing(rdg: Rack) -> None:
    rdg.site.apply()
    rdg.forget()
    assert rdg.site.survey().plan.empty
    assert rdg.site.apply().applied
    assert rdg.writes() == []


def test_a_revision_that_changes_nothing_is_dropped(rdg: Rack) -> None:
    """Where NVUE finds no difference although we do."""
    for server in rdg.servers.values():
        server.switch.difference = lambda target, base: {}
    for _ in range(2):
        report = rdg.site.apply()
        assert report.verdict == "fully applied: 0 switches changed"
        assert set(report.results.values()) == {Result.UNCHANGED}
    assert {each.state for server in rdg.servers.values() for each in server.switch.revisions.values()} == {
        "applied_and_saved"
    }


def test_a_revision_that_cannot_be_dropped_ends_the_run_and_says_so(rdg: Rack) -> None:
    before = deepcopy(rdg.applied)
    for server in rdg.servers.values():
        server.switch.difference = lambda target, base: {}
    rdg.servers["Spine0"].inject(Fault("reset-after", call="drop"))
    report = rdg.site.apply(canary="Spine0")
    assert report.verdict.startswith("fully rolled back")
    assert [each.subject for each in report.reasons] == ["Spine0"]
    assert rdg.applied == before


@pytest.mark.parametrize("waits", ["confirm", "ays"])
def test_switches_that_take_their_time_are_waited_for(release: str, waits: str) -> None:
    """45 s are what clients of real switches allow for an apply; here three follow one another."""
    with rack(fabric(change=small), release=release, waits=waits, takes=45, fleet=InTurn) as slow:
        assert slow.site.apply().verdict == "fully applied: 3 switches changed"
        assert 3 * 45 < slow.clock.monotonic() < 4 * 45
