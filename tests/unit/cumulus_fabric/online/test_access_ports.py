# SPDX-License-Identifier: Apache-2.0
"""Access ports: the networks that a port loses, the hosts that had them, and settings of others on it."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from audit.foreign import Ownership
from converge import Disruption, Severity
from online import Site
from tree.cost import disruption
from tree.taken import interrupted
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.drained import POLICY, runs
from unit.cumulus_fabric.online.site import Rack, rack
from unit.cumulus_fabric.online.small import small
from unit.cumulus_fabric.online.test_port_settings import Edit


def outside(**keys: Any) -> Edit:
    """A spine, and a rack with a bond to the outside, which has these keys."""

    def change(content: dict[str, Any]) -> None:
        small(content)
        content["racks"][0]["bonds"] = {"bond_ext": {"ports": "swp22", "local-id": 9, **keys}}

    return change


TRUNK = outside(networks=["public", "internal"], untagged="public")
ACCESS = outside(access="public", **{"stp-edge": True, "bpdu-guard": True})


@pytest.fixture(params=["5.9.2", "5.15.0"])
def made(request: pytest.FixtureRequest) -> Iterator[Rack]:
    with rack(fabric(change=TRUNK), release=request.param, applied=True) as found:
        yield found


def changed(made: Rack, change: Edit, site: Site | None = None) -> Site:
    site = site or made.site
    return replace(site, fabric=fabric(change=change), ownership=Ownership({**site.survey().last}))


def domain(made: Rack) -> dict[str, Any]:
    return made.applied["Leaf0-1"]["interface"]["bond_ext"]["bridge"]["domain"]["br_default"]


def blocked(site: Site) -> list[str]:
    return [each.sentence() for each in site.survey().plan.findings if each.severity is Severity.BLOCKED]


def test_a_trunk_becomes_an_access_port_and_a_second_run_writes_nothing(made: Rack) -> None:
    made.wires.cut |= {("Leaf0-1", "swp22"), ("Leaf0-2", "swp22")}
    site = changed(made, ACCESS)
    assert site.apply(policy=POLICY).applied
    assert {key: value for key, value in domain(made).items() if key != "stp"} == {"access": 9}
    assert set(domain(made)["stp"]) == {"admin-edge", "bpdu-guard"}
    made.forget()
    assert site.apply(policy=POLICY).applied
    assert made.writes() == []
    assert [each.sentence() for each in site.verify() if "VLAN" in each.what] == []


def test_it_becomes_a_trunk_again_and_another_networks_port(made: Rack) -> None:
    """The access VLAN that this charm has set is its own to change."""
    made.wires.cut |= {("Leaf0-1", "swp22"), ("Leaf0-2", "swp22")}
    site = changed(made, ACCESS)
    assert site.apply(policy=POLICY).applied
    other = changed(made, outside(access="internal"), site)
    assert blocked(other) == []
    assert other.apply(policy=POLICY).applied
    assert domain(made) == {"access": 10}
    again = changed(made, TRUNK, other)
    assert again.apply(policy=POLICY).applied
    assert domain(made) == {"vlan": {"9": {}, "10": {}}, "untagged": 9}


def test_a_host_in_use_loses_a_network_only_by_name(made: Rack) -> None:
    site = changed(made, outside(access="internal"))
    report = site.apply(policy=POLICY)
    assert not report.applied
    assert any("VLAN 9" in each.sentence() and "would lose it" in each.sentence() for each in report.reasons)


def test_a_vlan_that_others_have_put_there_cannot_stay(made: Rack) -> None:
    theirs = deepcopy(made.applied["Leaf0-1"])
    theirs["interface"]["bond_ext"]["bridge"]["domain"]["br_default"]["vlan"]["88"] = {}
    theirs["bridge"]["domain"]["br_default"]["vlan"]["88"] = {}
    runs(made, theirs, "Leaf0-1")
    site = replace(changed(made, ACCESS), ownership=Ownership({**made.site.survey().last}))
    (said,) = [each for each in blocked(site) if each.startswith("Leaf0-1: bond_ext")]
    assert said.startswith("Leaf0-1: bond_ext has VLAN 88, and is an access port in the intent")
    assert "remove=bond_ext:vlan88" in said


def test_an_access_port_joins_no_network_of_others_unasked(made: Rack) -> None:
    """As a trunk does not: the switch has the VLAN already, and others made it."""
    theirs = deepcopy(made.applied["Leaf0-1"])
    theirs["bridge"]["domain"]["br_default"]["vlan"]["77"] = {"vni": {"5077": {}}}
    runs(made, theirs, "Leaf0-1")
    last = {**made.site.survey().last}

    def change(content: dict[str, Any]) -> None:
        outside(access="tenant")(content)
        content["networks"]["tenant"] = {"vlan": 77, "vni": 5077}

    site = replace(made.site, fabric=fabric(change=change), ownership=Ownership(last))
    assert any("bond_ext would join it" in each.sentence() for each in site.survey().plan.findings)


def test_a_port_that_stops_being_an_edge_may_wait_for_stp(made: Rack) -> None:
    before = {
        "interface": {
            "swp9": {"type": "swp", "bridge": {"domain": {"br_default": {"stp": {"admin-edge": "on"}}}}}
        }
    }
    patch = {"interface": {"swp9": {"bridge": {"domain": {"br_default": {"stp": None}}}}}}
    assert interrupted(before, patch).ports == {"swp9"}
    assert disruption(patch, before) is Disruption.HOST_NETWORK_CUT
    assert (
        interrupted(
            before, {"interface": {"swp9": {"bridge": {"domain": {"br_default": {"vlan": {"7": {}}}}}}}}
        ).ports
        == frozenset()
    )
