# SPDX-License-Identifier: Apache-2.0
"""NVUE's REST interface in front of a :class:`Switch`: HTTPS, basic authentication, JSON."""

import base64
import hmac
import json
import socket
import ssl
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qs, unquote, urlsplit

from nvue.certificate import Certificate
from nvue.faults import AFTER, Fault
from nvue.switch import TITLES, RefusedError, Switch
from nvue.trees import Tree, at, included, merge

ROOT = "/nvue_v1"
FACTORY_PASSWORD = "cumulus"


@dataclass(frozen=True)
class Call:
    """One request as the switch saw it."""

    method: str
    path: str
    query: dict[str, list[str]] = field(default_factory=dict)
    body: Any = None

    @property
    def name(self) -> str:
        """What the call does, in one word or two."""
        if self.path == "/revision" or self.path.startswith("/revision/"):
            if self.method == "PATCH":
                if (self.body or {}).get("state") == "save":
                    return "save"
                return "apply" if "state-controls" in (self.body or {}) else "confirm"
            return {"POST": "create", "DELETE": "drop"}.get(self.method, "poll")
        if self.method == "GET":
            if "diff" in self.query:
                return "diff"
            return "read " + self.query.get("rev", ["operational"])[0].replace("/", "-")
        return self.method.lower()


class Server:
    """A switch on a port of this machine; a context manager.

    Attributes:
        calls: every request, in order.
        faults: what goes wrong; see :meth:`inject`.
        latency: seconds before each answer.
        reachable: false while nobody gets through, as without a management port.

    """

    def __init__(
        self,
        switch: Switch,
        certificate: Certificate,
        *,
        address: str = "127.0.0.1",
        port: int = 0,
        user: str = "cumulus",
        password: str = "CumulusLinux!",
        latency: float = 0.0,
        other: Certificate | None = None,
    ) -> None:
        self.switch = switch
        self.user, self.password = user, password
        self.latency = latency
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self.connections = 0
        self._count = 0
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._context = certificate.context()
        self._other = other.context() if other else None
        self._strange = 0
        self._http = _Http((address, port), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._http.server_address[1]

    @property
    def url(self) -> str:
        """What a client is told."""
        return f"https://127.0.0.1:{self.port}"

    def __enter__(self) -> "Server":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self.switch.close()
        self._http.shutdown()
        self._http.server_close()

    def inject(self, *faults: Fault) -> None:
        """Let these faults hit the calls that follow, and forget the earlier ones."""
        with self._lock:
            self.faults, self._count, self._strange = list(faults), 0, 0

    def context(self) -> ssl.SSLContext:
        """What this connection sees as certificate."""
        with self._lock:
            strange, self._strange = self._strange > 0, max(0, self._strange - 1)
        return self._other if strange and self._other else self._context

    def exchange(self) -> None:
        """Let the next connection see another certificate."""
        with self._lock:
            self._strange += 1

    def fault(self, call: Call) -> str:
        """The fault that hits this call, if one does."""
        with self._lock:
            number, self._count = self._count, self._count + 1
            return next((fault.kind for fault in self.faults if fault.hits(number, call.name)), "")

    def hang(self) -> None:
        """Keep a client waiting, until the server stops."""
        self._stopping.wait(30)

    def answer(self, call: Call) -> tuple[int, Any]:
        """What the switch says to one request."""
        try:
            return 200, self._route(call)
        except RefusedError as refused:
            title = TITLES[refused.status]
            return refused.status, {
                "detail": refused.detail,
                "status": refused.status,
                "title": title,
                "type": "about:blank",
            }

    def _route(self, call: Call) -> Any:
        path = tuple(unquote(part) for part in call.path.split("/") if part)
        if path[:1] == ("revision",):
            return self._revision(call, path[1:])
        revision = call.query.get("rev", ["operational"])[0]
        if call.method == "GET":
            return self._read(call, path, revision)
        if call.method == "PATCH":
            self.switch.patch(revision, path, call.body)
            return self.switch.tree(revision)
        if call.method == "DELETE":
            self.switch.clear(revision, path)
            return {}
        raise RefusedError(400, f"{call.method} is not allowed here")

    def _revision(self, call: Call, path: tuple[str, ...]) -> Any:
        if not path:
            return self.switch.create() if call.method == "POST" else self.switch.shown()
        # An id with slashes arrives whole when its slashes are encoded; otherwise it names no revision.
        (name, *rest) = path
        if rest:
            raise RefusedError(404, f"The requested URL was not found: {call.path}")
        if call.method == "PATCH":
            return self.switch.request(name, call.body)
        if call.method == "DELETE":
            self.switch.drop(name)
            return {}
        return self.switch.show(name)

    def _read(self, call: Call, path: tuple[str, ...], revision: str) -> Any:
        if "diff" in call.query:
            return self.switch.difference(revision, call.query["diff"][0])
        if revision == "operational":
            tree = self.switch.operational()
        else:
            tree = self.switch.tree(revision)
            if call.query.get("filled", ["true"])[0] != "false":
                tree = _filled(tree)
        try:
            node = at(tree, path)
        except KeyError:
            if not self.switch.rules.known(path) and revision != "operational":
                raise RefusedError(404, f"The requested URL was not found: {call.path}") from None
            raise RefusedError(404, f"The requested item does not exist: {call.path}") from None
        patterns = [tuple(part for part in item.split("/") if part) for item in call.query.get("include", [])]
        return included(node, patterns) if patterns else node


def _filled(tree: Tree) -> Tree:
    """What a read without ``filled=false`` adds: the defaults of whatever is configured."""
    filled = {
        "interface": {name: {"link": {"mtu": 9216}} for name in tree.get("interface", {}) if name != "eth0"}
    }
    return merge(filled, tree)


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
        """A client that has gone is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:
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
        if owner.switch.cut_off():
            owner.hang()
            self._drop()
            return
        if not self._authorised():
            return
        url = urlsplit(self.path)
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            self._send(400, {"title": "Bad Request", "status": 400, "detail": "Failed to decode JSON object"})
            return
        if not url.path.startswith(ROOT):
            self._send(404, {"title": "Not Found", "status": 404, "detail": url.path})
            return
        call = Call(self.command, url.path[len(ROOT) :] or "/", parse_qs(url.query), body)
        owner.calls.append(call)
        kind = owner.fault(call)
        time.sleep(owner.latency)
        if kind == "hang":
            owner.hang()
        if kind == "certificate":
            owner.exchange()
        if kind == "500":
            self._send(500, {"title": "Internal Server Error", "status": 500, "detail": "nvued is busy"})
            return
        if kind and kind not in AFTER:
            self._drop()
            return
        status, answer = owner.answer(call)
        if kind == "500-after":
            self._send(500, {"title": "Internal Server Error", "status": 500, "detail": "nvued is busy"})
        elif kind == "reset-after":
            self._drop()
        else:
            self._send(status, answer, cut=kind == "partial")

    def _authorised(self) -> bool:
        owner = self.server.owner
        given = self.headers.get("Authorization", "")
        wanted = base64.b64encode(f"{owner.user}:{owner.password}".encode()).decode()
        if not hmac.compare_digest(given, f"Basic {wanted}"):
            self._send(401, {"title": "Unauthorized", "status": 401, "detail": "Authentication required"})
            return False
        if owner.password == FACTORY_PASSWORD:
            # From 4.2 on: the password of the factory opens nothing but the dialogue that changes it.
            said = "Password change required"
            self._send(403, {"title": "Forbidden", "status": 403, "detail": said})
            return False
        return True

    def _send(self, status: int, answer: Any, cut: bool = False) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content) + (1 if cut else 0)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)
        if cut:
            self._drop()

    def _drop(self) -> None:
        """End the connection without a word."""
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return
