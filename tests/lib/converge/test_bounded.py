# SPDX-License-Identifier: Apache-2.0
"""Peers that drip, stall or flood, at real sockets: each exchange ends within its time and its bytes."""

import http.client
import itertools
import socket
import ssl
import urllib.request
from time import sleep

import pytest
from converge.bounded import MIB, Connection, LateError, LongError, Meter
from converge.opener import Bounded
from lab.endless import ANNOUNCED, DRIPS, FLOODS, OK, Peer, answering, dripping, flooding
from lab.nvue.certificate import Certificate

SECONDS, MOST = 1.0, MIB
PAUSE = SECONDS / 10


def ask(
    port: int, body: bytes | None = None, context: ssl.SSLContext | None = None, seconds: float = SECONDS
) -> bytes:
    connection = Connection("127.0.0.1", port, seconds, most=MOST, context=context)
    try:
        connection.request("POST", "/", body)
        return connection.getresponse().read()
    finally:
        connection.close()


@pytest.mark.parametrize("where", DRIPS)
def test_a_peer_that_drips_has_no_more_than_the_time_of_the_exchange(where: str) -> None:
    with dripping(where, PAUSE) as peer:
        says = rf"^timed out: {peer.place} does not finish its answer within 1 s$"
        with pytest.raises(LateError, match=says):
            ask(peer.port)


def test_a_peer_that_says_nothing_does_not_answer() -> None:
    with (
        answering(b"") as peer,
        pytest.raises(LateError, match=f"^timed out: {peer.place} does not answer within"),
    ):
        ask(peer.port)


@pytest.mark.parametrize("where", FLOODS)
def test_a_peer_that_floods_is_left_at_the_limit(where: str) -> None:
    """http.client's own limits are as good: on the length of a line, and on the number of headers."""
    says = r"127\.0\.0\.1:\d+ sends more than 1 MiB|got more than"
    with flooding(where) as peer, pytest.raises((LongError, http.client.HTTPException), match=says):
        ask(peer.port, seconds=60)
    assert peer.sent < MOST + 16 * MIB, "beside what the kernel keeps"


def test_the_bytes_of_an_answer_may_be_as_many_as_the_limit() -> None:
    head = OK + b"\r\n"
    body = b"x" * (MOST - len(head))
    with answering(head, [body], close=True) as peer:
        assert ask(peer.port, seconds=60) == body


def test_an_announced_length_is_not_allocated() -> None:
    """http.client would: a terabyte ends in MemoryError, and a gigabyte in a gigabyte."""
    with (
        answering(ANNOUNCED, [b"abc"], close=True) as peer,
        pytest.raises(http.client.IncompleteRead, match="3 bytes read, 999999999997 more expected"),
    ):
        ask(peer.port, seconds=60)


def test_a_peer_that_does_not_read_has_no_more_time_either() -> None:
    with Peer(lambda *_: None) as deaf, pytest.raises(LateError, match="does not answer within 1 s"):
        ask(deaf.port, b"x" * 64 * MIB)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return Certificate.make(tmp_path_factory.mktemp("certificate"))


def trusting(certificate: Certificate) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=certificate.pem)


def test_a_handshake_that_drips_ends_in_time(certificate: Certificate) -> None:
    """The head of a record, and then the record."""
    with (
        answering(b"\x16\x03\x03\x3f\xff", itertools.repeat(b"\x02", 300), PAUSE) as peer,
        pytest.raises(LateError, match="does not answer within 1 s"),
    ):
        ask(peer.port, context=trusting(certificate))


def test_an_answer_within_tls_that_drips_ends_in_time(certificate: Certificate) -> None:
    def play(peer: Peer, connection: socket.socket) -> None:
        with certificate.context().wrap_socket(connection, server_side=True) as tls:
            tls.recv(MIB)
            tls.sendall(ANNOUNCED)
            peer.send(tls, itertools.repeat(b" ", 300), PAUSE)

    with Peer(play) as peer, pytest.raises(LateError, match="does not finish its answer within 1 s"):
        ask(peer.port, context=trusting(certificate))


@pytest.mark.parametrize("where", ["status line", "headers", "header lines"])
def test_a_proxy_that_drips_ends_in_time(certificate: Certificate, where: str) -> None:
    with dripping(where, PAUSE) as peer:
        connection = Connection("127.0.0.1", peer.port, SECONDS, most=MOST, context=trusting(certificate))
        connection.set_tunnel("switch.example", 443)
        with pytest.raises(LateError, match="within 1 s"):
            connection.request("GET", "/")
        connection.close()


def test_each_request_of_a_connection_has_its_own_time_and_bytes() -> None:
    body = b"x" * (MOST * 2 // 3)
    answer = OK + b"Content-Length: %d\r\n\r\n" % len(body) + body

    def play(peer: Peer, connection: socket.socket) -> None:
        while connection.recv(MIB):
            peer.send(connection, [answer])

    with Peer(play) as peer:
        kept = Connection("127.0.0.1", peer.port, 30, most=MOST)
        for _ in range(3):
            kept.request("GET", "/")
            assert kept.getresponse().read() == body
        kept.close()


def test_the_first_of_several_addresses_that_answers_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(OK + b"Content-Length: 2\r\n\r\n{}") as peer:
        found = socket.getaddrinfo("127.0.0.1", peer.port, type=socket.SOCK_STREAM)
        nobody = [(*found[0][:4], ("127.0.0.1", 1))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: nobody + found)
        assert ask(peer.port) == b"{}"


def test_addresses_share_the_time_of_one_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    """No route is silent on every machine, so the socket is one that never connects."""
    tried: list[object] = []

    class Silent(socket.socket):
        def connect(self, address: object, /) -> None:
            tried.append(address)
            sleep(self.gettimeout() or 0)
            raise TimeoutError

    found = socket.getaddrinfo("127.0.0.1", 1, type=socket.SOCK_STREAM)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found * 3)
    monkeypatch.setattr(socket, "socket", Silent)
    with pytest.raises(LateError, match="does not answer within 1 s"):
        ask(1)
    assert len(tried) == 1


@pytest.mark.parametrize("where", ["body", "chunks", "headers"])
def test_urllib_has_the_same_limits(where: str) -> None:
    def read(peer: Peer, seconds: float) -> None:
        opener = urllib.request.build_opener(Bounded(MOST))
        with opener.open(f"http://{peer.place}/", timeout=seconds) as answer:
            answer.read()

    says = "sends more than 1 MiB|got more than"
    with flooding(where) as peer, pytest.raises((LongError, http.client.HTTPException), match=says):
        read(peer, 30)
    with dripping(where, PAUSE) as peer, pytest.raises(LateError, match="within 1 s"):
        read(peer, SECONDS)


def test_an_answer_can_be_read_after_urllib_has_closed_its_connection() -> None:
    opened = urllib.request.build_opener(Bounded(MOST)).open
    with (
        answering(OK + b"Content-Length: 3\r\n\r\nabc") as peer,
        opened(f"http://{peer.place}/", timeout=30) as answer,
    ):
        assert answer.read() == b"abc"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_what_is_left_is_less_each_time_and_silence_is_its_own_limit() -> None:
    clock = Clock()
    meter = Meter("the peer", 60, 1000, silence=15, monotonic=clock)
    assert meter.left() == 15
    clock.now = 50
    assert meter.left() == 10
    near, far = socket.socketpair()
    with near, far:
        with (
            pytest.raises(LateError, match=r"^timed out: nothing from the peer for 15 s$"),
            meter.waiting(near),
        ):
            raise TimeoutError
        clock.now = 60
        with pytest.raises(LateError, match=r"^timed out: the peer does not answer within 60 s$"):
            meter.left()
        meter.begin()
        assert meter.left() == 15
        meter.count(1000)
        clock.now = 120
        with pytest.raises(LateError, match=r"the peer does not finish its answer within 60 s$") as late:
            meter.left()
        assert late.value.received == 1000
        with pytest.raises(LongError, match=r"^the peer sends more than 1000 bytes$"):
            meter.count(1)
