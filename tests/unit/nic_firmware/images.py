# SPDX-License-Identifier: Apache-2.0
"""Firmware images for tests: offered to a unit, and what came of them in flash."""

import hashlib

from lab.modelled.nic.flash import image
from unit.nic_firmware.node import Node, rdg

URL = "https://images.example/fw.bin"
NEW, OLD = "22.39.1002", "22.31.1014"
STAGES = "Initializing image partition -   OK\n\rWriting Boot image component -  40%\n"
"""mstflint's output of a burn that is at work."""


def offer(node: Node, content: bytes = image(), **options: object) -> Node:
    """An image on a web server, and the options that name it; parameters are right already."""
    rdg(node.host)
    node.host.flash.web[URL] = content
    digest = hashlib.sha256(content).hexdigest()
    return node.configure(**{"firmware-url": URL, "firmware-sha256": digest, "reboot_settle": 0, **options})


def flash(node: Node, card: int = 0) -> tuple[str, str]:
    """Version in flash, and the one that runs."""
    nic = node.host.cards[card]
    return nic.flash or nic.version, nic.version


def spawned(node: Node, *words: str) -> list[tuple[str, ...]]:
    return [argv for argv in node.host.spawned if all(word in argv for word in words)]
