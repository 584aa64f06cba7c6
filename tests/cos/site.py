# SPDX-License-Identifier: Apache-2.0
"""A site of modelled hosts: the charm's own hooks, the real exporter, and what Prometheus keeps of it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import charm
import ops
import pytest
from charmkit.reboot import rolling
from exporter.catalogue import PREFIX
from exporter.main import Exporter
from hostnic.handover import AGENTS
from lab.juju.alone import context
from lab.modelled import FakeCard, card
from unit.sriov_switchdev.node import METADATA, Node, compute_node

from cos.promtool import APP, series

P0, P1 = "enp59s0f0np0", "enp59s0f1np1"
EPOCH = 1_700_000_000
AWAY = 8
"""Minutes for which a host that reboots answers no scrape."""
BOOT = 95.0
"""Seconds that the modelled host takes to boot."""
UPDATE = 5
"""Minutes between two hooks update-status."""
COLLECTOR = "opentelemetry-collector"


class Host:
    """One machine, its unit, and its exporter while it is up."""

    def __init__(self, number: int, cards: Sequence[FakeCard], monkeypatch: pytest.MonkeyPatch) -> None:
        self.number = number
        self.machine = compute_node(cards=[*cards])
        for nic in self.machine.cards:
            nic.rdma = True
        for unit in f"{APP}-{number}", f"{COLLECTOR}-{number + 5}", f"nova-compute-{number}":
            self.machine.disk.install(f"{AGENTS}/unit-{unit}/agent.conf", b"", 0o600)
        self.node = Node(self.machine, monkeypatch)
        self.node.context = context(charm.SriovSwitchdevCharm, METADATA, app_name=APP, unit_id=number)
        self.began = self.machine.now()
        self.back_at: int | None = None
        self.asked = False
        self.restarts = False
        self.start()

    def start(self) -> None:
        """A new process of the exporter."""
        self.exporter = Exporter(lambda: self.machine, 5.0)

    def come_to(self, seconds: float) -> None:
        """Let the machine's time pass until so many seconds after its first."""
        self.machine.sleep(max(self.began + seconds - self.machine.now(), 0))

    def come_back(self, seconds: float) -> None:
        """Boot, so that it is done at that time or soon after."""
        self.back_at = None
        self.machine.clock = self.began + seconds - BOOT
        self.machine.reboot()
        self.start()

    def scrape(self) -> dict[str, float]:
        """All series of one scrape, ``up`` included; none of a host that is away."""
        if self.back_at is not None:
            return {}
        if self.restarts:
            self.restarts = False
            self.start()
            return {series("up", self.name, self.number): 0.0}
        found = {
            series(sample.name.removeprefix(PREFIX), self.name, self.number, **sample.labels): sample.value
            for family in self.exporter.collect()
            for sample in family.samples
        }
        return {**found, series("up", self.name, self.number): 1.0}

    @property
    def name(self) -> str:
        return f"node-{self.number}"


class Site:
    """Hosts whose units agree on reboots, scraped once a minute.

    Args:
        monkeypatch: gives each hook its machine and its time.
        hosts: how many.
        options: of the charm.
        cards: makes the NICs of a host.

    """

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        hosts: int = 2,
        cards: Callable[[], Sequence[FakeCard]] = lambda: [card("3b", total_vfs=8)],
        **options: Any,
    ) -> None:
        self._monkeypatch = monkeypatch
        self.hosts = [Host(number, cards(), monkeypatch) for number in range(hosts)]
        self.minute, self._seconds = 0, 0
        self._kept: dict[str, dict[int, float]] = {}
        self._running = self.hosts[0]
        monkeypatch.setattr(charm.SriovSwitchdevCharm, "machine", staticmethod(lambda: self._running.machine))
        monkeypatch.setattr(ops.Unit, "reboot", lambda *_: self._ask())
        monkeypatch.setattr(rolling, "clock", lambda: EPOCH + int(self._running.machine.now()))
        self._app_data: dict[str, str] = {}
        self._options = {"reboot-policy": "always", "reboot-settle": 300, **options}
        for host in self.hosts:
            host.node.state = replace(host.node.state, leader=host.number == 0)
            host.node.set(self._options)
        for host in self.hosts:
            for event in ("install", "config_changed", "start"):
                self.emit(host, event)
        self.settle()

    def settle(self) -> None:
        """Let the hosts converge, through their first reboots; nothing of it is kept."""
        for _ in range(30 * len(self.hosts)):
            self.tick()
            if self._converged():
                break
        assert self._converged()
        self.run(2 * UPDATE)  # the leader takes the last lock back
        for host in self.hosts:
            for port in host.machine.network.ports():
                port.growth |= TRAFFIC
                for vf in port.vfs:
                    vf.growth |= {
                        "packets": 50000,
                        "bytes": 40_000_000,
                        "software_packets": 20,
                        "software_bytes": 9000,
                    }
        self._kept.clear()
        self.minute = 0

    def _converged(self) -> bool:
        return not self.away and all(host.node.state.unit_status.name == "active" for host in self.hosts)

    def _ask(self) -> None:
        self._running.asked = True

    def emit(self, host: Host, event: str, *arguments: Any, **named: Any) -> None:
        """Run one hook of a host's unit, and let the others see what it published."""
        self._running = host
        state = host.node.state
        peers = state.get_relation(host.node.peer.id)
        others = {
            other.number: {
                **other.node.state.get_relation(other.node.peer.id).local_unit_data,
                "private-address": f"192.168.25.{10 + other.number}",
            }
            for other in self.hosts
            if other is not host
        }
        known = replace(peers, peers_data=others, local_app_data=self._app_data)
        rest = {each for each in state.relations if each.id != peers.id}
        host.node.state = replace(state, relations={*rest, known})
        host.node.emit(event, *arguments, **named)
        self._app_data = dict(host.node.state.get_relation(host.node.peer.id).local_app_data)
        if host.asked:
            host.asked, host.back_at = False, self.minute + AWAY

    def configure(self, **options: Any) -> None:
        """Set options, as an operator does."""
        given = {name.replace("_", "-"): value for name, value in options.items()}
        for host in self.hosts:
            host.node.set(given)
            self.emit(host, "config_changed")

    def tick(self) -> None:
        """One minute: hooks, hosts that come back, and a scrape."""
        self._seconds += 60
        self._elect()
        for host in self.hosts:
            if host.back_at == self.minute:
                host.come_back(self._seconds)
                self.emit(host, "start")
            elif host.back_at is None:
                host.come_to(self._seconds)
                if self.minute % UPDATE == host.number % UPDATE:
                    self.emit(host, "update_status")
        for host in self.hosts:
            for name, value in host.scrape().items():
                self._kept.setdefault(name, {})[self.minute] = value
        self.minute += 1

    def _elect(self) -> None:
        """Juju gives the lead to another unit within a minute after the leader has gone."""
        there = [host for host in self.hosts if host.back_at is None]
        if there and not any(host.node.state.leader for host in there):
            for host in self.hosts:
                host.node.state = replace(host.node.state, leader=host is there[0])
            self.emit(there[0], "leader_elected")

    def run(self, minutes: int) -> None:
        """So many minutes."""
        for _ in range(minutes):
            self.tick()

    @property
    def away(self) -> list[str]:
        """The hosts that answer no scrape now."""
        return [host.name for host in self.hosts if host.back_at is not None]

    def recorded(self) -> list[dict[str, str]]:
        """All series as promtool takes them."""
        return [
            {
                "series": name,
                "values": " ".join(f"{known[at]:g}" if at in known else "_" for at in range(self.minute)),
            }
            for name, known in sorted(self._kept.items())
        ]


TRAFFIC = {
    "rx_bytes_phy": 200_000_000,
    "tx_bytes_phy": 200_000_000,
    "rx_packets_phy": 250_000,
    "tx_packets_phy": 250_000,
    "rx_prio3_pause": 5,
    "rx_prio3_pause_duration": 800,
    "tx_prio3_pause": 2,
    "tx_prio3_pause_duration": 300,
    "rx_corrected_bits_phy": 900,
    "rx_ecn_mark": 40,
}
"""The growth of the counters of a port that works, in a second."""
