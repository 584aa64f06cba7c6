# SPDX-License-Identifier: Apache-2.0
"""Netlink's refusals: the kernel's extended-ack text comes out as the error's words."""

import errno
import os
import socket
import struct
import subprocess
import sys

import pytest
from hostnic.netlink import channel as netlink
from hypothesis import given
from hypothesis import strategies as st

REQUEST = struct.pack("IHHII", 20, 18, 5, 7, 0) + b"\0" * 4
TEXT = b"Device can not be enslaved while up\0"


def attribute(kind: int, content: bytes) -> bytes:
    return struct.pack("HH", 4 + len(content), kind) + content + b"\0" * (-len(content) % 4)


def refusal(body: bytes, *, flags: int, kind: int = netlink.ERROR, code: int = errno.EPERM) -> bytes:
    payload = struct.pack("i", -code) + body
    return struct.pack("IHHII", 16 + len(payload), kind, flags, 1, 0) + payload


def answer(message: bytes) -> OSError | None:
    """Return the error of a request that is answered with ``message``."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with near, far:
        channel = netlink.Channel.__new__(netlink.Channel)
        channel._socket, channel._numbers = near, iter([1])
        far.send(message)
        request = netlink.codec().nlmsg()
        try:
            channel.request(request, 18, netlink.ACK)
        except OSError as error:
            return error
    return None


@pytest.mark.parametrize(
    ("body", "flags"),
    [
        (REQUEST + attribute(2, b"\0" * 4) + attribute(1, TEXT), netlink.ACK_TLVS),
        (REQUEST[:16] + attribute(1, TEXT), netlink.ACK_TLVS | netlink.CAPPED),
    ],
)
def test_the_kernels_words(body: bytes, flags: int) -> None:
    error = answer(refusal(body, flags=flags))
    assert error is not None
    assert (error.errno, error.strerror) == (errno.EPERM, "Device can not be enslaved while up")


def test_without_words_the_standard_ones_do() -> None:
    error = answer(refusal(REQUEST, flags=0))
    assert error is not None
    assert error.strerror == os.strerror(errno.EPERM)


def test_a_dump_that_fails_at_its_end_has_words_too() -> None:
    error = answer(refusal(attribute(1, TEXT), flags=netlink.ACK_TLVS, kind=netlink.DONE))
    assert error is not None
    assert "enslaved" in str(error.strerror)


def test_an_acknowledgement_is_no_error() -> None:
    assert answer(refusal(REQUEST, flags=0, code=0)) is None


@given(st.binary(max_size=60), st.sampled_from([netlink.ACK_TLVS, netlink.ACK_TLVS | netlink.CAPPED]))
def test_any_trailer_is_words_or_none(trailer: bytes, flags: int) -> None:
    error = answer(refusal(REQUEST + trailer, flags=flags))
    assert error is not None
    assert error.errno == errno.EPERM


@pytest.mark.parametrize("attempt", range(4))
def test_many_threads_load_the_codec_at_once(attempt: int) -> None:
    """As the exporter's do at its first scrape. In a new process, since a process loads it once."""
    program = """
import sys, threading
from hostnic.netlink.channel import codec
sys.setswitchinterval(1e-5)
ready, loaded = threading.Barrier(25), []
def load():
    ready.wait()
    loaded.append(codec())
threads = [threading.Thread(target=load) for _ in range(25)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(loaded))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert (done.stdout, done.stderr) == ("25\n", "")
