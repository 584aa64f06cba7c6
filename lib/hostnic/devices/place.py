# SPDX-License-Identifier: Apache-2.0
"""Where a card is: it stays what it is, while its PCI address changes. Pure."""

from collections.abc import Mapping


def place_of(mac: str | None, bdf: str, there: Mapping[str, str | None]) -> str | None:
    """The PCI address of the port with the permanent MAC address ``mac``, which was at ``bdf``.

    ``there`` has the permanent MAC address at each PCI address of the host. None if the port's is not known,
    or is at no address, or at several without ``bdf``: a VF can have it, too.
    """
    at = [place for place, found in there.items() if mac and found == mac]
    if bdf in at:
        return bdf
    return at[0] if len(at) == 1 else None
