# SPDX-License-Identifier: Apache-2.0
"""A driver's own counters, as ``ethtool -S`` shows them.

ethtool netlink has only those that a standard names; a driver's own are left to the older interface, an ioctl
(include/uapi/linux/ethtool.h: ETHTOOL_GSSET_INFO, ETHTOOL_GSTRINGS, ETHTOOL_GSTATS).
"""

import array
import errno
import fcntl
import socket
import struct

SIOCETHTOOL = 0x8946
GSTRINGS, GSTATS, GSSET_INFO = 0x1B, 0x1D, 0x37
STATS = 1
"""ETH_SS_STATS, the set of strings that names the counters."""
NAME_SIZE = 32
"""ETH_GSTRING_LEN"""
SPARE = 4096
"""Counters for which there is room besides those that were announced.

The kernel writes as many as the driver has at that moment, whatever was asked for: more than before if
somebody has turned on PFC meanwhile.
"""


def read(link: str) -> dict[str, int]:
    """The counters of a netdev by name; none where its driver has none.

    Raises OSError if there is no such netdev, or the driver refuses.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
        count = _count(asking, link)
        if not count:
            return {}
        room = count + SPARE
        names = _ask(asking, link, struct.pack("III", GSTRINGS, STATS, count) + bytes(NAME_SIZE * room))
        values = _ask(asking, link, struct.pack("II", GSTATS, count) + bytes(8 * room))
    named, counted = struct.unpack_from("8xI", names)[0], struct.unpack_from("4xI", values)[0]
    if named != counted:
        raise OSError(errno.EAGAIN, f"the counters of {link} changed while they were read")
    texts = struct.unpack_from(f"{NAME_SIZE}s" * named, names, 12)
    keys = [text.partition(b"\0")[0].decode(errors="replace") for text in texts]
    return dict(zip(keys, struct.unpack_from(f"{counted}Q", values, 8)))


def _count(asking: socket.socket, link: str) -> int:
    try:
        info = _ask(asking, link, struct.pack("=IIQI", GSSET_INFO, 0, 1 << STATS, 0))
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            return 0
        raise
    _, _, mask, count = struct.unpack("=IIQI", info)
    return count if mask else 0


def _ask(asking: socket.socket, link: str, question: bytes) -> bytes:
    """The answer, which the kernel writes over the question; ``question`` has room for it."""
    place = array.array("B", question)
    fcntl.ioctl(asking, SIOCETHTOOL, struct.pack("16sP16x", link.encode(), place.buffer_info()[0]))
    return place.tobytes()
