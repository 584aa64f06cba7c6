# SPDX-License-Identifier: Apache-2.0
"""Edits that make other intents of the guide's, and others' settings on switches beside them."""

from collections.abc import Callable
from typing import Any

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
"""The edits that make another intent of the guide's."""


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
"""Others' settings beside the intent, or inside the objects that the intent has made.

With the values that hold of it without being set (tree.diff.IMPLIED), as a switch says them.
"""
