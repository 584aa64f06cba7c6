# SPDX-License-Identifier: Apache-2.0
"""The modelled host's kernel: what :class:`hostnic.system.System` shows of it, and time."""

import errno
import hashlib
import ipaddress
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from hostnic.calls import Call
from hostnic.devices import discover, lag
from hostnic.devices.lag import release
from hostnic.listening import heard
from hostnic.system import DataCentreBridging, Devlink, Ethtool, Files, Links

from lab.modelled import doors, tools
from lab.modelled.filedoor import FileDoor
from lab.modelled.files import FakeDisk
from lab.modelled.network import FakeNetwork
from lab.modelled.nic import rdma, vflag
from lab.modelled.nic.flash import FakeFlash
from lab.modelled.nic.model import CPUS, FakeCard, FakePort
from lab.modelled.nic.pcispace import FakeBridge, FakeGpu


@dataclass
class Fault:
    """An error for the next ``times`` calls of ``verb`` on ``target``; forever when None."""

    verb: str
    target: str
    error: OSError
    times: int | None
    skip: int


WITH_MULTIPORT = (6, 3)
"""The first kernel whose mlx5 has the devlink parameter esw_multiport (eswitch.c: mlx5_eswitch_params)."""
BY_SYSTEM_IMAGE = (5, 16)
"""The first kernel whose mlx5 pairs PFs by their system image GUID (dev.c: mlx5_same_hw_devs)."""


CANNOT_FAIL = ("exists", "unlock")


class FakeKernel:
    """State and calls; what tests arrange is in :class:`lab.modelled.FakeHost`."""

    def __init__(self, cards: list[FakeCard], kernel: str) -> None:
        self.cards = cards
        self.kernel = kernel
        self.iommu = True
        self.debugfs = True
        self.lag_debugfs = release(kernel) >= lag.WITH_DEBUGFS
        self.locked_down = False
        self.flash = FakeFlash()
        self.bridges: dict[str, FakeBridge] = {}
        self.gpus: dict[str, FakeGpu] = {}
        self.mstconfig_version = "4.26"
        self.reboots = 0
        self.trace: list[str] = []
        self.spawned: list[tuple[str, ...]] = []
        self.given = ""  # standard input of the last command that changes something
        self.asked: list[tuple[str, str]] = []
        self.contacted: list[str] = []
        self.silent_hosts: set[str] = set()
        self.log: list[str] = []
        self.disk = FakeDisk()
        self.disk.install("/proc/cpuinfo", b"vendor_id\t: GenuineIntel\n", 0o444)
        self.disk.install("/sys/devices/system/cpu/online", f"0-{CPUS - 1}\n".encode(), 0o444)
        self.network = FakeNetwork(cards)
        self.ovs = tools.FakeOvs()
        self.rdma = rdma.FakeRdma()
        for nic in cards:
            nic.lag_ports = lag.most_ports(kernel, lag.FOUR_PORTS_OF_ROCE)
            nic.vf_lag_ports = lag.most_ports(kernel)
            nic.multiport_param = release(kernel) >= WITH_MULTIPORT
            slots = {port.bdf.rpartition(".")[0] for port in nic.ports}
            nic.paired = len(slots) == 1 or release(kernel) >= BY_SYSTEM_IMAGE
        if release(kernel) < discover.MODE_WITHOUT_VFS:
            self._without_mode_before_vfs()
        self.blackouts = 0
        self.answers: dict[tuple[str, ...], str | OSError] = {}
        self.faults: list[Fault] = []
        self.services: dict[str, Callable[[Any], object]] = {}
        self.meanwhile: list[Callable[[Any], object]] = []  # what changes netdevs while a service waits
        self.watching: set[int] = set()  # processes that wait for it
        self.locks: dict[str, int] = {}
        self.process = self._processes = 0
        self.clock: float = 1000.0
        self._lag_due: dict[str, float] = {}
        self._bonded: dict[str, str | None] = {}
        self.files = heard(FileDoor(self), Files, self._hear)
        self.links = heard(doors.LinkDoor(self), Links, self._hear)
        self.ethtool = heard(doors.EthtoolDoor(self), Ethtool, self._hear)
        self.dcb = heard(doors.DcbDoor(self), DataCentreBridging, self._hear)
        self.devlink = heard(doors.DevlinkDoor(self), Devlink, self._hear)

    @property
    def reachable(self) -> bool:
        """The host's own address answers: a bond carries frames."""
        return any(self.network.carries(bond, self.clock) for bond in self.network.bonds.values())

    @property
    def boot_id(self) -> str:
        """A fresh one for each boot."""
        digest = hashlib.sha256(f"boot {self.reboots}".encode()).hexdigest()
        return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"

    def power_on(self) -> None:
        """Memory is empty: no VF, no LAG, no /run; the bonds are not formed yet."""
        self.log = []
        self.disk.boot()
        self.locks.clear()
        self.network.down.clear()
        self.network.raised.clear()
        for nic in self.cards:
            nic.boot()
        self.rdma.power_on()
        for bridge in self.bridges.values():
            bridge.acs = 0
        self._bonded.clear()
        self._lag_due.clear()

    def _hear(self, call: Call, words: Sequence[str]) -> None:
        if call.writes:
            self.trace.append(" ".join((call.verb, *words)))
        if call.verb not in CANNOT_FAIL:
            self._fail(call.verb, *words)

    def _fail(self, verb: str, *arguments: str) -> None:
        words = " ".join(arguments)
        self.asked.append((verb, words))
        for fault in self.faults:
            if fault.verb == verb and fault.target in words and fault.times != 0:
                if fault.skip:
                    fault.skip -= 1
                    continue
                if fault.times is not None:
                    fault.times -= 1
                raise fault.error

    def members_changed(self) -> None:
        """mlx5 hears of its bond only when what it has of it changes."""
        for nic in self.cards:
            mode = self.network.bond_mode_of(nic)
            if self._bonded.get(nic.slot) != mode:
                self._bonded[nic.slot] = mode
                self.reconsider(nic)

    def reconsider(self, nic: FakeCard) -> None:
        self._lag_due[nic.slot] = self.clock + nic.lag_delay

    def saying(self, nic: FakeCard) -> Callable[[str], None]:
        return lambda line: self.log.append(f"mlx5_core {nic.ports[0].bdf}: {line}")

    def _without_mode_before_vfs(self) -> None:
        """mlx5 of jammy's GA kernel: no eswitch mode without VFs; and rdma-core as deployed there."""
        self.rdma.renamed = True
        for port in self.network.ports():
            port.none_mode, port.connections = True, None
            port.eswitch_mode = port.mode_at_start

    def profile_changed(self, port: FakePort) -> None:
        """The uplink's netdev and RDMA device began anew in another eswitch mode."""
        port.dcb.driver_restarts()
        self.rdma.re_add_those_of(self.network, port.bdf)

    def start(self, unit: str) -> object:
        """Start a unit, as systemd does; true if it fails: the boot units return problems."""
        service = self.services.get(unit)
        return self.as_process(lambda: service(self)) if service else None

    def as_process(self, run: Callable[[], object]) -> object:
        """Do what another process does meanwhile; its locks end with it."""
        before = self.process
        self._processes += 1
        own = self.process = self._processes
        try:
            return run()
        finally:
            self.locks = {path: process for path, process in self.locks.items() if process != own}
            self.process = before

    def card_of(self, port: FakePort) -> FakeCard:
        return next(nic for nic in self.cards if port in nic.ports)

    # System: other hosts.

    def answering(self, addresses: Collection[str], port: int, timeout: float) -> frozenset[str]:
        tried = [address for address in addresses if _is_address(address)]
        self.contacted += [f"{address} {port}" for address in tried]
        if not self.silent_hosts.isdisjoint(tried):
            self.sleep(timeout)
        return frozenset(tried) - self.silent_hosts

    # System: processes.

    def control(self, command: str, timeout: float) -> str:
        self._fail("control", command)
        return self._output(["ovs-appctl", command])

    def database(self, table: str, columns: Sequence[str], timeout: float) -> str:
        """An answer that a test gives to ``ovs-vsctl list`` holds here, too."""
        self._fail("database", table)
        if not self.ovs.installed:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), tools.DATABASE)
        return tools.database(self._output(["ovs-vsctl", "--format=json", "list", table]), columns)

    def query(self, argv: Sequence[str], timeout: float = 60.0) -> str:
        self.spawned.append(tuple(argv))
        self._fail("run", *argv)
        return self._output(argv)

    def run(self, argv: Sequence[str], timeout: float = 60.0, given: str = "") -> str:
        self.spawned.append(tuple(argv))
        self.given = given
        self.trace.append(" ".join(("run", *argv)))
        self._fail("run", *argv)
        return self._output(argv)

    def _output(self, argv: Sequence[str]) -> str:
        for prefix, answer in self.answers.items():
            if tuple(argv[: len(prefix)]) == prefix:
                if isinstance(answer, OSError):
                    raise answer
                return answer
        return tools.run(self, list(argv))

    # System: time.

    def now(self) -> float:
        return self.clock

    def sleep(self, seconds: float) -> None:
        self.clock += seconds
        for nic in self.cards:
            for vf in (vf for port in nic.ports for vf in port.vfs if vf.probed_at is not None):
                if vf.probed_at is not None and self.clock >= vf.probed_at:
                    vf.driver, vf.probed_at = "mlx5_core", None
            due = self._lag_due.get(nic.slot)
            if due is not None and self.clock >= due:
                del self._lag_due[nic.slot]
                vflag.consider(nic, self.network.bond_mode_of(nic), self.saying(nic))


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
