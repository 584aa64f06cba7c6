# SPDX-License-Identifier: Apache-2.0
"""The charm on a modelled host: ``node`` runs its hooks, actions and boots as Juju and systemd would."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import charm
import pytest
from boot import files, main
from hostnic.netlink.dcbdrivers import driver as driver_entry
from hostnic.ops import lldp
from lab.modelled import FakeCard, FakeHost, card
from ops import testing
from unit.hostunit import ROUTES, HostUnit, metadata

METADATA = metadata("roce-qos")
PF0, PF1 = "0000:3b:00.0", "0000:3b:00.1"
P0, P1 = "enp59s0f0np0", "enp59s0f1np1"


def compute_node(
    driver: str = "mlx5_core",
    kind: type[FakeHost] = FakeHost,
    cards: Sequence[FakeCard] = (),
    **arguments: Any,
) -> FakeHost:
    """A FakeHost with RDMA devices, networkd, and systemd units that really do what they say."""
    nics = cards or [card(driver=driver)]
    for nic in nics:
        nic.rdma = driver_entry(nic.ports[0].driver).roce
    host = kind(nics, **arguments)
    host.disk.install("/proc/net/route", ROUTES.encode(), 0o444)
    host.disk.install("/proc/sys/kernel/hostname", b"node1\n", 0o444)
    for link in host.links.all():
        told = f"NETWORK_FILE=/run/systemd/network/10-netplan-{link.name}.network\n".encode()
        host.disk.install(f"{lldp.LINKS}/{link.ifindex}", told, 0o644)
    host.disk.directories.add(lldp.FRAMES)
    host.services = {files.BOOT: lambda machine: main.converge(machine, main.DEADLINE)}
    return host


class Node(HostUnit):
    """A unit of roce-qos, which a fabric may be related to."""

    def __init__(self, host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(host, charm.RoceQosCharm, METADATA, monkeypatch)

    def relate(self, policy: str | None) -> "Node":
        """Relate to the fabric, which publishes ``policy``; or have it publish another one."""
        others = [relation for relation in self.state.relations if relation.endpoint != "fabric"]
        data = {} if policy is None else {"policy": policy}
        self.fabric = testing.Relation("fabric", remote_app_name="cumulus-fabric", remote_app_data=data)
        self.state = replace(self.state, relations={*others, self.fabric})
        return self

    def published(self) -> str:
        """Return the unit's report for the fabric."""
        return self.state.get_relation(self.fabric.id).local_unit_data.get("host", "")


def nic(writes: list[str]) -> list[str]:
    """Only the writes that change a port, a NIC or the network."""
    return [
        line
        for line in writes
        if not line.startswith(("install ", "remove ", "run systemctl", "run systemd-run"))
    ]


def pfc(host: FakeHost) -> list[tuple[int, ...]]:
    return [host.port(name).dcb.pfc for name in (P0, P1)]
