# SPDX-License-Identifier: Apache-2.0
"""Which netdev of a PCI function is what: uplink, representor, or the function's own."""

import re
from collections.abc import Iterable

from hostnic.system import Link

UPLINK_NAME = re.compile(r"p\d+(s\d+)?")
REPRESENTOR_NAME = re.compile(r"(c\d+)?pf\d+(vf|sf)\d+")
"""``phys_port_name`` as the kernel's devlink gives it (net/devlink/port.c)."""


def uplink(links: Iterable[Link], bdf: str) -> Link | None:
    """The netdev of the physical port behind ``bdf``.

    A PF's representors have the PF as their parent device too (kernel 5.8 and later), so the
    parent alone does not tell. Drivers without port names have one netdev, which is it.
    """
    own = [link for link in links if link.pci == bdf and link.kind is None]
    named = [link for link in own if link.port_name and UPLINK_NAME.fullmatch(link.port_name)]
    if named:
        return named[0]
    nameless = [link for link in own if not link.port_name]
    return nameless[0] if len(nameless) == 1 else None


def representors(links: Iterable[Link], bdf: str) -> list[Link]:
    """The representors of the VFs of ``bdf``."""
    return [
        link
        for link in links
        if link.pci == bdf and link.port_name and REPRESENTOR_NAME.fullmatch(link.port_name)
    ]
