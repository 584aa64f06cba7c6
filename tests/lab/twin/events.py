# SPDX-License-Identifier: Apache-2.0
"""The kernel's announcements of one namespace's links, nexthops and bridge entries.

An ASIC's driver follows the same announcements.
"""

import os
import select
import socket
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOL_NETLINK, ADD_MEMBERSHIP = 270, 1
GROUPS = (1, 3, 32)
"""RTNLGRP_LINK, RTNLGRP_NEIGH, RTNLGRP_NEXTHOP (linux/rtnetlink.h)."""

NEWLINK, DELLINK, DELNEIGH, NEWNEXTHOP, DELNEXTHOP = 16, 17, 29, 104, 105
FOLLOWED = frozenset({NEWLINK, DELLINK, DELNEIGH, NEWNEXTHOP, DELNEXTHOP})
BRIDGED = 7
"""AF_BRIDGE, the family of a bridge entry; others are neighbours of the switch itself."""

_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port


class Events:
    """Announcements of one namespace."""

    def __init__(self, namespace: str) -> None:
        self._socket = _within(namespace)
        self._wake, self._woken = socket.socketpair()

    def wait(self, seconds: float) -> bool:
        """Wait for a change that matters to an ASIC; False if there is none within so many seconds."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select([self._socket, self._woken], [], [], left)
            if self._woken in ready:
                return False
            if ready and self._read():
                return True
        return False

    def stop(self) -> None:
        """End a wait."""
        self._wake.close()

    def _read(self) -> bool:
        """Take all that is announced now; whether any of it matters."""
        matters = False
        while True:
            try:
                matters |= any(types(self._socket.recv(1 << 17)))
            except BlockingIOError:
                return matters
            except OSError:  # ENOBUFS: more than the socket could hold, so anything may have changed
                matters = True


def types(messages: bytes) -> Iterator[int]:
    """The types of the messages that matter to an ASIC."""
    at = 0
    while at + _HEADER.size < len(messages):
        length, kind, *_ = _HEADER.unpack_from(messages, at)
        if kind in FOLLOWED and (kind != DELNEIGH or messages[at + _HEADER.size] == BRIDGED):
            yield kind
        at += max(_HEADER.size, (length + 3) & ~3)


def _within(namespace: str) -> socket.socket:
    """A netlink socket of a namespace; any thread may read it.

    Raises:
        OSError: there is no such namespace.

    """

    def make() -> socket.socket:
        with Path(f"/run/netns/{namespace}").open() as there:
            os.setns(there.fileno(), os.CLONE_NEWNET)  # of this thread alone
        opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
        opened.bind((0, 0))
        for group in GROUPS:
            opened.setsockopt(SOL_NETLINK, ADD_MEMBERSHIP, group)
        return opened

    with ThreadPoolExecutor(1) as alone:
        return alone.submit(make).result()
