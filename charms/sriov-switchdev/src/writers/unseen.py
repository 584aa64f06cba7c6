# SPDX-License-Identifier: Apache-2.0
"""VFs and modes that something else has changed, by the note of how the charm left them; no file names it."""

import re
from collections.abc import Iterable

from hostnic.devices import pci
from hostnic.devices.model import Pf
from hostnic.devices.port import MLX5
from hostnic.system import System, read_text
from observed import BootRecord, PortRecord, Vfs

UDEV = "/run/udev/data/+pci:{}"
"""The file of udev's knowledge of a PCI device. ``I:`` is the time of its first event, in microseconds of the
monotonic clock: USEC_INITIALIZED of ``udevadm info`` (sd-device.c)."""


def undone(system: System, pfs: Iterable[Pf], boot: BootRecord) -> dict[str, str]:
    """Return the changes of ports by something else since the charm left them, in words, by PCI address."""
    found: dict[str, str] = {}
    for pf in pfs:
        left = boot.ports.get(pf.bdf, PortRecord()).left
        if left and pf.port.driver == MLX5 and (said := _said(system, pf, left)):
            found[pf.bdf] = said
    return found


def _said(system: System, pf: Pf, left: Vfs) -> str:
    first = pf.vfs[0].bdf if pf.vfs else None
    now, made, then = pf.port.num_vfs, pci.made(system, first), f"{left.at:.0f} s after boot"
    if now != left.number:
        since = _since(system, first, "since {} s", "now")
        return f"something else sets its VFs: {left.number} were there {then}, {now} {since}"
    if made != left.made and None not in (made, left.made):
        since = _since(system, first, "at {} s", "since")
        return f"something else sets its VFs: the {now} of {then} were made anew {since}"
    if pf.eswitch_mode != left.mode and None not in (pf.eswitch_mode, left.mode):
        was = f"it was {left.mode} {then}, and is {pf.eswitch_mode} now"
        return f"something else set its eswitch mode, or loaded its driver anew: {was}"
    return ""


def _since(system: System, vf: str | None, known: str, unknown: str) -> str:
    """Tell when the VFs were made, as far as udev knows."""
    text = read_text(system, UDEV.format(vf)) if vf else None
    found = re.search(r"^I:([0-9]{1,18})$", text or "", re.MULTILINE)
    return known.format(round(int(found[1]) / 1e6)) if found else unknown
