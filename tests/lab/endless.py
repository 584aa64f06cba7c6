# SPDX-License-Identifier: Apache-2.0
"""A peer on a port of this machine that drips or floods instead of coming to an end."""

import itertools
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
ANNOUNCED = OK + b"Content-Length: 1000000000000\r\n\r\n"

DRIPS: dict[str, tuple[bytes, Iterable[bytes]]] = {
    "status line": (b"HTTP/1.1 200 ", itertools.repeat(b"x")),
    "headers": (OK + b"A: ", itertools.repeat(b"b")),
    "header lines": (OK, (b"A%d: b\r\n" % number for number in itertools.count())),
    "answers before the answer": (b"", itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n")),
    "body": (ANNOUNCED, itertools.repeat(b" ")),
    "body without length": (OK + b"\r\n", itertools.repeat(b" ")),
    "chunks": (CHUNKED, itertools.repeat(b"1\r\n \r\n")),
    "the size of a chunk": (CHUNKED, itertools.repeat(b"0")),
    "the name of a chunk": (CHUNKED + b"1;a=", itertools.repeat(b"b")),
    "trailers": (CHUNKED + b"0\r\n", itertools.repeat(b"a: b\r\n")),
}
"""By what drips: how the answer begins, and how it goes on."""

FLOODS: dict[str, tuple[bytes, bytes]] = {
    "headers": (OK + b"A: ", b"b" * 4096),
    "header lines": (OK, b"A: " + b"b" * 60_000 + b"\r\n"),
    "answers before the answer": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "body": (ANNOUNCED, b" " * 65536),
    "body without length": (OK + b"\r\n", b" " * 65536),
    "chunks": (CHUNKED, b"1000\r\n" + b" " * 4096 + b"\r\n"),
    "one chunk": (CHUNKED + b"F" * 16 + b"\r\n", b" " * 65536),
    "the name of a chunk": (CHUNKED + b"1;a=", b"b" * 4096),
    "trailers": (CHUNKED + b"0\r\n", b"a: b\r\n" * 700),
}
"""By what floods: how the answer begins, and how it goes on."""

PARTS = 400
"""Parts that drip before a peer gives up: a client without limits ends, too, much too late."""


class Peer:
    """Plays the same to every connection; a context manager.

    Attributes:
        sent: bytes that clients, and the kernel for them, have taken.
        over: set when the peer stops.

    """

    def __init__(self, play: Callable[["Peer", socket.socket], None]) -> None:
        self.sent, self.over, self._play = 0, threading.Event(), play
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.place = f"127.0.0.1:{self.port}"
        self._made: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._listen)]

    def __enter__(self) -> "Peer":
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        for each in (self._listener, *self._made):
            with suppress(OSError):  # the client has gone
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(10)

    def send(self, connection: socket.socket, parts: Iterable[bytes], pause: float = 0.0) -> None:
        """Send these, each after a pause, until the peer stops."""
        for part in parts:
            if pause and self.over.wait(pause):
                return
            connection.sendall(part)
            self.sent += len(part)

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._made.append(connection)
            self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            self._play(self, connection)
        except OSError:
            return  # the client has gone


def answering(head: bytes, parts: Iterable[bytes] = (), pause: float = 0.0, *, close: bool = False) -> Peer:
    """A peer that answers the first request of each connection like this."""

    def play(peer: Peer, connection: socket.socket) -> None:
        connection.recv(1 << 20)
        peer.send(connection, [head])
        peer.send(connection, parts, pause)
        if close:
            connection.shutdown(socket.SHUT_WR)

    return Peer(play)


def dripping(where: str, pause: float) -> Peer:
    """A peer whose answer drips at this place of :data:`DRIPS`."""
    head, parts = DRIPS[where]
    return answering(head, itertools.islice(parts, PARTS), pause)


def flooding(where: str) -> Peer:
    """A peer whose answer floods at this place of :data:`FLOODS`, with a gigabyte at most."""
    head, part = FLOODS[where]
    return answering(head, itertools.repeat(part, (1 << 30) // len(part)))
