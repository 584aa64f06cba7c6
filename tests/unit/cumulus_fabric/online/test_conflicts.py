# SPDX-License-Identifier: Apache-2.0
"""Settings of a switch that cannot stay beside the intent: nothing is sent, and the operator is told why."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from converge import Severity
from online import Site
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import Rack, rack, taking_over
from unit.cumulus_fabric.online.small import CHANGED, SMALL, small
from unit.cumulus_fabric.online.unmanaged import typed


@pytest.fixture(params=["5.9.2", "5.15.0"])
def three(request: pytest.FixtureRequest) -> Iterator[Rack]:
    """One spine and two leaves that run the intent."""
    with rack(SMALL, applied=True, release=request.param) as made:
        yield made


def bridged(*names: str) -> dict[str, Any]:
    storage = {"bridge": {"domain": {"br_storage": {}}}}
    return {"interface": dict.fromkeys(names, storage)}


PEERLINK = {
    "peerlink": {"type": "peerlink", "bond": {"member": {"swp20": {}, "swp21": {}}}},
    "peerlink.4094": {"type": "sub", "base-interface": "peerlink", "vlan": 4094},
}
PAIR = {"ENABLE": "YES", "mac-address": "44:38:39:BE:EF:AA", "backup": {"10.10.10.2": {}}}
AWAY = (
    "move its hosts to Leaf0-2; run nv set interface swp9 link state down && nv config apply on the switch, "
    "and then run plan again"
)
LEARN = {"vlan": {"7": {"vni": {"7": {"mac-learning": "YES"}}}}}
BESIDE: dict[str, tuple[dict[str, Any], str, str]] = {
    "the bond in another bridge": (
        bridged("bond1"),
        "bond1 is in bridge br_storage, which is not in the intent",
        "take bond1 out of bridge br_storage; run nv unset interface bond1 bridge domain br_storage "
        "&& nv config apply on the switch, or remove bond1 from the intent",
    ),
    "ports in another bridge": (
        bridged("swp31", "bond1"),
        "bond1,swp31 are in bridge br_storage, which is not in the intent",
        "take bond1,swp31 out of bridge br_storage; "
        "run nv unset interface bond1,swp31 bridge domain br_storage && nv config apply on the switch, "
        "or remove bond1,swp31 from the intent",
    ),
    "MLAG": (
        {"mlag": PAIR, "interface": PEERLINK, "nve": {"vxlan": {"mlag": {"shared-address": "10.0.1.12"}}}},
        "MLAG is configured (mlag; nve vxlan mlag; interface peerlink,peerlink.4094), "
        "which excludes EVPN multihoming",
        AWAY,
    ),
    "a bond's MLAG": (
        {"interface": {"bond1": {"bond": {"mlag": {"ENABLE": "YES", "id": 1}}}}},
        "MLAG is configured (interface bond1 bond mlag), which excludes EVPN multihoming",
        AWAY,
    ),
    "MAC learning": (
        {"nve": {"vxlan": {"mac-learning": "YES"}}},
        "MAC learning over VXLAN is on (nve vxlan mac-learning), which EVPN does not allow",
        "run nv unset nve vxlan mac-learning && nv config apply on the switch",
    ),
    "MAC learning of the intent's VNI": (
        {"bridge": {"domain": {"br_default": {"vlan": {"10": {"vni": {"10": {"mac-learning": "YES"}}}}}}}},
        "MAC learning over VXLAN is on (bridge domain br_default vlan 10 vni 10 mac-learning), "
        "which EVPN does not allow",
        "run nv unset bridge domain br_default vlan 10 vni 10 mac-learning && nv config apply on the switch",
    ),
    "MAC learning of another bridge's VNI": (
        {"bridge": {"domain": {"br_storage": LEARN}}},
        "MAC learning over VXLAN is on (bridge domain br_storage vlan 7 vni 7 mac-learning), "
        "which EVPN does not allow",
        "run nv unset bridge domain br_storage vlan 7 vni 7 mac-learning && nv config apply on the switch",
    ),
}


UNDO = "run nv unset interface swp9 link breakout && nv config apply on the switch"
SPLIT = {
    "split, and used whole": (
        "swp9", {}, "4x", "swp9: the breakout on the switch is 4x, but the intent uses swp9 whole", UNDO,
    ),
    "off": (
        "swp9", {}, "disabled",
        "swp9: the breakout on the switch is disabled, but the intent uses swp9 whole", UNDO,
    ),
    "split otherwise": (
        "swp9s0", {"swp9": "4x"}, "2x",
        "swp9: the breakout on the switch is 2x, but the intent splits swp9 4x", UNDO,
    ),
    "whole, and used split": (
        "swp9s0", {}, "",
        "swp9: not split on the switch, but the intent uses lanes of it without splitting it",
        "add swp9 to breakout in the intent (4x, for example)",
    ),
    "with too few lanes": (
        "swp9s2", {}, "2x", "swp9 is split 2x on the switch and has no lane swp9s2",
        "use a lane that swp9 has, or split it further",
    ),
    "whole in so many words": ("swp9", {}, "1x", "", ""),
    "split by hand": ("swp9s1", {}, "2x", "", ""),
    "split already": ("swp9s1", {"swp9": "2x"}, "2x", "", ""),
    "split already, with a speed": ("swp9s1", {"swp9": "4x"}, "4x25G", "", ""),
    "split otherwise, with a speed": (
        "swp9s0", {"swp9": "4x"}, "2x100G",
        "swp9: the breakout on the switch is 2x100G, but the intent splits swp9 4x", UNDO,
    ),
    "to be split": ("swp9s1", {"swp9": "2x"}, "", "", ""),
}  # fmt: skip


@pytest.mark.parametrize(("port", "splits", "runs_as", "what", "remedy"), SPLIT.values(), ids=SPLIT)
def test_a_port_is_split_as_the_intent_needs_it(
    three: Rack, port: str, splits: dict[str, str], runs_as: str, what: str, remedy: str
) -> None:
    """The charm splits a whole port itself, and does not change how a port is split."""

    def moved(content: dict[str, Any]) -> None:
        small(content)
        content["racks"] = [{"hosts": port}]
        content["leaves"]["breakout"] = splits

    site = taking_over(fabric(change=moved), three)
    if runs_as:
        typed(three, "Leaf0-1", {"interface": {"swp9": {"link": {"breakout": {runs_as: {}}}}}})
    if not splits and port != "swp9":
        typed(three, "Leaf0-2", {"interface": {"swp9": {"link": {"breakout": {"8x": {}}}}}})
    blocked = [each for each in site.survey().plan.findings if each.severity is Severity.BLOCKED]
    assert [(each.subject, each.what, each.remedy) for each in blocked] == (
        [("Leaf0-1", what, remedy)] if what else []
    )


def test_lanes_that_others_use_are_named_before_the_split_is_undone(three: Rack) -> None:
    split = {"swp9": {"link": {"breakout": {"4x": {}}}}, "swp9s0": {"type": "swp"}, "swp9s1": {"type": "swp"}}
    typed(three, "Leaf0-1", {"interface": split})
    (found,) = [f for f in three.site.survey().plan.findings if f.severity is Severity.BLOCKED]
    assert found.remedy == f"correct the intent; or, if nothing needs swp9s0-1, {UNDO}"


def test_a_port_without_lanes_beside_one_split_by_eight_is_to_be_off(three: Rack) -> None:
    def eight(content: dict[str, Any]) -> None:
        small(content)
        content["leaves"]["breakout"] = {"swp15": "8x"}

    typed(three, "Leaf0-1", {"interface": {"swp16": {"type": "swp", "link": {"breakout": {"4x": {}}}}}})
    plan = Site(fabric(change=eight), three.site.fleet).survey().plan
    assert [each.what for each in plan.findings if each.severity is Severity.BLOCKED] == [
        "swp16: the breakout on the switch is 4x, but the intent has swp16 disabled, since swp15 is split 8x"
    ]


@pytest.mark.parametrize("release", ["5.9.2", "5.15.0"])
def test_ports_are_split_and_their_lanes_used_in_one_go(release: str) -> None:
    def lanes(content: dict[str, Any]) -> None:
        small(content)
        content["racks"] = [{"hosts": "swp9s0-1"}]
        content["leaves"]["breakout"] = {"swp9": "4x"}

    with rack(fabric(change=lanes), release=release) as made:
        assert made.site.apply().applied
        assert made.applied["Leaf0-2"]["interface"]["swp9"]["link"] == {"breakout": {"4x": {}}}
        assert made.site.survey().plan.empty
        assert [each for each in made.site.verify() if each.severity > 0] == []


@pytest.mark.parametrize(("change", "what", "remedy"), BESIDE.values(), ids=BESIDE)
def test_a_conflict_is_named_and_nothing_is_planned_or_sent(
    three: Rack, change: dict[str, Any], what: str, remedy: str
) -> None:
    typed(three, "Leaf0-1", change)
    before = deepcopy(three.applied)
    site = Site(CHANGED, three.site.fleet)
    plan = site.survey().plan
    assert (plan.blocked, plan.steps) == (True, ())
    (found,) = [each for each in plan.findings if each.severity is Severity.BLOCKED]
    assert (found.subject, found.what, found.remedy) == ("Leaf0-1", what, remedy)
    assert found in site.verify()
    report = site.apply()
    assert (report.applied, report.verdict) == (False, "nothing was sent to any switch")
    assert found in report.reasons
    assert (three.writes(), three.applied) == ([], before)


BREAKOUT = {"breakout": {"4x": {}}}
ALLOWED: dict[str, dict[str, Any]] = {
    "MLAG that is off": {"mlag": {"ENABLE": "NO"}},
    "MLAG that is off, with its settings": {
        "mlag": {**PAIR, "ENABLE": "NO"},
        "interface": {"bond1": {"bond": {"mlag": {"ENABLE": "NO"}}}},
        "nve": {"vxlan": {"mlag": {"shared-address": "none"}}},
    },
    "MAC learning that is off": {"nve": {"vxlan": {"mac-learning": "NO"}}},
    "ports that the intent does not use in a bridge of their own": {
        "interface": {"swp20": {"type": "swp", **bridged("swp20")["interface"]["swp20"]}}
    },
    "what the intent has no words for": {
        "acl": {"ssh": {"type": "ipv4", "rule": {"10": {"action": {"permit": {}}}}}},
        "interface": {"swp20": {"type": "swp", "acl": {"ssh": {"inbound": {}}}, "link": BREAKOUT}},
        "bridge": {"domain": {"br_default": {"stp": {"priority": 4096}}}},
        "system": {"aaa": {"user": {"anna": {"role": "nvue-admin"}}}},
    },
}


@pytest.mark.parametrize("change", ALLOWED.values(), ids=ALLOWED)
def test_settings_that_do_not_conflict_stay(three: Rack, change: dict[str, Any]) -> None:
    typed(three, "Leaf0-1", change)
    plan = three.site.survey().plan
    assert (plan.empty, plan.findings) == (True, ())


def test_a_spine_without_multihoming_may_learn(three: Rack) -> None:
    typed(three, "Spine0", {"nve": {"vxlan": {"mac-learning": "YES"}}, "mlag": PAIR})
    assert not three.site.survey().plan.blocked


def test_a_rollback_is_not_held_up(three: Rack) -> None:
    assert Site(CHANGED, three.site.fleet).apply().applied
    typed(three, "Leaf0-1", {"nve": {"vxlan": {"mac-learning": "YES"}}})
    assert three.site.rollback().applied
