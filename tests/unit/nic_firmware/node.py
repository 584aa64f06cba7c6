# SPDX-License-Identifier: Apache-2.0
"""The charm on a modelled host: ``node`` runs its hooks, actions and boots as Juju would."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import charm
import ops
import pytest
import yaml
from hostnic.firmware.mstdatabase import Database
from hostnic.testing import FakeHost, card
from ops import testing

ROOT = Path(__file__).parents[3]
METADATA = yaml.safe_load((ROOT / "charms/nic-firmware/charmcraft.yaml").read_text())
RESOURCE = "/var/lib/juju/agents/unit-nic-firmware-0/resources/firmware/firmware.zip"
"""Where Juju would put the charm's resource; nothing is there unless a test attaches it."""
KEYS = ("name", "subordinate", "requires", "peers", "assumes", "resources")
PF0, PF1 = "0000:3b:00.0", "0000:3b:00.1"


def machine(kind: type[FakeHost] = FakeHost, **arguments: Any) -> FakeHost:
    """A FakeHost with mstflint, whose NIC offers 4 VFs and has SR-IOV off for all future boots."""
    host = kind(**arguments)
    for tool in ("mstconfig", "setpci"):
        host.disk.install(f"/usr/bin/{tool}", b"", 0o755)
    factory(host)
    return host


def factory(host: FakeHost, vfs: int = 4) -> None:
    """Every NIC as it comes: SR-IOV off, few VFs."""
    for port in host.network.ports():
        firmware = port.firmware
        firmware.num_of_vfs = firmware.next_num_of_vfs = vfs
        firmware.sriov_en = firmware.next_sriov_en = False
        port.total_vfs = 0


def rdg(host: FakeHost) -> None:
    """Every NIC as the profile ovn-offload wants it, current and next."""
    for nic in host.cards:
        for port in nic.ports:
            firmware = port.firmware
            firmware.num_of_vfs = firmware.next_num_of_vfs = port.total_vfs = 8
            firmware.sriov_en = firmware.next_sriov_en = True
        for name, value in {"NUM_VF_MSIX": 63, "LAG_RESOURCE_ALLOCATION": 1}.items():
            nic.settings[name].current = nic.settings[name].next_boot = value


def nics(*buses: str) -> list:
    """NICs on these buses."""
    return [card(bus) for bus in buses]


class Node:
    """One unit of the charm, its host and its Juju state."""

    def __init__(self, host: FakeHost, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        self.host = host
        self.reboots_asked = 0
        self.known = database
        monkeypatch.setattr(ops.Unit, "reboot", self._count_reboot)
        monkeypatch.setattr(charm.NicFirmwareCharm, "machine", staticmethod(lambda: self.host))
        monkeypatch.setattr(charm.NicFirmwareCharm, "database", staticmethod(lambda: self.known))
        self.context = testing.Context(
            charm.NicFirmwareCharm,
            meta={key: METADATA[key] for key in KEYS},
            config=METADATA["config"],
            actions=METADATA["actions"],
            juju_version="3.6.0",
        )
        self.peer = testing.PeerRelation("reboot")
        principal = testing.SubordinateRelation("juju-info", remote_app_name="nova-compute")
        attached = testing.Resource(name="firmware", path=RESOURCE)
        relations = {self.peer, principal}
        self.state = testing.State(leader=True, relations=relations, resources={attached})
        self.writes: list[str] = []

    def _count_reboot(self, now: bool = False) -> None:
        self.reboots_asked += 1

    def configure(self, **options: Any) -> "Node":
        """Set options, by their names with ``_`` for ``-``."""
        return self.set({name.replace("_", "-"): value for name, value in options.items()})

    def set(self, given: dict[str, Any]) -> "Node":
        """Set options, by their own names."""
        self.state = replace(self.state, config={**self.state.config, **given})
        return self

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
        given = {key.replace("_", "-"): value for key, value in parameters.items()}
        self.state = self.context.run(self.context.on.action(name, params=given), self.state)
        self.writes = list(self.host.trace)
        return self.context.action_results or {}

    def failure(self, action: str, **parameters: Any) -> str:
        """Run an action that must fail; its one sentence."""
        with pytest.raises(testing.ActionFailed) as failed:
            self.action(action, **parameters)
        return failed.value.message

    def findings(self) -> str:
        """What ``verify`` prints."""
        return self.action("verify")["findings"]

    @property
    def log(self) -> str:
        """What the last hook or action logged."""
        return "\n".join(entry.message for entry in self.context.juju_log)

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
        """Reboot the host, and run the hook that Juju runs then."""
        self.host.reboot()
        return self.emit("start")

    def converge(self, **options: Any) -> ops.StatusBase:
        """From a new unit to active parameters, through a reboot."""
        self.deploy(**{"reboot_policy": "always", "reboot_settle": 0, **options})
        return self.boot()

    def hand_over(self, charm_name: str, owner: str = "nic-firmware", **content: Any) -> None:
        """What another charm of the machine left in its file."""
        given = {"version": 1, "unit": f"{charm_name}/0", "reboot_owner": owner, **content}
        self.host.disk.install(f"/run/ovn-offload/{charm_name}.json", json.dumps(given).encode(), 0o600)
        self.beside(charm_name)

    def beside(self, charm_name: str) -> None:
        """Another charm's unit lives on this machine."""
        self.host.disk.install(f"/var/lib/juju/agents/unit-{charm_name}-0/agent.conf", b"", 0o600)

    def next_boot(self, name: str, bdf: str = PF0) -> int:
        """A parameter's value for the next boot, as the NIC has it."""
        nic = next(nic for nic in self.host.cards if any(port.bdf == bdf for port in nic.ports))
        firmware = self.host.port(bdf).firmware
        if name == "NUM_OF_VFS":
            return firmware.next_num_of_vfs
        return int(firmware.next_sriov_en) if name == "SRIOV_EN" else nic.settings[name].next_boot

    def mst(self) -> list[str]:
        """Only the writes that go to the firmware."""
        return [line for line in self.writes if line.startswith(("run mst", "run setpci"))]
