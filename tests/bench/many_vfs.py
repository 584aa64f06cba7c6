# SPDX-License-Identifier: Apache-2.0
"""The processor time of idle hooks and boot units with 127 VFs on each of two ports, against 8.

``PYTHONPATH=lib:tests python tests/bench/many_vfs.py``. The modelled host takes longer for its answers than
the charm for its questions. Each act is therefore recorded once, and measured while the recorded answers are
played back. What the kernel writes about all netdevs is decoded by the charm: a decoded netdev of this
machine stands for each of the host's, as often as an act asks for all (:mod:`exporter_cost`). Hooks and boot
units are programs of their own, so that the ratio is with the start of Python and their modules, measured in
the same run. Each charm is measured in a process of its own. Ends with 1 if a ratio is above :data:`LIMIT`,
or if an act starts other processes with 127 VFs.
"""

import importlib
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any, NamedTuple

from exporter_cost import of_a_netdev
from hostnic.firmware import mstdatabase
from lab.juju.hooktools import Controller
from lab.modelled import FakeHost, card
from lab.mstdb import build
from vfs import FEW, MANY, in_switchdev

LIMIT = 2.0
RUNS = 7
DOORS = ("files", "links", "ethtool", "dcb", "devlink", "run", "query")
ROOT = Path(__file__).parents[2]
BOOT_UNITS: dict[str, dict[str, Callable[[Any, FakeHost], object]]] = {
    "nic-firmware": {"boot unit": lambda units, host: units.gpudirect_at_boot(host)},
    "sriov-switchdev": {
        "boot unit early": lambda units, host: units.early(host),
        "boot unit bind": lambda units, host: units.bind(host),
    },
    "roce-qos": {"boot unit": lambda units, host: units.converge(host, units.DEADLINE)},
}
"""By charm."""


class Took(NamedTuple):
    """The cost of an act: processor time in seconds, of which for netdevs, and processes."""

    seconds: float
    netdevs: float
    processes: list[tuple[str, ...]]


class Tape:
    """The calls of one act with their answers, in order."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any, Exception | None]] = []
        self.played: int | None = None

    def call(self, method: Callable[..., Any], name: str, given: tuple[Any, ...], named: Any) -> Any:
        """Make a call and keep its answer, or answer as it was answered."""
        if self.played is None:
            try:
                answer, error = method(*given, **named), None
            except OSError as raised:
                answer, error = None, raised
            self.calls.append((name, answer, error))
        else:
            recorded, answer, error = self.calls[self.played]
            assert recorded == name, f"{name} was asked, {recorded} was recorded"
            self.played += 1
        if error is not None:
            raise error
        return answer


class Door:
    """A door of the host, or one of its methods, through a tape."""

    def __init__(self, door: Any, tape: Tape, name: str = "") -> None:
        self._door, self._tape, self._name = door, tape, name

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return Door(getattr(self._door, name), self._tape, name)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._tape.call(self._door, self._name, given, named)


def took(host: FakeHost, act: Callable[[], object]) -> Took:
    """The least processor time of several runs."""
    kept = {name: getattr(host, name) for name in DOORS}
    act()
    tape = Tape()
    for name, door in kept.items():
        setattr(host, name, Door(door, tape, name))
    host.spawned.clear()
    act()
    processes = list(host.spawned)
    taken: list[float] = []
    for _ in range(RUNS):
        tape.played = 0
        began = time.thread_time()
        act()
        taken.append(time.thread_time() - began)
    for name, door in kept.items():
        setattr(host, name, door)
    dumps = sum(name == "all" for name, _, _ in tape.calls)
    netdevs = dumps * len(host.links.all()) * of_a_netdev()
    return Took(min(taken) + netdevs, netdevs, processes)


def converged(name: str, vfs: int, directory: Path) -> tuple[FakeHost, Callable[[str], object]]:
    """A host with these VFs on which a unit has nothing to do, and the unit's hooks."""
    node = importlib.import_module(f"unit.{name.replace('-', '_')}.node")
    host = (node.machine if name == "nic-firmware" else node.compute_node)(cards=[card(total_vfs=MANY)])
    own = [each for each in vars(node.charm).values() if getattr(each, "__module__", "") == "charm"]
    (kind,) = (each for each in own if hasattr(each, "on"))
    kind.machine = staticmethod(lambda: host)
    unit, controller = f"{name}/0", Controller(directory)
    options = controller.deploy(ROOT / "charms" / name, kind).config
    if name != "roce-qos":
        controller.relate({name: "reboot"})
        options |= {"num-vfs": vfs, "reboot-policy": "always", "reboot-settle": 0}
    if name == "nic-firmware":
        database = mstdatabase.read(str(build(directory / "mlxconfig_host.db")))
        kind.database = staticmethod(lambda: database)
        node.rdg(host, vfs)
    if name != "sriov-switchdev":
        in_switchdev(host, vfs, bound=True)
    for hook in ("install", "config-changed", "start"):
        controller.run(unit, hook)
    if name == "sriov-switchdev":
        host.reboot()
    for hook in ("start", "update-status", "update-status"):
        controller.run(unit, hook)
    assert controller.status[unit][0] == "active", controller.status
    return host, lambda hook: controller.run(unit, hook)


def measured(name: str, vfs: int) -> dict[str, Took]:
    """Measure each act of a charm."""
    with tempfile.TemporaryDirectory() as directory, redirect_stdout(io.StringIO()):  # boot units' journal
        host, hook = converged(name, vfs, Path(directory))
        units = importlib.import_module("boot.main")
        acts: dict[str, Callable[[], object]] = {
            what: lambda what=what: hook(what) for what in ("update-status", "config-changed")
        }
        acts |= {what: lambda act=act: act(units, host) for what, act in BOOT_UNITS[name].items()}
        return {what: took(host, act) for what, act in acts.items()}


def start(statement: str) -> float:
    """The least processor time in which Python starts and runs an import."""
    taken: list[float] = []
    for _ in range(RUNS):
        before = getrusage(RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", statement], check=True)
        after = getrusage(RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(taken)


def of_a_charm(name: str) -> int:
    """Print both and their ratio for each act; 1 if one is not as it should be."""
    sys.path.insert(0, str(ROOT / "charms" / name / "src"))
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    few, many = measured(name, FEW), measured(name, MANY)
    of_a_hook, of_a_unit = start("import charm"), start("from boot import main")
    failed = False
    for what, less in few.items():
        begins, more = of_a_unit if what.startswith("boot unit") else of_a_hook, many[what]
        ratio = (begins + more.seconds) / (begins + less.seconds)
        failed |= ratio > LIMIT or more.processes != less.processes
        times = "".join(
            f"{seconds * 1000:8.1f} ms" for seconds in (less.seconds, more.seconds, more.netdevs, begins)
        )
        print(f"{name + ': ' + what:34}{times}{len(more.processes):11}{ratio:8.2f}", flush=True)
    return int(failed)


def main() -> int:
    """Measure every charm."""
    heads = (str(FEW), str(MANY), "netdevs", "start", "processes")
    print(
        f"{'nothing to do, VFs of each port':34}"
        + "".join(f"{head:>11}" for head in heads)
        + f"{'ratio':>8}",
        flush=True,
    )
    return max(
        subprocess.run([sys.executable, __file__, name], check=False).returncode for name in BOOT_UNITS
    )


if __name__ == "__main__":
    sys.exit(of_a_charm(sys.argv[1]) if sys.argv[1:] else main())
