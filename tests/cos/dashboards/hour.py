# SPDX-License-Identifier: Apache-2.0
"""An hour of a site in a real Prometheus: the real exporter's scrapes of two modelled hosts and a fabric.

The network pauses node-1 for a while, and the flows of one of its tenants are not offloaded. Later a switch
stops answering and another one loses a segment, and one port drops RoCE frames. At the end a cable of node-1
is cut.

`python -m cos.dashboards.hour` draws the documentation's pictures of it.
"""

import json
import math
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from exporter import facts
from exporter.catalogue import PREFIX
from exporter.main import Exporter
from hostnic.handover import AGENTS
from lab.modelled import FakeHost

from cos import promtool
from cos.dashboards import NAMES, picture
from cos.promtool import JOB, series
from cos.server import Server, prometheus
from cos.site import EPOCH, P1, Host, Site
from cos.tools import tool

DOCS = Path(__file__).parents[3] / "docs/how-to"
MINUTES = 75
"""More than the longest range of a query, apart from those that look for the last value of a day."""
NOW = EPOCH + 60 * (MINUTES - 1)
"""Prometheus' time of the last scrape."""
HOST = "node-1"
"""The one that fails, for the dashboard of one node."""
PAUSED = range(30, 48)
PAUSES = {
    "rx_global_pause": 5,
    "rx_global_pause_duration": 800,
    "tx_global_pause": 2,
    "tx_global_pause_duration": 300,
}
"""As TRAFFIC: the hosts of this site have no lossless priority."""
SOFTWARE = range(25, MINUTES)
FABRIC_FAILS = MINUTES - 20
CUT = MINUTES - 10

EACH = dict.fromkeys(facts.OBJECTS, 2)
HOSTS = {f"roce-qos/{number}": {"policy": 0, "cables": 0, "report": 0} for number in range(2)}


def fabric(minute: int) -> facts.Fabric:
    """Return what the charm's look of this minute has seen.

    At first all is well. Then one switch has lost a segment, and another one does not answer.
    """
    sound = facts.Switch("Leaf0-1", answers=True, declared=EACH, actual=EACH)
    leaves = sound._replace(counted=(_port(minute),)), sound._replace(name="Leaf0-2")
    if minute < FABRIC_FAILS:
        return facts.Fabric(at=0, switches=(*leaves, sound._replace(name="Spine0")), hosts=HOSTS)
    return facts.Fabric(
        at=0,
        switches=(
            leaves[0]._replace(drift=2, actual={**EACH, "segments": 1}),
            leaves[1],
            facts.Switch("Spine0", answers=False, declared=EACH),
        ),
        hosts={**HOSTS, "roce-qos/0": {**HOSTS["roce-qos/0"], "policy": 1}},
    )


def _port(minute: int) -> facts.Counted:
    """The switch's port to node-1: the congestion comes with the fault."""
    late = max(0, minute - FABRIC_FAILS)
    return facts.Counted(
        "swp10",
        marked=4000 * minute + 90_000 * late,
        paused={"received": 20_000 * minute + 9_000_000 * late, "sent": 5_000 * minute},
        lanes=(
            facts.Lane("roce", "received", 6_000_000 * minute, 0, 700_000),
            facts.Lane("roce", "sent", 5_000_000 * minute, 400 * late, 900_000 + 120_000 * late),
            facts.Lane("other", "received", 90_000 * minute, 30 * minute, 40_000),
        ),
    )


PAGES = "/sys/devices/system/node/node1/hugepages/hugepages-1048576kB"
MEMORY = {
    f"{PAGES}/nr_hugepages": 64,
    f"{PAGES}/free_hugepages": 3,
    "/proc/sys/net/netfilter/nf_conntrack_count": 70,
    "/proc/sys/net/netfilter/nf_conntrack_max": 100,
}


@contextmanager
def recorded(directory: Path) -> Iterator[Server]:
    """Prometheus with the hour's series, a scrape a minute, and with the alerts that fire over them."""
    with pytest.MonkeyPatch.context() as patched:
        kept = _of_the_hosts(patched)
    for minute in range(MINUTES):
        for name, value in _of_the_fabric(minute).items():
            kept.setdefault(name, ["_"] * MINUTES)[minute] = f"{value:.15g}"
    kept |= _alerts(kept, directory)
    (directory / "series.txt").write_text(openmetrics(kept))
    blocks = ["tsdb", "create-blocks-from", "openmetrics", "series.txt", "data"]
    subprocess.run([tool("promtool"), *blocks], cwd=directory, check=True, capture_output=True)
    with prometheus(directory, "{}\n") as server:
        yield server


def _of_the_hosts(patched: pytest.MonkeyPatch) -> dict[str, list[str]]:
    site = Site(patched)
    for host in site.hosts:
        for path, text in MEMORY.items():
            host.machine.disk.install(path, f"{text}\n".encode(), 0o444)
        host.machine.disk.install(f"{AGENTS}/unit-roce-qos-{host.number}/agent.conf", b"", 0o600)
    counted = [Counted(host) for host in site.hosts]
    for minute in range(MINUTES):
        for each in counted:
            each.grow(minute)
        if minute == CUT:
            site.hosts[1].machine.network.unplugged.add(P1)
        site.tick()
    return {each["series"]: each["values"].split() for each in site.recorded()}


class Counted:
    """A host whose counters grow faster in some minutes than in others.

    A modelled counter is its growth times the seconds since boot: the growth that is set makes that the sum.
    """

    def __init__(self, host: Host) -> None:
        self.host = host
        self._ports = list(host.machine.network.ports())
        vfs = [vf for port in self._ports for vf in port.vfs]
        for port in self._ports:
            port.growth |= PAUSES
        for number, vf in enumerate(vfs):  # no two are equal: Prometheus' topk would choose any of them
            rate = 0.03 * (number + 1) + 0.01 * host.number
            vf.growth |= {"vport_out_of_sequence": rate, "vport_out_of_buffer": rate / 4}
        self._growing = [each.growth for each in (*self._ports, *vfs)]
        self._usual = [dict(growth) for growth in self._growing]
        now = host.machine.now()
        self._sums = [{name: rate * now for name, rate in usual.items()} for usual in self._usual]

    def grow(self, minute: int) -> None:
        """Let the next minute's scrape find what was counted until then."""
        then = self.host.began + 60 * (round((self.host.machine.now() - self.host.began) / 60) + 1)
        load = 1 + 0.35 * math.sin((minute + 9 * self.host.number) / 7)
        for port in self._ports:
            port.temperature = round(41 + 3 * load, 1)
        for number, (growth, usual, sums) in enumerate(zip(self._growing, self._usual, self._sums)):
            for name, rate in usual.items():
                sums[name] += 60 * load * self._rate(minute, number, name, rate)
                growth[name] = sums[name] / then

    def _rate(self, minute: int, number: int, name: str, rate: float) -> float:
        if self.host.number == 1 and number == 0 and minute in PAUSED:
            return 600 * rate if name.startswith("rx_global_pause") else rate
        if self.host.number == 1 and number == len(self._ports) and minute in SOFTWARE:
            return 900 * rate if name.startswith(("software", "vport_out_of_sequence")) else rate
        return rate


def _of_the_fabric(minute: int) -> dict[str, float]:
    """One scrape of the exporter beside cumulus-fabric."""
    machine, unit = FakeHost(), "cumulus-fabric/0"
    findings = {**facts.count(()), "blocked": int(minute >= FABRIC_FAILS)}
    facts.publish(machine, facts.Facts("cumulus-fabric", unit, 0, findings, fabric=fabric(minute)))
    topology = {**JOB, "juju_application": "cumulus-fabric", "juju_unit": unit, "instance": "controller"}
    return {
        series(sample.name.removeprefix(PREFIX), **{**topology, **sample.labels}): sample.value
        for family in Exporter(lambda: machine, 5.0).collect()
        for sample in family.samples
    }


def _alerts(kept: Mapping[str, list[str]], directory: Path) -> dict[str, list[str]]:
    """Prometheus' own series of the alerts that fire, by the shipped rules."""
    given = [{"series": name, "values": " ".join(values)} for name, values in kept.items()]
    found = dict[str, list[str]]()
    rules: dict[str, Any] = promtool.databag()["metrics_alert_rules"]
    for minute, alerts in enumerate(promtool.firing(rules, given, MINUTES, directory)):
        for labels in alerts:
            known = sorted({**labels, "alertstate": "firing"}.items())
            name = f"ALERTS{{{','.join(f'{key}={json.dumps(value)}' for key, value in known)}}}"
            found.setdefault(name, ["_"] * MINUTES)[minute] = "1"
    return found


def openmetrics(kept: Mapping[str, list[str]]) -> str:
    """Series, by name and with a value for each minute, in OpenMetrics' text."""
    lines = [
        f"{name} {value} {EPOCH + 60 * minute}"
        for name, values in sorted(kept.items())
        for minute, value in enumerate(values)
        if value != "_"
    ]
    return "\n".join([*lines, "# EOF\n"])


def main() -> None:
    """Draw the documentation's pictures again."""
    with tempfile.TemporaryDirectory() as directory, recorded(Path(directory)) as server:
        for name in NAMES:
            (DOCS / f"dashboard-{name}.svg").write_text(picture.draw(name, HOST, server, NOW))


if __name__ == "__main__":
    main()
