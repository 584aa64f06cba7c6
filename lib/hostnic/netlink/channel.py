# SPDX-License-Identifier: Apache-2.0
"""Netlink requests: pyroute2's message codec over a plain blocking socket.

pyroute2's own sockets bring asyncio, and ``import pyroute2`` itself some 300 modules (0.3 s): more
than all the rest of an idle hook. Its codec, ``pyroute2.netlink``, loads in a tenth of that when the
package's umbrella module is left out, and the exchange of one request is the loop below.
"""

import contextlib
import errno
import importlib
import importlib.util
import itertools
import os
import socket
import struct
import sys
import threading
import time
import types
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeAlias

ROUTE, GENERIC = 0, 16
REQUEST, ACK, DUMP = 0x1, 0x4, 0x300
CAPPED, ACK_TLVS = 0x100, 0x200
ERROR, DONE = 2, 3
CONTROL, GET_FAMILY = 16, 3
"""The family that has the numbers of the others, and its request for one (linux/genetlink.h)."""
SOL_NETLINK, NETLINK_EXT_ACK = 270, 11
EXT_ACK_MSG = 1
HEADER = struct.Struct("IHHII")
"""nlmsghdr: length, type, flags, sequence number, port id (linux/netlink.h)."""
ATTRIBUTE = struct.Struct("=HH")
"""nlattr: length and type."""
Untyped: TypeAlias = Any
"""An object of pyroute2's, which declares no types."""
_LOADING = threading.Lock()  # other threads see the empty umbrella module while one loads the codec
BUFFER = 1 << 17
LINK_NEWS = 1 << 0
"""The bit of RTNLGRP_LINK in a socket's groups (linux/rtnetlink.h): each change of a netdev."""
SETTLE_S = 0.05
"""Changes come in bursts, one per port of a bond: for so long, later ones are part of the same news."""
ANSWER_TIME = 60.0
"""Seconds until an answer is given up, unless the caller allows more."""


@lru_cache(maxsize=1)
def codec() -> Untyped:
    """``pyroute2.netlink``: classes that encode and decode messages."""
    with _LOADING:
        return _load()


def _load() -> Untyped:
    if "pyroute2" in sys.modules:
        return importlib.import_module("pyroute2.netlink")
    spec = importlib.util.find_spec("pyroute2")
    if spec is None or spec.submodule_search_locations is None:
        raise ModuleNotFoundError("pyroute2 is not installed", name="pyroute2")
    bare = types.ModuleType("pyroute2")
    bare.__path__ = list(spec.submodule_search_locations)
    sys.modules["pyroute2"] = bare
    try:
        return importlib.import_module("pyroute2.netlink")
    finally:
        del sys.modules["pyroute2"]


class LinkNews:
    """Wakes its caller when a netdev has changed; what has, the caller reads by itself."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, ROUTE)
        self._socket.bind((0, LINK_NEWS))

    def __del__(self) -> None:
        if "_socket" in self.__dict__:  # there was one to open
            self._socket.close()

    def wait(self) -> None:
        """Return once a netdev has changed since the last call.

        Raises OSError if the kernel gives no news any more.
        """
        self._take()
        time.sleep(SETTLE_S)
        with contextlib.suppress(BlockingIOError):
            while True:
                self._take(socket.MSG_DONTWAIT)

    def _take(self, flags: int = 0) -> None:
        try:
            self._socket.recv(BUFFER, flags)
        except OSError as error:
            if error.errno != errno.ENOBUFS:  # news was lost, so there was some
                raise


class Channel:
    """One netlink socket; every request gets its answer before the next is sent."""

    def __init__(self, family: int, answer_time: float = ANSWER_TIME) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, family)
        self._socket.bind((0, 0))
        self._socket.setsockopt(SOL_NETLINK, NETLINK_EXT_ACK, 1)
        self._socket.settimeout(answer_time)
        self._numbers = itertools.count(1)

    def __del__(self) -> None:
        if "_socket" in self.__dict__:  # there was one to open
            self._socket.close()

    def request(self, message: Untyped, kind: int, flags: int) -> list[Untyped]:
        """Send ``message`` and return the answers, decoded by its class; none for a mere acknowledgement.

        ``message`` is of one of pyroute2's message classes, ``kind`` its nlmsg_type; ``flags`` are added to
        NLM_F_REQUEST.

        Raises OSError if the kernel refuses, with its extended-ack text as ``strerror``.
        """
        decoded: list[Untyped] = []
        for answer in self.answers(message, kind, flags):
            item = type(message)(answer)
            item.decode()
            decoded.append(item)
        return decoded

    def answers(self, message: Untyped, kind: int, flags: int) -> Iterator[bytes]:
        """The same, with the answers as they come, in the kernel's bytes."""
        number = next(self._numbers)
        message["header"].update({"type": kind, "flags": REQUEST | flags, "sequence_number": number})
        message.encode()
        self._socket.send(message.data)
        while True:
            data = self._socket.recv(BUFFER)
            offset = 0
            while offset + HEADER.size <= len(data):
                length, kind, flags, sequence, _ = HEADER.unpack_from(data, offset)
                if sequence == number:
                    if kind in (ERROR, DONE):
                        _raise_refusal(data[offset : offset + length], kind, flags)
                        return
                    yield data[offset : offset + length]
                offset += (length + 3) & ~3


def attributes(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and content of each attribute in ``content``, up to the first one that does not fit."""
    offset = 0
    while offset + ATTRIBUTE.size <= len(content):
        length, kind = ATTRIBUTE.unpack_from(content, offset)
        if length < ATTRIBUTE.size or offset + length > len(content):
            return
        yield kind & 0x3FFF, content[offset + ATTRIBUTE.size : offset + length]
        offset += (length + 3) & ~3


def _raise_refusal(message: bytes, kind: int, flags: int) -> None:
    """Raise the error of an NLMSG_ERROR or NLMSG_DONE message, unless it only acknowledges."""
    if len(message) < HEADER.size + 4:
        return
    code = -struct.unpack_from("i", message, HEADER.size)[0]
    if code <= 0:
        return
    raise OSError(code, _extended_ack(message, kind, flags) or os.strerror(code))


def _extended_ack(message: bytes, kind: int, flags: int) -> str:
    if not flags & ACK_TLVS:
        return ""
    offset = HEADER.size + 4
    if kind == ERROR:
        (request_length,) = struct.unpack_from("I", message, offset)
        offset += HEADER.size if flags & CAPPED else (request_length + 3) & ~3
    return dict(attributes(message[offset:])).get(EXT_ACK_MSG, b"").rstrip(b"\0").decode(errors="replace")


@lru_cache(maxsize=1)
def _control() -> Untyped:
    nl = codec()

    class Control(nl.genlmsg):
        nla_map = ((1, "FAMILY_ID", "uint16"), (2, "FAMILY_NAME", "asciiz"))

    return Control


class Family:
    """Requests to one family of generic netlink, over a socket of its own; the kernel numbers families."""

    def __init__(self, name: str, answer_time: float = ANSWER_TIME) -> None:
        self._channel = Channel(GENERIC, answer_time)
        self._name = name
        self._id: int | None = None

    def ask(self, message: Untyped, command: int, attrs: list[tuple[str, object]]) -> list[Untyped]:
        """The answers to ``command`` with ``attrs``; ``message`` is the class of both."""
        if self._id is None:
            self._id = self._find()
        return self._request(self._id, message, command, attrs)

    def _find(self) -> int:
        (answer,) = self._request(CONTROL, _control(), GET_FAMILY, [("FAMILY_NAME", self._name)])
        return answer.get_attr("FAMILY_ID")

    def _request(
        self, number: int, message: Untyped, command: int, attrs: list[tuple[str, object]]
    ) -> list[Untyped]:
        request = message()
        request["cmd"], request["version"], request["attrs"] = command, 1, attrs
        return self._channel.request(request, number, ACK)
