# SPDX-License-Identifier: Apache-2.0
"""One switch: what stands behind its NVUE interface."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from lab.nvue import Issue
from lab.nvue.trees import Path, Tree
from lab.twin.asic import Asic
from lab.twin.commands import CommandError
from lab.twin.frr import Frr
from lab.twin.links import Links
from lab.twin.lldp import Lldp
from lab.twin.model import Switch as Wanted
from lab.twin.model import parse
from lab.twin.observe import operational
from lab.twin.routing import Vrf
from lab.twin.tree import Untranslatable

PORTS = frozenset(f"swp{number}" for number in range(1, 33))
"""An MSN3700C's."""


class TwinSwitch:
    """The backend of one switch's NVUE interface (``lab.nvue.Backend``), in a namespace of its name.

    Args:
        name: of the switch and of its namespace.
        lease: what DHCP gives the management port, with prefix length.

    """

    def __init__(self, name: str, lease: str) -> None:
        self.name = name
        self.frr = Frr(name)
        self.links = Links(name, PORTS, lease)
        self.lldp = Lldp(name)
        self.asic = Asic(name, self.frr)
        self._runs = Wanted()
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start its daemons; the switch then waits for its first configuration."""
        with ThreadPoolExecutor() as pool:
            for started in [pool.submit(self.frr.start), pool.submit(self.lldp.start)]:
                started.result()
        self.asic.start()

    def stop(self) -> None:
        """End its daemons."""
        self.asic.stop()
        self.lldp.stop()
        self.frr.stop()

    def apply(self, tree: Tree) -> Issue | None:
        """Make the switch as the tree says; on a failure go back to what it was, and say why."""
        try:
            wanted = parse(tree)
        except Untranslatable as problem:
            path, _, said = str(problem).partition(": ")
            return Issue("twin_untranslatable", said, path)
        if missing := self.links.missing(wanted):
            return Issue("twin_no_port", f"{self.name} has no port {missing[0]}", f"interface.{missing[0]}")
        with self._lock:
            try:
                self._become(wanted)
            except CommandError as problem:
                with suppress(CommandError):  # what failed may fail again
                    self._become(self._runs)
                return Issue("twin_failed", str(problem), "")
            self._runs = wanted
        return None

    def operational(self, path: Path = ()) -> Tree:
        """Return the switch's state of now, read from the kernel, FRR and lldpd."""
        return operational(self, path)

    @property
    def roce(self) -> str | None:
        """The applied RoCE mode: the one thing that a namespace has no state for."""
        return self._runs.roce

    @property
    def vrfs(self) -> tuple[Vrf, ...]:
        """The VRFs that the tree has made."""
        return self._runs.vrfs

    def _become(self, wanted: Wanted) -> None:
        self.lldp.rename(wanted.hostname)
        self.links.apply(wanted)
        self.frr.apply(wanted)
        self.asic.follow(wanted)
