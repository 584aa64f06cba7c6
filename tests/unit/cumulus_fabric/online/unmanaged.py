# SPDX-License-Identifier: Apache-2.0
"""Others' configurations on switches of a fabric, after NVIDIA's guides and published designs.

ENABLE, YES, NO, IP and VRF stand for the words of a switch's dialect.
"""

from typing import Any

from converge import Severity
from lab.nvue import merge
from lab.nvue.published import published
from online import Site
from unit.cumulus_fabric.online.site import Rack

Tree = dict[str, Any]


def blocked(site: Site) -> list[tuple[str, str]]:
    found = site.survey().plan.findings
    return [(each.what, each.remedy) for each in found if each.severity is Severity.BLOCKED]


def words(new: bool) -> dict[str, str]:
    """The words of a dialect: of releases from 5.15 on, or before."""
    if new:
        return {"key": "state", "on": "enabled", "off": "disabled", "ip": "ipv4", "vrf": "vrf"}
    return {"key": "enable", "on": "on", "off": "off", "ip": "ip", "vrf": "ip vrf"}


def spoken(node: Any, new: bool) -> Any:
    """A tree in the words of a dialect; up to 5.14 the VRF of an interface is below ``ip``."""
    if not isinstance(node, dict):
        return {"YES": words(new)["on"], "NO": words(new)["off"]}.get(node, node)
    if "VRF" in node and not new:
        node = {key: value for key, value in node.items() if key != "VRF"} | {"IP": {"vrf": node["VRF"]}}
    keys = {"ENABLE": words(new)["key"], "IP": words(new)["ip"], "VRF": "vrf"}
    return {keys.get(key, key): spoken(value, new) for key, value in node.items()}


def on_port(name: str, content: Tree, kind: str = "swp") -> Tree:
    """Something on a port in the fabric's bridge."""
    return {"interface": {name: {"type": kind, "bridge": {"domain": {"br_default": content}}}}}


def on_bond(content: Tree) -> Tree:
    """The same on a bond of the intent."""
    return on_port("bond1", content, "bond")


def bgp(content: Tree, vrf: str = "default") -> Tree:
    """Something of BGP in a VRF."""
    return {"vrf": {vrf: {"router": {"bgp": content}}}}


def family(content: Tree, name: str = "ipv4-unicast") -> Tree:
    """Something of an address family in VRF default."""
    return bgp({"address-family": {name: content}})


def vlan(number: int, vni: int, **more: Any) -> Tree:
    """A VLAN with its VNI in the fabric's bridge."""
    return {"bridge": {"domain": {"br_default": {"vlan": {str(number): {"vni": {str(vni): more}}}}}}}


def typed(made: Rack, name: str, tree: Tree) -> Tree:
    """Let a switch run something more, which its release takes; what was typed, in its dialect."""
    box = made.servers[name].switch
    said = spoken(tree, box.rules.new)
    running = box.revisions[box.applied_id]
    running.tree = merge(running.tree, said)
    refused = published(box.rules.release[1]).refuse(running.tree), box.rules.refuse(running.tree)
    assert refused == ([], "")
    assert box.rules.contradictions(running.tree) == []
    box.backend.apply(running.tree)
    return said


def joined(*trees: Tree) -> Tree:
    """These trees as one."""
    whole: Tree = {}
    for tree in trees:
        for key, value in tree.items():
            below = whole.get(key)
            whole[key] = joined(below, value) if isinstance(below, dict) else value
    return whole


ON = {"ENABLE": "YES"}
ON_PORT = {"type": "swp"}
SVI = {"interface": {"vlan77": {"type": "svi", "vlan": 77, "IP": {"address": {"192.0.2.1/24": {}}}}}}
BORDERS = bgp({"peer-group": {"border": {"remote-as": 64999}}})


LISTENS = bgp({"dynamic-neighbor": {"listen-range": {"192.0.2.0/24": {"peer-group": "border"}}}})


def session(group: str, port: str = "swp28") -> Tree:
    """A session of a peer group."""
    return joined(
        {"interface": {port: ON_PORT}},
        bgp({"neighbor": {port: {"peer-group": group, "type": "unnumbered"}}}),
    )


TENANT = {
    "vrf": {
        "blue": {
            "evpn": {**ON, "vni": {"4001": {}}},
            "router": {"bgp": {**ON, "address-family": {"ipv4-unicast": ON}}},
        }
    },
    "interface": {"vlan77": {"type": "svi", "vlan": 77, "VRF": "blue"}},
}
BESIDE: dict[str, tuple[Tree, list[str]]] = {
    "a VLAN that Neutron's networking-generic-switch adds to a bond": (
        joined(vlan(1234, 5678), on_bond({"vlan": {"1234": {}}})),
        ["vlan1234"],
    ),
    "a VLAN on a bond only": (on_bond({"vlan": {"1234": {}}}), ["vlan1234"]),
    "a VLAN of the intent on another bond": (
        on_port("bond_ext", {"vlan": {"40": {}}}, "bond"),
        ["bond_ext:vlan40"],
    ),
    "an untagged VLAN on a bond": (
        joined(vlan(77, 77), on_port("bond_tagged", {"untagged": 77}, "bond")),
        ["vlan77", "bond_tagged:untagged"],
    ),
    "another member of a bond": (
        {"interface": {"bond1": {"type": "bond", "bond": {"member": {"swp15": {}}}}, "swp15": ON_PORT}},
        ["bond1:swp15"],
    ),
    "BPDU guard on a bond": (
        on_bond({"stp": {"bpdu-guard": "YES", "admin-edge": "YES"}}),
        ["interface bond1 bridge domain br_default stp bpdu-guard"],
    ),
    "an inter-switch link that is tracked": (
        joined(
            {"interface": {"swp28": {**ON_PORT, "evpn": {"multihoming": {"uplink": "YES"}}}}},
            bgp({"peer-group": {"isl": {"remote-as": "internal"}}}),
            session("isl"),
        ),
        ["swp28:uplink"],
    ),
    "a session of the fabric's peer group": (
        session("underlay"),
        ["swp28"],
    ),
    "a bond with a segment of the whole switch's MAC": (
        {
            "interface": {
                "bond7": {
                    "type": "bond",
                    "bond": {"member": {"swp16": {}}},
                    "evpn": {"multihoming": {"segment": {**ON, "local-id": 7}}},
                },
                "swp16": ON_PORT,
            },
            "evpn": {"multihoming": {"segment": {"mac-address": "44:38:39:BE:EF:77"}}},
        },
        ["bond7", "evpn multihoming segment mac-address"],
    ),
    "routes of VRF default": (
        family(
            {
                "multipaths": {"ebgp": 128},
                "network": {"10.99.0.0/24": {}},
                "redistribute": {"static": ON},
                "aggregate-route": {"10.99.0.0/16": {"summary-only": "YES"}},
            }
        ),
        [
            "address-family ipv4-unicast multipaths ebgp",
            "ipv4-unicast network 10.99.0.0/24",
            "ipv4-unicast redistribute static",
        ],
    ),
    "a route map for connected routes": (
        joined(
            family({"redistribute": {"connected": {"route-map": "LO_ONLY"}}}),
            {"router": {"policy": {"route-map": {"LO_ONLY": {"rule": {"10": {"action": {"permit": {}}}}}}}}},
        ),
        ["redistribute connected route-map"],
    ),
    "IPv6": (
        family({**ON, "redistribute": {"connected": ON}}, "ipv6-unicast"),
        ["address-family ipv6-unicast"],
    ),
    "what EVPN advertises": (
        joined(
            {"evpn": {"route-advertise": {"svi-ip": "YES"}}},
            {"evpn": {"multihoming": {"mac-holdtime": 60, "startup-delay": 10}}},
        ),
        [],
    ),
    "route targets of a network": (
        {"evpn": {"vni": {"10": {"rd": "10.10.10.1:10", "route-target": {"import": {"65000:10": {}}}}}}},
        ["evpn vni 10 route-target import 65000:10"],
    ),
    "a gateway and its MAC": (
        joined(vlan(77, 77), SVI, {"system": {"global": {"anycast-mac": "00:00:5E:00:01:01"}}}),
        ["anycast-mac", "vlan77"],
    ),
    "a gateway by VRR": (
        joined(
            vlan(77, 77),
            SVI,
            {
                "interface": {
                    "vlan77": {
                        "IP": {
                            "vrr": {
                                **ON,
                                "address": {"192.0.2.254/24": {}},
                                "mac-address": "00:00:5E:00:01:01",
                            }
                        }
                    }
                }
            },
        ),
        ["vlan77", "interface vlan77"],
    ),
    "a tenant's VRF": (joined(vlan(77, 77), TENANT), ["vlan77", "interface vlan77, vrf blue"]),
    "a border's sessions": (
        joined(session("border"), BORDERS),
        ["vrf default router bgp neighbor swp28"],
    ),
    "sessions that nodes of Kubernetes open": (
        joined(BORDERS, LISTENS),
        ["vrf default router bgp dynamic-neighbor listen-range 192.0.2.0/24"],
    ),
    "another bridge": (
        {"bridge": {"domain": {"br_l3vni": {"vlan": {"4001": {"vni": {"4001": {}}}}}}}},
        ["bridge domain br_l3vni"],
    ),
    "suppression and flooding": (
        {
            "nve": {
                "vxlan": {
                    "encapsulation": {"dscp": {"action": "derive"}},
                    "flooding": {"head-end-replication": {"10.10.10.99": {}}},
                }
            }
        },
        ["nve vxlan encapsulation dscp action", "nve vxlan flooding head-end-replication 10.10.10.99"],
    ),
    "QoS of its own on a bond, and an ACL": (
        {
            "acl": {"HOSTS": {"type": "ipv4", "rule": {"10": {"action": {"permit": {}}}}}},
            "interface": {
                "bond1": {
                    "acl": {"HOSTS": {"inbound": {}}},
                    "qos": {"mapping": {"profile": "default-global"}},
                }
            },
        },
        ["interface bond1 acl HOSTS inbound", "interface bond1 qos mapping profile"],
    ),
    "an AS number and a policy of the fabric's own sessions": (
        joined(
            bgp({"neighbor": {"swp31": {"remote-as": "external"}}}),
            bgp(
                {
                    "peer-group": {
                        "underlay": {
                            "address-family": {"l2vpn-evpn": {"policy": {"inbound": {"route-map": "ALL"}}}}
                        }
                    }
                }
            ),
            {"router": {"policy": {"route-map": {"ALL": {"rule": {"10": {"action": {"permit": {}}}}}}}}},
        ),
        [
            "vrf default router bgp neighbor swp31 remote-as",
            "peer-group underlay address-family l2vpn-evpn policy inbound route-map",
        ],
    ),
    "a port's settings": (
        {"interface": {"swp31": {"description": "to the spine", "link": {"speed": "100G", "fec": "rs"}}}},
        [],
    ),
    "an address of the loopback": (
        {"interface": {"lo": {"IP": {"address": {"10.9.9.9/32": {}}}}}},
        ["10.9.9.9/32"],
    ),
    "RoCE": ({"qos": {"roce": {**ON, "mode": "lossy"}}}, ["roce"]),
}
"""By what it is: the tree, and what plan and verify say of it."""
