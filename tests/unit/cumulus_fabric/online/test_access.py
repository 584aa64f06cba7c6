# SPDX-License-Identifier: Apache-2.0
"""A port with ``access N`` is one that carries VLAN N untagged, and nothing else: no difference from that."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from converge import Severity
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.drained import runs, work
from unit.cumulus_fabric.online.site import Rack, rack, taking_over

NOTHING = "nothing was sent to any switch"


@pytest.fixture(params=["5.9.2", "5.15.0"])
def running(request: pytest.FixtureRequest) -> Iterator[Rack]:
    with rack(fabric(), applied=True, release=request.param) as made:
        yield made


def on_access(made: Rack, vlan: object, *leaves: str) -> None:
    """Somebody has made bond_ext, which carries VLAN 9 untagged, an access port."""
    for name in leaves or ("Leaf0-1", "Leaf0-2"):
        tree = deepcopy(made.applied[name])
        tree["interface"]["bond_ext"]["bridge"] = {"domain": {"br_default": {"access": vlan}}}
        runs(made, tree, name)


def bridged(made: Rack, name: str = "Leaf0-1") -> Any:
    return made.applied[name]["interface"]["bond_ext"].get("bridge", {}).get("domain", {}).get("br_default")


def with_bond(**given: Any) -> Any:
    """The intent with another bond_ext."""
    return fabric(change=lambda content: content["racks"][0]["bonds"]["bond_ext"].update(given))


@pytest.mark.parametrize("vlan", [9, "9"])
def test_an_access_port_of_the_intents_network_is_taken_as_it_is(running: Rack, vlan: object) -> None:
    on_access(running, vlan)
    assert running.site.survey().plan.empty
    assert [each.sentence() for each in running.site.verify() if each.severity > Severity.INFO] == []
    report = running.site.apply()
    assert (report.applied, running.writes(), bridged(running)) == (True, [], {"access": vlan})


def test_with_more_networks_it_becomes_a_trunk(running: Rack) -> None:
    on_access(running, 9)
    site = taking_over(with_bond(networks=["public", "internal"]), running)
    assert site.apply().applied
    assert bridged(running) == {"vlan": {"9": {}, "10": {}}, "untagged": 9}
    assert site.survey().plan.empty
    assert [each.sentence() for each in site.verify() if each.severity > Severity.INFO] == []


@pytest.mark.parametrize(
    "given",
    [
        {"networks": ["internal"], "untagged": "internal"},
        {"untagged": "none"},
        {"networks": ["oam", "public"]},
    ],
    ids=["another network", "tagged", "another one untagged"],
)
def test_another_untagged_network_is_the_operators_choice(running: Rack, given: dict[str, Any]) -> None:
    """The host's untagged packets would come out in another network, or nowhere.

    With the record, the port's VLAN is the charm's own, and the host that uses it is asked for.
    """
    given = {**given, "untagged": given.get("untagged", "oam")}
    on_access(running, 9)
    for site, why in (
        (taking_over(with_bond(**given), running), "host-bond_ext would lose it"),
        (replace(running.site, fabric=with_bond(**given)), "bond_ext has another use on the switch"),
    ):
        report = site.apply()
        assert report.verdict == NOTHING
        assert any(why in each.what for each in report.reasons)
    assert bridged(running) == {"access": 9}


def test_it_leaves_with_its_entry(running: Rack) -> None:
    on_access(running, 9)
    without = fabric(change=lambda content: content["racks"][0].pop("bonds"))
    site = taking_over(without, running)
    assert site.apply(cut_off=["bond_ext"]).applied
    assert "bond_ext" not in running.applied["Leaf0-1"]["interface"]


def test_a_decommission_leaves_nothing_of_it(running: Rack) -> None:
    on_access(running, 9)
    cut_off = ["swp23", "swp24", "bond_ext", "bond1", "bond2"]
    assert work(running, "Leaf0-1", cut_off=cut_off).drain().applied
    assert work(running, "Leaf0-1").decommission().applied
    assert "bond_ext" not in running.applied["Leaf0-1"]["interface"]
