# SPDX-License-Identifier: Apache-2.0
"""Two leaves without spines connect to each other, and each carries the hosts alone where it has to."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from audit import audit
from converge import Severity
from converge.shape import InvalidValue
from maintenance import Maintenance
from output.picture import as_svg
from output.told import Told
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import Rack, rack, worse
from unit.cumulus_fabric.online.test_faults import POLICY
from unit.cumulus_fabric.online.unmanaged import ON_PORT, bgp, joined, typed


def pair(content: dict[str, Any]) -> None:
    del content["spines"]
    content["racks"] = [{"hosts": "swp9-10"}]


PAIR = fabric(change=pair)


@pytest.fixture(params=["5.9.2", "5.15.0"])
def two(request: pytest.FixtureRequest) -> Iterator[Rack]:
    """Both from the factory."""
    with rack(PAIR, release=request.param) as made:
        yield made


def test_the_uplinks_go_from_one_to_the_other() -> None:
    one, other = PAIR.switches
    assert [(each.port, each.peer, each.peer_port, each.tracked) for each in one.links] == [
        ("swp31", "Leaf0-2", "swp31", False),
        ("swp32", "Leaf0-2", "swp32", False),
    ]
    assert {each.peer for each in other.links} == {"Leaf0-1"}


def test_the_picture_has_each_cable_once() -> None:
    drawn = as_svg(Told(PAIR))
    assert [drawn.count(f"Leaf0-1 {port} to Leaf0-2 {port}") for port in ("swp31", "swp32")] == [1, 1]
    assert "Leaf0-2 swp31 to" not in drawn


def test_they_become_a_fabric_in_one_apply(two: Rack) -> None:
    assert [each for each in audit(PAIR) if each.severity is Severity.BLOCKED] == []
    assert two.site.apply(policy=POLICY).applied
    assert (two.site.survey().plan.steps, worse(two.site)) == ((), [])
    two.wires.cut |= {("Leaf0-1", "swp31"), ("Leaf0-1", "swp32")}
    assert any("the BGP session" in each or "the link to Leaf0-2 is down" in each for each in worse(two.site))


def test_ibgp_between_the_two_is_named_before_the_intent_would_cut_it(two: Rack) -> None:
    """Two switches of one AS with a peer group of their own, and an intent that gives each an AS."""
    links = {port: {"type": "unnumbered", "peer-group": "inner"} for port in ("swp31", "swp32")}
    sessions = bgp({"neighbor": links, "peer-group": {"inner": {"remote-as": "internal"}}})
    own = {"router": {"bgp": {"autonomous-system": 65101}}, "interface": dict.fromkeys(links, ON_PORT)}
    for leaf in ("Leaf0-1", "Leaf0-2"):
        typed(two, leaf, joined(own, sessions))
    before = deepcopy(two.applied)
    found = [each for each in two.site.survey().plan.findings if each.severity is Severity.BLOCKED]
    assert {each.sentence() for each in found} == {
        f"{leaf}: the BGP sessions on swp31-32 are iBGP, and the change to eBGP would cut them; "
        "give both switches one AS in the intent (leaves.asn); or change the sessions on the switches"
        for leaf in ("Leaf0-1", "Leaf0-2")
    }
    assert not two.site.apply(policy=POLICY).applied
    assert two.applied == before


@pytest.mark.parametrize("release", ["5.9.2", "5.15.0"])
def test_two_of_one_as_speak_ibgp(release: str) -> None:
    def one_as(content: dict[str, Any]) -> None:
        pair(content)
        content["leaves"]["asn"] = {"all": 65101}

    one = fabric(change=one_as)
    assert [each for each in audit(one) if each.severity is Severity.BLOCKED] == []
    with rack(one, release=release) as made:
        assert made.site.apply(policy=POLICY).applied
        assert (made.site.survey().plan.steps, worse(made.site)) == ((), [])


def test_one_alone_comes_first(two: Rack) -> None:
    assert two.site.apply(["Leaf0-2"], policy=POLICY).applied
    assert two.site.apply(policy=POLICY).applied
    assert worse(two.site) == []


def test_one_is_drained_and_returns_also_while_the_other_is_dead(two: Rack) -> None:
    two.site.apply(policy=POLICY)
    assert Maintenance(two.site, "Leaf0-1", POLICY).drain().applied
    assert not two.wires.up(("Leaf0-1", "swp9"))
    assert not Maintenance(two.site, "Leaf0-2", POLICY).drain().applied
    two.wires.cut |= {("Leaf0-1", "swp31"), ("Leaf0-1", "swp32")}
    assert Maintenance(two.site, "Leaf0-1", POLICY).undrain().reasons == ()
    assert two.wires.up(("Leaf0-1", "swp9"))


def tracked(content: dict[str, Any]) -> None:
    pair(content)
    content["leaves"]["tracked"] = "swp31-32"


def test_both_do_not_track_the_links_between_them() -> None:
    (found,) = [each for each in audit(fabric(change=tracked)) if each.severity is Severity.BLOCKED]
    assert found.sentence() == (
        "leaves.tracked: Leaf0-1 and Leaf0-2 both track the links between them: their loss would take down "
        "all ports to hosts; leave tracked out"
    )


WRONG = {
    "two racks": lambda content: content["racks"].append({"hosts": "swp9"}),
    "three leaves": lambda content: content["leaves"].update({"per-rack": 3}),
    "unlike links": lambda content: content.update(switches={"Leaf0-2": {"uplinks": "swp31"}}),
}
SAID = {
    "two racks": "only the two leaves of a single rack need none",
    "three leaves": "only the two leaves of a single rack need none",
    "unlike links": "as many uplinks as Leaf0-1 has (swp31-32)",
}


@pytest.mark.parametrize("case", WRONG)
def test_other_fabrics_need_spines(case: str) -> None:
    def change(content: dict[str, Any]) -> None:
        pair(content)
        WRONG[case](content)

    with pytest.raises(InvalidValue) as caught:
        fabric(change=change)
    assert SAID[case] in str(caught.value)
