# SPDX-License-Identifier: Apache-2.0
"""The part that the intent leaves to others (``unmanaged``) is neither set, nor unset, nor a difference."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from audit import audit
from audit.foreign import Ownership, named
from converge import Severity
from converge.shape import InvalidValue
from intent.model import Fabric
from unit.cumulus_fabric.fabrics import fabric, put
from unit.cumulus_fabric.online.choices import CHOICES
from unit.cumulus_fabric.online.site import Rack, rack, taking_over
from unit.cumulus_fabric.online.small import PLAIN, made_of
from unit.cumulus_fabric.online.test_faults import POLICY
from unit.cumulus_fabric.online.unmanaged import (
    BESIDE,
    ON_PORT,
    bgp,
    blocked,
    joined,
    on_bond,
    on_port,
    typed,
    vlan,
)
from verify import APPLY_REMEDY

ROUTES = "vrf default router bgp address-family ipv4-unicast redistribute"
BORDER = "vrf default router bgp neighbor swp28"
MAC = "system global anycast-mac"


def leaving(**unmanaged: Any) -> Callable[[dict[str, Any]], None]:
    """The intent of the other tests, which leaves this to others."""

    def change(content: dict[str, Any]) -> None:
        made_of()(content)
        content["unmanaged"] = unmanaged

    return change


def settled(three: Rack, intent: Fabric, ownership: Ownership | None = None) -> list[str]:
    """Return the findings on Leaf0-1 where neither plan nor apply has anything to do."""
    site = replace(three.site, fabric=intent, audit=tuple(audit(intent)))
    site = replace(site, ownership=ownership or site.ownership)
    before = deepcopy(three.applied)
    plan = site.survey().plan
    assert (plan.steps, [each for each in plan.findings if each.severity is Severity.BLOCKED]) == ((), [])
    assert site.apply(policy=POLICY).reasons == ()
    assert (three.writes(), three.applied) == ([], before)
    found = site.verify()
    assert [each for each in found if each.severity > Severity.WARNING] == []
    return [each.sentence() for each in found if each.subject == "Leaf0-1"]


OWNED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "route policy": (
        CHOICES["connected routes that are off"][0],
        {"settings": [ROUTES, BORDER]},
        f"{ROUTES}, {BORDER}",
    ),
    "a bond's STP": (
        BESIDE["BPDU guard on a bond"][0],
        {"settings": ["interface * bridge domain br_default stp"]},
        "interface * bridge domain br_default stp",
    ),
    "a bond's MTU": (
        {"interface": {"bond1": {"link": {"mtu": 1500}}}},
        {"settings": ["interface bond1 link mtu"]},
        "interface bond1 link mtu",
    ),
    "a gateway and its MAC": (
        BESIDE["a gateway and its MAC"][0],
        {"settings": [MAC], "vlans": 77},
        f"vlan77, {MAC}",
    ),
    "RoCE": (BESIDE["RoCE"][0], {"settings": ["qos roce"]}, "qos roce"),
    "VLANs that come and go": (
        joined(vlan(1234, 5678), on_bond({"vlan": {"1234": {}}})),
        {"vlans": "1000-1999"},
        "vlan1234",
    ),
    "a port and a bond": (
        joined(
            on_port("swp20", {"untagged": 10}),
            {
                "interface": {
                    "bond7": {"type": "bond", "bond": {"member": {"swp15": {}}}},
                    "swp15": {"type": "swp"},
                }
            },
        ),
        {"ports": "swp15,swp20", "bonds": ["bond7"]},
        "bond7,swp20",
    ),
}


@pytest.mark.parametrize("release", ["5.9.2", "5.15.0"])
@pytest.mark.parametrize(("tree", "unmanaged", "names"), OWNED.values(), ids=OWNED)
def test_it_is_named_once_and_nothing_else(
    tree: dict[str, Any], unmanaged: dict[str, Any], names: str, release: str
) -> None:
    with rack(PLAIN, applied=True, release=release) as three:
        typed(three, "Leaf0-1", tree)
        said = settled(three, fabric(change=leaving(**unmanaged)))
    assert said == [f"Leaf0-1: {names}: unmanaged in the intent; stays as it is"]


HANDED_OVER: dict[str, tuple[Callable[[dict[str, Any]], None], dict[str, Any]]] = {
    "a network": (made_of(("tenant", 55)), {"vlans": "55"}),
    "the gateways' MAC": (
        lambda content: (made_of()(content), put(content, "leaves.anycast-mac", "44:38:39:BE:EF:AA"))[0],
        {"settings": [MAC]},
    ),
}


@pytest.mark.parametrize(("before", "unmanaged"), HANDED_OVER.values(), ids=HANDED_OVER)
def test_what_this_charm_has_made_can_be_handed_over(
    before: Callable[[dict[str, Any]], None], unmanaged: dict[str, Any]
) -> None:
    with rack(fabric(change=before), applied=True) as three:
        owned = taking_over(PLAIN, three).ownership
        assert len(replace(three.site, fabric=PLAIN, ownership=owned).survey().plan.steps) > 0
        settled(three, fabric(change=leaving(**unmanaged)), owned)


def test_the_intents_change_leaves_it_alone() -> None:
    with rack(PLAIN, applied=True) as three:
        tree = joined(*(each for each, _, _ in OWNED.values()))
        typed(three, "Leaf0-1", tree)
        every: dict[str, Any] = {}
        for _, unmanaged, _ in OWNED.values():
            for key, value in unmanaged.items():
                every[key] = [*every.get(key, []), *value] if isinstance(value, list) else value
        every["vlans"] = "77,1000-1999"

        def change(content: dict[str, Any]) -> None:
            made_of(("tenant", 55))(content)
            content["unmanaged"] = every

        before = deepcopy(three.applied["Leaf0-1"])
        site = replace(three.site, fabric=fabric(change=change))
        assert site.apply(policy=POLICY).applied
        after = three.applied["Leaf0-1"]
    assert "55" in after["bridge"]["domain"]["br_default"]["vlan"]
    assert after["interface"]["bond1"]["link"] == before["interface"]["bond1"]["link"] == {"mtu": 1500}
    for part in ("system", "qos", "nve"):
        assert after[part] == before[part]
    assert after["interface"]["swp20"] == before["interface"]["swp20"]


def test_ports_and_bonds_are_the_leaves() -> None:
    intent = fabric(change=leaving(ports="swp1", bonds=["bond7"], vlans=77))
    found = {each.name: sorted(each.unmanaged.names) for each in intent.switches}
    assert found["Spine0"] == ["vlan77"]
    assert found["Leaf0-1"] == ["bond7", "swp1", "vlan77"]


def test_what_one_switch_has_besides_adds_to_that_of_all() -> None:
    def change(content: dict[str, Any]) -> None:
        leaving(vlans="77", ports="swp28", settings=[MAC])(content)
        own = {"bonds": ["bond7"], "ports": "swp1", "settings": [BORDER]}
        content["switches"] = {name: {"unmanaged": own} for name in ("Leaf0-1", "Spine0")}

    found = {each.name: each.unmanaged for each in fabric(change=change).switches}
    mac, border = MAC.replace(" ", "/"), BORDER.replace(" ", "/")
    assert {name: (sorted(each.names), each.settings) for name, each in found.items()} == {
        "Spine0": (["bond7", "swp1", "vlan77"], (mac, border)),
        "Leaf0-1": (["bond7", "swp1", "swp28", "vlan77"], (mac, border)),
        "Leaf0-2": (["swp28", "vlan77"], (mac,)),
    }


def test_it_cannot_be_named_for_removal() -> None:
    with rack(PLAIN, applied=True) as three:
        typed(three, "Leaf0-1", vlan(1234, 5678))
        intent = fabric(change=leaving(vlans="1000-1999"))
        site = replace(three.site, fabric=intent, ownership=Ownership(named=named("vlan1234")))
        assert blocked(site) == [
            ("vlan1234: unmanaged in the intent", "take it out of unmanaged, or out of remove")
        ]
        assert not site.apply(policy=POLICY).applied
        assert three.writes() == []


ITS_OWN: dict[str, tuple[str, dict[str, Any]]] = {
    "sessions": ("vrf default router bgp neighbor", bgp({"neighbor": {"swp31": None}})),
    "the untagged VLAN": ("interface * bridge domain br_default untagged", on_bond({"untagged": 10})),
    "the segment": (
        "interface * evpn multihoming segment",
        {"interface": {"bond1": {"evpn": {"multihoming": {"segment": {"local-id": 77}}}}}},
    ),
    "its ESI of another type": (
        "interface * evpn multihoming segment",
        {
            "interface": {
                "bond1": {"evpn": {"multihoming": {"segment": {"identifier": "44383900000000000001"}}}}
            }
        },
    ),
    "a VNI": (
        "bridge domain br_default vlan * vni",
        {"bridge": {"domain": {"br_default": {"vlan": {"10": {"vni": {"10": None}}}}}}},
    ),
    "the members": (
        "interface * bond member",
        {"interface": {"bond1": {"bond": {"member": {"swp15": {}, "swp9": None}}}, "swp15": ON_PORT}},
    ),
}


@pytest.mark.parametrize(("setting", "tree"), ITS_OWN.values(), ids=ITS_OWN)
def test_a_setting_of_the_intents_own_is_theirs_in_plan_and_verify(
    setting: str, tree: dict[str, Any]
) -> None:
    """Neither does it block, nor is an apply said to put it right."""
    with rack(PLAIN, applied=True) as three:
        made = Ownership(three.site.survey().last)
        typed(three, "Leaf0-1", tree)
        site = replace(three.site, fabric=fabric(change=leaving(settings=[setting])), ownership=made)
        assert (blocked(site), site.survey().plan.steps) == ([], ())
        assert [each.sentence() for each in site.verify() if each.remedy == APPLY_REMEDY] == []


def test_where_it_cannot_stay_beside_the_intent_nobody_is_told_to_remove_it() -> None:
    with rack(PLAIN, applied=True) as three:
        typed(three, "Leaf0-1", on_port("bond7", {"vlan": {"77": {}}}, "bond"))
        typed(three, "Leaf0-1", CHOICES["the same segment"][0])
        ((what, remedy),) = blocked(replace(three.site, fabric=fabric(change=leaving(bonds=["bond7"]))))
    assert what.startswith("bond bond7 has the Ethernet segment of bond_ext: the intent needs that")
    assert remedy == "change the intent"


def test_a_rollback_leaves_it_as_it_is_now() -> None:
    def change(content: dict[str, Any]) -> None:
        made_of(("tenant", 55))(content)
        content["unmanaged"] = {"vlans": "1000-1999", "settings": [MAC, ROUTES]}

    with rack(PLAIN, applied=True) as three:
        typed(
            three,
            "Leaf0-1",
            joined(vlan(1234, 5678), {"system": {"global": {"anycast-mac": "00:00:5E:00:01:01"}}}),
        )
        site = replace(three.site, fabric=fabric(change=change))
        assert site.apply(policy=POLICY).applied
        since = {
            "system": {"global": {"anycast-mac": "00:00:5E:00:01:02"}},
            "bridge": {"domain": {"br_default": {"vlan": {"1234": None}}}},
        }
        typed(three, "Leaf0-1", joined(since, vlan(1235, 5679), CHOICES["connected routes that are off"][0]))
        now = deepcopy(three.applied["Leaf0-1"])
        assert site.rollback(policy=POLICY).applied
        assert three.applied["Leaf0-1"]["system"] == now["system"]
        assert three.applied["Leaf0-1"]["vrf"] == now["vrf"]
        vlans = three.applied["Leaf0-1"]["bridge"]["domain"]["br_default"]["vlan"]
    assert (vlans.keys() & {"55", "1234", "1235"}, vlans["1235"]) == ({"1235"}, {"vni": {"5679": {}}})


USED = {
    "ports": ("swp9", "racks[0].hosts: swp9 is unmanaged, on Leaf0-1, Leaf0-2"),
    "bonds": (["bond_ext"], "racks[0].bonds.bond_ext: bond_ext is unmanaged, on Leaf0-1, Leaf0-2"),
    "vlans": (10, "networks.internal: vlan10 is unmanaged, on Leaf0-1, Leaf0-2"),
}


@pytest.mark.parametrize(("key", "value", "said"), [(key, *each) for key, each in USED.items()], ids=USED)
def test_what_the_intent_uses_itself_is_not_left_to_others(key: str, value: Any, said: str) -> None:
    found = audit(fabric(change=leaving(**{key: value})))
    assert [each.sentence() for each in found if each.severity is Severity.BLOCKED] == [
        f"{said}; take it out of unmanaged, or use another one here"
    ]


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("vlans", "1-9999", "VLANs from 1 to 4094"),
        ("ports", "bond1", "ports such as swp9-10,swp22"),
        ("settings", ["interface swp9"], "a setting as nv has it, such as system global anycast-mac"),
        ("bonds", ["7"], "a bond's name"),
    ],
)
def test_what_cannot_be_is_one_sentence(key: str, value: Any, allowed: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        fabric(change=leaving(**{key: value}))
    assert str(caught.value).startswith(f"unmanaged.{key}")
    assert allowed in str(caught.value)
