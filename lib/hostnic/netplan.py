# SPDX-License-Identifier: Apache-2.0
"""netplan through its command line: alike in 0.106 and 1.1, where its Python bindings differ.

netplan's own SR-IOV keys would be a second writer of what the charm sets, and ``netplan apply``
re-creates VFs that are in use: the plan has to know where they are set.
"""

import re
from typing import TypeAlias

from hostnic.system import System

DIRECTORY = "/etc/netplan"
OVN_CHASSIS_FILE = f"{DIRECTORY}/150-charm-ovn.yaml"
SRIOV_KEYS = ("virtual-function-count", "embedded-switch-mode", "delay-virtual-functions-rebind")
# Text: re compiles a pattern at its first use and keeps it, and an idle hook hardly uses one.
LINE = r"""(?P<indent> *)(?P<key>"[^"]*"|'[^']*'|[^\s#:'"\[{-][^:]*?):(?:\s+(?P<value>\S.*?))?\s*"""
ETHERNETS = r"\s*(network\s*:\s*\{.*)?[\"']?ethernets[\"']?\s*:"
PLACES = (DIRECTORY, "/run/netplan", "/lib/netplan")

Tree: TypeAlias = "dict[str, str | Tree]"


def owned_by_ovn_chassis(system: System) -> bool:
    """ovn-chassis' file still sets up VFs: it has an ``ethernets:`` key that is no comment."""
    try:
        text = system.read(OVN_CHASSIS_FILE)
    except OSError:
        return False
    return any(re.match(ETHERNETS, line) for line in text.splitlines())


def merged(system: System) -> Tree:
    """All of netplan's files merged, as ``netplan get`` prints them.

    Raises:
        CommandError: netplan is not installed, or a file is wrong; the sentence is netplan's.

    """
    return parse(system.run(["netplan", "get"]))


def sriov_settings(tree: Tree) -> dict[str, Tree]:
    """Interface to those of its keys that create VFs or set the eswitch."""
    network = _section(tree, "network")
    found: dict[str, Tree] = {}
    for name, settings in _section(network, "ethernets").items():
        if isinstance(settings, dict):
            keys: Tree = {key: settings[key] for key in SRIOV_KEYS if key in settings}
            if keys:
                found[name] = keys
    return found


def _section(tree: Tree, key: str) -> Tree:
    value = tree.get(key)
    return value if isinstance(value, dict) else {}


def parse(text: str) -> Tree:
    """The mappings and scalars of YAML in block style, as netplan prints it; the rest is skipped.

    Values stay text, without quotes; ``key: {}`` and a key without a value are an empty mapping.
    """
    root: Tree = {}
    open_levels: list[tuple[int, Tree]] = [(-1, root)]
    for line in text.splitlines():
        match = re.fullmatch(LINE, line)
        if match is None:
            continue
        indent, key, value = len(match["indent"]), match["key"].strip("\"'"), match["value"]
        while open_levels[-1][0] >= indent:
            open_levels.pop()
        here = open_levels[-1][1]
        if value is None or value.startswith("{") or value.startswith("#"):
            deeper: Tree = {}
            here[key] = deeper
            open_levels.append((indent, deeper))
        else:
            here[key] = value.strip("\"'")
    return root
