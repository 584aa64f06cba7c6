# SPDX-License-Identifier: Apache-2.0
"""The charm on a modelled host: ``node`` runs its hooks, actions and boots as Juju and systemd would."""

import errno
from collections.abc import Callable
from typing import Any

import charm
import ops
import pytest
from boot import files, follow, main
from config import Options
from converge import Plan
from hostnic.system import System
from lab.modelled import FakeHost
from survey import Survey, survey
from unit.hostunit import ROUTES, HostUnit, metadata

METADATA = metadata("sriov-switchdev")
Arrange = Callable[[FakeHost], object]
PF0, PF1 = "0000:3b:00.0", "0000:3b:00.1"
PORT0, PORT1 = "enp59s0f0np0", "enp59s0f1np1"
"""The ports of :func:`compute_node`, by PCI address and netdev."""
DEVICE = "/sys/bus/pci/devices"
REFUSED = OSError(errno.EIO, "Input/output error")
APPROVE = "run: juju run sriov-switchdev/leader approve-reboot"


def compute_node(kind: type[FakeHost] = FakeHost, **arguments: Any) -> FakeHost:
    """A FakeHost with mstflint, a default route and systemd units that really do what they say."""
    host = kind(**arguments)
    host.disk.install("/usr/bin/mstconfig", b"", 0o755)
    host.disk.install("/proc/net/route", ROUTES.encode(), 0o644)
    host.disk.install("/proc/1/environ", b"HOME=/\0", 0o400)
    host.answers[("systemd-run",)] = ""
    host.services = {
        files.EARLY: main.early,
        files.BIND: main.bind,
        files.RESTORE: main.restore,
        files.FOLLOW: begin_to_follow,
    }
    return host


def begin_to_follow(host: FakeHost) -> None:
    """The service's work before it waits for news; tests that have news call the whole of it."""
    follow.begin(host)


def declare_bond(host: FakeHost, bond: str = "bond0") -> None:
    """networkd's files as netplan writes them for the members of a bond."""
    for port in host.network.ports():
        text = f"[Match]\nPermanentMACAddress={port.mac}\n\n[Network]\nLinkLocalAddressing=no\nBond={bond}\n"
        host.disk.install(f"/etc/systemd/network/10-netplan-{port.netdev}.network", text.encode(), 0o644)


class Node(HostUnit):
    """A unit of sriov-switchdev, which leads its application."""

    def __init__(self, host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(host, charm.SriovSwitchdevCharm, METADATA, monkeypatch)
        self.relate_to_peers()

    def looked(self) -> Survey:
        """Return the charm's survey of now, without any hook."""
        given = {name.replace("-", "_"): value for name, value in self.state.config.items()}
        options = Options(**given)
        return survey(self.host, options, (), METADATA["name"])

    def planned(self) -> Plan[System]:
        """Return the charm's plan of now, without any hook."""
        return self.looked().plan

    def converge(self, **options: Any) -> ops.StatusBase:
        """From a new unit to a converged host, through a reboot."""
        self.deploy(**{"reboot_policy": "always", **options})
        return self.boot()


def nic(writes: list[str]) -> list[str]:
    """Only the writes that change a NIC or the network."""
    return [
        line
        for line in writes
        if line.startswith(("write ", "set_")) or (line.startswith("run ") and "systemctl" not in line)
    ]
