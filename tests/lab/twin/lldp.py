# SPDX-License-Identifier: Apache-2.0
"""LLDP of one switch: lldpd in the switch's namespace."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from lab.nvue.factory import HOSTNAME
from lab.twin.commands import CommandError, daemon, rename, run

SETTINGS = """\
configure lldp portidsubtype ifname
configure lldp tx-interval 5
"""
"""Ports by their names, and a frame every five seconds: Cumulus' thirty would make every test wait for it.

lldpd starts paused, reads them through an lldpcli of its own, and goes on. An lldpcli of ours beside that one
could pause it for good: each change sends all settings back as they were read before (src/daemon/client.c).
"""

CHROOT = Path("/run/lldpd")
"""Where lldpd locks its unprivileged half in; its own unit makes it otherwise."""


class Lldp:
    """lldpd, told to call the ports by their names; the switch is called cumulus until it is renamed."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self._socket = Path(f"/run/lldpd-{namespace}.socket")
        self._process: subprocess.Popen[bytes] | None = None
        self._called = HOSTNAME

    def start(self) -> None:
        """Start the daemon and return when it answers."""
        CHROOT.mkdir(exist_ok=True)
        settings = Path(f"/run/lldpd-{self.namespace}.conf")
        settings.write_text(SETTINGS)
        argv = ["lldpd", "-d", "-u", str(self._socket), "-I", "swp*", "-O", str(settings)]
        self._process = daemon(self.namespace, argv, HOSTNAME)
        while not self._socket.exists():
            if self._process.poll() is not None:
                raise CommandError(f"{self.namespace}: lldpd has ended")
            time.sleep(0.1)

    def rename(self, hostname: str) -> None:
        """Send another system name, from the next frame on."""
        if self._process and hostname != self._called:
            rename(self._process, hostname)
            self._called = hostname

    def stop(self) -> None:
        """End the daemon."""
        if self._process:
            self._process.terminate()
            self._process.wait()

    def neighbours(self) -> dict[str, list[dict[str, Any]]]:
        """Per port, what each neighbour says of itself, as lldpd prints it."""
        found: dict[str, list[dict[str, Any]]] = {}
        argv = ["lldpcli", "-u", str(self._socket), "-f", "json0", "show", "neighbors"]
        said = json.loads(run(argv))
        for lldp in said.get("lldp", []):
            for interface in lldp.get("interface", []):
                found.setdefault(interface["name"], []).append(interface)
        return found
