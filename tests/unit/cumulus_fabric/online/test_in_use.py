# SPDX-License-Identifier: Apache-2.0
"""No run takes somebody's last way to the network whom the operator has not named."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from charmkit.fabric import Host, Neighbour, PortReport
from lab.nvue import Fault
from names import cut_off
from online import Site
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.drained import POLICY, refuse_at, sentences, work
from unit.cumulus_fabric.online.site import Rack, rack, taking_over
from unit.cumulus_fabric.online.unmanaged import on_port, typed

Change = Callable[[dict[str, Any]], object]


def named(content: dict[str, Any]) -> None:
    """Three hosts of the second rack, by their names."""
    members = {f"node{n}": {"port": f"swp{n + 6}", "local-id": n} for n in (3, 4, 5)}
    content["leaves"]["df-preference"] = [50000, 40000]
    content["racks"][1]["hosts"] = {"members": members}


NAMED = fabric(change=named)


def after(change: Change) -> Any:
    def both(content: dict[str, Any]) -> None:
        named(content)
        change(content)

    return fabric(change=both)


def without_node5(content: dict[str, Any]) -> None:
    del content["racks"][1]["hosts"]["members"]["node5"]


@pytest.fixture
def site() -> Iterator[Rack]:
    with rack(NAMED, applied=True) as made:
        yield made


def bonded(made: Rack, bond: str = "bond5") -> list[bool]:
    return [made.wires.members[name].bonded(bond) for name in ("Leaf1-1", "Leaf1-2")]


NODE5 = (
    "Leaf1-1 bond5: node5 has no other leg: bond5 of Leaf1-2 goes at the same time; "
    "keep it in the intent; or run apply with cut-off=bond5 if it may lose its network"
)
ALONE = "Leaf0-1 {0}: {1} is attached to Leaf0-1 alone; keep it in the intent; or run apply with cut-off={0}"


def other_port(content: dict[str, Any]) -> None:
    content["racks"][1]["hosts"]["members"]["node5"]["port"] = "swp12"


def no_hosts(content: dict[str, Any]) -> None:
    del content["racks"][1]["hosts"]


def none_alone(content: dict[str, Any]) -> None:
    del content["racks"][0]["single-homed"]


def silent(made: Rack) -> None:
    for host in made.wires.hosts.values():
        host.speaks = False


def in_pxe(made: Rack) -> None:
    for (_, port), host in made.wires.hosts.items():
        host.bonds = port != "swp11"


def nothing(_: Rack) -> None:
    """As it is."""


LOSING: dict[str, tuple[Change, Callable[[Rack], object], list[str]]] = {
    "its line is lost": (without_node5, nothing, [NODE5]),
    "its line is lost, and it has no LLDP": (without_node5, silent, [NODE5.replace("node5", "bond5")]),
    "its line is lost, and it waits in PXE": (without_node5, in_pxe, [NODE5]),
    "its cable is in another port than the intent says": (other_port, nothing, [NODE5]),
    "all hosts of its rack leave": (
        no_hosts,
        nothing,
        [NODE5.replace("bond5", f"bond{n}").replace("node5", f"node{n}") for n in (3, 4, 5)],
    ),
    "it is on one leaf alone": (
        none_alone,
        nothing,
        [ALONE.format("swp23", "juju"), ALONE.format("swp24", "maas")],
    ),
}


@pytest.mark.parametrize(("change", "before", "said"), LOSING.values(), ids=LOSING)
def test_who_would_lose_the_last_leg_holds_an_apply(
    site: Rack, change: Change, before: Callable[[Rack], object], said: list[str]
) -> None:
    before(site)
    site.site = taking_over(after(change), site)
    site.forget()
    plan = site.site.survey().plan
    assert plan.steps == ()
    assert plan.held
    report = site.site.apply(policy=POLICY)
    assert (report.verdict, site.writes()) == ("nothing was sent to any switch", [])
    assert len(report.reasons) == len(said)
    assert all(found.startswith(each) for found, each in zip(sentences(report), said))


@pytest.mark.parametrize("name", ["bond5", "node5", "Leaf1-1"])
def test_who_is_named_may_lose_it(site: Rack, name: str) -> None:
    site.site = taking_over(after(without_node5), site)
    assert site.site.apply(policy=POLICY, cut_off=["bond9"]).results == {}
    assert site.site.apply(policy=POLICY, cut_off=[name]).verdict == "fully applied: 2 switches changed"
    assert bonded(site) == [False, False]


def test_a_host_that_is_off_is_nobody(site: Rack) -> None:
    site.wires.cut |= {("Leaf1-1", "swp11"), ("Leaf1-2", "swp11")}
    site.site = taking_over(after(without_node5), site)
    assert site.site.apply(policy=POLICY).applied


def test_a_host_may_lose_one_leg_and_then_not_the_other(site: Rack) -> None:
    site.site = taking_over(after(without_node5), site)
    assert site.site.apply(["Leaf1-1"], policy=POLICY).applied
    report = site.site.apply(["Leaf1-2"], policy=POLICY)
    assert sentences(report)[0].startswith("Leaf1-2 bond5: node5 has no other leg: no other leaf")
    assert bonded(site) == [False, True]


def other_leg_down(made: Rack) -> None:
    made.wires.cut.add(("Leaf1-2", "swp11"))


def other_leaf_silent(made: Rack) -> None:
    made.servers["Leaf1-2"].inject(Fault("reset", times=0))


def other_leaf_drained(made: Rack) -> None:
    assert work(made, "Leaf1-2").drain().applied


@pytest.mark.parametrize("before", [other_leg_down, other_leaf_silent, other_leaf_drained])
def test_a_leg_that_does_not_carry_is_no_other_leg(site: Rack, before: Callable[[Rack], object]) -> None:
    taken_over = taking_over(after(without_node5), site)
    before(site)
    site.site = taken_over
    site.forget()
    report = site.site.apply(["Leaf1-1"], policy=POLICY)
    assert sentences(report)[0].startswith("Leaf1-1 bond5: node5 has no other leg: no other leaf")
    assert site.writes() == []


def reporting(partner: str | None) -> Host:
    """node5 by its own report, with its other port's LACP partner."""
    ports = [
        PortReport(
            netdev=f"enp59s0f{n}np{n}",
            bdf=f"0000:3b:00.{n}",
            mac=f"b8:3f:d2:00:00:0{n}",
            mtu=9000,
            bond="bond0",
            partner_mac=partner,
            neighbour=Neighbour("44:38:39:00:00:01", "swp11", f"Leaf1-{n + 1}"),
        )
        for n in (0, 1)
    ]
    return Host("node5", tuple(ports))


def test_a_hosts_own_report_counts(site: Rack) -> None:
    made = taking_over(after(without_node5), site)
    told = Site(made.fabric, made.fleet, ownership=made.ownership, reports=[reporting(None)])
    (found,) = told.apply(["Leaf1-1"], policy=POLICY).reasons
    assert found.what.startswith("node5 reports no other port with LACP partner 44:38:39:be:ef:02")


def test_the_digest_stands_for_those_who_lose_something(site: Rack) -> None:
    site.site = taking_over(after(without_node5), site)
    digest = site.site.survey().digest
    site.wires.cut |= {("Leaf1-1", "swp11"), ("Leaf1-2", "swp11")}
    off = site.site.survey().digest
    assert off != digest
    assert "is not the plan with the digest" in site.site.apply(approved=digest).reasons[0].what
    site.wires.cut.clear()
    assert site.site.apply(policy=POLICY, approved=digest, cut_off=["node5"]).applied


def test_what_is_named_for_removal_goes_whoever_uses_it(site: Rack) -> None:
    typed(site, "Leaf0-2", on_port("swp20", {"vlan": {"10": {}}}))
    site.wires.host(("Leaf0-2", "swp20"), site.wires.hosts["Leaf0-1", "swp23"])
    made = taking_over(NAMED, site)
    site.site = Site(
        NAMED, made.fleet, ownership=type(made.ownership)(made.ownership.last, frozenset({"swp20"}))
    )
    assert site.site.survey().toll.last[0].subject == "Leaf0-2 swp20"
    assert site.site.apply(policy=POLICY).applied


def more_roce(content: dict[str, Any]) -> None:
    content["roce"] = {"mode": "lossy"}


def test_nothing_interrupts_a_host_whose_other_leaf_is_drained(site: Rack) -> None:
    assert work(site, "Leaf1-2").drain().applied
    site.site = taking_over(after(more_roce), site)
    site.forget()
    report = site.site.apply(policy=POLICY)
    assert sentences(report)[0] == (
        "Leaf1-1 bond3: would be interrupted, and node3 has no other leg: no other leaf with its segment has "
        "the bond up; bring its other leg up first; "
        "or run apply with cut-off=bond3 if it may lose its network"
    )
    assert site.writes() == []
    assert site.site.apply(policy=POLICY, cut_off=["Leaf1-1"]).applied


def another_network(content: dict[str, Any]) -> None:
    content["networks"]["tenant"] = {"vlan": 77}


def test_a_network_is_added_while_a_leaf_is_drained(site: Rack) -> None:
    assert work(site, "Leaf1-2").drain().applied
    site.site = taking_over(after(another_network), site)
    assert site.site.apply(policy=POLICY).verdict == "fully applied: 4 switches changed"


def test_a_rollback_asks_the_same(site: Rack) -> None:
    """node5 has come with the last apply, and is up."""
    before = after(without_node5)
    with rack(before, applied=True) as made:
        for name in ("Leaf1-1", "Leaf1-2"):
            made.wires.host((name, "swp11"), site.wires.hosts[name, "swp11"])
        made.site = taking_over(NAMED, made)
        assert made.site.apply(policy=POLICY).applied
        made.forget()
        plan = made.site.restoration()[1].plan
        assert (plan.steps, len(plan.held)) == ((), 2)
        report = made.site.rollback(policy=POLICY)
        assert sentences(report) == [
            "Leaf1-1 bond5: node5 has no other leg: bond5 of Leaf1-2 goes at the same time; apply another "
            "intent instead; or run rollback with cut-off=bond5 if it may lose its network"
        ]
        assert made.writes() == []
        assert made.site.rollback(policy=POLICY, cut_off=["node5"]).applied
        assert not made.wires.members["Leaf1-1"].bonded("bond5")


def test_a_leaf_that_is_drained_in_part_is_not_cleaned_while_its_hosts_need_it(site: Rack) -> None:
    work(site, "Leaf0-2", refuse_at(site, 2)).drain()
    site.wires.refuse.clear()
    site.wires.cut.add(("Leaf0-1", "swp9"))
    site.forget()
    report = work(site, "Leaf0-2").decommission()
    assert sentences(report)[0].startswith("Leaf0-2 bond1: host-bond1 has no other leg")
    assert site.writes() == []


def test_a_port_of_the_intent_is_asked_for_wherever_the_intent_has_it(site: Rack) -> None:
    """A single-homed host moves to another port of the switch: where its cable is, it loses its network."""

    def moved(content: dict[str, Any]) -> None:
        content["racks"][0]["single-homed"]["juju"]["port"] = "swp25"

    site.site = taking_over(after(moved), site)
    assert sentences(site.site.apply(policy=POLICY))[0].startswith(ALONE.format("swp23", "juju"))


def without_internal_in_a_rack(content: dict[str, Any]) -> None:
    others = [name for name in content["networks"] if name != "internal"]
    content["racks"][1]["hosts"]["networks"] = others


def without_public_on_juju(content: dict[str, Any]) -> None:
    content["racks"][0]["single-homed"]["juju"]["networks"] = ["oam"]


def oam_tagged_on_juju(content: dict[str, Any]) -> None:
    content["racks"][0]["single-homed"]["juju"]["untagged"] = "none"


def another_number_for_oam(content: dict[str, Any]) -> None:
    content["networks"]["oam"]["vlan"] = 3001


AT_JUJU = "juju would lose it at Leaf0-1 swp23, with a link there"
NETWORKS = {
    "a VLAN that other hosts keep": (without_public_on_juju, "9", AT_JUJU),
    "a VLAN that other racks keep": (
        without_internal_in_a_rack,
        "10",
        "node3, node4, node5 would lose it at Leaf1-1 bond3, Leaf1-1 bond4, Leaf1-1 bond5 and 3 more, with a "
        "link there",
    ),
    "the VLAN without a tag, which stays with one": (oam_tagged_on_juju, "3000", AT_JUJU),
    "the VLAN without a tag, of all hosts": (
        another_number_for_oam,
        "3000",
        "host-bond1, host-bond2, juju and 4 more would lose it at "
        "Leaf0-1 bond1, Leaf0-1 bond2, Leaf0-1 swp23 and 9 more, with a link there",
    ),
}


@pytest.mark.parametrize(("change", "vlan", "said"), NETWORKS.values(), ids=NETWORKS)
def test_a_network_that_a_host_uses_goes_only_by_name(
    site: Rack, change: Change, vlan: str, said: str
) -> None:
    site.site = taking_over(after(change), site)
    site.forget()
    plan = site.site.survey().plan
    assert plan.steps == ()
    assert plan.held
    report = site.site.apply(policy=POLICY, cut_off=["juju", "vlan101"])
    remedy = f"keep it in the intent; or run apply with cut-off=vlan{vlan} if it may lose its network"
    assert sentences(report) == [f"VLAN {vlan}: {said}; {remedy}"]
    assert site.writes() == []
    assert site.site.apply(policy=POLICY, cut_off=[f"vlan{vlan}"]).applied


def test_vlans_that_go_together_are_named_together(site: Rack) -> None:
    def more(content: dict[str, Any]) -> None:
        content["provider-vlans"] = "1001-1010,1020"

    def fewer(content: dict[str, Any]) -> None:
        more(content)
        content["racks"][1]["hosts"]["networks"] = [*content["networks"]]

    site.site = taking_over(after(more), site)
    assert site.site.apply(policy=POLICY).applied
    site.site = taking_over(after(fewer), site)
    assert [each.subject for each in site.site.survey().toll.last] == ["VLAN 1001-1010", "VLAN 1020"]
    assert not site.site.apply(policy=POLICY, cut_off=cut_off("vlan1001-1009 vlan1020")).applied
    assert site.site.apply(policy=POLICY, cut_off=cut_off("vlan1000-1020")).applied


def test_a_network_of_a_host_that_is_off_goes(site: Rack) -> None:
    site.wires.cut.add(("Leaf0-1", "swp23"))
    site.site = taking_over(after(without_public_on_juju), site)
    assert site.site.apply(policy=POLICY).applied


def without_internal(content: dict[str, Any]) -> None:
    del content["networks"]["internal"]


def test_a_network_that_leaves_the_intent_for_all_hosts_leaves_on_purpose(site: Rack) -> None:
    site.site = taking_over(after(without_internal), site)
    assert site.site.apply(policy=POLICY).applied
    assert "10" not in site.applied["Leaf1-1"]["bridge"]["domain"]["br_default"]["vlan"]


def test_a_vlan_of_others_goes_from_a_port_when_it_is_named_for_removal(site: Rack) -> None:
    typed(site, "Leaf0-1", on_port("swp23", {"vlan": {"10": {}}}))
    made = taking_over(NAMED, site)
    named = type(made.ownership)(made.ownership.last, frozenset({"swp23:vlan10"}))
    assert Site(NAMED, made.fleet, ownership=named).apply(policy=POLICY).applied
