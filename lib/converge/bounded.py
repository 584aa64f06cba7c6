# SPDX-License-Identifier: Apache-2.0
"""The reader of networks: whatever is read from one has a limit of bytes and of total time.

The time-out of a socket begins anew with each byte, so a peer that sends one every few seconds keeps its
reader without end. Here the time of one exchange covers all of it: connecting, TLS, a proxy's tunnel, sending
the request, and every byte of the answer. The lookup of a name is not part of it: the resolver has a limit of
its own (resolv.conf(5)).

The limit of bytes is on all that is received: status lines, headers, the framing of chunks, and the body. No
connection asks for compression or decodes it, so a body takes no more memory than it took to send.
"""

import http.client
import io
import math
import socket
import ssl
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MIB = 1 << 20
CHUNK = 1 << 16
"""Bytes of a body that are read at once: http.client would allocate as many as the peer announces."""


class LateError(TimeoutError):
    """An exchange took longer than it may. ``received`` counts the bytes that came by then."""

    def __init__(self, sentence: str, received: int) -> None:
        super().__init__(sentence)
        self.received = received


class LongError(OSError):
    """A peer sent more than it may."""


class Meter:
    """The limits of one exchange with a peer, and the bytes and time that it has taken.

    Args:
        peer: how a sentence names it.
        seconds: from :meth:`begin` to the last byte.
        most: bytes that are received in this time.
        silence: seconds within which a peer has to send or take something.
        monotonic: the clock.

    """

    def __init__(
        self,
        peer: str,
        seconds: float,
        most: int,
        silence: float = math.inf,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.peer, self.seconds, self.most, self.silence = peer, seconds, most, silence
        self._monotonic = monotonic
        self.begin()

    def begin(self) -> None:
        """Begin a new exchange."""
        self._end = self._monotonic() + self.seconds
        self.received = 0

    def left(self) -> float:
        """Seconds for which the next call may wait. Raises LateError if the time is over."""
        left = self._end - self._monotonic()
        if left <= 0:
            raise self._late()
        return min(left, self.silence)

    @contextmanager
    def waiting(self, sock: socket.socket) -> Generator[None, None, None]:
        """Let the calls on a socket in the ``with`` block wait no longer than the time that is left.

        Raises LateError if a call would have had to wait longer.
        """
        sock.settimeout(self.left())
        try:
            yield
        except TimeoutError:
            raise self._late() from None

    def count(self, number: int) -> None:
        """Add ``number`` to the bytes that were received.

        Raises LongError if they are more than the peer may send.
        """
        self.received += number
        if self.received > self.most:
            raise LongError(f"{self.peer} sends more than {_size(self.most)}")

    def _late(self) -> LateError:
        if self._monotonic() < self._end:
            return LateError(f"timed out: nothing from {self.peer} for {self.silence:g} s", self.received)
        what = "does not finish its answer" if self.received else "does not answer"
        return LateError(f"timed out: {self.peer} {what} within {self.seconds:g} s", self.received)


def _size(number: int) -> str:
    return f"{number} bytes" if number % MIB else f"{number // MIB} MiB"


class Metered:
    """A connected socket that http.client and urllib3 can use as theirs, and that keeps to a meter."""

    def __init__(self, sock: socket.socket, meter: Meter) -> None:
        self.sock, self._meter = sock, meter

    def makefile(self, *_: object, **__: object) -> io.BufferedReader:
        """A reader of what the peer sends."""
        return io.BufferedReader(_Raw(self.sock, self._meter), CHUNK)

    def sendall(self, data: bytes | bytearray | memoryview, *_: object) -> None:
        """Send all of it; a peer that does not read takes time, too."""
        view = memoryview(data).cast("B")
        while view:
            with self._meter.waiting(self.sock):
                view = view[self.sock.send(view) :]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the socket has
        return getattr(self.sock, name)


class _Raw(io.RawIOBase):
    def __init__(self, sock: socket.socket, meter: Meter) -> None:
        self._sock, self._meter = sock, meter
        self._file = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int | None:
        with self._meter.waiting(self._sock):
            number = self._file.readinto(buffer)
        self._meter.count(number or 0)
        return number

    def close(self) -> None:
        self._file.close()
        super().close()


class Response(http.client.HTTPResponse):
    """An answer whose body is read in pieces, as they come."""

    def read(self, amt: int | None = None) -> bytes:
        """The body, or at most ``amt`` bytes of it.

        Raises IncompleteRead if the peer ended the connection before the body was whole.
        """
        if amt is not None:
            return super().read(amt)
        try:
            body = b"".join(iter(lambda: super(Response, self).read(CHUNK), b""))
            if self.length:
                raise http.client.IncompleteRead(body, self.length)
        except (OSError, http.client.HTTPException):
            self.close()  # the connection may have left its socket to this answer
            raise
        return body


class Connection(http.client.HTTPConnection):
    """http.client's connection with limits for each request; HTTPS with a ``context``.

    Every ``request`` may take ``timeout`` seconds, from its call to the last byte of the answer, and receive
    ``most`` bytes. It connects by itself where necessary, also through a tunnel.
    """

    response_class = Response

    def __init__(
        self,
        host: str,
        port: int | None = None,
        timeout: float = 60.0,
        *,
        most: int,
        silence: float = math.inf,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.default_port = http.client.HTTP_PORT if context is None else http.client.HTTPS_PORT
        super().__init__(host, port, timeout)
        self._context, self._meter = context, Meter(f"{self.host}:{self.port}", timeout, most, silence)
        self._create_connection = self._connected  # http.client's own place for this

    def request(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - http.client's
        """Send a request, as http.client does; its time begins now."""
        self._meter.begin()
        super().request(*args, **kwargs)

    def connect(self) -> None:
        """Connect, by TLS if there is a context."""
        super().connect()
        if self._context is not None:
            plain = cast("Metered", self.sock).sock
            with self._meter.waiting(plain):  # the handshake as a whole
                name = cast("Any", self)._tunnel_host or self.host
                tls = self._context.wrap_socket(plain, server_hostname=name)
            self.sock = cast("Any", Metered(tls, self._meter))

    def _connected(self, address: tuple[str, int], *_: object) -> Metered:
        """A socket that is connected to the first of the host's addresses that answers."""
        error: OSError = OSError(f"{address[0]} has no address")
        for family, kind, protocol, _name, place in socket.getaddrinfo(*address, type=socket.SOCK_STREAM):
            try:
                sock = socket.socket(family, kind, protocol)
            except OSError as unknown:  # the family
                error = unknown
                continue
            try:
                with self._meter.waiting(sock):
                    sock.connect(place)
                return Metered(sock, self._meter)
            except OSError as refused:
                sock.close()
                error = refused
                if isinstance(refused, LateError):
                    break
        raise error
