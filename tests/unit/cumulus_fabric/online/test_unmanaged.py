# SPDX-License-Identifier: Apache-2.0
"""Others' configuration stays as it is, or nothing is sent and the operator has the choice."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from audit.foreign import Ownership, named
from audit.running import conflicts
from converge import Severity
from hypothesis import given, settings
from hypothesis import strategies as st
from intent.model import Dialect, Fabric
from lab.nvue import merge, paths
from lab.nvue.values import KEYS
from online import Site
from tree import get_path, leaves, nested, render
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.choices import CHOICES
from unit.cumulus_fabric.online.site import Rack, rack, taking_over, worse
from unit.cumulus_fabric.online.small import PLAIN, RELEASES, TENANT, made_of
from unit.cumulus_fabric.online.test_faults import POLICY
from unit.cumulus_fabric.online.unmanaged import BESIDE, ON, blocked, joined, on_port, typed, vlan, words


def lost(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """The settings that changed or went."""
    return [" ".join(path) for path, value in leaves(before) if get_path(after, path) != value]


def stays(three: Rack, names: list[str]) -> None:
    """Nothing is planned, verify has no fault, and another network comes without any other change."""
    before = deepcopy(three.applied)
    plan = three.site.survey().plan
    assert (plan.steps, plan.blocked) == ((), False)
    said = " ".join(each.sentence() for each in plan.findings)
    assert [name for name in names if name not in said] == []
    assert worse(three.site) == []
    report = Site(TENANT, three.site.fleet).apply(policy=POLICY)
    assert (report.reasons, report.applied) == ((), True)
    for name, tree in three.applied.items():
        assert lost(before[name], tree) == []
        assert ("55" in tree.get("bridge", {}).get("domain", {}).get("br_default", {}).get("vlan", {})) == (
            name != "Spine0"
        )


@pytest.mark.parametrize(("tree", "names"), BESIDE.values(), ids=BESIDE)
def test_it_stays_while_another_network_comes(three: Rack, tree: dict[str, Any], names: list[str]) -> None:
    for leaf in ("Leaf0-1", "Leaf0-2"):
        typed(three, leaf, tree)
    stays(three, names)


@settings(max_examples=10)
@given(st.sets(st.sampled_from(sorted(BESIDE)), min_size=2), st.sampled_from(sorted(RELEASES)))
def test_several_stay_beside_each_other(chosen: set[str], release: str) -> None:
    with rack(PLAIN, applied=True, release=release) as three:
        for name in sorted(chosen):
            typed(three, "Leaf0-1", BESIDE[name][0])
        stays(three, [])


def test_a_spine_may_be_a_leaf_of_others(three: Rack) -> None:
    typed(
        three,
        "Spine0",
        joined(
            vlan(77, 77),
            on_port("swp1", {"vlan": {"77": {}}}),
            {
                "nve": {"vxlan": {**ON, "source": {"address": "10.10.10.101"}}},
                "evpn": {**ON, "multihoming": ON},
            },
        ),
    )
    stays(three, ["vlan77"])


@pytest.mark.parametrize(("tree", "what", "choice"), CHOICES.values(), ids=CHOICES)
def test_what_cannot_stay_beside_the_intent_is_the_operators_choice(
    three: Rack, tree: dict[str, Any], what: str, choice: str
) -> None:
    typed(three, "Leaf0-1", tree)
    new = three.servers["Leaf0-1"].switch.rules.new
    what, choice = (text.format(**words(new)) for text in (what, choice))
    before = deepcopy(three.applied)
    ((found, remedy),) = blocked(three.site)
    assert (found, remedy.startswith(choice)) == (what, True), remedy
    report = Site(TENANT, three.site.fleet).apply(policy=POLICY)
    assert (report.verdict, three.writes(), three.applied) == ("nothing was sent to any switch", [], before)


def changed(change: Callable[[dict[str, Any]], object]) -> Fabric:
    """The intent with something else in its rack."""

    def both(content: dict[str, Any]) -> None:
        made_of()(content)
        change(content["racks"][0])

    return fabric(change=both)


MADE: dict[str, tuple[Callable[[dict[str, Any]], object], list[str]]] = {
    "a network of a bond": (
        lambda rack: rack["bonds"]["bond_ext"].update(networks=["internal"], untagged="none"),
        ["bond_ext bridge domain br_default vlan 9", "bond_ext bridge domain br_default untagged"],
    ),
    "a member": (
        lambda rack: rack["bonds"]["bond_ext"].update(ports="swp23"),
        ["bond_ext bond member swp22"],
    ),
    "a bond": (lambda rack: rack["bonds"].pop("bond_tagged"), ["bond_tagged"]),
}


@pytest.mark.parametrize(("change", "gone"), MADE.values(), ids=MADE)
def test_what_this_charm_made_of_a_port_goes_with_its_entry(
    three: Rack, change: Callable[[dict[str, Any]], object], gone: list[str]
) -> None:
    typed(three, "Leaf0-1", on_port("bond_ext", {"vlan": {"40": {}}}, "bond"))
    site = taking_over(changed(change), three)
    before = deepcopy(three.applied["Leaf0-1"])
    assert site.apply(policy=POLICY, cut_off=["bond_ext", "bond_tagged", "vlan9"]).applied
    left = lost(before, three.applied["Leaf0-1"])
    assert {path for path in left if not any(path.startswith(f"interface {name}") for name in gone)} == set()
    assert left
    assert [each.what for each in site.survey().plan.findings if each.subject == "Leaf0-1"] == [
        "bond_ext:vlan40: not in the intent and not made by this charm; stays as it is"
    ]


def test_a_part_goes_when_it_is_named(three: Rack) -> None:
    typed(three, "Leaf0-1", on_port("bond_ext", {"vlan": {"40": {}, "101": {}, "77": {}}}, "bond"))
    site = replace(three.site, ownership=Ownership(named=named("bond_ext:vlan40,vlan77")))
    assert site.apply(policy=POLICY).applied
    bridged = three.applied["Leaf0-1"]["interface"]["bond_ext"]["bridge"]["domain"]["br_default"]
    assert set(bridged["vlan"]) == {"9", "101"}


def test_an_access_port_that_becomes_a_member_can_be_removed_by_name(three: Rack) -> None:
    typed(three, "Leaf0-1", joined(on_port("swp9", {"access": 77}), {"interface": {"bond1": None}}))
    site = replace(three.site, ownership=Ownership(named=named("swp9")))
    assert blocked(site) == []
    assert site.apply(policy=POLICY, cut_off=["vlan77"]).applied
    assert "bridge" not in three.applied["Leaf0-1"]["interface"]["swp9"]


LEFT: dict[str, tuple[dict[str, Any], str]] = {
    "a VLAN on a bond": (
        joined(vlan(77, 77), on_port("bond_tagged", {"vlan": {"77": {}}}, "bond")),
        "bond_tagged: no longer in the intent, but this charm did not make bond_tagged:vlan77; "
        "keep bond_tagged in the intent; or run plan and apply with remove=bond_tagged:vlan77",
    ),
    "a bond of others with the network": (
        {
            "interface": {
                "bond7": {
                    "type": "bond",
                    "bond": {"member": {"swp15": {}}},
                    "bridge": {"domain": {"br_default": {"vlan": {"55": {}}}}},
                },
                "swp15": {"type": "swp"},
            }
        },
        "vlan55: no longer in the intent, but this charm did not make bond7:vlan55; "
        "keep vlan55 in the intent; or run plan and apply with remove=bond7:vlan55",
    ),
}


@pytest.mark.parametrize(("tree", "said"), LEFT.values(), ids=LEFT)
def test_what_others_use_of_the_charms_does_not_go(tree: dict[str, Any], said: str) -> None:
    with rack(TENANT, applied=True) as three:
        typed(three, "Leaf0-1", tree)
        site = taking_over(changed(lambda rack: rack["bonds"].pop("bond_tagged")), three)
        before = deepcopy(three.applied)
        assert [f"{what}; {remedy}" for what, remedy in blocked(site)] == [said]
        assert not site.apply(policy=POLICY).applied
        assert (three.writes(), three.applied) == ([], before)


INSTANCES = {
    "{interface}": ["bond1", "swp9", "swp31", "swp28"],
    "{domain}": ["br_default"],
    "{vlan}": ["10", "77"],
    "{vni}": ["10", "77"],
    "{vnis}": ["10", "77", "auto"],
    "{vrf}": ["default", "blue"],
    "{group}": ["underlay", "border"],
    "{neighbor}": ["swp31", "swp28"],
}
"""The names that are tried for each list: the intent's own, and others."""

ITS_OWN = [
    *(f"interface {port} link mtu 552" for port in ("swp9", "swp31")),
    *(f"interface {port} link state down" for port in ("bond1", "swp9", "swp31")),
    *(f"interface {port} bond mode static" for port in ("bond1", "swp9", "swp31")),
    "interface bond1 bond member swp31",
    *(f"vrf default router bgp autonomous-system {value}" for value in ("1", "4294967295", "leaf", "spine")),
]
"""The intent's decisions without a setting at that place: its ports are up, with their default MTU and
by LACP; which of them a bond has; and its AS number, which the VRF has in place of the global one."""


def instances(path: str) -> Iterator[tuple[str, ...]]:
    """A path of the simulated tree with names in the place of each list's key."""
    made: list[tuple[str, ...]] = [()]
    for part in path.split("/"):
        names = INSTANCES.get(part) or (KEYS[part].samples[:1] if part in KEYS else [part])
        made = [(*above, name) for above in made for name in names]
    return iter(made)


@pytest.mark.parametrize("release", RELEASES)
def test_no_setting_that_nvue_has_is_lost(release: str) -> None:
    """Each path of the tree, with each of its values, beside the intent: it stays, or the plan is blocked."""
    with rack(PLAIN, applied=True, release=release) as three:
        box = three.servers["Leaf0-1"].switch
        applied = deepcopy(box.applied)
    switch = PLAIN.switch("Leaf0-1")
    assert switch is not None
    intent = render.tree(PLAIN, switch, Dialect.of_release(release))
    gone: set[str] = set()
    tried = 0
    for pattern, check in paths.of(tuple(map(int, release.split(".")[:2]))).items():
        for path in instances(pattern):
            for value in check.samples if check else ({},):
                now = merge(applied, nested(path, value))
                if get_path(applied, path) is not None or box.rules.contradictions(now):
                    continue
                tried += 1
                compared = Ownership().compare("Leaf0-1", now, intent, switch.unmanaged)
                found = [*compared.findings(), *conflicts("Leaf0-1", now, intent, {})]
                after = merge(now, compared.patch)
                if not any(each.severity is Severity.BLOCKED for each in found) and lost(now, after):
                    gone |= {" ".join(map(str, (*path, *([value] if check else []))))}
    assert tried > 400
    assert gone == set(ITS_OWN)
