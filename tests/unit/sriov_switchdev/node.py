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
from config import Options
from converge import Plan
from hostnic.system import System
from hostnic.testing import FakeHost
from ops import testing
from survey import survey

ROOT = Path(__file__).parents[3]
METADATA = yaml.safe_load((ROOT / "charms/sriov-switchdev/charmcraft.yaml").read_text())
ROUTES = (
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "br-nvda\t00000000\t0119A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    "br-nvda\t0019A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
)


def compute_node(kind: type[FakeHost] = FakeHost, **arguments: Any) -> FakeHost:
    """A FakeHost with mstflint, a default route and systemd units that really do what they say."""
    host = kind(**arguments)
    host.disk.install("/usr/bin/mstconfig", b"", 0o755)
    host.disk.install("/proc/net/route", ROUTES.encode(), 0o644)
    host.disk.install("/proc/1/environ", b"HOME=/\0", 0o400)
    host.answers[("systemd-run",)] = ""
    host.services = {files.EARLY: boot.early, files.BIND: boot.bind, files.RESTORE: boot.restore}
    return host


def declare_bond(host: FakeHost, bond: str = "bond0") -> None:
    """networkd's files as netplan writes them for the members of a bond."""
    for port in host.network.ports():
        text = f"[Match]\nPermanentMACAddress={port.mac}\n\n[Network]\nLinkLocalAddressing=no\nBond={bond}\n"
        host.disk.install(f"/etc/systemd/network/10-netplan-{port.netdev}.network", text.encode(), 0o644)


class Node:
    """One unit of the charm, its host and its Juju state."""

    def __init__(self, host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
        self.host = host
        self.reboots_asked = 0
        monkeypatch.setattr(ops.Unit, "reboot", self._count_reboot)
        monkeypatch.setattr(charm.SriovSwitchdevCharm, "machine", staticmethod(lambda: self.host))
        self.context = testing.Context(
            charm.SriovSwitchdevCharm,
            meta={key: METADATA[key] for key in ("name", "subordinate", "requires", "peers", "assumes")},
            config=METADATA["config"],
            actions=METADATA["actions"],
            juju_version="3.6.0",
        )
        self.peer = testing.PeerRelation("reboot")
        principal = testing.SubordinateRelation("juju-info", remote_app_name="nova-compute")
        self.state = testing.State(leader=True, relations={self.peer, principal})
        self.writes: list[str] = []

    def _count_reboot(self, now: bool = False) -> None:
        self.reboots_asked += 1

    def configure(self, **options: Any) -> "Node":
        """Set options, by their names with ``_`` for ``-``."""
        return self.set({name.replace("_", "-"): value for name, value in options.items()})

    def set(self, given: dict[str, Any]) -> "Node":
        """Set options, by their own names."""
        self.state = self.with_config(given)
        return self

    def with_config(self, given: dict[str, Any]) -> testing.State:
        """The state with these options, by their own names."""
        return replace(self.state, config={**self.state.config, **given})

    def failure(self, action: str, **parameters: Any) -> str:
        """Run an action that must fail; its one sentence."""
        with pytest.raises(testing.ActionFailed) as failed:
            self.action(action, **parameters)
        return failed.value.message

    def emit(self, event: str = "config_changed", *arguments: Any) -> ops.StatusBase:
        """Run one hook; ``writes`` then has what it wrote."""
        self.host.trace.clear()
        self.host.spawned.clear()
        self.context.juju_log.clear()
        emitted = getattr(self.context.on, event)(*arguments)
        self.state = self.context.run(emitted, self.state)
        self.writes = list(self.host.trace)
        return self.state.unit_status

    def action(self, name: str, **parameters: Any) -> dict[str, Any]:
        """Run one action; raises ``testing.ActionFailed`` as Juju would say it."""
        self.host.trace.clear()
        self.state = self.context.run(self.context.on.action(name, params=parameters), self.state)
        self.writes = list(self.host.trace)
        return self.context.action_results or {}

    @property
    def log(self) -> str:
        """What the last hook or action logged."""
        return "\n".join(entry.message for entry in self.context.juju_log)

    def planned(self) -> Plan[System]:
        """What the charm would do now, without any hook."""
        given = {name.replace("-", "_"): value for name, value in self.state.config.items()}
        options = Options(**given)
        return survey(self.host, options, ()).plan

    def set_up(self) -> ops.StatusBase:
        """Juju's hooks of a new unit, up to the first one that looks at the host."""
        for event in ("install", "leader_elected"):
            self.emit(event)
        return self.emit("config_changed")

    def deploy(self, **options: Any) -> ops.StatusBase:
        """Juju's hooks of a new unit."""
        self.configure(**options)
        self.set_up()
        return self.emit("start")

    def boot(self) -> ops.StatusBase:
        """Reboot the host, and run the hooks that Juju runs then."""
        self.host.trace.clear()
        self.host.reboot()
        self.boot_writes = list(self.host.trace)
        return self.emit("start")

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
