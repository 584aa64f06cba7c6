# SPDX-License-Identifier: Apache-2.0
"""The modelled host: a whole :class:`hostnic.system.System` in memory."""

import errno
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hostnic import pci
from hostnic.process import only_reads
from hostnic.system import DeviceInfo, Link
from hostnic.testing import mlx5, sysfs, tools, vflag
from hostnic.testing.files import FakeFiles, missing
from hostnic.testing.network import FakeBond, FakeNetwork
from hostnic.testing.nic import FakeCard, FakePort, FakeVf, card

Boot = Callable[["FakeHost"], object]


@dataclass
class Fault:
    """An error for the next ``times`` calls of ``verb`` on ``target``; forever when None."""

    verb: str
    target: str
    error: OSError
    times: int | None
    skip: int


class FakeHost:
    """A compute node as MAAS leaves it: both PFs of a NIC in bond0, bond0 in an OVS bridge.

    Attributes:
        trace: every write in order: ``write /sys/… 8``, ``set_eswitch_mode 0000:3b:00.0 switchdev``.
        spawned: every command that ran, reading ones too.
        files: files that are not the kernel's: ``files.content["/etc/…"]`` is bytes.
        network: bonds, links, cables.
        log: this boot's kernel messages.
        services: what a unit does when it starts at boot, by the unit's name.
        answers: output of commands that the model does not know, by argv prefix.

    """

    def __init__(
        self,
        cards: Sequence[FakeCard] | None = None,
        *,
        bonded: bool = True,
        kernel: str = "6.8.0-45-generic",
    ) -> None:
        self.cards = list(cards) if cards is not None else [card()]
        self.kernel = kernel
        self.iommu = True
        self.lag_debugfs = True
        self.reboots = 0
        self.trace: list[str] = []
        self.spawned: list[tuple[str, ...]] = []
        self.log: list[str] = []
        self.files = FakeFiles()
        self.network = FakeNetwork(self.cards)
        self.services: dict[str, Boot] = {}
        self.answers: dict[tuple[str, ...], str | OSError] = {}
        self.mstconfig_version = "4.26"
        self._clock = 1000.0
        self._faults: list[Fault] = []
        self._lag_due: dict[str, float] = {}
        self._bonded: dict[str, str | None] = {}
        if bonded:
            self.network.bonds["bond0"] = FakeBond(members=sorted(p.netdev for p in self.cards[0].ports))
            self.network.others["br-nvda"] = _plain("br-nvda", "openvswitch")
        self._members_changed()
        self.sleep(10.0)

    # What a test arranges.

    def fail(self, verb: str, target: str, error: OSError, times: int | None = 1, *, skip: int = 0) -> None:
        """Have calls of the System method ``verb`` fail, before they change anything.

        Args:
            verb: ``write``, ``set_eswitch_mode``, ``read``, ``links`` …
            target: part of the call's arguments as the trace spells them; empty for any.
            error: what is raised.
            times: how often; None means from now on.
            skip: calls that still succeed before the first failure.

        """
        self._faults.append(Fault(verb, target, error, times, skip))

    def port(self, name: str) -> FakePort:
        """The PF with this BDF or netdev name."""
        return next(port for port in self.network.ports() if name in (port.bdf, port.netdev))

    def vf(self, bdf: str) -> FakeVf:
        """The VF at ``bdf``."""
        return next(vf for port in self.network.ports() for vf in port.vfs if vf.bdf == bdf)

    def start_instance(self, bdf: str, name: str = "instance-0000002a") -> None:
        """Give the VF to a running virtual machine, as libvirt does."""
        self.vf(bdf).driver = "vfio-pci"
        domain, bus, rest = bdf.split(":")
        slot, function = rest.split(".")
        address = f"domain='0x{domain}' bus='0x{bus}' slot='0x{slot}' function='0x{function}'"
        xml = (
            f"<domstatus state='running'><domain type='kvm'><name>{name}</name><devices>"
            f"<hostdev mode='subsystem' type='pci' managed='yes'><source><address {address}/></source>"
            "</hostdev></devices></domain></domstatus>"
        )
        self.files.install(f"/run/libvirt/qemu/{name}.xml", xml.encode(), 0o600)

    def stop_instance(self, bdf: str, name: str = "instance-0000002a") -> None:
        """Take it back."""
        self.vf(bdf).driver = "mlx5_core"
        self.files.remove(f"/run/libvirt/qemu/{name}.xml")

    def move_to_netns(self, bdf: str) -> None:
        """Move the VF's netdev into the network namespace of a container."""
        self.vf(bdf).netns = True

    @property
    def reachable(self) -> bool:
        """The host's own address answers: bond0 carries frames."""
        return any(self.network.carries(bond, self._clock) for bond in self.network.bonds.values())

    @property
    def boot_id(self) -> str:
        """A fresh one for each boot."""
        digest = hashlib.sha256(f"boot {self.reboots}".encode()).hexdigest()
        return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"

    def reboot(self, boot: Sequence[Boot] = (), after_network: Sequence[Boot] = ()) -> None:
        """Restart: /run, VFs, eswitch modes and LAGs are gone, installed files stay.

        Enabled units with an entry in ``services`` start: those ordered before network-pre.target
        (and ``boot``) while the PFs are in no bond yet, the others (and ``after_network``) after.
        """
        members = {bond.name: list(bond.members) for bond in self.network.bonds.values()}
        self.reboots += 1
        self.log = []
        self.files.boot()
        self.network.down.clear()
        for nic in self.cards:
            nic.boot()
        for bond in self.network.bonds.values():
            bond.members = []
        self._bonded.clear()
        self._lag_due.clear()
        self._clock += 90.0
        self._start(early=True, extra=boot)
        for name, netdevs in members.items():
            self.network.bonds[name].members = netdevs
            self.network.bonds[name].since = self._clock
        self._members_changed()
        self.sleep(5.0)
        self._start(early=False, extra=after_network)

    def _start(self, *, early: bool, extra: Sequence[Boot]) -> None:
        for name, service in self.services.items():
            unit = f"{tools.UNITS}/{name}"
            if not tools.is_enabled(self.files, name):
                continue
            orders = [line for line in self.files.read(unit).splitlines() if line.startswith("Before=")]
            if any("network-pre.target" in line for line in orders) == early:
                service(self)
        for function in extra:
            function(self)

    # Bookkeeping.

    def _call(self, verb: str, *arguments: object) -> None:
        words = " ".join(str(argument) for argument in arguments)
        for fault in self._faults:
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

    def _members_changed(self) -> None:
        """mlx5 hears of its bond only when what it has of it changes."""
        for nic in self.cards:
            mode = self.network.bond_mode_of(nic)
            if self._bonded.get(nic.slot) != mode:
                self._bonded[nic.slot] = mode
                self._reconsider(nic)

    def _reconsider(self, nic: FakeCard) -> None:
        self._lag_due[nic.slot] = self._clock + nic.lag_delay

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
        if not any(link.name == name for link in self.network.links(self._clock)):
            raise mlx5.refuse(errno.ENODEV)

    # System: files.

    def _look(self, path: str) -> "sysfs.Node | sysfs.Tree | None":
        root = sysfs.tree(self.network, self.iommu, self.lag_debugfs, self._clock, self.kernel, self.boot_id)
        return sysfs.look(root, path)

    def read(self, path: str) -> str:
        self._call("read", path)
        node = self._look(path)
        if isinstance(node, str):
            return node
        return self.files.read(path)

    def listdir(self, path: str) -> list[str]:
        self._call("listdir", path)
        node = self._look(path)
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
        else:
            raise missing(path)

    def _set_attribute(self, bdf: str, name: str, value: str) -> None:
        port = next((p for p in self.network.ports() if p.bdf == bdf and not p.gone), None)
        if port is None or not port.total_vfs:
            raise missing(pci.attribute(bdf, name))
        if name == "sriov_numvfs":
            had = bool(port.vfs)
            mlx5.set_num_vfs(port, value, self._clock)
            if port.vfs and not had and port.eswitch_mode == "legacy":
                nic = self._card_of(port)
                vflag.dissolve(nic, self._saying(nic))
                self._reconsider(nic)
        elif name == "sriov_drivers_autoprobe":
            port.autoprobe = value == "1"
        else:
            raise missing(pci.attribute(bdf, name))

    def _bind(self, driver: str, action: str, bdf: str) -> None:
        vf = next((vf for p in self.network.ports() for vf in p.present(self._clock) if vf.bdf == bdf), None)
        if vf is None or (action == "unbind" and vf.driver != driver):
            raise mlx5.refuse(errno.ENODEV)
        if action == "unbind":
            vf.driver, vf.netns = None, False
        elif action == "bind":
            mlx5.bind(vf, driver)
        else:
            raise missing(f"{pci.DRIVERS}/{driver}/{action}")

    def install(self, path: str, content: bytes, mode: int = 0o644) -> None:
        self._write("install", path)
        self.files.install(path, content, mode)

    def remove(self, path: str) -> None:
        self._write("remove", path)
        self.files.remove(path)

    # System: processes.

    def run(self, argv: Sequence[str], stdin: str | None = None, timeout: float = 60.0) -> str:
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
        return self.network.links(self._clock)

    def set_master(self, link: str, master: str | None) -> None:
        self._write("set_master", link, master or "none")
        self._need_link(link)
        self.network.set_master(link, master, self._clock)
        self._members_changed()

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
            mlx5.set_eswitch_mode(port, mode, self._clock)

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
        return self._clock

    def sleep(self, seconds: float) -> None:
        self._clock += seconds
        for nic in self.cards:
            due = self._lag_due.get(nic.slot)
            if due is not None and self._clock >= due:
                del self._lag_due[nic.slot]
                vflag.consider(nic, self.network.bond_mode_of(nic), self._saying(nic))


def _plain(name: str, kind: str) -> Link:
    return Link(name, 0, None, None, 1500, True, True, kind, None, None, None, None)
