# SPDX-License-Identifier: Apache-2.0
"""A running fabric gets BFD, or another name for its peer group: what stops, and what others keep."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from audit.foreign import Ownership
from converge import Disruption, Severity
from maintenance import Maintenance
from online import Site
from tree.taken import ALL, interrupted
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.drained import POLICY, addressed, runs
from unit.cumulus_fabric.online.site import Rack, rack


@pytest.fixture(params=["5.9.2", "5.15.0"])
def made(request: pytest.FixtureRequest) -> Iterator[Rack]:
    with rack(fabric(), release=request.param, applied=True) as found:
        yield found


def changed(made: Rack, underlay: dict[str, Any], site: Site | None = None) -> Site:
    site = site or made.site
    ownership = Ownership({**site.survey().last})
    return replace(site, fabric=fabric(change={"underlay": underlay}), ownership=ownership)


def bgp(made: Rack, name: str = "Leaf0-1") -> dict[str, Any]:
    return made.applied[name]["vrf"]["default"]["router"]["bgp"]


def blocked(site: Site) -> list[str]:
    return [each.sentence() for each in site.survey().plan.findings if each.severity is Severity.BLOCKED]


def test_bfd_comes_to_a_running_fabric_and_goes_again(made: Rack) -> None:
    site = changed(made, {"bfd": {}})
    assert blocked(site) == []
    assert site.apply(policy=POLICY).applied
    assert "bfd" in bgp(made)["peer-group"]["underlay"]
    assert site.survey().changes == {}
    back = replace(made.site, ownership=Ownership({**site.survey().last}))
    assert back.apply(policy=POLICY).applied
    assert "bfd" not in bgp(made)["peer-group"]["underlay"]
    assert back.survey().changes == {}


def test_from_5_15_on_bfd_restarts_frr_which_the_plan_says(made: Rack) -> None:
    """Others may use BFD, too: it stays on when the intent no longer needs it."""
    site = changed(made, {"bfd": {}})
    new = made.servers["Leaf0-1"].switch.rules.new
    survey = site.survey(state=True)
    change = survey.changes["Leaf0-1"]
    said = [each.sentence() for each in survey.plan.findings if each.subject == "FRR"]
    assert bool(said) == new
    assert (interrupted(change.before, change.patch) == ALL) == new
    worst = max(step.disruption for step in survey.plan.steps)
    assert worst is (Disruption.HOST_NETWORK_CUT if new else Disruption.NONE)
    assert site.apply(policy=POLICY).applied
    back = replace(made.site, ownership=Ownership({**site.survey().last}))
    assert back.apply(policy=POLICY).applied
    assert made.applied["Leaf0-1"]["router"].get("bfd", {}).get("state") == ("enabled" if new else None)


def test_the_peer_group_gets_another_name_and_the_old_one_goes(made: Rack) -> None:
    site = changed(made, {"peer-group": "fabric"})
    assert blocked(site) == []
    assert site.apply(policy=POLICY).applied
    assert set(bgp(made)["peer-group"]) == {"fabric"}
    assert {each["peer-group"] for each in bgp(made)["neighbor"].values()} == {"fabric"}
    assert site.survey().changes == {}
    assert [each.sentence() for each in site.verify() if each.severity is Severity.BLOCKED] == []


def test_a_leaf_in_a_group_of_its_own_name_drains_and_returns(made: Rack) -> None:
    site = changed(made, {"peer-group": "fabric"})
    assert site.apply(policy=POLICY).applied
    before = made.applied
    site = replace(site, ownership=Ownership({**site.survey().last}))
    assert Maintenance(site, "Leaf0-2", POLICY).drain().applied
    assert not addressed(made, "Leaf0-2")
    assert Maintenance(site, "Leaf0-2", POLICY).undrain().applied
    assert made.applied == before


def test_a_session_of_others_in_the_old_group_keeps_it(made: Rack) -> None:
    theirs = deepcopy(made.applied["Leaf0-1"])
    theirs["interface"]["swp20"] = {"type": "swp"}
    theirs["vrf"]["default"]["router"]["bgp"]["neighbor"]["swp20"] = {
        "peer-group": "underlay",
        "type": "unnumbered",
    }
    last = {**made.site.survey().last}
    runs(made, theirs, "Leaf0-1")
    change = {"underlay": {"peer-group": "fabric"}}
    site = replace(made.site, fabric=fabric(change=change), ownership=Ownership(last))
    assert blocked(site) == [
        "Leaf0-1: session swp20: in peer group underlay, which the intent has no longer; give them a peer "
        "group of their own on the switch; or keep underlay.peer-group in the intent"
    ]


def test_a_group_of_others_with_the_usual_name_is_theirs(made: Rack) -> None:
    """The fabric's own group has another name: a session in ``underlay`` is no part of it."""
    site = changed(made, {"peer-group": "fabric"})
    assert site.apply(policy=POLICY).applied
    site = replace(site, ownership=Ownership({**site.survey().last}))
    theirs = deepcopy(made.applied["Leaf0-1"])
    theirs["interface"]["swp20"] = {"type": "swp"}
    theirs["vrf"]["default"]["router"]["bgp"]["peer-group"]["underlay"] = {"remote-as": "external"}
    theirs["vrf"]["default"]["router"]["bgp"]["neighbor"]["swp20"] = {
        "peer-group": "underlay",
        "type": "unnumbered",
    }
    runs(made, theirs, "Leaf0-1")
    survey = site.survey()
    assert (survey.patches["Leaf0-1"], blocked(site)) == ({}, [])
