# SPDX-License-Identifier: Apache-2.0
"""Neighbours at the ports on day 0: switches that are all called cumulus, and servers without a system."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest
from converge import Severity
from intent.model import Dialect, Fabric, Role
from lab.nvue import Issue, merge
from maintenance import Maintenance
from online import Site
from tree import render
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import Rack, rack
from unit.cumulus_fabric.online.test_day_zero import POLICY


def hosts(content: dict[str, Any]) -> None:
    """The guide's fabric with names for the hosts of its first rack."""
    content["racks"][0]["hosts"] = {"ports": "swp9-10", "names": ["node1", "node2"]}


def named(content: dict[str, Any]) -> None:
    hosts(content)
    content["host-names"] = True


HOSTS, NAMED = fabric(change=hosts), fabric(change=named)


@pytest.fixture(params=["5.9.2", "5.15.0"])
def new(request: pytest.FixtureRequest) -> Iterator[Rack]:
    """Six switches as they come from the factory; their answers differ, such as in the name of a MAC."""
    with rack(HOSTS, release=request.param) as made:
        yield made


def found(site: Site, severity: Severity = Severity.WARNING) -> set[str]:
    return {f"{each.subject}: {each.what}" for each in site.verify() if each.severity >= severity}


def applied(site: Site) -> None:
    report = site.apply(policy=POLICY)
    assert report.applied, [each.sentence() for each in report.reasons]


def rolled_back(made: Rack, site: Site, said: str) -> None:
    before = deepcopy(made.applied)
    report = site.apply(policy=POLICY)
    assert report.verdict.startswith("fully rolled back")
    assert said in {f"{each.subject}: {each.what}" for each in report.reasons}
    assert made.applied == before


def lldp(made: Rack, name: str, port: str) -> list[str]:
    return list(made.wires.members[name].operational()["interface"][port]["lldp"]["neighbor"])


def waits_in_pxe(made: Rack, port: str = "swp9") -> None:
    """The server behind this port of both leaves is on, and has no system that bonds or speaks LLDP."""
    for leaf in ("Leaf0-1", "Leaf0-2"):
        host = made.wires.hosts[leaf, port]
        host.bonds = host.speaks = False


# -- switches


def test_switches_that_are_all_called_cumulus_are_told_by_their_chassis(new: Rack) -> None:
    applied(new.site)
    assert lldp(new, "Leaf0-1", "swp31") == ["cumulus"]
    assert found(new.site) == set()


def test_host_names_are_set_in_the_same_apply(new: Rack) -> None:
    site = Site(NAMED, new.site.fleet)
    applied(site)
    assert (lldp(new, "Leaf0-1", "swp31"), lldp(new, "Spine1", "swp13")) == (["Spine0"], ["Leaf0-1"])
    assert {name: tree["system"]["hostname"] for name, tree in new.applied.items()} == {
        name: name for name in new.applied
    }
    assert found(site) == set()
    assert site.survey().plan.steps == ()


def test_the_plan_of_a_host_name_costs_nothing(new: Rack) -> None:
    applied(new.site)
    (step,) = Site(NAMED, new.site.fleet).survey(["Spine0"]).plan.steps
    assert step.what == "Spine0: system: set system hostname Spine0"
    assert (step.why, step.disruption.label) == ("system hostname is cumulus, not Spine0", "none")


def test_a_host_name_goes_with_the_last_change_and_with_the_switch(new: Rack) -> None:
    factory, site = new.applied, Site(NAMED, new.site.fleet)
    applied(site)
    assert Maintenance(site, "Spine1", POLICY).drain().applied
    assert Maintenance(site, "Spine1", POLICY).decommission().applied
    assert "hostname" not in new.applied["Spine1"]["system"]
    leaves = [each.name for each in NAMED.by_role(Role.LEAF)]
    assert site.rollback(["Spine0"], cut_off=leaves).applied
    assert new.applied["Spine0"] == factory["Spine0"]


def test_host_names_that_the_intent_does_not_set_stay(new: Rack) -> None:
    applied(Site(NAMED, new.site.fleet))
    assert new.site.survey().plan.steps == ()


def uplinks_exchanged(made: Rack) -> None:
    for leaf, port in (("Leaf0-1", "swp14"), ("Leaf0-2", "swp13")):
        made.wires.cable((leaf, "swp31"), ("Spine0", port))


def spines_exchanged(made: Rack) -> None:
    """Each cable ends on the right port, of the other spine."""
    for number, leaf in enumerate(("Leaf0-1", "Leaf0-2", "Leaf1-1", "Leaf1-2")):
        for spine, port in (("Spine1", "swp31"), ("Spine0", "swp32")):
            made.wires.cable((leaf, port), (spine, f"swp{13 + number}"))


def without_chassis(made: Rack) -> None:
    """As if a switch sent another chassis id than its management port's MAC."""
    for member in made.wires.members.values():
        shown = member._interfaces
        told = {"mac": None, "mac-address": None}
        member._interfaces = lambda shown=shown, told=told: merge(shown(), {"eth0": {"link": told}})


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        ([uplinks_exchanged], "is wired to Spine0 swp14, the intent says Spine0 swp13"),
        ([uplinks_exchanged, without_chassis], "is wired to cumulus swp14, the intent says Spine0 swp13"),
        ([spines_exchanged], "is wired to Spine1 swp13, the intent says Spine0 swp13"),
    ],
)
def test_a_wrong_cable_is_found_without_names(
    new: Rack, prepare: list[Callable[[Rack], None]], said: str
) -> None:
    for each in prepare:
        each(new)
    rolled_back(new, new.site, f"Leaf0-1 swp31: {said}")


def test_a_neighbour_that_nothing_tells_is_a_warning_until_it_has_a_name(new: Rack) -> None:
    without_chassis(new)
    applied(new.site)
    told = "LLDP shows cumulus here, which is not in the intent and may be Spine0"
    assert f"Leaf0-1 swp31: {told}" in found(new.site)
    assert found(new.site, Severity.WAITING) == set()
    applied(Site(NAMED, new.site.fleet))
    assert found(Site(NAMED, new.site.fleet)) == set()


def test_exchanged_spines_are_found_without_names_by_the_ports_that_they_see(new: Rack) -> None:
    spines_exchanged(new)
    without_chassis(new)
    rolled_back(new, new.site, "Spine0 swp13: is wired to cumulus swp32, the intent says Leaf0-1 swp31")


# -- hosts


def test_servers_that_wait_in_pxe_do_not_roll_a_fabric_back(new: Rack) -> None:
    for port in ("swp9", "swp10"):
        waits_in_pxe(new, port)
    applied(new.site)
    assert found(new.site) == {
        f"{leaf} {bond}: has no LACP partner, and is up by LACP bypass"
        for leaf in ("Leaf0-1", "Leaf0-2")
        for bond in ("bond1", "bond2")
    }
    assert found(new.site, Severity.WAITING) == set()
    for host in new.wires.hosts.values():
        host.bonds = host.speaks = True
    assert found(new.site) == set()


def without_bypass(member: Any) -> None:
    member.bypassed = lambda bond: False


def test_nor_do_they_where_bypass_does_not_bring_their_bond_up(new: Rack) -> None:
    waits_in_pxe(new)
    for member in new.wires.members.values():
        without_bypass(member)
    applied(new.site)
    assert found(new.site, Severity.WAITING) == set()
    assert "Leaf0-1 bond1: is down although its members are up: no LACP partner" in found(new.site)


def test_nor_do_they_where_a_release_does_not_show_the_bypass(new: Rack) -> None:
    """Their bonds are up, and no leaf hears of their segments."""
    for port in ("swp9", "swp10"):
        waits_in_pxe(new, port)
    for member in new.wires.members.values():
        shown = member._segments
        member._segments = lambda shown=shown: {
            esi: merge(each, {"flags": {"bypass": None}}) for esi, each in shown().items()
        }
    applied(new.site)
    assert found(new.site, Severity.WAITING) == set()
    assert "Leaf0-1 bond1: Leaf0-2 is missing as a peer of its Ethernet segment" in found(new.site)


def with_one_more(content: dict[str, Any]) -> None:
    hosts(content)
    content["racks"][0]["hosts"] = {"ports": "swp9-11", "names": ["node1", "node2", "node3"]}


@pytest.fixture
def grown() -> Iterator[tuple[Rack, Site]]:
    """A fabric that runs, and the intent with one more server."""
    intent = fabric(change=with_one_more)
    with rack(intent) as made:
        runs(made, HOSTS)
        yield made, made.site


def runs(made: Rack, intent: Fabric) -> None:
    applied(Site(intent, made.site.fleet))


def test_a_server_that_is_added_before_its_system_does_not_roll_back(grown: tuple[Rack, Site]) -> None:
    made, site = grown
    waits_in_pxe(made, "swp11")
    applied(site)
    assert all("bond3: has no LACP partner" in each for each in found(site))


def test_a_host_that_loses_its_lacp_by_the_apply_rolls_it_back(grown: tuple[Rack, Site]) -> None:
    made, site = grown
    member = made.wires.members["Leaf0-1"]
    apply = member.apply

    def loses(tree: dict[str, Any]) -> Issue | None:
        made.wires.hosts["Leaf0-1", "swp9"].bonds = "swp11" not in tree["interface"]
        return apply(tree)

    member.apply = loses
    rolled_back(made, site, "Leaf0-1 bond1: has no LACP partner, and is up by LACP bypass")


def test_a_server_in_pxe_stays_one_when_its_segment_changes(new: Rack) -> None:
    waits_in_pxe(new)
    applied(new.site)

    def another_mac(content: dict[str, Any]) -> None:
        hosts(content)
        content["leaves"]["segment-mac"] = "44:38:39:FF:00:01"

    applied(Site(fabric(change=another_mac), new.site.fleet))


AGENTS = ["b8:3f:d2:00:00:01", "MT2892", "maas-enlisting-node", "ubuntu-server.maas"]


@pytest.mark.parametrize("name", AGENTS)
def test_a_name_that_the_intent_does_not_have_is_no_wrong_cable(new: Rack, name: str) -> None:
    for leaf in ("Leaf0-1", "Leaf0-2"):
        new.wires.hosts[leaf, "swp9"].firmware = name
    applied(new.site)
    assert found(new.site) == set(), "the host's own agent is heard, too"
    new.wires.hosts["Leaf0-1", "swp9"].speaks = False
    assert found(new.site) == {
        f"Leaf0-1 swp9: LLDP shows {name}, which is not in the intent, where node1 should be"
    }
    assert found(new.site, Severity.WAITING) == set()


def test_two_hosts_that_are_exchanged_are_a_wrong_cable(new: Rack) -> None:
    hosts_at = new.wires.hosts
    for leaf in ("Leaf0-1", "Leaf0-2"):
        hosts_at[leaf, "swp9"], hosts_at[leaf, "swp10"] = hosts_at[leaf, "swp10"], hosts_at[leaf, "swp9"]
    rolled_back(new, new.site, "Leaf0-1 swp9: is wired to node2, the intent says node1")


def test_what_runs_the_intent_already_has_the_same_tree_with_names_as_without() -> None:
    for switch, other in zip(HOSTS.switches, NAMED.switches):
        for dialect in Dialect:
            plain, with_name = render.tree(HOSTS, switch, dialect), render.tree(NAMED, other, dialect)
            assert with_name == merge(plain, {"system": {"hostname": switch.name}})
