# SPDX-License-Identifier: Apache-2.0
"""Whom the client trusts, and through which proxy: nothing is sent to a stranger."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from lab.nvue import Certificate, Server
from rest.client import Nvue
from rest.connection import Access, SwitchError, proxy_for


def test_a_certificate_that_no_authority_signed_is_refused_before_anything_is_sent(
    server: Server, access: Access, other_certificate: Certificate
) -> None:
    stranger = Access(access.credentials, ca=other_certificate.pem)
    with pytest.raises(SwitchError, match=r"certificate of 127\.0\.0\.1 is refused") as failed:
        Nvue("leaf", "127.0.0.1", stranger, server.port).applied()
    assert failed.value.kind == "certificate"
    assert "pinned-certificates" in failed.value.remedy
    assert server.calls == []


def test_a_certificate_for_another_address_is_refused(server: Server, access: Access) -> None:
    with pytest.raises(SwitchError, match=r"refused: .*mismatch"):
        Nvue("leaf", "localhost", access, server.port).applied()


def test_a_pinned_certificate_is_the_only_one(
    server: Server, access: Access, certificate: Certificate
) -> None:
    pin = certificate.fingerprint.replace(":", "").lower()
    pinned = Access(access.credentials, pins={"leaf": pin})
    client = Nvue("leaf", "127.0.0.1", pinned, server.port)
    assert client.applied()
    client.close()
    server.exchange()
    with pytest.raises(SwitchError, match="it is not the pinned one"):
        client.applied()
    assert len(server.calls) == 1


@pytest.mark.parametrize("proxied", [False, True])
def test_a_pin_is_checked_again_after_a_reconnect(
    server: Server, access: Access, certificate: Certificate, proxied: bool
) -> None:
    """The next request makes it anew, and somebody else may answer."""
    server.closes = True
    with tunnels(server) as (proxy, _):
        pin = certificate.fingerprint.replace(":", "").lower()
        pinned = Access(access.credentials, pins={"leaf": pin}, proxy=proxy if proxied else "")
        client = Nvue("leaf", "127.0.0.1", pinned, server.port)
        assert client.applied()
        assert client.applied()
        server.exchange()
        with pytest.raises(SwitchError, match="it is not the pinned one"):
            client.applied()
        assert len(server.calls) == 2
        assert client.applied()
        client.close()


PROXY = "http://squid:3128"


@pytest.mark.parametrize(
    ("host", "no_proxy", "used"),
    [
        ("10.0.0.5", "", True), ("10.0.0.5", "10.0.0.0/8", False), ("10.0.0.5", "10.0.0.5", False),
        ("10.0.0.5", "192.168.0.0/16,localhost", True), ("leaf.example.com", ".example.com", False),
        ("leaf.example.com", "example.com", False), ("leaf.example.com", "ample.com", True),
        ("leaf", "*", False),
    ],
)  # fmt: skip
def test_the_proxy_for_a_host(host: str, no_proxy: str, used: bool) -> None:
    assert proxy_for(host, PROXY, no_proxy) == (PROXY if used else "")


@pytest.mark.parametrize(
    "proxy",
    [
        "http://me:word@proxy:abc", "http://proxy:99999", "http://[::1", "proxy:3128", "me:word@proxy:3128",
        "192.0.2.1", "http://", "http://a..b:3128", "socks5://192.0.2.1:1080",
    ],
)  # fmt: skip
def test_a_proxy_that_cannot_be_used_is_one_sentence_without_its_password(access: Access, proxy: str) -> None:
    with pytest.raises(SwitchError) as failed:
        Nvue("leaf", "192.0.2.9", replace(access, proxy=proxy)).applied()
    assert failed.value.kind == "proxy"
    assert failed.value.reason == "option juju-https-proxy: is not the URL of an HTTP proxy"
    assert "such as http://192.0.2.1:3128" in failed.value.remedy
    assert "word" not in f"{failed.value!r}{failed.value.remedy}"


@pytest.mark.parametrize("user", ["me:word@", "me@"])
def test_a_proxys_password_is_not_sent_in_clear_where_its_url_says_tls(
    server: Server, access: Access, user: str
) -> None:
    with tunnels(server) as (proxy, seen):
        secure = proxy.replace("http://", f"https://{user}")
        client = Nvue("leaf", "127.0.0.1", replace(access, proxy=secure), server.port)
        with pytest.raises(SwitchError, match=r"^option juju-https-proxy: .* at an https:// URL$") as failed:
            client.applied()
    assert (seen, server.calls) == ([], [])
    assert failed.value.kind == "proxy"
    assert "http:// URL" in failed.value.remedy
    assert "word@" not in f"{failed.value!r}{failed.value.remedy}"


def test_a_proxy_is_asked_for_a_tunnel_and_never_sees_the_request(server: Server, access: Access) -> None:
    with tunnels(server) as (proxy, seen):
        through = replace(access, proxy=proxy.replace("//", "//me:word@"))
        client = Nvue("leaf", "127.0.0.1", through, server.port)
        assert client.applied()
        client.close()
    assert seen[0].startswith(f"CONNECT 127.0.0.1:{server.port} HTTP/1.".encode())
    assert b"Proxy-Authorization: Basic bWU6d29yZA==" in seen[0]
    assert b"nvue_v1" not in b"".join(seen)


@contextmanager
def tunnels(server: Server) -> Iterator[tuple[str, list[bytes]]]:
    """A proxy that makes tunnels to the switch; its URL, and all that it is sent."""
    seen: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(30)
    made: list[threading.Thread] = []

    def tunnel(near: socket.socket) -> None:
        seen.append(near.recv(4096))
        with near, socket.create_connection(("127.0.0.1", server.port)) as far:
            near.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_copy, args=(far, near, None))
            back.start()
            _copy(near, far, seen)
            back.join()

    def listen() -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            made.append(threading.Thread(target=tunnel, args=(near,)))
            made[-1].start()

    listening = threading.Thread(target=listen)
    listening.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", seen
    finally:
        listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that listens
        listener.close()
        for thread in (listening, *made):
            thread.join(5)


def _copy(near: socket.socket, far: socket.socket, kept: list[bytes] | None) -> None:
    try:
        while data := near.recv(4096):
            if kept is not None:
                kept.append(data)
            far.sendall(data)
        far.shutdown(socket.SHUT_WR)
    except OSError:
        return
