# SPDX-License-Identifier: Apache-2.0
"""What idle hooks and boot units take with 127 VFs on each of two ports, against 8, in processor time.

``PYTHONPATH=lib:tests:charms/sriov-switchdev/src python tests/bench/many_vfs.py``. The modelled host takes
longer for its answers than the charm for its questions. Each act is therefore recorded once, and measured
while the recorded answers are played back. Hooks and boot units are programs of their own, so that the ratio
is with the start of Python and their modules, measured in the same run. Ends with 1 if a ratio is above
:data:`LIMIT`.
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import charm
from boot import main as units
from hostnic.testing import FakeHost, card
from lab.hooktools import Application, Controller, declared
from unit.sriov_switchdev.node import compute_node

LIMIT = 2.0
RUNS = 7
DOORS = ("files", "links", "ethtool", "dcb", "devlink")
SOURCE = Path(__file__).parents[2] / "charms/sriov-switchdev"
UNIT = "sriov-switchdev/0"


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
    """A door of the host, through a tape."""

    def __init__(self, door: Any, tape: Tape) -> None:
        self._door = door
        self._tape = tape

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._door, name)
        return lambda *given, **named: self._tape.call(method, name, given, named)


def seconds(host: FakeHost, act: Callable[[], object]) -> float:
    """The least processor time of several runs."""
    kept = {name: getattr(host, name) for name in DOORS}
    act()
    tape = Tape()
    for name, door in kept.items():
        setattr(host, name, Door(door, tape))
    act()
    taken: list[float] = []
    for _ in range(RUNS):
        tape.played = 0
        began = time.thread_time()
        act()
        taken.append(time.thread_time() - began)
    for name, door in kept.items():
        setattr(host, name, door)
    return min(taken)


def converged(vfs: int, directory: Path) -> tuple[FakeHost, Controller]:
    """A unit that has nothing to do on a host with these VFs."""
    host = compute_node(cards=[card(total_vfs=127)])
    charm.SriovSwitchdevCharm.machine = staticmethod(lambda: host)
    controller = Controller(directory)
    path, options = declared(SOURCE, directory / "charm")
    options |= {"num-vfs": vfs, "reboot-policy": "always", "reboot-settle": 0}
    controller.add("sriov-switchdev", Application(charm.SriovSwitchdevCharm, path, options, leader=UNIT))
    controller.relate({"sriov-switchdev": "reboot"})
    for hook in ("install", "config-changed", "start"):
        controller.run(UNIT, hook)
    host.reboot()
    for hook in ("start", "update-status", "update-status"):
        controller.run(UNIT, hook)
    assert controller.status[UNIT][0] == "active", controller.status
    return host, controller


def measured(vfs: int) -> dict[str, float]:
    """Seconds of each act."""
    with tempfile.TemporaryDirectory() as directory:
        host, controller = converged(vfs, Path(directory))
        acts: dict[str, Callable[[], object]] = {
            "update-status": lambda: controller.run(UNIT, "update-status"),
            "config-changed": lambda: controller.run(UNIT, "config-changed"),
            "boot unit early": lambda: units.early(host),
            "boot unit bind": lambda: units.bind(host),
        }
        return {what: seconds(host, act) for what, act in acts.items()}


def start(statement: str) -> float:
    """The least processor time in which Python starts and runs an import."""
    taken: list[float] = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", statement], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(taken)


def main() -> int:
    """Print both and their ratio."""
    few, many = measured(8), measured(127)
    of_a_hook, of_a_unit = start("import charm"), start("from boot import main")
    print(f"{'nothing to do, VFs of each port':34}{'8':>10}{'127':>11}{'start':>11}{'ratio':>8}")
    most = 0.0
    for what, less in few.items():
        begins = of_a_unit if what.startswith("boot unit") else of_a_hook
        ratio = (begins + many[what]) / (begins + less)
        most = max(most, ratio)
        times = f"{less * 1000:7.2f} ms{many[what] * 1000:8.2f} ms{begins * 1000:8.0f} ms"
        print(f"{what:34}{times}{ratio:8.2f}")
    return int(most > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
