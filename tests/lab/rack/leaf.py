# SPDX-License-Identifier: Apache-2.0
"""A switch that was replaced: it runs what it came with. ``leaf.py NAME ADDRESS CA``."""

import sys
import time
from pathlib import Path

from rest.client import Nvue
from rest.connection import Access, Credentials

BUSY = ("pending", "apply", "checking", "ays")


def blank(switch: Nvue) -> str:
    """Unset all but the management port; returns the state that this ends in."""
    runs = switch.applied()
    away = {key: None for key in runs if key not in ("interface", "system")}
    ports = {name: None for name in runs["interface"] if name != "eth0"}
    revision = switch.create()
    switch.patch(revision, {**away, "interface": ports})
    switch.apply(revision)
    while (progress := switch.progress(revision)).state in BUSY:
        time.sleep(0.5)
    return progress.state


if __name__ == "__main__":
    name, address, ca = sys.argv[1:]
    access = Access(Credentials("cumulus", "CumulusLinux!"), ca=Path(ca).read_text(), timeout=60)
    print(blank(Nvue(name, address, access)))
