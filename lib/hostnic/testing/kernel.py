# SPDX-License-Identifier: Apache-2.0
"""The modelled host's kernel: every call of :class:`hostnic.system.System`, answered from its state."""

import errno
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hostnic.devices import pci
from hostnic.netlink.dcb import App, Dcb, dcbx_words, setting_names
from hostnic.process import only_reads
from hostnic.system import DeviceInfo, Link, Pause
from hostnic.testing import mlx5, rdma, sysfs, tools, vflag
from hostnic.testing.dcb import FakeDcb
from hostnic.testing.files import FakeFiles, missing
from hostnic.testing.flash import FakeFlash
from hostnic.testing.network import FakeNetwork
from hostnic.testing.nic import FakeCard, FakePort
from hostnic.testing.pcispace import FakeBridge


@dataclass
class Fault:
    """An error for the next ``times`` calls of ``verb`` on ``target``; forever when None."""

    verb: str
    target: str
    error: OSError
    times: int | None
    skip: int


class FakeKernel:
    """State and calls; what tests arrange is in :class:`hostnic.testing.FakeHost`."""

    def __init__(self, cards: list[FakeCard], kernel: str) -> None:
        self.cards = cards
        self.kernel = kernel
        self.iommu = True
        self.lag_debugfs = True
        self.locked_down = False
        self.flash = FakeFlash()
        self.bridges: dict[str, FakeBridge] = {}
        self.mstconfig_version = "4.26"
        self.reboots = 0
        self.trace: list[str] = []
        self.spawned: list[tuple[str, ...]] = []
        self.log: list[str] = []
        self.files = FakeFiles()
        self.files.install("/proc/cpuinfo", b"vendor_id\t: GenuineIntel\n", 0o444)
        self.network = FakeNetwork(cards)
        self.ovs = tools.FakeOvs()
        self.rdma = rdma.FakeRdma()
        self.blackouts = 0
        self.answers: dict[tuple[str, ...], str | OSError] = {}
        self.faults: list[Fault] = []
        self.clock = 1000.0
        self._lag_due: dict[str, float] = {}
        self._bonded: dict[str, str | None] = {}

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
        self.files.boot()
        self.network.down.clear()
        for nic in self.cards:
            nic.boot()
        self.rdma.power_on()
        for bridge in self.bridges.values():
            bridge.acs = 0
        self._bonded.clear()
        self._lag_due.clear()

    def _call(self, verb: str, *arguments: object) -> None:
        words = " ".join(str(argument) for argument in arguments)
        for fault in self.faults:
            if fault.verb == verb and fault.target in words and fault.times != 0:
                if fault.skip:
                    fault.skip -= 1
                    continue
                if fault.times is not None:
                    fault.times -= 1
                raise fault.error

    def _write(self, verb: str, *arguments: object) -> None:
        self.trace.append(" ".join([verb, *(str(argument) for argument in arguments)]))
        self._call(verb, *arguments)

    def members_changed(self) -> None:
        """mlx5 hears of its bond only when what it has of it changes."""
        for nic in self.cards:
            mode = self.network.bond_mode_of(nic)
            if self._bonded.get(nic.slot) != mode:
                self._bonded[nic.slot] = mode
                self._reconsider(nic)

    def _reconsider(self, nic: FakeCard) -> None:
        self._lag_due[nic.slot] = self.clock + nic.lag_delay

    def _saying(self, nic: FakeCard) -> Callable[[str], None]:
        return lambda line: self.log.append(f"mlx5_core {nic.ports[0].bdf}: {line}")

    def _card_of(self, port: FakePort) -> FakeCard:
        return next(nic for nic in self.cards if port in nic.ports)

    def _present_port(self, bdf: str) -> FakePort:
        for port in self.network.ports():
            if port.bdf == bdf and not port.gone and port.driver == "mlx5_core":
                return port
        raise mlx5.refuse(errno.ENODEV)

    def _uplink(self, netdev: str) -> FakePort | None:
        return next((port for port in self.network.ports() if port.netdev == netdev), None)

    def _need_link(self, name: str) -> None:
        if not any(link.name == name for link in self.network.links(self.clock)):
            raise mlx5.refuse(errno.ENODEV)

    # System: files.

    def _look(self, path: str, follow: bool = False) -> "sysfs.Node | sysfs.Tree | None":
        root = sysfs.mounts(
            self.network,
            self.iommu,
            self.lag_debugfs,
            self.clock,
            self.kernel,
            self.boot_id,
            self.locked_down,
            self.bridges,
        )
        return sysfs.look({**self.rdma.mounts(self.network), **root}, path, follow)

    def read(self, path: str) -> str:
        self._call("read", path)
        node = self._look(path)
        if path.startswith(f"{rdma.CONFIGFS}/"):
            self.rdma.check(self.network, path)
        if isinstance(node, str):
            return node
        return self.files.read(path)

    def listdir(self, path: str) -> list[str]:
        self._call("listdir", path)
        node = self._look(path, follow=True)
        return sorted(node) if isinstance(node, dict) else self.files.listdir(path)

    def readlink(self, path: str) -> str:
        self._call("readlink", path)
        node = self._look(path)
        return node.target if isinstance(node, sysfs.SymLink) else self.files.readlink(path)

    def exists(self, path: str) -> bool:
        return self._look(path) is not None or self.files.exists(path)

    def write(self, path: str, value: str) -> None:
        self._write("write", path, value)
        if path.startswith(pci.DRIVERS):
            driver, _, action = path[len(pci.DRIVERS) + 1 :].partition("/")
            self._bind(driver, action, value)
        elif path.startswith(pci.DEVICES):
            bdf, _, name = path[len(pci.DEVICES) + 1 :].partition("/")
            self._set_attribute(bdf, name, value)
        elif path.startswith(rdma.CONFIGFS):
            self.rdma.write(self.network, path, value)
        elif self._look(path) is not None:
            self.rdma.write_attribute(path, value)
        else:
            raise missing(path)

    def _set_attribute(self, bdf: str, name: str, value: str) -> None:
        port = next((p for p in self.network.ports() if p.bdf == bdf and not p.gone), None)
        if port is None or not port.total_vfs:
            raise missing(pci.attribute(bdf, name))
        if name == "sriov_numvfs":
            had = bool(port.vfs)
            mlx5.set_num_vfs(port, value, self.clock)
            if port.vfs and not had and port.eswitch_mode == "legacy":
                nic = self._card_of(port)
                vflag.dissolve(nic, self._saying(nic))
                self._reconsider(nic)
        elif name == "sriov_drivers_autoprobe":
            port.autoprobe = value == "1"
        else:
            raise missing(pci.attribute(bdf, name))

    def _bind(self, driver: str, action: str, bdf: str) -> None:
        found = [(p, vf) for p in self.network.ports() for vf in p.present(self.clock) if vf.bdf == bdf]
        if not found or (action == "unbind" and found[0][1].driver != driver):
            raise mlx5.refuse(errno.ENODEV)
        port, vf = found[0]
        if action == "unbind":
            vf.driver, vf.netns, vf.vdpa = None, False, None
        elif action == "bind":
            mlx5.bind(port, vf, driver)
        else:
            raise missing(f"{pci.DRIVERS}/{driver}/{action}")

    def install(self, path: str, content: bytes, mode: int = 0o644) -> None:
        self._write("install", path)
        self.files.install(path, content, mode)

    def remove(self, path: str) -> None:
        self._write("remove", path)
        self.files.remove(path)

    def mkdir(self, path: str) -> None:
        self._write("mkdir", path)
        self.rdma.mkdir(self.network, path)

    # System: processes.

    def run(
        self,
        argv: Sequence[str],
        stdin: str | None = None,  # noqa: ARG002 - no command of the model reads it
        timeout: float = 60.0,  # noqa: ARG002 - every command of the model ends at once
    ) -> str:
        self.spawned.append(tuple(argv))
        (self._call if only_reads(argv) else self._write)("run", *argv)
        for prefix, answer in self.answers.items():
            if tuple(argv[: len(prefix)]) == prefix:
                if isinstance(answer, OSError):
                    raise answer
                return answer
        return tools.run(self, list(argv))

    # System: netlink.

    def links(self) -> list[Link]:
        self._call("links")
        return self.network.links(self.clock)

    def addresses(self, link: str) -> list[str]:
        self._call("addresses", link)
        self._need_link(link)
        return self.network.addresses_of(link)

    def set_master(self, link: str, master: str | None) -> None:
        self._write("set_master", link, master or "none")
        self._need_link(link)
        self.network.set_master(link, master, self.clock)
        self.members_changed()

    def set_up(self, link: str, up: bool) -> None:
        self._write("set_up", link, "up" if up else "down")
        self._need_link(link)
        self.network.set_up(link, up)

    def hw_tc_offload(self, link: str) -> bool | None:
        self._call("hw_tc_offload", link)
        self._need_link(link)
        port = self._uplink(link)
        return port.hw_tc_offload if port else False

    def set_hw_tc_offload(self, link: str, on: bool) -> None:
        self._write("set_hw_tc_offload", link, "on" if on else "off")
        self._need_link(link)
        port = self._uplink(link)
        if port is None:
            raise mlx5.refuse(errno.EOPNOTSUPP)
        port.hw_tc_offload = on

    def pause(self, link: str) -> Pause | None:
        self._call("pause", link)
        self._need_link(link)
        port = self._uplink(link)
        return Pause(port.pause, port.pause) if port else None

    def set_pause(self, link: str, rx: bool, tx: bool) -> None:
        self._write("set_pause", link, "on" if rx else "off", "on" if tx else "off")
        self._need_link(link)
        port = self._uplink(link)
        if port is None:
            raise mlx5.refuse(errno.EOPNOTSUPP)
        port.pause = rx

    # System: dcbnl.

    def _dcb(self, link: str) -> FakeDcb:
        if link != "lo":  # which every kernel has
            self._need_link(link)
        port = self._uplink(link)
        if port is None:
            raise mlx5.refuse(errno.EOPNOTSUPP)
        return port.dcb

    def dcb(self, link: str) -> Dcb:
        self._call("dcb", link)
        return self._dcb(link).get()

    def set_dcb(self, link: str, wanted: Dcb) -> None:
        self._write("set_dcb", link, *setting_names(wanted))
        if self._dcb(link).set(wanted):
            self.network.flap(link, self.clock)
            bonds = [bond for bond in self.network.bonds.values() if link in bond.members]
            begin, _ = self.network.flaps[link]
            self.blackouts += sum(
                self.network.carries(bond, self.clock) and not self.network.carries(bond, begin)
                for bond in bonds
            )

    def delete_dcb_apps(self, link: str, apps: Sequence[App]) -> None:
        self._write("delete_dcb_apps", link, len(apps))
        self._dcb(link).delete_apps(apps)

    def set_dcbx(self, link: str, mode: int) -> None:
        self._write("set_dcbx", link, dcbx_words(mode))
        self._dcb(link).set_dcbx(mode)

    def eswitch_mode(self, bdf: str) -> str | None:
        self._call("eswitch_mode", bdf)
        return self._present_port(bdf).eswitch_mode

    def set_eswitch_mode(self, bdf: str, mode: str) -> None:
        self._write("set_eswitch_mode", bdf, mode)
        port = self._present_port(bdf)
        nic = self._card_of(port)
        if mode not in ("legacy", "switchdev"):
            raise mlx5.refuse(errno.EINVAL)
        if mode != port.eswitch_mode and mlx5.busy(nic, port, self.network.bond_of(port.netdev) is not None):
            raise mlx5.refuse(errno.EBUSY, mlx5.BUSY)
        vflag.dissolve(nic, self._saying(nic))
        self._reconsider(nic)
        if mode != port.eswitch_mode:
            mlx5.set_eswitch_mode(port, mode, self.clock)
            port.dcb.driver_restarts()
            self.rdma.re_add_those_of(self.network, port.bdf)

    def set_inline_mode(self, bdf: str, mode: str) -> None:
        self._write("set_inline_mode", bdf, mode)
        port = self._present_port(bdf)
        mlx5.set_inline_mode(self._card_of(port), port, mode)

    def devlink_param(self, bdf: str, name: str) -> str | bool | int | None:
        self._call("devlink_param", bdf, name)
        port = self._present_port(bdf)
        return mlx5.param(self._card_of(port), port, name)

    def set_devlink_param(self, bdf: str, name: str, value: str | bool | int) -> None:
        self._write("set_devlink_param", bdf, name, value)
        port = self._present_port(bdf)
        mlx5.set_param(self._card_of(port), port, name, value)

    def device_info(self, bdf: str) -> DeviceInfo:
        self._call("device_info", bdf)
        nic = self._card_of(self._present_port(bdf))
        return DeviceInfo(nic.version, nic.psid)

    # System: time.

    def now(self) -> float:
        return self.clock

    def sleep(self, seconds: float) -> None:
        self.clock += seconds
        for nic in self.cards:
            due = self._lag_due.get(nic.slot)
            if due is not None and self.clock >= due:
                del self._lag_due[nic.slot]
                vflag.consider(nic, self.network.bond_mode_of(nic), self._saying(nic))
