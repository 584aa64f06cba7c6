# SPDX-License-Identifier: Apache-2.0
"""The cost of a scrape of the exporter on the modelled host with 127 VFs on two ports, and its limit.

The model answers each question once, and the measured scrapes are answered from what it said: its own time is
not in them. Nor is the kernel's and the NIC's. What the kernel writes about all netdevs is decoded by the
exporter: a decoded netdev of this machine stands for each of the host's, as often as a scrape asks for all.
``python tests/bench/exporter_cost.py`` fails if a limit is exceeded; no virtual machine is needed.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "lib"), str(ROOT / "tests")]

from exporter import facts  # noqa: E402
from exporter.facts import Facts, PortFacts  # noqa: E402
from exporter.main import Exporter  # noqa: E402
from hostnic.netlink.links import LinksClient  # noqa: E402
from lab.modelled import FakeHost, card  # noqa: E402
from prometheus_client import CollectorRegistry, generate_latest  # noqa: E402
from vfs import in_switchdev  # noqa: E402

VFS, ROUNDS, INTERVAL = 127, 3, 60
MOST_SERIES, MOST_SHARE = 2500, 0.01
"""At one scrape a minute."""
MOST_RATIO = 4.0
"""Of a scrape against the same samples written from memory, in the same run."""


class Answers:
    """A door that remembers what each call has returned or raised, and counts the calls."""

    def __init__(self, door: Any) -> None:
        self._door, self._known = door, dict[tuple[Any, ...], Any]()
        self.asked = Counter[str]()

    def __getattr__(self, name: str) -> Any:
        def ask(*arguments: Any) -> Any:
            key = name, *arguments
            self.asked[name] += 1
            if key not in self._known:
                try:
                    self._known[key] = getattr(self._door, name)(*arguments)
                except OSError as error:
                    self._known[key] = error
            if isinstance(found := self._known[key], OSError):
                raise found
            return found

        return ask


class Ready:
    """A collector whose families are ready."""

    def __init__(self, families: Iterable[Any]) -> None:
        self._families = [*families]

    def collect(self) -> list[Any]:
        return self._families


def spent(work: Callable[[], object]) -> float:
    """Seconds of processor time that ``work`` takes; the least of some rounds."""
    times: list[float] = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def of_a_netdev() -> float:
    """Seconds of processor time in which one netdev of this machine is asked for and decoded."""
    here = LinksClient()
    return spent(here.all) / len(here.all())


def written(collector: Any) -> Callable[[], bytes]:
    """Writes what a collector has as Prometheus reads it."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    return partial(generate_latest, registry)


def host() -> FakeHost:
    """A converged host whose ports have all VFs, and its hooks' file."""
    nic = card("3b", total_vfs=VFS)
    nic.rdma = True
    made = FakeHost([nic])
    in_switchdev(made, VFS)
    declared = {"vfs": VFS, "switchdev": 1, "hw_tc_offload": 1, "queues": 8, "vf_lag": 1}
    ports = tuple(PortFacts(port.bdf, port.netdev, "bond0", True, declared) for port in nic.ports)
    facts.publish(made, Facts("sriov-switchdev", "sriov-switchdev/0", int(made.now()), ports=ports))
    return made


def main() -> None:
    """Print series, bytes, and the share of one processor at a scrape a minute."""
    modelled = host()
    doors = {name: Answers(getattr(modelled, name)) for name in ("files", "links", "ethtool", "devlink")}
    machine: Any = SimpleNamespace(**doors, now=modelled.now)
    exporter = Exporter(lambda: machine, deadline=60.0)
    text = written(exporter)()
    series = sum(not line.startswith(b"#") for line in text.splitlines())
    ready = Ready(exporter.collect())
    asked = doors["links"].asked
    asked.clear()
    reading = spent(written(exporter))
    every = len(modelled.links.all())
    decoding = asked["all"] / ROUNDS * every * of_a_netdev()
    print(f"exporter, {VFS} VFs on 2 ports: {series} series, {len(text)} bytes", flush=True)
    share = (reading + decoding) / INTERVAL
    shown = (
        f"{reading:.3f} s, and {decoding:.3f} s to decode {every} netdevs {asked['all'] / ROUNDS:.0f} times"
    )
    print(f"  processor time of a scrape: {shown}   {share:.2%} of a core", flush=True)
    ratio = reading / spent(written(ready))
    print(f"  against the same samples from memory: ratio {ratio:.1f}", flush=True)
    for what, value, most in (
        ("series", series, MOST_SERIES),
        ("share of a core", share, MOST_SHARE),
        ("ratio", ratio, MOST_RATIO),
    ):
        if value > most:
            sys.exit(f"The exporter's {what} is {value:g}, more than {most:g}.")


if __name__ == "__main__":
    main()
