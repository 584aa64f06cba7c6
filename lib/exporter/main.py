# SPDX-License-Identifier: Apache-2.0
"""The exporter's program: ``exporter.pyz`` for a host, ``exporter.pyz fabric`` for the fabric's unit."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from hostnic.machine import Machine
from hostnic.system import System

from exporter import facts, sources
from exporter.catalogue import ADDRESS, FABRIC, FABRIC_PORT, HOST, PORT, PREFIX, THRESHOLDS, Metric
from exporter.workers import DEADLINE, Sample, Workers

if TYPE_CHECKING:
    from prometheus_client import Metric as Family

LOOPBACK = "127.0.0.1"


class Exporter:
    """Collects all metrics of one scrape; a collector as prometheus-client has it.

    Args:
        machine: makes a connection to the machine.
        metrics: the catalogue.
        hosts: the machine has NICs to read; else only the files of hooks.
        deadline: seconds for all sources of a scrape.

    """

    def __init__(
        self,
        machine: Callable[[], System],
        metrics: Mapping[str, Metric],
        *,
        hosts: bool,
        deadline: float = DEADLINE,
    ) -> None:
        self._system, self._metrics, self._hosts = machine(), metrics, hosts
        self._workers = Workers(machine, deadline)
        self._turn = threading.Lock()

    def collect(self) -> Iterator["Family"]:
        """Each metric that has a value, with its help and its kind."""
        from prometheus_client import Metric as Family

        with self._turn:  # two collectors of the same machine take turns
            samples = [*self._samples()]
        families: dict[str, Family] = {}
        for name, labels, value in samples:
            metric = self._metrics.get(PREFIX + name)
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
        yield from self._workers.read(sources.of_host(ports) if self._hosts else {})
        for name, value in THRESHOLDS.items():
            yield Sample("threshold", (name,), value)


def main(arguments: Sequence[str], machine: Callable[[], System] = Machine) -> int:
    """Serve until SIGTERM."""
    if list(arguments) not in ([], ["fabric"]):
        print("usage: exporter.pyz [fabric]", file=sys.stderr)
        return 5
    from prometheus_client import CollectorRegistry, start_http_server

    fabric = bool(arguments)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Exporter(machine, FABRIC if fabric else HOST, hosts=not fabric))
    port = FABRIC_PORT if fabric else PORT
    for address in dict.fromkeys(filter(None, (LOOPBACK, os.environ.get(ADDRESS)))):
        start_http_server(port, address, registry)
        print(f"serving on {address} port {port}", flush=True)
    signal.pause()
    return 0
