# SPDX-License-Identifier: Apache-2.0
"""From any intent to any other, beside what others have set: a switch runs what is wanted, and theirs."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from audit.foreign import Ownership
from converge import Severity
from converge.shape import InvalidValue
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from intent.model import Dialect, Fabric
from lab.nvue import merge
from lab.nvue.factory import factory
from tree import covers, get_path, get_tree, leaves, patched, render
from tree.merge import IMPLIED_BY_PORTS, STAY
from unit.cumulus_fabric.fabrics import SIX, fabric

Tree = dict[str, Any]
Edit = Callable[[Tree], object]


def _without_network(name: str) -> Edit:
    def edit(content: Tree) -> None:
        content["networks"].pop(name, None)
        for rack in content["racks"]:
            ports = [*rack.get("bonds", {}).values(), *rack.get("single-homed", {}).values()]
            for port in (each for each in ports if isinstance(each, dict)):
                port["networks"] = [each for each in port.get("networks", ["public"]) if each != name]
                if port.get("untagged") == name:
                    del port["untagged"]

    return edit


def _in_rack(key: str, name: str, value: Tree | None) -> Edit:
    def edit(content: Tree) -> None:
        entries = content["racks"][0].setdefault(key, {})
        entries.pop(name, None)
        if value:
            entries[name] = value

    return edit


def _top(key: str, **values: Any) -> Edit:
    return lambda content: content.setdefault(key, {}).update(values)


def _hosts(ports: str) -> Edit:
    return lambda content: content["racks"][0].update(hosts=ports)


EDITS: dict[str, Edit] = {
    **{f"hosts at {ports}": _hosts(ports) for ports in ("swp9", "swp10", "swp9-11", "swp11-12")},
    "no provider network": _without_network("provider"),
    "another network": _top("networks", tenant={"vlan": 77}),
    "two more networks": _top("networks", red={"vlan": 300}, blue={"vlan": 301}),
    "no RoCE": _top("roce", mode="off"),
    "lossy RoCE": _top("roce", mode="lossy"),
    "another MTU": _top("mtu", host=1500, fabric=9216),
    "another anycast MAC": _top("leaves", **{"anycast-mac": "44:38:39:BE:EF:01"}),
    "no anycast MAC": lambda content: content["leaves"].pop("anycast-mac", None),
    "other loopbacks": _top("leaves", loopback="10.10.20.1"),
    "no bond_ext": _in_rack("bonds", "bond_ext", None),
    "another bond": _in_rack("bonds", "bond_z", {"ports": "swp17", "local-id": 40, "description": "z"}),
    "another port": _in_rack("single-homed", "probe", {"leaf": 1, "port": "swp21"}),
}
"""What an intent may have otherwise than the guide's."""


def _bridged(**content: Any) -> Tree:
    return {"bridge": {"domain": {"br_default": content}}}


def _session(name: str, **content: Any) -> Tree:
    return {"vrf": {"default": {"router": {"bgp": {"neighbor": {name: content}}}}}}


THEIRS: dict[str, Tree] = {
    "a bond": {"interface": {"bond7": {"type": "bond", "bond": {"member": {"swp15": {}}}}}},
    "a VLAN": _bridged(vlan={"88": {"vni": {"88": {}}}}),
    "a network that an intent may have": _bridged(vlan={"77": {"vni": {"77": {}}}}),
    "a VLAN on our bond": {"interface": {"bond1": {"type": "bond", **_bridged(vlan={"88": {}})}}},
    "a VNI on our VLAN": _bridged(vlan={"10": {"vni": {"5000": {}}}}),
    "a member of our bond": {"interface": {"bond1": {"bond": {"member": {"swp16": {}}}}}},
    "a port in the bridge": {"interface": {"swp20": {"type": "swp", **_bridged(untagged=10)}}},
    "a description of our port": {"interface": {"swp23": {"type": "swp", "description": "theirs"}}},
    "a description of our bond": {"interface": {"bond2": {"description": "theirs"}}},
    "an ACL on our bond": {"interface": {"bond1": {"acl": {"x": {"inbound": {}}}}}},
    "a port of ours that is shut": {"interface": {"swp9": {"type": "swp", "link": {"state": {"down": {}}}}}},
    "an MTU of our link": {"interface": {"swp31": {"link": {"mtu": 1500}}}},
    "a password of our session": _session("swp31", password="x"),
    "a session in our group": _session("swp30", **{"peer-group": "underlay"}),
    "a loopback address": {"interface": {"lo": {"ip": {"address": {"10.9.9.9/32": {}}}}}},
    "an SVI": {"interface": {"vlan10": {"type": "svi", "ip": {"address": {"10.0.0.1/24": {}}}}}},
    "a VRF": {"vrf": {"red": {"router": {"bgp": {"autonomous-system": 65001, "enable": "on"}}}}},
    "the cables of RoCE": {"qos": {"roce": {"mode": "lossless", "cable-length": 10}}},
    "a name server": {"service": {"dns": {"default": {"server": {"192.0.2.9": {}}}}}},
}
"""What others have set beside the intent, or inside what the intent has made.

With the values that hold of it without being set (tree.diff.IMPLIED), as a switch says them.
"""


def _fabric(edits: list[str]) -> Fabric:
    try:
        return fabric(change=lambda content: [EDITS[name](content) for name in edits])
    except InvalidValue:
        assume(False)
        raise


def _has(tree: Tree, path: tuple[str, ...]) -> bool:
    return path[-1] in get_tree(tree, *path[:-1])


def _went_whole(path: tuple[str, ...], last: Tree, wanted: Tree) -> bool:
    """Whether a path is in a bond or a session that went."""
    end = 2 if path[0] == "interface" else 6
    whole = get_path(last, path[:end])
    is_bond = path[0] == "interface" and get_tree(whole).get("type") == "bond"
    is_session = path[4:5] == ("neighbor",)
    return whole is not None and (is_bond or is_session) and not _has(wanted, path[:end])


CHANGES = st.lists(st.sampled_from(sorted(EDITS)), max_size=3, unique=True)


@settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[*HealthCheck],
    phases=[Phase.generate],
)
@given(
    CHANGES,
    CHANGES,
    st.lists(st.sampled_from(sorted(THEIRS)), max_size=3, unique=True),
    st.sampled_from(SIX),
    st.sampled_from(Dialect),
)
def test_a_switch_runs_what_is_wanted_and_what_others_have_set(
    before: list[str], now: list[str], others: list[str], name: str, dialect: Dialect
) -> None:
    old, new = _fabric(before).switch(name), _fabric(now).switch(name)
    assert old is not None
    assert new is not None
    last, wanted = render.tree(_fabric(before), old, dialect), render.tree(_fabric(now), new, dialect)
    ours = merge(factory(name, dialect is Dialect.FROM_5_15), deepcopy(last))
    applied, theirs = ours, {}
    for each in others:
        applied, theirs = merge(applied, deepcopy(THEIRS[each])), merge(theirs, deepcopy(THEIRS[each]))
    compared = Ownership({name: last}).compare(name, applied, wanted, new.unmanaged)
    if any(each.severity is Severity.BLOCKED for each in compared.findings()):
        return  # nothing is sent
    after = patched(applied, compared.patch)
    assert [path for path, value in leaves(wanted) if value and get_path(after, path) != value] == []
    assert [path for path, _ in leaves(wanted) if not _has(after, path)] == []
    assert [
        path
        for path, _ in leaves(theirs)
        if not (_has(after, path) or _has(last, path) or _went_whole(path, last, wanted))
        if not any(covers(each, path) for each in IMPLIED_BY_PORTS)
    ] == []
    assert [
        path
        for path, _ in leaves(last)
        if _has(after, path) and not (_has(wanted, path) or _has(theirs, path))
        if not any(covers(each, path) for each in STAY)
    ] == []
    assert compared.goal.patch(after) == {}
    assert Ownership({name: wanted}).compare(name, after, wanted, new.unmanaged).patch == {}
