# SPDX-License-Identifier: Apache-2.0
"""A rack of twins in a guest, and cumulus-fabric's verbs on it."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lab.guest import Guest
from lab.twin import start as twin

CODE = "/opt/ovn-offload"
RDG = Path(__file__).parents[3] / "charms/cumulus-fabric/examples/rdg.yaml"
INTENT = "/run/intent.yaml"
"""The intent that operate.py reads instead of the reference design's, if it is there."""

OPERATE = [
    "env",
    # The code's disk is read-only: without a place for what Python compiles, each command compiles all of it.
    "PYTHONPYCACHEPREFIX=/var/cache/operate",
    f"PYTHONPATH={CODE}/charms/cumulus-fabric/src:{CODE}/lib",
    "python3",
    f"{CODE}/tests/functional/twin/operate.py",
]


class Rack:
    """A rack of twins in a guest."""

    def __init__(self, guest: Guest) -> None:
        self.guest = guest

    def start(self, arguments: str = "") -> None:
        """Start it with ``python -m lab.twin``'s arguments, and return when every switch answers."""
        twin.start(self.guest, arguments, patience=600)

    def operate(self, *args: str, tree: Any = None, timeout: float = 1800) -> Any:
        """See operate.py."""
        stdin = json.dumps(tree) if tree is not None else None
        done = self.guest.run([*OPERATE, *args], stdin=stdin, timeout=timeout)
        return json.loads(done.stdout)

    def on(self, name: str, command: str, check: bool = True, timeout: float = 60) -> str:
        """Run a command in the namespace of a switch or host."""
        return self.guest.run(f"ip netns exec {name} {command}", check=check, timeout=timeout).stdout

    def ping(self, host: str, address: str, count: int = 3, size: int = 56) -> int:
        """How many of ``count`` unfragmented pings are answered."""
        command = f"ping -q -n -M do -s {size} -i 0.2 -W 2 -c {count} {address}"
        # Without a route ping says so on standard error, and sends nothing.
        found = re.search(r" packets transmitted, (\d+)", self.on(host, command, check=False))
        return int(found[1]) if found else 0

    def until(self, holds: Callable[[], bool], seconds: float, problem: str) -> None:
        """Wait until something holds."""
        assert self.guest.until(holds, seconds), f"{problem}\n{self.log()}"

    def log(self) -> str:
        """Return the twin's own log."""
        return self.guest.run("journalctl -q -u twin | tail -30", check=False).stdout


def stop(rack: Rack, pids: Sequence[str]) -> None:
    """Interrupt processes in the background, and return when they have written their last."""
    listed = " ".join(pids)
    ended = "while kill -0 $pid 2>/dev/null; do sleep 0.1; done"
    rack.guest.run(f"kill -INT {listed}; for pid in {listed}; do {ended}; done", check=False, timeout=120)
