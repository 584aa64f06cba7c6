# SPDX-License-Identifier: Apache-2.0
"""Audits what the intent leaves to others for words that no switch has. Pure.

A setting that is misspelt names nothing: the charm would go on to change what it should leave. NVUE's whole
tree is not known here. What is compared is the part that this charm sets, removes or reports, in the dialect
of the switch, and what the switch runs; a word that is not close to one of these is taken as it is.
"""

from collections.abc import Collection, Iterator
from difflib import get_close_matches
from typing import Any

from converge import Finding, Severity

from tree import Path, Tree, get_tree, leaves
from tree.foreign import IN_SCOPE
from tree.merge import IMPLIED_BY_PORTS

CLOSE = 0.8
"""How alike two words are, from 0 to 1, of which one is taken for the other misspelt: stat and state 0.89."""

NAMES = (
    *("interface", "vrf", "domain", "vlan", "vni", "neighbor", "peer-group", "member", "address"),
    *("address-family", "route-map", "rule", "breakout", "prefix-list", "class", "profile"),
)
"""Keys below which a switch has names of its own."""

KNOWN = (
    *(*IMPLIED_BY_PORTS, *IN_SCOPE, "interface/*/bond/member/*", "system/global/anycast-mac"),
    *("acl", "mlag", "platform", "service", "system", "router/policy", "router/bgp", "interface/*/link"),
    *(
        "interface/*/ip",
        "interface/*/ipv4",
        "interface/*/ipv6",
        "interface/*/type",
        "interface/*/description",
    ),
    *(
        "bridge/domain/*/stp",
        "bridge/domain/*/dhcp-snoop6",
        "interface/*/bridge/domain/*/stp",
        "interface/*/bond/lacp-bypass",
    ),
    *("interface/*/bond/lacp-rate", "interface/*/lldp", "interface/*/vrf", "interface/*/router"),
    *("service/dhcp-relay", "service/dhcp-relay6"),
)
"""Settings as patterns, beside those of the intent and of the switch."""


def misspelt(name: str, settings: Collection[str], applied: Tree, wanted: Tree) -> Iterator[Finding]:
    """A finding for each of these settings, as patterns, that has a typing error for the switch ``name``."""
    known: dict[str, Any] = {}
    for path in (*(tuple(each.split("/")) for each in KNOWN), *_paths(applied), *_paths(wanted)):
        node, above = known, ""
        for key in path:
            node, above = node.setdefault("*" if above in NAMES else key, {}), key
    for setting in settings if known else ():
        words = setting.split("/")
        meant = _meant(words, known)
        if meant != words:
            what = f"unmanaged.settings: no switch has {' '.join(words)}"
            yield Finding(
                Severity.BLOCKED, name, what, f"write {' '.join(meant)} in the intent if that is meant"
            )


def _paths(tree: Tree) -> Iterator[Path]:
    return (path for path, _ in leaves(tree))


def _meant(words: list[str], known: dict[str, Any]) -> list[str]:
    """The words with those replaced that are close to a known one and are none themselves."""
    meant: list[str] = []
    node, above = known, ""
    for word in words:
        near = (
            [] if word in node or word == "*" or above in NAMES else get_close_matches(word, node, 1, CLOSE)
        )
        above = near[0] if near else word
        meant.append(above)
        node = get_tree(node, "*" if "*" in node else above)
    return meant
