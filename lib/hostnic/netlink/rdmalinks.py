# SPDX-License-Identifier: Apache-2.0
"""Which netdev belongs to which port of an RDMA device (include/uapi/rdma/rdma_netlink.h).

In switchdev mode the ports of the uplink's device are representors of VFs. They have no GIDs, so that sysfs
does not tell their netdevs.
"""

import errno
from functools import lru_cache

from hostnic.netlink.channel import DUMP, Channel, Untyped, codec

RDMA = 20
"""NETLINK_RDMA"""
DEVICES, PORTS = (5 << 10) | 1, (5 << 10) | 5
"""RDMA_NL_NLDEV's requests RDMA_NLDEV_CMD_GET and RDMA_NLDEV_CMD_PORT_GET."""


@lru_cache(maxsize=1)
def _message() -> Untyped:
    nl = codec()

    class RdmaMessage(nl.nlmsg):
        nla_map = (
            (1, "DEV_INDEX", "uint32"),
            (2, "DEV_NAME", "asciiz"),
            (3, "PORT_INDEX", "uint32"),
            (51, "NDEV_NAME", "asciiz"),
        )

    return RdmaMessage


def read() -> dict[tuple[str, int], str]:
    """Netdevs by device and port; none where the kernel has no RDMA."""
    try:
        channel = Channel(RDMA)
    except OSError as error:
        if error.errno == errno.EPROTONOSUPPORT:
            return {}
        raise
    found: dict[tuple[str, int], str] = {}
    for device in channel.request(_message()(), DEVICES, DUMP):
        asking = _message()()
        asking["attrs"] = [("DEV_INDEX", device.get_attr("DEV_INDEX"))]
        for port in channel.request(asking, PORTS, DUMP):
            if netdev := port.get_attr("NDEV_NAME"):
                found[device.get_attr("DEV_NAME"), port.get_attr("PORT_INDEX")] = netdev
    return found
