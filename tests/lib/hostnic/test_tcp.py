# SPDX-License-Identifier: Apache-2.0
"""Which hosts answer at a TCP port: on this machine's loopback, with the kernel's own answers."""

import socket
import time

import pytest
from hostnic.machine import Machine


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
    def slow(address: tuple[str, int], timeout: float) -> socket.socket:
        time.sleep(timeout)
        raise TimeoutError(address)

    monkeypatch.setattr(socket, "create_connection", slow)
    began = time.monotonic()

    assert Machine().answering([f"192.0.2.{n}" for n in range(64)], listener, 0.3) == frozenset()
    assert 0.6 <= time.monotonic() - began < 1.5, "two rounds of 32"
