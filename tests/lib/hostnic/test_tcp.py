# SPDX-License-Identifier: Apache-2.0
"""Which hosts answer at a TCP port: on this machine's loopback, with the kernel's own answers."""

import socket
import threading

import pytest
from hostnic.machine import Machine
from hostnic.network import tcp


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield server.getsockname()[1]


def test_a_host_that_accepts_answers(listener: int):
    assert Machine().answering(["127.0.0.1"], listener, 2.0) == {"127.0.0.1"}


def test_a_host_that_resets_the_connection_answers(listener: int):
    assert Machine().answering(["127.0.0.2"], listener, 2.0) == {"127.0.0.2"}


@pytest.mark.parametrize("address", ["", "localhost", "255.255.255.255", "192.168.25.1; reboot"])
def test_what_is_no_address_or_has_no_route_does_not_answer(listener: int, address: str):
    assert Machine().answering([address], listener, 0.2) == frozenset()


def test_nobody_is_asked_nothing():
    assert Machine().answering([], 22, 2.0) == frozenset()


def test_hosts_are_asked_at_the_same_time(listener: int, monkeypatch: pytest.MonkeyPatch):
    together = threading.Barrier(tcp.AT_ONCE)

    def slow(address: tuple[str, int], timeout: float) -> socket.socket:
        together.wait(60)  # passes when as many as the limit are here at once
        raise TimeoutError(address)

    monkeypatch.setattr(socket, "create_connection", slow)
    asked = [f"192.0.2.{n}" for n in range(2 * tcp.AT_ONCE)]
    assert Machine().answering(asked, listener, 0.3) == frozenset()
