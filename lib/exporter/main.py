# SPDX-License-Identifier: Apache-2.0
"""The exporter's program, ``exporter.pyz``."""

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, cast

from hostnic.machine import Machine
from hostnic.system import System

from exporter import facts, sources
from exporter.catalogue import METRICS, PORT, PREFIX, THRESHOLDS
from exporter.workers import DEADLINE, Sample, Workers

if TYPE_CHECKING:
    from prometheus_client import Metric as Family

LOOPBACK = "127.0.0.1"

PATIENCE = 1.0
"""Seconds for which a scrape waits for another one, to say what that has read."""


class Exporter:
    """Collects all metrics of one scrape; a collector as prometheus-client has it.

    ``machine`` makes a connection to the machine. All sources of a scrape have ``deadline`` seconds.
    """

    def __init__(self, machine: Callable[[], System], deadline: float = DEADLINE) -> None:
        self._system = machine()
        self._workers, self._hardware = Workers(machine, deadline), sources.Hardware()
        self._turn, self._words = threading.Lock(), threading.Lock()
        self._of_hooks: Sequence[Sample] = ()
        self._read: Sequence[Sample] = ()
        self._rounds = 0

    def collect(self) -> Iterator["Family"]:
        """Each metric that has a value, with its help and its kind."""
        from prometheus_client import Metric as Family

        found: dict[str, list[Sample]] = {}
        for sample in self._samples():
            found.setdefault(sample.metric, []).append(sample)
        with self._words:  # one scrape at a time takes the memory that its words need
            for name, samples in found.items():
                metric = METRICS.get(PREFIX + name)
                if metric is None:  # a charm of another revision
                    continue
                family = Family(metric.name, metric.help, metric.kind)
                for _, labels, value in samples:
                    family.add_sample(metric.series, dict(zip(metric.labels, labels)), value)
                yield family

    def _samples(self) -> Iterable[Sample]:
        """Return the samples of now. Scrapes at the same time share one reading of the machine.

        A scrape that would wait too long for it tells what each source has answered by now.
        """
        before = self._rounds
        if not self._turn.acquire(timeout=PATIENCE):
            return (*self._of_hooks, *self._workers.now(), *_thresholds())
        try:
            if self._rounds == before:
                self._read = (*self._now(), *_thresholds())
                self._rounds += 1
            return self._read
        finally:
            self._turn.release()

    def _now(self) -> Iterator[Sample]:
        found = [*facts.read_all(self._system)]
        ports = [*facts.ports_of(found).values()]
        disbelieved = facts.not_believed(self._system)
        self._of_hooks = (
            *sources.of_hooks(found, ports, self._system.now()),
            *(Sample("source_up", (f"facts {charm}",), 0.0) for charm in disbelieved),
        )
        yield from self._of_hooks
        yield from self._workers.read(sources.of_host(ports, self._hardware))


def _thresholds() -> Iterator[Sample]:
    return (Sample("threshold", (name,), value) for name, value in THRESHOLDS.items())


def main(arguments: Sequence[str], machine: Callable[[], System] = Machine) -> int:
    """Serve on loopback, and at the addresses that are given, until SIGTERM.

    Then the port is free for the next exporter, although a thread that waits for a driver keeps the process.
    """
    try:
        addresses = (LOOPBACK, *(str(ip_address(each)) for each in arguments))
    except ValueError:
        print("usage: exporter.pyz [ADDRESS ...]", file=sys.stderr)
        return 5
    from prometheus_client import CollectorRegistry
    from prometheus_client import make_wsgi_app as wsgi  # pyright: ignore[reportUnknownVariableType]

    from exporter.server import Server

    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))  # in all threads, which begin from here on
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Exporter(machine))
    app = cast("Callable[..., Any]", wsgi(registry))
    servers = [Server(address, PORT, app) for address in addresses]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"serving on {', '.join(addresses)} port {PORT}", flush=True)
    signal.sigwait((signal.SIGTERM,))
    for server in servers:
        server.shutdown()
        server.server_close()
    return 0
