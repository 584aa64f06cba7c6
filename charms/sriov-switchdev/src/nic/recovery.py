# SPDX-License-Identifier: Apache-2.0
"""NICs in flash recovery: what the operator has to do, while the other NICs go on. Pure."""

from collections.abc import Iterable, Iterator

from converge import Finding, Severity
from hostnic.devices.model import Host
from hostnic.firmware.msterrors import BURN, LIVEFISH


def remedy(bdf: str) -> str:
    """What helps the NIC at this PCI address."""
    return BURN.replace("BDF", bdf)


def without_firmware(declared: Iterable[str], host: Host) -> Iterator[Finding]:
    """One finding for each function of a NIC in flash recovery of which a port is ``declared``."""
    slots = {bdf.rpartition(".")[0] for bdf in declared if host.in_flash_recovery(bdf)}
    for pf in host.pfs:
        if pf.port.nic in slots and host.in_flash_recovery(pf.bdf):
            yield Finding(Severity.HELD, pf.bdf, LIVEFISH, remedy(pf.bdf))
