# SPDX-License-Identifier: Apache-2.0
"""Clients that send half a request, do not read, or come all at once: the next scrape is answered."""

import http.client
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from exporter import server
from lib.scrapes import SERVING, process, served_at

MOST_KILOBYTES = 48 * 1024
"""Of the 64 MB that its unit allows."""

LARGE = """
import sys
from exporter import main, catalogue
from lab.modelled import FakeHost, card
from lib.scrapes import tell
from vfs import in_switchdev
host = FakeHost([card("3b", total_vfs=127)])
host.cards[0].rdma = True
in_switchdev(host, 127)
tell(host)
catalogue.PORT = main.PORT = int(sys.argv[1])
main.main(sys.argv[2:], lambda: host)
"""
HALF = b"GET /metrics HTTP/1.1\r\nHost: x\r\n"
WHOLE = HALF + b"\r\n"


@contextmanager
def clients(port: int, sends: bytes, number: int) -> Iterator[list[socket.socket]]:
    """So many that send this and then nothing, and read nothing."""
    with ExitStack() as stack:
        found: list[socket.socket] = []
        for _ in range(number):
            found.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), 10)))
            found[-1].sendall(sends)
        yield found


def of_process(pid: int, key: str) -> int:
    """A number of ``/proc/PID/status``."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{key}:")))


def seconds_of_processor(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def test_a_thousand_half_requests_keep_no_scrape_waiting_and_cost_nothing() -> None:
    with process("19574") as (served, _):
        served_at("127.0.0.1", "19574")
        with clients(19574, HALF, 1020) as waiting:
            assert "ovn_offload_threshold" in served_at("127.0.0.1", "19574")
            assert of_process(served.pid, "Threads") < 3 * server.MOST_CONNECTIONS
            began = seconds_of_processor(served.pid)
            time.sleep(1)
            assert seconds_of_processor(served.pid) - began < 0.2
            assert waiting[0].recv(1) == b"", "the oldest is closed"
        assert of_process(served.pid, "VmHWM") < MOST_KILOBYTES


UNFINISHED = {
    "half a request": HALF,
    "nothing": b"",
    "a request without an end": b"GET / HTTP/1.1\r\n" + b"X-Long: 1\r\n" * 100_000,
}


@pytest.mark.parametrize("sends", UNFINISHED.values(), ids=UNFINISHED)
def test_what_does_not_become_a_request_is_closed(sends: bytes) -> None:
    code = f"from exporter import server\nserver.MOST_SECONDS = 2.0\n{SERVING}"
    with process("19575", code=code) as _, socket.create_connection(("127.0.0.1", 19575), 10) as client:
        try:
            client.sendall(sends)
            assert client.recv(1) == b""
        except ConnectionError:
            pass


def scrapes(port: int, number: int) -> list[bytes]:
    """Return the answers to so many scrapes at once."""
    said: list[bytes] = []

    def scrape() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/metrics")
        said.append(connection.getresponse().read())

    threads = [threading.Thread(target=scrape) for _ in range(number)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return said


def test_fifty_scrapes_at_once_of_a_host_with_127_vfs_stay_below_48_mb() -> None:
    with process("19576", code=LARGE) as (served, _), clients(19576, WHOLE, 20):
        said = scrapes(19576, 50)
        assert len(said) == 50
        assert all(each.endswith(b"\n") and b"ovn_offload_threshold" in each for each in said)
        assert max(each.count(b"\n") for each in said) > 1000
        assert of_process(served.pid, "VmHWM") < MOST_KILOBYTES


SLOW = """
import sys, time
from pathlib import Path
from exporter import main, catalogue, sources
from exporter.workers import Sample, Source
from lab.modelled import FakeHost
folder = Path(FOLDER)
def hangs(_):
    (folder / "hangs").touch()
    while not (folder / "go on").exists():
        time.sleep(0.05)
    yield Sample("firmware_answers", ("p0",), 1.0)
sources.of_host = lambda *_: {
    "firmware p0": Source("firmware p0", hangs),
    "counters p1": Source("counters p1", lambda _: [Sample("port_carrier", ("p1",), 1.0)]),
}
catalogue.PORT = main.PORT = int(sys.argv[1])
main.main(sys.argv[2:], FakeHost)
"""


def test_a_scrape_beside_a_slow_one_says_what_has_answered_before_that_one_ends(tmp_path: Path) -> None:
    with process("19577", code=SLOW.replace("FOLDER", repr(str(tmp_path)))):
        slow = threading.Thread(target=served_at, args=("127.0.0.1", "19577"))
        slow.start()
        while not (tmp_path / "hangs").exists():
            time.sleep(0.05)
        said = served_at("127.0.0.1", "19577")  # ends only since it does not wait for what hangs
        (tmp_path / "go on").touch()
        slow.join()
    assert 'ovn_offload_port_carrier{port="p1"} 1.0' in said
    assert 'ovn_offload_source_up{source="counters p1"} 1.0' in said
    assert 'ovn_offload_source_age_seconds{source="firmware p0"}' in said
