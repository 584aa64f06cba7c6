# SPDX-License-Identifier: Apache-2.0
"""An apply on simulated switches: all of it or nothing, and nothing at all the second time."""

from collections.abc import Iterator

import pytest
from report import Result
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import Rack, rack


@pytest.fixture(params=["5.9.2", "5.15.0"])
def rdg(request: pytest.FixtureRequest) -> Iterator[Rack]:
    """The guide's six switches as they come, in either dialect."""
    with rack(fabric(), release=request.param) as made:
        yield made


def test_six_switches_as_they_come_are_brought_to_the_intent(rdg: Rack) -> None:
    report = rdg.site.apply()
    assert report.reasons == ()
    assert report.verdict == "fully applied: 6 switches changed"
    assert set(report.results.values()) == {Result.APPLIED}
    assert [each for each in rdg.site.verify() if each.severity > 0] == []


def test_a_second_apply_writes_nothing(rdg: Rack) -> None:
    rdg.site.apply()
    rdg.forget()
    assert rdg.site.survey().plan.empty
    assert rdg.site.apply().applied
    assert rdg.writes() == []
