# SPDX-License-Identifier: Apache-2.0
"""A fabric with numbered links is applied, read, drained and changed as any other one."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from audit.foreign import Ownership
from converge import Severity
from intent.model import Fabric
from maintenance import Maintenance
from online import Site
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.drained import POLICY, addressed, runs, shut
from unit.cumulus_fabric.online.site import Rack, rack, taking_over, worse
from unit.cumulus_fabric.test_numbered_links import OWN, own

NUMBERED = fabric(change=OWN)
RELEASES = ["5.9.2", "5.15.0"]


@pytest.fixture(params=RELEASES)
def made(request: pytest.FixtureRequest) -> Iterator[Rack]:
    with rack(NUMBERED, release=request.param, applied=True) as found:
        yield found


@pytest.mark.parametrize("release", RELEASES)
def test_six_switches_become_a_fabric_and_a_second_run_writes_nothing(release: str) -> None:
    with rack(NUMBERED, release=release) as six:
        assert six.site.apply(policy=POLICY).applied
        six.forget()
        assert six.site.apply(policy=POLICY).applied
        assert (six.writes(), worse(six.site)) == ([], [])


def test_a_session_that_is_down_is_told_by_its_port(made: Rack) -> None:
    broken = deepcopy(made.applied["Spine0"])
    del broken["vrf"]["default"]["router"]["bgp"]["neighbor"]["10.1.0.1"]
    runs(made, broken, "Spine0")
    said = worse(made.site)
    assert any(
        each.startswith("Leaf0-1 swp31: the BGP session with Spine0 is not established") for each in said
    )
    assert any(each.startswith("Spine0: 2 settings differ") and "neighbor 10.1.0.1" in each for each in said)


def test_nothing_of_it_is_foreign(made: Rack) -> None:
    said = [each.sentence() for each in taking_over(made.fabric, made).survey().plan.findings]
    assert [each for each in said if "10.1.0" in each or "not in the intent" in each] == []


def test_a_leaf_drains_and_returns(made: Rack) -> None:
    before = made.applied
    assert Maintenance(taking_over(made.fabric, made), "Leaf0-2", POLICY).drain().applied
    assert not addressed(made, "Leaf0-2")
    assert shut(made, "Leaf0-2")
    assert Maintenance(taking_over(made.fabric, made), "Leaf0-2", POLICY).undrain().applied
    assert made.applied == before


def other(shut: bool = False) -> Fabric:
    """The first link of Leaf0-1 has another address, and is shut or not."""
    first = {"address": "10.1.0.9/31", **({"shut": True} if shut else {})}
    ports = {"swp31": first, "swp32": {"address": "10.1.0.5/30"}}
    return fabric(change=OWN | own({"Leaf0-1": ports}))


def blocked(site: Site) -> list[str]:
    return [each.sentence() for each in site.survey().plan.findings if each.severity is Severity.BLOCKED]


def test_a_link_in_use_keeps_its_addresses_until_it_is_shut(made: Rack) -> None:
    """Neither end could be checked after its change while the other one has the old address."""
    said = (
        "Leaf0-1: the BGP session of swp31 with Spine0 is with 10.1.0.0, the intent says that it is with "
        "10.1.0.8; the change of one end would cut it; shut the link in the intent, apply, and open it again "
        "with the next apply; that is switches.Leaf0-1.port-settings: {swp31: {shut: true}}"
    )
    assert said in blocked(taking_over(other(), made))
    site = taking_over(other(shut=True), made)
    assert blocked(site) == []
    assert site.apply(policy=POLICY).applied
    assert worse(site) == []
    opened = replace(site, fabric=other(), ownership=Ownership({**site.survey().last}))
    assert blocked(opened) == []
    assert opened.apply(policy=POLICY).applied
    assert set(made.applied["Leaf0-1"]["vrf"]["default"]["router"]["bgp"]["neighbor"]) == {
        "10.1.0.8",
        "10.1.0.6",
    }
    assert worse(opened) == []
    assert opened.survey().changes == {}


def test_a_leaf_that_would_lose_its_only_session_is_named(made: Rack) -> None:
    made.wires.cut.add(("Leaf0-1", "swp32"))
    report = taking_over(other(shut=True), made).apply(policy=POLICY)
    assert not report.applied
    assert any("Leaf0-1" in each.sentence() for each in report.reasons)


def test_a_numbered_link_loses_its_addresses_only_while_it_is_shut(made: Rack) -> None:
    assert any(
        "the intent says that it has no address" in each for each in blocked(taking_over(fabric(), made))
    )


def test_two_switches_without_spines_have_all_of_it() -> None:
    """A pair with numbered links, BFD and a peer group of its own name."""

    def pair(content: dict[str, Any]) -> None:
        del content["spines"]
        content["racks"] = [{"hosts": "swp9-10"}]
        content["underlay"] = {"peer-group": "core", "bfd": {}}
        content["switches"] = {"Leaf0-1": {"port-settings": {"swp31": {"address": "10.1.0.1/31"}}}}

    with rack(fabric(change=pair), release="5.15.0") as two:
        assert two.site.apply(policy=POLICY).applied
        assert (two.site.survey().changes, worse(two.site)) == ({}, [])
        sessions = two.applied["Leaf0-2"]["vrf"]["default"]["router"]["bgp"]["neighbor"]
        assert {name: each["peer-group"] for name, each in sessions.items()} == {
            "10.1.0.1": "core",
            "swp32": "core",
        }
