# SPDX-License-Identifier: Apache-2.0
"""Fabrics of three switches, one spine and two leaves, which most tests take."""

from collections.abc import Callable
from typing import Any

from unit.cumulus_fabric.fabrics import fabric

CANARY, LAST = "Spine0", "Leaf0-1"
RELEASES = {"5.9.2": 9, "5.15.0": 15}


def small(content: dict[str, Any]) -> None:
    """One spine, one rack with one host: three switches."""
    content["spines"] |= {"count": 1, "downlinks": "swp13-14"}
    content["leaves"]["uplinks"] = "swp31"
    content["racks"] = [{"hosts": "swp9"}]


def with_another_network(content: dict[str, Any]) -> None:
    small(content)
    content["networks"]["storage"] = {"vlan": 50}
    content["spines"]["asn"] = {"all": 65200}


SMALL, CHANGED = fabric(change=small), fabric(change=with_another_network)


def made_of(*networks: tuple[str, int]) -> Callable[[dict[str, Any]], None]:
    """One spine and a rack with three bonds, without settings of whole switches, and with these networks."""

    def change(content: dict[str, Any]) -> None:
        small(content)
        del content["leaves"]["anycast-mac"]
        content["roce"] = {"mode": "off"}
        content["networks"] |= {name: {"vlan": number} for name, number in networks}
        outside = {"ports": "swp22", "local-id": 9, "networks": ["public"], "untagged": "public"}
        tagged = {"ports": "swp21", "local-id": 10, "networks": ["internal"]}
        content["racks"][0]["bonds"] = {"bond_ext": outside, "bond_tagged": tagged}

    return change


PLAIN, TENANT = fabric(change=made_of()), fabric(change=made_of(("tenant", 55)))
