# SPDX-License-Identifier: Apache-2.0
"""A modelled host whose exporter is scraped, also as a real process over HTTP."""

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from exporter import facts
from exporter.facts import Facts, PortFacts
from exporter.main import Exporter
from lab.modelled import FakeHost, card
from vfs import in_switchdev

PF = "enp59s0f0np0"
DECLARED = {"vfs": 4, "switchdev": 1, "hw_tc_offload": 1, "queues": 8, "vf_lag": 1}


def converged(vfs: int = 4) -> FakeHost:
    """A host in switchdev mode, and what a hook has written."""
    host = FakeHost([card("3b", total_vfs=vfs)])
    host.cards[0].rdma = True
    in_switchdev(host, vfs)
    tell(host)
    return host


def tell(host: FakeHost, **more: Any) -> None:
    ports = tuple(
        PortFacts(port.bdf, port.netdev, "bond0", True, DECLARED, {"vf_lag": 1})
        for port in host.network.ports()
    )
    given = {"findings": {"blocked": 2}, "held": 1, "ports": ports, **more}
    facts.publish(host, Facts("sriov-switchdev", "sriov-switchdev/3", int(host.now()), **given))


def exporter(host: FakeHost, deadline: float = 5.0) -> Exporter:
    return Exporter(lambda: host, deadline)


def scrape(found: Exporter) -> dict[tuple[str, ...], float]:
    """Values by the series' name, without its prefix, and its labels' values."""
    return {
        (sample.name.removeprefix("ovn_offload_"), *sample.labels.values()): sample.value
        for family in found.collect()
        for sample in family.samples
    }


SERVING = """
import sys
from exporter import main, facts, catalogue
from lab.modelled import FakeHost
host = FakeHost()
facts.publish(host, facts.Facts("roce-qos", "roce-qos/0", int(host.now())))
catalogue.PORT = main.PORT = int(sys.argv[1])
main.main(sys.argv[2:], lambda: host)
"""


def served_at(address: str, port: str) -> str:
    with urllib.request.urlopen(f"http://{address}:{port}/metrics", timeout=10) as answer:
        return answer.read().decode()


@contextmanager
def process(port: str, *more: str, code: str = SERVING) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    """A real exporter that serves, and what it prints from then on."""
    command = [sys.executable, "-c", code, port, *more]
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env={**os.environ, **paths}, stdout=subprocess.PIPE, text=True) as served:
        try:
            assert served.stdout is not None
            addresses = ", ".join(("127.0.0.1", *more))
            assert served.stdout.readline() == f"serving on {addresses} port {port}\n"
            yield served, served.stdout
        finally:
            served.kill()
