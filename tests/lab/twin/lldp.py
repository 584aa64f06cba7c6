# SPDX-License-Identifier: Apache-2.0
"""LLDP of one switch: lldpd in the switch's namespace."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from lab.twin.commands import CommandError, daemon, run

HEARTBEAT = 5  # seconds; Cumulus' 30 would make every test wait for it
HEARTBEATS_KEPT = 12  # a minute: the daemons of six switches share one emulated processor

CHROOT = Path("/run/lldpd")
"""Where lldpd locks its unprivileged half in; its own unit makes it otherwise."""


class Lldp:
    """lldpd, told to call the ports by their names."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self._socket = Path(f"/run/lldpd-{namespace}.socket")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the daemon and return when it has its settings."""
        CHROOT.mkdir(exist_ok=True)
        self._process = daemon(self.namespace, ["lldpd", "-d", "-u", str(self._socket), "-I", "swp*"])
        deadline = time.monotonic() + 60
        while not self._socket.exists():
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise CommandError(f"{self.namespace}: lldpd does not start")
            time.sleep(0.1)
        for setting in (
            "lldp portidsubtype ifname",
            f"lldp tx-interval {HEARTBEAT}",
            f"lldp tx-hold {HEARTBEATS_KEPT}",
        ):
            self._lldpcli("configure", *setting.split())

    def stop(self) -> None:
        """End the daemon."""
        if self._process:
            self._process.terminate()
            self._process.wait()

    def neighbours(self) -> dict[str, list[dict[str, Any]]]:
        """Per port, what each neighbour says of itself, as lldpd prints it."""
        found: dict[str, list[dict[str, Any]]] = {}
        said = json.loads(self._lldpcli("-f", "json0", "show", "neighbors"))
        for lldp in said.get("lldp", []):
            for interface in lldp.get("interface", []):
                found.setdefault(interface["name"], []).append(interface)
        return found

    def _lldpcli(self, *args: str) -> str:
        return run(["lldpcli", "-u", str(self._socket), *args])
