# SPDX-License-Identifier: Apache-2.0
"""A switch that is new to the fabric starts drained: it carries nothing until undrain."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from audit.foreign import Ownership
from converge import Severity
from lab.nvue.factory import factory
from maintenance import Maintenance
from online import Site
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.drained import BOTH, POLICY, addressed, graceful, runs, shut
from unit.cumulus_fabric.online.site import Rack, rack


def new_leaf(content: dict[str, Any]) -> None:
    content["switches"] = {"Leaf0-2": {"starts-drained": True}, "Spine1": {"starts-drained": True}}


@pytest.fixture(params=["5.9.2", "5.15.0"])
def made(request: pytest.FixtureRequest) -> Iterator[Rack]:
    """Leaf0-2 and Spine1 come from the factory; the others run the intent."""
    with rack(fabric(change=new_leaf), release=request.param, applied=True) as found:
        for name in ("Leaf0-2", "Spine1"):
            runs(found, factory("cumulus", found.servers[name].switch.rules.new), name)
        yield found


def known(made: Rack, drained: frozenset[str] = frozenset()) -> Site:
    return replace(made.site, ownership=Ownership({**made.site.survey().last}, drained=drained))


def test_its_first_configuration_is_that_of_a_drained_switch(made: Rack) -> None:
    site = known(made)
    said = [each.sentence() for each in site.survey().plan.findings]
    assert (
        "Leaf0-2: starts drained, as the intent says; apply configures it so; "
        "run undrain once it is to carry traffic"
    ) in said
    assert site.apply(policy=POLICY).applied
    assert (graceful(made, "Leaf0-2"), shut(made, "Leaf0-2")) == (True, set(BOTH))
    assert not addressed(made, "Leaf0-2")
    assert (graceful(made, "Spine1"), shut(made, "Spine1")) == (True, set())
    assert [each.subject for each in site.verify() if each.severity is Severity.BLOCKED] == []


def test_undrain_gives_it_traffic_and_it_stays_in_use(made: Rack) -> None:
    site = known(made)
    assert site.apply(policy=POLICY).applied
    site = known(made, frozenset({"Leaf0-2", "Spine1"}))
    for name in ("Spine1", "Leaf0-2"):
        assert Maintenance(site, name, POLICY).undrain().applied
    site = known(made)
    assert addressed(made, "Leaf0-2")
    assert (graceful(made, "Leaf0-2"), shut(made, "Leaf0-2")) == (False, set())
    survey = site.survey(state=True)
    assert (survey.changes, [each for each in survey.plan.findings if "drained" in each.what]) == ({}, [])


def test_a_switch_in_use_is_not_drained_by_it(made: Rack) -> None:
    def running(content: dict[str, Any]) -> None:
        content["switches"] = {"Leaf0-1": {"starts-drained": True}}

    site = replace(known(made), fabric=fabric(change=running))
    assert site.survey().patches["Leaf0-1"] == {}


@pytest.mark.parametrize("seconds", [0, 240])
def test_a_startup_delay_costs_nothing_and_is_kept(made: Rack, seconds: int) -> None:
    def delayed(content: dict[str, Any]) -> None:
        content["leaves"]["startup-delay"] = seconds

    site = replace(known(made), fabric=fabric(change=delayed))
    change = site.survey(state=True).changes["Leaf0-1"]
    assert change.patch == {"evpn": {"multihoming": {"startup-delay": seconds}}}
    assert site.apply(["Leaf0-1"], policy=POLICY).applied
    assert made.applied["Leaf0-1"]["evpn"]["multihoming"]["startup-delay"] == seconds
    longer = replace(site, fabric=fabric(change={"leaves.startup-delay": 600}))
    survey = longer.survey(["Leaf0-1"], state=True)
    assert [each.loses.name for each in survey.toll.shares] == []
    assert survey.plan.steps[0].disruption.name == "NONE"


def test_the_default_delay_is_no_difference_where_a_switch_does_not_show_it(made: Rack) -> None:
    site = replace(known(made), fabric=fabric(change={"leaves.startup-delay": 180}))
    assert site.survey().patches["Leaf0-1"] == {}
