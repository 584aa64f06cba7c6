# SPDX-License-Identifier: Apache-2.0
"""The simulator refuses what NVUE refuses, and says where."""

import pytest
from lab.nvue import Rules, Tree, merge
from lab.nvue.caller import APPLY, Caller

WRONG = [
    ({"interface": {"bond1": {"bond": {"lacp-bypass": True}}}}, "True is not of type 'string'"),
    ({"interface": {"bond1": {"bond": {"lacp-bypass": "enabled"}}}}, "'enabled' is not one of"),
    ({"interface": {"bond1": {"link": {"mtu": "9000"}}}}, "'9000' is not of type 'integer'"),
    ({"interface": {"bond1": {"link": {"mtu": 9217}}}}, "9217 is greater than the maximum of 9216"),
    ({"interface": {"bond1": {"nonsense": {}}}}, "('nonsense' was unexpected) - 'interface.bond1'"),
    ({"interface": {"lo": {"ipv4": {"address": {"10.0.0.1/32": {}}}}}}, "('ipv4' was unexpected)"),
    ({"interface": {"lo": {"ip": {"address": {"10.0.0.300/32": {}}}}}}, "was unexpected"),
    ({"interface": {"bond1": {"evpn": {"multihoming": {"segment": {"mac-address": 3}}}}}}, "not of type"),
    ({"router": {"bgp": {"autonomous-system": 4294967296}}}, "greater than the maximum"),
    ({"qos": {"roce": {"mode": "lossfree"}}}, "'lossfree' is not one of"),
    ({"bridge": {"domain": {"br_default": {"vlan": {"x": {}}}}}}, "'x' was unexpected"),
    ({"interface": []}, "[] is not of type 'object'"),
]


@pytest.mark.parametrize(("patch", "said"), WRONG)
def test_a_wrong_patch_is_refused_in_words_that_name_the_path(call: Caller, patch: Tree, said: str) -> None:
    name = call.create()
    status, answer = call("PATCH", f"/?rev={name}", patch)
    assert status == 400
    assert said in answer["detail"]
    assert call("GET", f"/?rev={name}&diff=applied&filled=false")[1] == {}


def test_each_dialect_refuses_the_words_of_the_other() -> None:
    old, new = Rules((5, 14)), Rules((5, 15))
    tree = {"qos": {"roce": {"enable": "on"}}}
    assert not old.refuse(tree)
    assert new.refuse(tree)
    tree = {"qos": {"roce": {"state": "enabled"}}}
    assert not new.refuse(tree)
    assert old.refuse(tree)


BGP = {
    "router": {"bgp": {"enable": "on", "autonomous-system": 65101}},
    "vrf": {
        "default": {
            "router": {
                "bgp": {
                    "peer-group": {"underlay": {"remote-as": "external"}},
                    "neighbor": {"swp31": {"peer-group": "underlay", "type": "unnumbered"}},
                }
            }
        }
    },
}
SEGMENT = {"enable": "on", "local-id": 1, "mac-address": "44:38:39:BE:EF:01"}
INVALID = [
    (merge(BGP, {"router": {"bgp": {"autonomous-system": None}}}), "requires autonomous-system"),
    (
        merge(BGP, {"vrf": {"default": {"router": {"bgp": {"peer-group": None}}}}}),
        "peer-group underlay does not exist",
    ),
    ({"interface": {"swp9": {}}}, "swp9 has no type"),
    ({"interface": {"swp9": {"type": "swp", "evpn": {"multihoming": {"segment": SEGMENT}}}}}, "needs a bond"),
    (
        {
            "interface": {
                "bond1": {
                    "type": "bond",
                    "evpn": {"multihoming": {"segment": {**SEGMENT, "local-id": None}}},
                }
            }
        },
        "needs local-id",
    ),
    (
        {
            "interface": {
                name: {"type": "bond", "bond": {"member": {"swp9": {}}}} for name in ("bond1", "bond2")
            }
        },
        "already a member of bond1",
    ),
    (
        {"bridge": {"domain": {"br_default": {"vlan": {"9": {"vni": {"9": {}}}, "10": {"vni": {"9": {}}}}}}}},
        "already used by VLAN 9",
    ),
]


@pytest.mark.parametrize(("patch", "said"), INVALID)
def test_a_tree_that_contradicts_itself_is_invalid_when_applied(call: Caller, patch: Tree, said: str) -> None:
    before = call.applied()
    name = call.create()
    assert call("PATCH", f"/?rev={name}", patch)[0] == 200
    call("PATCH", f"/revision/{name}", APPLY)
    shown = call.settle(name)
    issue = shown["transition"]["issue"]["00000"]
    assert (shown["state"], issue["severity"]) == ("invalid", "error")
    assert said in issue["message"]
    assert issue["data"]["location"]
    assert call.applied() == before
