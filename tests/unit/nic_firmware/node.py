# SPDX-License-Identifier: Apache-2.0
"""The charm on a modelled host: ``node`` runs its hooks, actions and boots as Juju would."""

import json
from dataclasses import replace
from typing import Any

import charm
import ops
import pytest
from hostnic.firmware.mstdatabase import Database
from lab.modelled import FakeHost, card
from ops import testing
from unit.hostunit import HostUnit, metadata

METADATA = metadata("nic-firmware")
RESOURCE = "/var/lib/juju/agents/unit-nic-firmware-0/resources/firmware/firmware.zip"
"""Where Juju would put the charm's resource; nothing is there unless a test attaches it."""
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


def rdg(host: FakeHost, vfs: int = 8) -> None:
    """Every NIC as the profile ovn-offload wants it, current and next."""
    for nic in host.cards:
        for port in nic.ports:
            firmware = port.firmware
            firmware.num_of_vfs = firmware.next_num_of_vfs = port.total_vfs = vfs
            firmware.sriov_en = firmware.next_sriov_en = True
        for name, value in {"NUM_VF_MSIX": 63, "LAG_RESOURCE_ALLOCATION": 1}.items():
            nic.settings[name].current = nic.settings[name].next_boot = value


def nics(*buses: str) -> list:
    """NICs on these buses."""
    return [card(bus) for bus in buses]


class Node(HostUnit):
    """A unit of nic-firmware, which leads its application and has an operator's file of images."""

    def __init__(self, host: FakeHost, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(host, charm.NicFirmwareCharm, METADATA, monkeypatch)
        self.known = database
        monkeypatch.setattr(charm.NicFirmwareCharm, "database", staticmethod(lambda: self.known))
        self.relate_to_peers()
        attached = testing.Resource(name="firmware", path=RESOURCE)
        self.state = replace(self.state, resources={attached})

    def converge(self, **options: Any) -> ops.StatusBase:
        """From a new unit to active parameters, through a reboot."""
        self.deploy(**{"reboot_policy": "always", "reboot_settle": 0, **options})
        return self.boot()

    def hand_over(self, charm_name: str, owner: str = "nic-firmware", **content: Any) -> None:
        """Leave another charm's file on the machine."""
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
