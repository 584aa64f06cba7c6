# SPDX-License-Identifier: Apache-2.0
"""The marks of the packets that this host sends: ToS of RDMA connections and of OVN's tunnels, PCP of VLANs.

Also the attributes of congestion control, which has marks of its own.
"""

from dataclasses import dataclass

from converge import StepError

from hostnic.devices import rdma, vlan
from hostnic.devices.rdma import Defaults, RdmaPort
from hostnic.ops import refusal
from hostnic.system import System

ENCAP_TOS = "ovn-encap-tos"


@dataclass(frozen=True)
class SetRoceDefaults:
    """Set mode and ToS of new RDMA connections through ``port``."""

    port: RdmaPort
    wanted: Defaults

    def run(self, system: System) -> None:
        """Make the device's directory if there is none, and write what differs."""
        remedy = f"check that rdma_cm is loaded, configfs is mounted, and {self.port.device} exists"
        with refusal.explained(f"RoCE defaults of {self.port.device}", remedy):
            if not system.files.exists(rdma.CONFIGFS):
                system.run(["modprobe", "rdma_cm"])
                if rdma.managed(system, self.port) is False:
                    return  # known only since the module is loaded: there is nothing to set
            device = f"{rdma.CONFIGFS}/{self.port.device}"
            if not system.files.exists(device):
                system.files.mkdir(device)
            now = rdma.defaults(system, self.port)
            if now is None or now.mode != self.wanted.mode:
                system.files.write(f"{self.port.directory}/default_roce_mode", self.wanted.mode)
            if now is None or now.tos != self.wanted.tos:
                system.files.write(f"{self.port.directory}/default_roce_tos", str(self.wanted.tos))
            now = rdma.defaults(system, self.port)
        if now != self.wanted:
            read = now.words if now else "nothing"
            what = f"RoCE defaults of {self.port.device} read {read} after {self.wanted.words} was set"
            raise StepError(what)


@dataclass(frozen=True)
class SetEgressMap:
    """Have every packet of the VLAN device ``netdev`` carry ``pcp``, or one for each socket priority."""

    netdev: str
    pcp: int | tuple[int, ...]

    def run(self, system: System) -> None:
        wanted = (self.pcp,) * vlan.SOCKET_PRIORITIES if isinstance(self.pcp, int) else self.pcp
        if vlan.egress(system, self.netdev) == wanted:
            return
        pairs = [f"{priority}:{pcp}" for priority, pcp in enumerate(wanted)]
        with refusal.explained(f"the egress map of {self.netdev}"):
            system.run(["ip", "link", "set", "dev", self.netdev, "type", "vlan", "egress-qos-map", *pairs])
        if vlan.egress(system, self.netdev) != wanted:
            raise StepError(f"the egress map of {self.netdev} reads back differently than it was set")


@dataclass(frozen=True)
class SetEncapTos:
    """Set the ToS of the outer header of OVN's tunnels, in Open vSwitch's database."""

    value: str

    def run(self, system: System) -> None:
        """Set it; ovn-controller applies it by itself."""
        with refusal.explained(f"cannot set {ENCAP_TOS}"):
            system.run(["ovs-vsctl", "set", "Open_vSwitch", ".", f"external_ids:{ENCAP_TOS}={self.value}"])


@dataclass(frozen=True)
class SetAttribute:
    """Write one number to a kernel attribute."""

    path: str
    value: int

    def run(self, system: System) -> None:
        remedy = "kernel lockdown forbids debugfs; the firmware keeps such values (charm nic-firmware)"
        with refusal.explained(f"cannot write {self.path}", remedy):
            if number(system, self.path) == self.value:
                return
            system.files.write(self.path, str(self.value))
            now = number(system, self.path)
        if now != self.value:
            raise StepError(f"{self.path} reads {now} after {self.value} was written")


def number(system: System, path: str) -> int | None:
    """The attribute's value, decimal or hexadecimal; None when it is no number.

    Raises OSError if it cannot be read.
    """
    try:
        return int(system.files.read(path).strip(), 0)
    except ValueError:
        return None
