# SPDX-License-Identifier: Apache-2.0
"""The exporter's port: one thread for each connection, with limits of their number and of their age.

A client that sends half a request, or does not read its answer, keeps a connection. However many of these
there are, they take a bounded number of threads and files, and the next scrape is answered.
"""

import io
import select
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from socketserver import ThreadingMixIn
from time import monotonic
from typing import Any, TypeAlias
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

Request: TypeAlias = Any
"""A connection, as socketserver has it: a socket."""
MOST_CONNECTIONS = 32
"""Connections at once. The kernel keeps those that wait."""
MOST_SECONDS = 10.0
"""Seconds for which a client may send its request, or read its answer: Prometheus' time for a scrape."""
MOMENT = 1.0
"""Seconds that a client always has to read its answer, and a tenth of it to send its request."""
MOST_BYTES = 8192
"""Bytes of a request; Prometheus sends some 300."""

END = b"\r\n\r\n"
"""Of a request."""


class _Handler(WSGIRequestHandler):
    server: "Server"  # type: ignore[assignment]  # socketserver's BaseServer

    def setup(self) -> None:
        """Take the request, so that nothing else waits for the client; the answer is written at the end."""
        super().setup()
        self._answer = io.BytesIO()
        self.rfile, self.wfile = io.BytesIO(self._request()), self._answer

    def _request(self) -> bytes:
        """The head of the request, which is all of a GET; nothing if it does not come, or is too long."""
        head = b""
        while END not in head:
            select.select([self.request], [], [])  # ends at the latest when the server closes it
            before, head = head, self.server.take(self.request, head)
            if head == before or len(head) > MOST_BYTES:
                return b""
        return head

    def finish(self) -> None:
        """Send the answer."""
        self.server.waits(self.request)
        self.request.sendall(self._answer.getvalue())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that it has there
        """Log no request."""


def _has_asked(request: Request) -> bool:
    """Whether all of a request is there, also if its thread has not come to reading it."""
    with suppress(OSError):
        return END in request.recv(MOST_BYTES, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    return False


class Server(ThreadingMixIn, WSGIServer):
    """Answers at one address. :meth:`serve_forever` runs until another thread calls ``shutdown``."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: str, port: int, app: Callable[..., Any]) -> None:
        self._open = set[Request]()
        self._waiting: dict[
            Any, float
        ] = {}  # those that wait for their client, the longest first: since when
        self._changed = threading.Condition()
        if ip_address(address).version == 6:
            self.address_family = socket.AF_INET6
        super().__init__((address, port), _Handler)
        self.set_app(app)

    def process_request(self, request: Request, client_address: Request) -> None:
        """Answer in a thread of its own, once there is room for one more connection."""
        with self._changed:
            while len(self._open) >= MOST_CONNECTIONS and not self._make_room():
                self._changed.wait(0.1)
            self._open.add(request)
        self.waits(request)
        super().process_request(request, client_address)

    def _make_room(self) -> bool:
        """Close the connection that has waited for its client longest; False if none waits for it."""
        for request, since in self._waiting.items():
            waits = monotonic() - since
            if waits > MOMENT or (waits > MOMENT / 10 and not _has_asked(request)):
                self._end(request)
                return True
        return False

    def waits(self, request: Request) -> None:
        """Note that a connection waits for its client from now on."""
        with self._changed:
            if request in self._open:
                self._waiting[request] = monotonic()
                self._changed.notify()

    def take(self, request: Request, head: bytes) -> bytes:
        """``head`` and what has come since; with all of its request a connection waits no longer."""
        with self._changed:
            head += request.recv(MOST_BYTES)
            if END in head:
                self._waiting.pop(request, None)
        return head

    def _end(self, request: Request) -> None:
        """Forget a connection. Its thread finds it closed."""
        self._open.discard(request)
        self._waiting.pop(request, None)
        with suppress(OSError):  # the client has gone
            request.shutdown(socket.SHUT_RDWR)

    def service_actions(self) -> None:
        """Close what waits for too long; socketserver calls this twice a second, and after each request."""
        late = monotonic() - MOST_SECONDS
        with self._changed:
            for request in [each for each, since in self._waiting.items() if since < late]:
                self._end(request)

    def shutdown_request(self, request: Request) -> None:
        """Close a connection when its thread is done with it."""
        with self._changed:
            self._end(request)
            self._changed.notify()
        super().shutdown_request(request)

    def handle_error(self, request: Request, client_address: Request) -> None:
        """A client that has gone is no news; a fault of this program is."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)
