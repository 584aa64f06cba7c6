# SPDX-License-Identifier: Apache-2.0
"""The one door to the machine: files, processes, the kernel's netlink families, time.

Everything that reads or changes a host goes through a :class:`System`, so that a test can hand in
a modelled host, and a recorder can prove that a second run writes nothing. The real one is
:class:`hostnic.machine.Machine`; the modelled one is :class:`hostnic.testing.FakeHost`.

All methods raise ``OSError`` where the kernel does; its ``strerror`` carries the kernel's
extended-ack text when there is one.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from converge import Step

if TYPE_CHECKING:
    from hostnic.netlink.dcb import App, Dcb


BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Link(NamedTuple):
    """A netdev as rtnetlink reports it.

    Attributes:
        kind: ``bond``, ``bridge``, ``vlan``, ``openvswitch`` …; None for a plain device.
        master: name of the bond or bridge (``ovs-system`` for a port of Open vSwitch).
        pci: PCI address of the parent device, from IFLA_PARENT_DEV_NAME, or sysfs below 5.15.
        bond_mode, xmit_hash_policy, partner_mac: for bonds only.

    """

    name: str
    ifindex: int
    mac: str | None
    permanent_mac: str | None
    mtu: int
    up: bool
    carrier: bool | None
    kind: str | None
    master: str | None
    switch_id: str | None
    port_name: str | None
    pci: str | None
    bond_mode: str | None = None
    xmit_hash_policy: str | None = None
    partner_mac: str | None = None


class DeviceInfo(NamedTuple):
    """``devlink dev info``: the running firmware version and the board's PSID."""

    firmware: str | None
    psid: str | None


class Pause(NamedTuple):
    """Global pause frames (IEEE 802.3x) of a netdev."""

    rx: bool
    tx: bool


class System(Protocol):
    """What the four verbs may do to a host. Paths are absolute host paths."""

    # Files. ``write`` is one write(2) to a kernel attribute; ``install`` replaces a file
    # atomically, durable across a power cut, and creates its directory. ``mkdir`` is for configfs,
    # where a directory is a request to the kernel.
    def read(self, path: str) -> str: ...
    def listdir(self, path: str) -> list[str]: ...
    def readlink(self, path: str) -> str: ...
    def exists(self, path: str) -> bool: ...
    def write(self, path: str, value: str) -> None: ...
    def install(self, path: str, content: bytes, mode: int = 0o644) -> None: ...
    def remove(self, path: str) -> None: ...
    def mkdir(self, path: str) -> None: ...

    # Processes. Returns standard output; a non-zero exit raises hostnic.process.CommandError (an OSError).
    def run(self, argv: Sequence[str], stdin: str | None = None, timeout: float = 60.0) -> str: ...

    # rtnetlink and ethtool netlink.
    def links(self) -> list[Link]: ...
    def addresses(self, link: str) -> list[str]: ...
    def set_master(self, link: str, master: str | None) -> None: ...
    def set_up(self, link: str, up: bool) -> None: ...
    def hw_tc_offload(self, link: str) -> bool | None: ...
    def set_hw_tc_offload(self, link: str, on: bool) -> None: ...
    def pause(self, link: str) -> Pause | None: ...
    def set_pause(self, link: str, rx: bool, tx: bool) -> None: ...

    # Data centre bridging (dcbnl). What is None is left as it is; a driver without an operation for
    # something accepts it silently, so that reading back is the caller's duty.
    def dcb(self, link: str) -> "Dcb": ...
    def set_dcb(self, link: str, wanted: "Dcb") -> None: ...
    def delete_dcb_apps(self, link: str, apps: "Sequence[App]") -> None: ...
    def set_dcbx(self, link: str, mode: int) -> None: ...

    # devlink, by PCI address.
    def eswitch_mode(self, bdf: str) -> str | None: ...
    def set_eswitch_mode(self, bdf: str, mode: str) -> None: ...
    def set_inline_mode(self, bdf: str, mode: str) -> None: ...
    def devlink_param(self, bdf: str, name: str) -> str | bool | int | None: ...
    def set_devlink_param(self, bdf: str, name: str, value: str | bool | int) -> None: ...
    def device_info(self, bdf: str) -> DeviceInfo: ...

    # Time, in seconds; monotonic.
    def now(self) -> float: ...
    def sleep(self, seconds: float) -> None: ...


HostStep = Step[System]


def read_boot_id(system: System) -> str:
    """What changes at each boot."""
    return system.read(BOOT_ID).strip()
