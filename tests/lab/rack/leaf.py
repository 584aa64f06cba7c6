# SPDX-License-Identifier: Apache-2.0
"""A switch that was replaced runs what it came with; or somebody else changes a setting.

``leaf.py NAME ADDRESS CA`` or, with a part of the tree as JSON, ``leaf.py NAME ADDRESS CA PATCH``.
"""

import json
import sys
import time
from pathlib import Path

from rest.client import Nvue
from rest.connection import Access, Credentials
from tree import Tree

BUSY = ("pending", "apply", "checking", "ays")


def blank(switch: Nvue) -> str:
    """Unset all but the management port; returns the state that this ends in."""
    runs = switch.applied()
    away = {key: None for key in runs if key not in ("interface", "system")}
    ports = {name: None for name in runs["interface"] if name != "eth0"}
    return change(switch, {**away, "interface": ports})


def change(switch: Nvue, patch: Tree) -> str:
    """Apply a part of the tree, as somebody does who knows no intent; returns the state that this ends in."""
    revision = switch.create()
    switch.patch(revision, patch)
    switch.apply(revision)
    while (progress := switch.progress(revision)).state in BUSY:
        time.sleep(0.5)
    return progress.state


if __name__ == "__main__":
    name, address, ca, *patch = sys.argv[1:]
    access = Access(Credentials("cumulus", "CumulusLinux!"), ca=Path(ca).read_text(), timeout=60)
    leaf = Nvue(name, address, access)
    state = change(leaf, json.loads(patch[0])) if patch else blank(leaf)
    print(state)
    sys.exit("applied" not in state)
