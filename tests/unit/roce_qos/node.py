# SPDX-License-Identifier: Apache-2.0
"""The charm on a modelled host: ``node`` runs its hooks, actions and boots as Juju and systemd would."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import boot
import charm
import files
import ops
import pytest
import yaml
from hostnic.ops import lldp
from hostnic.testing import FakeHost, card
from ops import testing

ROOT = Path(__file__).parents[3]
METADATA = yaml.safe_load((ROOT / "charms/roce-qos/charmcraft.yaml").read_text())
ROUTES = (
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "br-nvda\t00000000\t0119A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    "br-nvda\t0019A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
)
PF0, PF1 = "0000:3b:00.0", "0000:3b:00.1"
P0, P1 = "enp59s0f0np0", "enp59s0f1np1"


def compute_node(driver: str = "mlx5_core", kind: type[FakeHost] = FakeHost, **arguments: Any) -> FakeHost:
    """A FakeHost with RDMA devices, networkd, and systemd units that really do what they say."""
    nic = card(driver=driver)
    nic.rdma = driver == "mlx5_core"
    host = kind([nic], **arguments)
    host.disk.install("/proc/net/route", ROUTES.encode(), 0o444)
    host.disk.install("/proc/sys/kernel/hostname", b"node1\n", 0o444)
    for link in host.links.all():
        told = f"NETWORK_FILE=/run/systemd/network/10-netplan-{link.name}.network\n".encode()
        host.disk.install(f"{lldp.LINKS}/{link.ifindex}", told, 0o644)
    host.disk.directories.add(lldp.FRAMES)
    host.services = {files.BOOT: lambda machine: boot.converge(machine, boot.DEADLINE)}
    return host


class Node:
    """One unit of the charm, its host and its Juju state."""

    def __init__(self, host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
        self.host = host
        monkeypatch.setattr(charm.RoceQosCharm, "machine", staticmethod(lambda: self.host))
        self.context = testing.Context(
            charm.RoceQosCharm,
            meta={key: METADATA[key] for key in ("name", "subordinate", "requires", "assumes")},
            config=METADATA["config"],
            actions=METADATA["actions"],
            juju_version="3.6.0",
        )
        principal = testing.SubordinateRelation("juju-info", remote_app_name="nova-compute")
        self.state = testing.State(relations={principal})
        self.writes: list[str] = []

    def configure(self, **options: Any) -> "Node":
        """Set options, by their names with ``_`` for ``-``."""
        return self.set({name.replace("_", "-"): value for name, value in options.items()})

    def set(self, given: dict[str, Any]) -> "Node":
        """Set options, by their own names."""
        self.state = replace(self.state, config={**self.state.config, **given})
        return self

    def relate(self, policy: str | None) -> "Node":
        """Relate to the fabric, which publishes ``policy``; or have it publish another one."""
        others = [relation for relation in self.state.relations if relation.endpoint != "fabric"]
        data = {} if policy is None else {"policy": policy}
        self.fabric = testing.Relation("fabric", remote_app_name="cumulus-fabric", remote_app_data=data)
        self.state = replace(self.state, relations={*others, self.fabric})
        return self

    def published(self) -> str:
        """What the fabric is told."""
        return self.state.get_relation(self.fabric.id).local_unit_data.get("host", "")

    def emit(self, event: str = "config_changed", *arguments: Any) -> ops.StatusBase:
        """Run one hook; ``writes`` then has what it wrote."""
        self.host.trace.clear()
        self.host.spawned.clear()
        self.context.juju_log.clear()
        self.state = self.context.run(getattr(self.context.on, event)(*arguments), self.state)
        self.writes = list(self.host.trace)
        return self.state.unit_status

    def action(self, name: str, **parameters: Any) -> dict[str, Any]:
        """Run one action; raises ``testing.ActionFailed`` as Juju would say it."""
        self.host.trace.clear()
        self.state = self.context.run(self.context.on.action(name, params=parameters), self.state)
        self.writes = list(self.host.trace)
        return self.context.action_results or {}

    def failure(self, action: str, **parameters: Any) -> str:
        """Run an action that must fail; its one sentence."""
        with pytest.raises(testing.ActionFailed) as failed:
            self.action(action, **parameters)
        return failed.value.message

    @property
    def log(self) -> str:
        """What the last hook or action logged."""
        return "\n".join(entry.message for entry in self.context.juju_log)

    def findings(self) -> str:
        """What verify says."""
        return self.action("verify")["findings"]

    def set_up(self) -> ops.StatusBase:
        """Juju's hooks of a new unit, up to the first one that looks at the host."""
        self.emit("install")
        return self.emit("config_changed")

    def deploy(self, **options: Any) -> ops.StatusBase:
        """Juju's hooks of a new unit."""
        self.configure(**options)
        self.set_up()
        return self.emit("start")

    def boot(self) -> ops.StatusBase:
        """Reboot the host, and run the hook that Juju runs then."""
        self.host.trace.clear()
        self.host.reboot()
        self.boot_writes = list(self.host.trace)
        return self.emit("start")


def nic(writes: list[str]) -> list[str]:
    """Only the writes that change a port, a NIC or the network."""
    return [line for line in writes if not line.startswith(("install ", "remove ", "run systemctl"))]
