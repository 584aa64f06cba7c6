# SPDX-License-Identifier: Apache-2.0
"""What a scrape of the exporter costs on the modelled host with 127 VFs on two ports.

The model answers each question once, and the measured scrapes are answered from what it said: its own time is
not in them. Nor is the kernel's and the NIC's.
"""

import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "lib")]

from exporter import facts  # noqa: E402
from exporter.facts import Facts, Port  # noqa: E402
from exporter.main import Exporter  # noqa: E402
from hostnic.testing import FakeHost, card  # noqa: E402
from prometheus_client import CollectorRegistry, generate_latest  # noqa: E402

VFS, ROUNDS, INTERVAL = 127, 3, 60


class Answers:
    """A door that remembers what each call has returned or raised."""

    def __init__(self, door: Any) -> None:
        self._door, self._known = door, dict[tuple[Any, ...], Any]()

    def __getattr__(self, name: str) -> Any:
        def ask(*arguments: Any) -> Any:
            key = name, *arguments
            if key not in self._known:
                try:
                    self._known[key] = getattr(self._door, name)(*arguments)
                except OSError as error:
                    self._known[key] = error
            if isinstance(found := self._known[key], OSError):
                raise found
            return found

        return ask


def main() -> None:
    """Print series, bytes, and the share of one processor at a scrape a minute."""
    nic = card("3b", total_vfs=VFS)
    nic.rdma = True
    host = FakeHost([nic])
    for port in nic.ports:
        directory = f"/sys/bus/pci/devices/{port.bdf}"
        host.files.write(f"{directory}/sriov_drivers_autoprobe", "0")
        host.files.write(f"{directory}/sriov_numvfs", str(VFS))
        host.devlink.set_eswitch_mode(port.bdf, "switchdev")
    host.sleep(30)
    ports = tuple(Port(port.bdf, port.netdev, "bond0", True, {"vfs": VFS}) for port in nic.ports)
    facts.publish(host, Facts("sriov-switchdev", "sriov-switchdev/0", int(host.now()), ports=ports))
    registry = CollectorRegistry()
    doors = {name: Answers(getattr(host, name)) for name in ("files", "links", "ethtool", "devlink")}
    machine: Any = SimpleNamespace(**doors, now=host.now)
    registry.register(Exporter(lambda: machine, deadline=60.0))
    text = generate_latest(registry)
    began = time.process_time()
    for _ in range(ROUNDS):
        generate_latest(registry)
    spent = (time.process_time() - began) / ROUNDS
    series = sum(not line.startswith(b"#") for line in text.splitlines())
    print(f"exporter, {VFS} VFs on 2 ports: {series} series, {len(text)} bytes", flush=True)
    print(
        f"{'  processor time of a scrape':58} {spent:7.2f} s   {spent / INTERVAL:.2%} of a core", flush=True
    )


if __name__ == "__main__":
    main()
