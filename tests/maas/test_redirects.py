# SPDX-License-Identifier: Apache-2.0
"""A server that redirects, and a proxy: the API key goes to no other address, and no write becomes a GET."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from converge import StepError
from lab.maas import KEY
from maas.client import Maas

PARTS = KEY.split(":")
PATHS = [("GET", "spaces/"), ("GET", "machines/?op=power_parameters"), ("POST", "spaces/")]


class Server(ThreadingHTTPServer):
    """One port of this machine: it answers with an empty list, or redirects, and keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.seen: list[tuple[str, str, str]] = []  # method, path and the Authorization header
        self.redirect: tuple[int, str] | None = None  # status, and the address that the path is appended to

    def address(self, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    """One request."""

    server: Server

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.server.seen.append((self.command, self.path, self.headers["Authorization"] or ""))
        # No further than one redirect, also where the target is this server itself.
        status, target = (len(self.server.seen) == 1 and self.server.redirect) or (200, "")
        self.send_response(status)
        if target:
            self.send_header("Location", target + self.path)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b"[]")

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Server, Server]]:
    """The MAAS of the site file, and a stranger on another port."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    both = Server(), Server()
    for server in both:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield both
    for server in both:
        server.shutdown()
        server.server_close()


def send(maas: Server, method: str, path: str) -> str:
    """The sentence that the command prints; empty when it was content."""
    try:
        Maas(f"{maas.address()}/MAAS", KEY).send(path, method, {"name": "a"} if method == "POST" else None)
    except StepError as refusal:
        return f"{refusal}; {refusal.remedy}"
    return ""


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(("method", "path"), PATHS)
def test_the_key_goes_to_no_other_port(
    servers: tuple[Server, Server], status: int, method: str, path: str
) -> None:
    maas, stranger = servers
    maas.redirect = status, stranger.address()
    said = send(maas, method, path)
    assert stranger.seen == []
    assert len(maas.seen) == 1
    assert said == (
        f"MAAS answers {status} to {method} {path}: it redirects to "
        f"{stranger.address()}/MAAS/api/2.0/{path}, to which the API key is not sent; "
        f"if that is your MAAS, set maas in the site file to {stranger.address()}/MAAS"
    )
    assert not [word for word in PARTS if word in said]


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_the_key_goes_to_no_other_host(servers: tuple[Server, Server], method: str, path: str) -> None:
    maas, stranger = servers
    maas.redirect = 302, stranger.address("localhost")
    said = send(maas, method, path)
    assert stranger.seen == []
    assert f"it redirects to http://localhost:{stranger.server_port}/MAAS/" in said


def test_a_redirect_within_the_server_is_not_followed_either(servers: tuple[Server, Server]) -> None:
    """Of a POST it would make a GET, whose answer looks like that of a write that was done."""
    maas, _ = servers
    maas.redirect = 302, "/other"
    said = send(maas, "POST", "spaces/")
    assert [(method, path) for method, path, _ in maas.seen] == [("POST", "/MAAS/api/2.0/spaces/")]
    assert "it redirects to /other/MAAS/api/2.0/spaces/, to which the API key is not sent; " in said


@pytest.mark.parametrize("status", [301, 308])
@pytest.mark.parametrize(
    "target", ["/login?next=", "http://127.0.0.1:1/login?next=", "http://[", "ftp://127.0.0.1"]
)
def test_what_is_no_address_of_a_maas_is_not_offered_as_one(
    servers: tuple[Server, Server], status: int, target: str
) -> None:
    maas, _ = servers
    maas.redirect = status, target
    assert send(maas, "GET", "spaces/") == (
        f"MAAS answers {status} to GET spaces/: it redirects to {target}/MAAS/api/2.0/spaces/, to which the "
        "API key is not sent; if that is your MAAS, set maas in the site file to its address"
    )


def test_a_redirect_to_nowhere_is_an_answer_that_is_said(servers: tuple[Server, Server]) -> None:
    maas, _ = servers
    maas.redirect = 302, ""
    assert send(maas, "GET", "spaces/").startswith("MAAS answers 302 to GET spaces/: []")


def test_without_a_redirect_the_key_goes_to_maas(servers: tuple[Server, Server]) -> None:
    maas, _ = servers
    assert Maas(f"{maas.address()}/MAAS", KEY).send("spaces/") == []
    ((method, path, header),) = maas.seen
    assert (method, path) == ("GET", "/MAAS/api/2.0/spaces/")
    assert not [word for word in PARTS if word not in header]


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy"])
def test_the_key_goes_to_no_proxy(
    servers: tuple[Server, Server], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    maas, proxy = servers
    monkeypatch.setenv(name, proxy.address())
    assert send(maas, "GET", "spaces/") == ""
    assert proxy.seen == []
    assert len(maas.seen) == 1
