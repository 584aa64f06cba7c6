# SPDX-License-Identifier: Apache-2.0
"""NVUE's REST interface of a :class:`Switch` on a port of this machine: HTTPS."""

import socket
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from lab.nvue.certificate import Certificate
from lab.nvue.faults import ENDLESS
from lab.nvue.rest import Reply, Rest
from lab.nvue.switch import Switch

PART, MOST = 1 << 16, 1 << 30
"""Bytes that an answer that floods sends at once, and in all: clients without limits end, too."""


STRANGER = Reply(400, b"<html><h1>400 Bad Request</h1>No required SSL certificate was sent</html>")
"""The answer of nginx to a client that has shown no certificate."""


class Server(Rest):
    """A switch on a port of this machine; a context manager.

    Attributes:
        connections: how many there were.
        closes: whether each answer says ``Connection: close``, as a web server does from time to time.
        drip: seconds between two bytes of an answer that drips.
        flooded: bytes of answers that flood which the client has taken.
        clients: the certificate that clients have to have, as with ``system api mtls``; None for any.

    Args:
        switch: what it serves.
        certificate: what it presents.
        address: where it listens.
        port: where it listens; 0 for any free one.
        other: what a connection sees that is told of another certificate.
        given: see :class:`Rest`.

    """

    def __init__(
        self,
        switch: Switch,
        certificate: Certificate,
        *,
        address: str = "127.0.0.1",
        port: int = 0,
        other: Certificate | None = None,
        **given: Any,
    ) -> None:
        super().__init__(switch, **given)
        self.connections = 0
        self.closes = False
        self.drip = 1.0
        self.flooded = 0
        self.clients: Certificate | None = None
        self._stopping = threading.Event()
        self._context = certificate.context()
        self._other = other.context() if other else None
        self._http = (_Http6 if ":" in address else _Http)((address, port), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._listen, daemon=True)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._http.server_address[1]

    @property
    def url(self) -> str:
        """The URL that a client is given."""
        return f"https://127.0.0.1:{self.port}"

    def __enter__(self) -> "Server":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self.switch.close()
        self._http.socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that listens
        self._thread.join()
        self._http.server_close()

    def _listen(self) -> None:
        while not self._stopping.is_set():
            self._http.handle_request()

    def context(self) -> ssl.SSLContext:
        """Return the certificate of this connection."""
        context = self._other if self.exchanged() and self._other else self._context
        if self.clients:  # as nginx does, which refuses the request and not the connection
            context.verify_mode = ssl.CERT_OPTIONAL
            context.load_verify_locations(cadata=self.clients.pem)
        return context

    def hang(self, seconds: float = 30) -> bool:
        """Keep a client waiting, until the server stops; whether it has."""
        return self._stopping.wait(seconds)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    owner: Server

    def finish_request(self, request: Any, client_address: Any) -> None:
        # The handshake runs in the connection's own thread, so that a slow one keeps nobody waiting.
        request.settimeout(30)
        try:
            wrapped = self.owner.context().wrap_socket(request, server_side=True)
        except OSError:
            return
        self.owner.connections += 1
        try:
            super().finish_request(cast("socket.socket", wrapped), client_address)
        finally:
            wrapped.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no news; a fault of the switch's own code is."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Http6(_Http):
    address_family = socket.AF_INET6


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes, and the second would wait for the client
    server: _Http

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PATCH(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        owner = self.server.owner
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length) if length else b""
        known = not owner.clients or cast("ssl.SSLSocket", self.connection).getpeercert()
        authorization = self.headers.get("Authorization", "")
        reply = owner.serve(self.command, self.path, authorization, raw) if known else STRANGER
        if reply.trouble == "hang":
            owner.hang()
        if reply.trouble in ("hang", "reset"):
            self._drop()
            return
        if reply.trouble in ENDLESS:
            self._go_on_and_on(reply)
            return
        cut = reply.trouble == "partial"
        self.send_response(reply.status)
        if reply.status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply.content)))
        if owner.closes:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(reply.content[: len(reply.content) // 2] if cut else reply.content)
        if cut:
            self._drop()

    def _go_on_and_on(self, reply: Reply) -> None:
        """Begin an answer that does not end before the client goes, or the server."""
        owner = self.server.owner
        lines = [f"HTTP/1.1 {reply.status} OK", "Content-Type: application/json", "Connection: close"]
        head = "\r\n".join([*lines, "", ""]).encode()
        self.close_connection = True
        try:
            if reply.trouble == "drip":
                for byte in head + reply.content:
                    self.wfile.write(bytes([byte]))
                    if owner.hang(owner.drip):
                        return
                return
            self.wfile.write(head + reply.content[:-1])
            if reply.trouble == "stall":
                owner.hang()
            while reply.trouble == "flood" and owner.flooded < MOST:
                self.wfile.write(b" " * PART)
                owner.flooded += PART
        except OSError:
            return  # the client has gone

    def _drop(self) -> None:
        """End the connection without a word."""
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return
