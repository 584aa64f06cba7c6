# SPDX-License-Identifier: Apache-2.0
"""The exporter's program, ``exporter.pyz``."""

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING

from hostnic.machine import Machine
from hostnic.system import System

from exporter import facts, sources
from exporter.catalogue import METRICS, PORT, PREFIX, THRESHOLDS
from exporter.workers import DEADLINE, Sample, Workers

if TYPE_CHECKING:
    from prometheus_client import Metric as Family

LOOPBACK = "127.0.0.1"


class Exporter:
    """Collects all metrics of one scrape; a collector as prometheus-client has it.

    ``machine`` makes a connection to the machine. All sources of a scrape have ``deadline`` seconds.
    """

    def __init__(self, machine: Callable[[], System], deadline: float = DEADLINE) -> None:
        self._system = machine()
        self._workers, self._hardware = Workers(machine, deadline), sources.Hardware()
        self._turn = threading.Lock()

    def collect(self) -> Iterator["Family"]:
        """Each metric that has a value, with its help and its kind."""
        from prometheus_client import Metric as Family

        with self._turn:  # two collectors of the same machine take turns
            samples = [*self._samples()]
        families: dict[str, Family] = {}
        for name, labels, value in samples:
            metric = METRICS.get(PREFIX + name)
            if metric is None:  # a charm of another revision
                continue
            family = families.get(name) or families.setdefault(
                name, Family(metric.name, metric.help, metric.kind)
            )
            family.add_sample(metric.series, dict(zip(metric.labels, labels)), value)
        yield from families.values()

    def _samples(self) -> Iterable[Sample]:
        found = [*facts.read_all(self._system)]
        ports = [*facts.ports_of(found).values()]
        yield from sources.of_hooks(found, ports, self._system.now())
        for charm in facts.not_believed(self._system):
            yield Sample("source_up", (f"facts {charm}",), 0.0)
        yield from self._workers.read(sources.of_host(ports, self._hardware))
        for name, value in THRESHOLDS.items():
            yield Sample("threshold", (name,), value)


def main(arguments: Sequence[str], machine: Callable[[], System] = Machine) -> int:
    """Serve on loopback, and at the addresses that are given, until SIGTERM.

    Then the port is free for the next exporter, although a thread that waits for a driver keeps the process.
    """
    try:
        addresses = (LOOPBACK, *(str(ip_address(each)) for each in arguments))
    except ValueError:
        print("usage: exporter.pyz [ADDRESS ...]", file=sys.stderr)
        return 5
    from prometheus_client import CollectorRegistry, start_http_server

    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))  # in all threads, which begin from here on
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Exporter(machine))
    servers = [start_http_server(PORT, address, registry)[0] for address in addresses]
    print(f"serving on {', '.join(addresses)} port {PORT}", flush=True)
    signal.sigwait((signal.SIGTERM,))
    for server in servers:
        server.shutdown()
        server.server_close()
    return 0
