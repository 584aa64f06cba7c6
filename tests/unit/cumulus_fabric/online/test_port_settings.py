# SPDX-License-Identifier: Apache-2.0
"""Changed properties of ports: their cost, the hosts that lose a leg, and the values that are read back."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from audit.foreign import Ownership
from converge import Disruption
from maintenance import Maintenance
from online import Site
from tree.cost import disruption
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.drained import POLICY, runs, shut
from unit.cumulus_fabric.online.site import Rack, rack
from unit.cumulus_fabric.online.small import small
from unit.cumulus_fabric.online.test_toll import told

Edit = Callable[[dict[str, Any]], None]


def hosts(content: dict[str, Any]) -> None:
    """A spine, and a rack with two hosts."""
    small(content)
    content["racks"][0]["hosts"] = {"ports": "swp9-10", "names": ["node1", "node2"]}


def on(switch: str, **ports: Any) -> Edit:
    """The same with these properties of one switch's ports."""

    def change(content: dict[str, Any]) -> None:
        hosts(content)
        content["switches"] = {switch: {"port-settings": ports}}

    return change


BEFORE = fabric(change=hosts)


@pytest.fixture(params=["5.9.2", "5.15.0"])
def made(request: pytest.FixtureRequest) -> Iterator[Rack]:
    with rack(BEFORE, release=request.param, applied=True) as found:
        yield found


def changed(made: Rack, change: Edit) -> Site:
    last = {**made.site.ownership.last, **made.site.survey().last}
    return replace(made.site, fabric=fabric(change=change), ownership=Ownership(last))


SPEED = on("Leaf0-1", swp9={"speed": "25G", "fec": "rs"})
SHUT = on("Leaf0-1", swp9={"shut": True})


def test_another_speed_costs_the_leg_for_a_moment(made: Rack) -> None:
    site = changed(made, SPEED)
    survey = site.survey(state=True)
    change = survey.changes["Leaf0-1"]
    assert change.patch == {"interface": {"swp9": {"link": {"speed": "25G", "fec": "rs"}}}}
    assert disruption(change.patch, change.before) is Disruption.LINK_FLAP
    assert told(site) == ["Leaf0-1: these hosts lose a leg for a moment, and keep another one: node1"]


def test_a_speed_on_a_port_that_is_new_costs_nothing(made: Rack) -> None:
    survey = changed(made, on("Leaf0-1", swp20={"speed": "25G"})).survey(state=True)
    change = survey.changes["Leaf0-1"]
    assert disruption(change.patch, change.before) is Disruption.NONE


def test_what_is_set_is_read_back_and_a_second_run_writes_nothing(made: Rack) -> None:
    site = changed(made, SPEED)
    assert site.apply(policy=POLICY).applied
    made.forget()
    assert site.apply(policy=POLICY).applied
    assert (made.writes(), site.survey().changes) == ([], {})
    assert [each for each in site.verify() if "runs at" in each.what] == []
    made.wires.speeds["Leaf0-1", "swp9"] = "10G"
    assert (
        "Leaf0-1 swp9: runs at 10G, the intent says 25G; check its cable, and the speed of the other end"
        in [each.sentence() for each in site.verify()]
    )


def test_a_speed_that_leaves_the_intent_goes_and_anothers_stays(made: Rack) -> None:
    site = changed(made, SPEED)
    assert site.apply(policy=POLICY).applied
    theirs = deepcopy(made.applied["Leaf0-1"])
    theirs["interface"]["swp10"]["link"] = {"speed": "10G"}
    runs(made, theirs, "Leaf0-1")
    last = Ownership({**site.survey().last})
    again = replace(site, fabric=BEFORE, ownership=last)
    assert again.survey().patches["Leaf0-1"] == {"interface": {"swp9": {"link": None}}}


def test_a_port_that_is_shut_takes_a_leg_for_good(made: Rack) -> None:
    site = changed(made, SHUT)
    assert told(site) == ["Leaf0-1: these hosts lose a leg, and keep another one: node1"]
    assert site.apply(policy=POLICY).applied
    assert shut(made, "Leaf0-1") == {"swp9"}
    assert [
        each.sentence() for each in site.verify() if "swp9" in each.subject and "Leaf0-1" in each.subject
    ] == []


def test_the_last_leg_of_a_host_is_shut_only_if_the_host_is_named(made: Rack) -> None:
    made.wires.cut.add(("Leaf0-2", "swp9"))
    site = changed(made, SHUT)
    report = site.apply(policy=POLICY)
    assert not report.applied
    assert "node1" in report.reasons[0].sentence()
    assert shut(made, "Leaf0-1") == set()


def test_the_last_link_of_a_leaf_is_shut_only_if_it_is_named(made: Rack) -> None:
    site = changed(made, on("Leaf0-1", swp31={"shut": True}))
    report = site.apply(policy=POLICY)
    assert not report.applied
    assert "Leaf0-1" in report.reasons[0].subject


def test_an_undrain_leaves_a_port_shut_that_is_shut_on_purpose(made: Rack) -> None:
    site = changed(made, SHUT)
    assert site.apply(policy=POLICY).applied
    site = replace(site, ownership=Ownership(site.survey().last))
    work = Maintenance(site, "Leaf0-1", POLICY, cut_off=["node1", "node2"])
    assert work.drain().applied
    assert shut(made, "Leaf0-1") == {"swp9", "swp10"}
    assert work.undrain().applied
    assert shut(made, "Leaf0-1") == {"swp9"}
    assert site.survey().changes == {}


def test_a_port_is_shut_where_somebody_has_set_it_up(made: Rack) -> None:
    theirs = deepcopy(made.applied["Leaf0-1"])
    theirs["interface"]["swp9"]["link"] = {"state": {"up": {}}}
    runs(made, theirs, "Leaf0-1")
    site = changed(made, SHUT)
    assert site.survey().patches["Leaf0-1"] == {
        "interface": {"swp9": {"link": {"state": {"up": None, "down": {}}}}}
    }


def test_a_port_that_is_no_longer_shut_comes_up(made: Rack) -> None:
    site = changed(made, SHUT)
    assert site.apply(policy=POLICY).applied
    again = replace(site, fabric=BEFORE, ownership=Ownership(site.survey().last))
    assert again.apply(policy=POLICY).applied
    assert shut(made, "Leaf0-1") == set()
    assert again.survey().changes == {}


def test_a_rollback_takes_a_shut_port_back(made: Rack) -> None:
    site = changed(made, SHUT)
    assert site.apply(policy=POLICY).applied
    back = replace(site, ownership=Ownership(site.survey().last))
    report = back.rollback(policy=POLICY)
    assert report.applied, [each.sentence() for each in report.reasons]
    assert shut(made, "Leaf0-1") == set()
