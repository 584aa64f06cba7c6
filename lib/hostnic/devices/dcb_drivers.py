# SPDX-License-Identifier: Apache-2.0
"""What NIC drivers make of dcbnl: one table. A driver that is not in it is taken at its word.

Sources: drivers/net/ethernet in Linux 6.12: mellanox/mlx5/core/en_dcbnl.c, broadcom/bnxt/bnxt_dcb.c,
qlogic/qed/qed_dcbx.c.
"""

from dataclasses import dataclass

from hostnic.netlink.dcb import CEE, HOST, IEEE, Dcb


@dataclass(frozen=True)
class Driver:
    """One driver.

    Attributes:
        name: as the PCI device's ``driver`` link has it.
        dscp: APP entries may map a DSCP to a priority, and the first one makes the port trust DSCP.
        ports: APP entries are to map RoCE's ethertype and UDP port to its priority.
        dcbx: bits of the DCBX mode without which the driver refuses to be set.
        dcbx_ask: the mode to ask for when those are missing.
        limit: what it cannot do, in one sentence; empty when nothing is missing here.

    """

    name: str
    dscp: bool = True
    ports: bool = False
    dcbx: int = HOST
    dcbx_ask: int = HOST | IEEE
    limit: str = ""

    def may_set(self, found: Dcb) -> bool:
        """The DCBX mode lets the host set things; a driver without DCBX always does."""
        return found.dcbx is None or found.dcbx & self.dcbx == self.dcbx


DRIVERS = (
    Driver("mlx5_core", dcbx_ask=HOST | CEE | IEEE),
    Driver(
        "bnxt_en",
        ports=True,
        dcbx=HOST | IEEE,
        limit="bnxt_en takes settings only while the NIC's own LLDP agent is off, and has no buffers and no "
        "rate limits to set",
    ),
    Driver(
        "qede",
        dscp=False,
        ports=True,
        dcbx=IEEE,
        dcbx_ask=IEEE,
        limit="qede maps no DSCP: RoCE gets its priority from the VLAN tag and from UDP port 4791",
    ),
)


def driver(name: str | None) -> Driver:
    """The table's entry, or one that expects nothing special."""
    return next((entry for entry in DRIVERS if entry.name == name), Driver(name or "unknown"))
