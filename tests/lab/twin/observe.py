# SPDX-License-Identifier: Apache-2.0
"""A switch's tree under ``rev=operational``, each part read from whatever really does it.

Interfaces and VLANs come from the kernel, neighbours from lldpd, sessions, segments and VNIs from FRR. Only
the RoCE mode is what was applied: a namespace has no buffers. The layout is tests/lab/nvue/README.md's.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from lab.nvue.trees import Path, Tree, along
from lab.twin.frr import Frr
from lab.twin.links import VXLAN, Link, Membership
from lab.twin.model import BRIDGE, MANAGEMENT

if TYPE_CHECKING:
    from lab.twin.switch import TwinSwitch

KINDS = {"bond": "bond", "bridge": "bridge", "vrf": "vrf", "vxlan": "vxlan", "vlan": "svi", "macvlan": "svi"}


def operational(switch: "TwinSwitch", path: Path = ()) -> Tree:
    """The operational tree of one switch, at least what is at ``path``.

    Each part costs processes, of which a busy guest starts few in a second: what is not read is not asked.
    """
    parts: list[tuple[Path, Callable[[], Tree]]] = [
        (("interface",), lambda: _interfaces(switch.links.read(), switch.lldp.neighbours())),
        (("bridge", "domain"), lambda: _bridge(switch.links.memberships())),
        (("vrf", "default"), lambda: _sessions(switch.frr, "bgp summary")),
        *((("vrf", vrf.name), partial(_vrf, switch.frr, vrf.name)) for vrf in switch.vrfs),
        (("evpn", "multihoming", "esi"), lambda: _segments(switch.frr.show("zebra", "evpn es detail"))),
        (
            ("evpn", "vni"),
            lambda: _vnis(switch.frr.show("zebra", "evpn vni detail"), switch.links.vnis()),
        ),
        (("qos", "roce"), lambda: {"mode": switch.roce} if switch.roce else {}),
    ]
    return along(parts, path)


def _interfaces(links: dict[str, Link], neighbours: dict[str, list[dict[str, Any]]]) -> Tree:
    shown: Tree = {}
    for name, link in links.items():
        # A port without its cable is administratively up, and LOWERLAYERDOWN or DOWN.
        up = link["operstate"] in ("UP", "UNKNOWN") and "UP" in link["flags"]
        shown[name] = {
            "type": _type(name, link),
            "link": {
                "mtu": link["mtu"],
                "state": {"up": {}} if up else {"down": {}},
                "oper-status": "up" if up else "down",
                "mac": link["address"],
            },
        }
        if addresses := [a for a in link["addr_info"] if a["scope"] == "global"]:
            shown[name]["ip"] = {"address": {f"{a['local']}/{a['prefixlen']}": {} for a in addresses}}
            if shared := links.get(f"{name}-v0"):
                vrr = {
                    f"{a['local']}/{a['prefixlen']}": {}
                    for a in shared["addr_info"]
                    if a["scope"] == "global"
                }
                shown[name]["ip"]["vrr"] = {"address": vrr, "state": {"up": {}}}
        if name.startswith("swp"):
            shown[name]["lldp"] = {"neighbor": dict(map(_lldp, neighbours.get(name, [])))}
        if shown[name]["type"] == "bond":
            members = [port for port, member in links.items() if member.get("master") == name]
            shown[name]["bond"] = {"member": {port: {} for port in members}, "mode": "lacp"}
    return shown


def _type(name: str, link: Link) -> str:
    kind = link.get("linkinfo", {}).get("info_kind", "")
    return "loopback" if name == "lo" else "eth" if name == MANAGEMENT else KINDS.get(kind, "swp")


def _lldp(said: dict[str, Any]) -> tuple[str, Tree]:
    (chassis,), (port,) = said["chassis"], said["port"]
    name = chassis["name"][0]["value"] if "name" in chassis else chassis["id"][0]["value"]
    return name, {
        "chassis": {"chassis-id": chassis["id"][0]["value"], "system-name": name},
        "port": {"name": port["id"][0]["value"], "type": port["id"][0]["type"]},
    }


def _bridge(memberships: dict[str, Membership]) -> Tree:
    ports = {
        port: {
            "vlan": {
                str(vlan): {"tag-state": "untagged" if "Egress Untagged" in flags else "tagged"}
                for vlan, flags in vlans.items()
            }
        }
        for port, vlans in memberships.items()
        if port not in (BRIDGE, VXLAN)
    }
    return {BRIDGE: {"port": ports, "type": "vlan-aware"}} if ports else {}


def _neighbours(summary: dict[str, Any]) -> Tree:
    shown: Tree = {}
    for key, family in (
        ("ipv4Unicast", "ipv4-unicast"),
        ("ipv6Unicast", "ipv6-unicast"),
        ("l2VpnEvpn", "l2vpn-evpn"),
    ):
        for name, peer in summary.get(key, {}).get("peers", {}).items():
            node = shown.setdefault(
                name,
                {
                    "state": peer["state"].lower(),
                    "type": "numbered" if name[0].isdigit() or ":" in name else "unnumbered",
                    "remote-as": peer["remoteAs"],
                    "address-family": {},
                },
            )
            if peer["state"] == "Established":
                counts = {"pfx-rcd": peer.get("pfxRcd", 0), "pfx-sent": peer.get("pfxSnt", 0)}
                node["address-family"][family] = counts
    return shown


def _sessions(frr: Frr, summary: str) -> Tree:
    """A VRF with its sessions."""
    return {"router": {"bgp": {"neighbor": _neighbours(frr.show("bgpd", summary))}}}


def _vrf(frr: Frr, name: str) -> Tree:
    """A VRF beside the default one: the state of its VNI, and its sessions."""
    told = frr.show("zebra", f"vrf {name} vni").get("vrfs", [])
    evpn = [
        {
            "vni": {str(each["vni"]): {}},
            "state": each["state"],
            "svi": each["sviIntf"],
            "vlan": int(each["sviIntf"][4:].partition("_")[0]),
        }
        for each in told
        if each.get("sviIntf", "").startswith("vlan")
    ]
    return {"evpn": next(iter(evpn), {}), **_sessions(frr, f"bgp vrf {name} summary")}


def _segments(segments: list[dict[str, Any]]) -> Tree:
    shown: Tree = {}
    for segment in segments:
        # FRR says operUp and nonDF where NVUE says oper-up and non-df.
        flags = {re.sub("([a-z])([A-Z])", r"\1-\2", flag).lower(): "on" for flag in segment.get("flags", [])}
        shown[segment["esi"]] = {
            "flags": flags,
            "remote-vtep": {vtep["vtep"]: {} for vtep in segment.get("vteps", [])},
        }
        if segment.get("accessPort"):
            shown[segment["esi"]]["local-interface"] = segment["accessPort"]
    return shown


def _vnis(vnis: list[dict[str, Any]], bridged: dict[int, int]) -> Tree:
    vlans = {vni: vlan for vlan, vni in bridged.items()}
    return {
        str(vni["vni"]): {
            "type": vni.get("type", "L2"),
            "vlan": vlans.get(vni["vni"]),
            "local-vtep": vni.get("vtepIp", vni.get("localVtepIp")),
        }
        for vni in vnis
    }
