# SPDX-License-Identifier: Apache-2.0
"""The modelled host, as tests arrange it."""

from collections.abc import Callable, Sequence

from hostnic.system import Link

from lab.modelled import tools
from lab.modelled.kernel import FakeKernel, Fault
from lab.modelled.network import FakeBond
from lab.modelled.nic.model import FakeCard, FakePort, FakeVdpa, FakeVf, card

Boot = Callable[["FakeHost"], object]


class FakeHost(FakeKernel):
    """A compute node as MAAS leaves it: both PFs of a NIC in bond0, bond0 in the OVS bridge br-nvda.

    Attributes:
        cards, network, disk, ovs: its parts, for tests to look at and to change.
        kernel, iommu, debugfs, locked_down, mstconfig_version: what kind of machine it is; with a kernel
            before 5.19, mlx5 is as there (no LAG in debugfs, no eswitch mode without VFs).
        trace: every write in order: ``write /sys/… 8``, ``set_eswitch_mode 0000:3b:00.0 switchdev``.
        spawned: every command that ran, reading ones too.
        asked: every call with its words, reads too, as ``fail`` takes them.
        contacted: every address and port to which a TCP connection was tried.
        silent_hosts: addresses of other hosts that do not answer.
        log: this boot's kernel messages.
        answers: output of commands that the model does not know, by argv prefix.
        networkd: it runs, and puts a new netdev into its bond.
        services: what a unit does when it starts, at boot or later, by the unit's name.
        meanwhile: what happens while a service waits for changes of netdevs; then systemd ends it.

    """

    def __init__(
        self,
        cards: Sequence[FakeCard] | None = None,
        *,
        bonded: bool = True,
        kernel: str = "6.8.0-45-generic",
    ) -> None:
        super().__init__(list(cards) if cards is not None else [card()], kernel)
        self.networkd = True
        if bonded:
            self.network.bonds["bond0"] = FakeBond(members=sorted(p.netdev for p in self.cards[0].ports))
            self.network.others["br-nvda"] = _plain("br-nvda", "openvswitch")
        self.members_changed()
        self.sleep(10.0)

    def fail(self, verb: str, target: str, error: OSError, times: int | None = 1, *, skip: int = 0) -> None:
        """Have calls of the System method ``verb`` fail, before they change anything.

        Args:
            verb: ``write``, ``set_eswitch_mode``, ``read``, ``links`` …
            target: part of the call's arguments as the trace spells them; empty for any.
            error: what is raised.
            times: how often; None means from now on.
            skip: calls that still succeed before the first failure.

        """
        self.faults.append(Fault(verb, target, error, times, skip))

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
        source = f"<source><address {address}/></source>"
        self._write_status(name, f"<hostdev mode='subsystem' type='pci' managed='yes'>{source}</hostdev>")

    def add_vdpa(self, bdf: str, driver: str | None = "vhost_vdpa") -> FakeVdpa:
        """``vdpa dev add`` on the VF, which keeps its driver and its netdev.

        Its name has the VF's place among all VFs, its minor is the lowest that is free.
        """
        vfs = [vf for port in self.network.ports() for vf in port.vfs]
        used = {vf.vdpa.minor for vf in vfs if vf.vdpa}
        minor = next(number for number in range(len(used) + 1) if number not in used)
        vf = self.vf(bdf)
        vf.vdpa = FakeVdpa(f"vdpa{vfs.index(vf)}", driver, minor)
        return vf.vdpa

    def start_vdpa_instance(self, bdf: str, name: str = "instance-0000002a") -> None:
        """Give a vDPA device of the VF to a running virtual machine; ``stop_instance`` ends that one."""
        node = f"/dev/vhost-vdpa-{self.add_vdpa(bdf).minor}"
        self._write_status(
            name,
            f"<interface type='vdpa'><mac address='fa:16:3e:00:00:02'/><source dev='{node}'/>"
            "<target dev='vdpa0'/><model type='virtio'/></interface>",
        )

    def _write_status(self, name: str, device: str) -> None:
        xml = (
            f"<domstatus state='running'><domain type='kvm'><name>{name}</name><devices>{device}"
            "</devices></domain></domstatus>"
        )
        self.disk.install(f"/run/libvirt/qemu/{name}.xml", xml.encode(), 0o600)

    def open_rdma(self, bdf: str, process: int, command: str) -> None:
        """A process has the RDMA device of the port or VF open."""
        index = [*self.rdma.functions(self.network, self.now()).values()].index(bdf)
        self.disk.install(f"/proc/{process}/comm", f"{command}\n".encode(), 0o444)
        self.disk.link(f"/proc/{process}/fd/7", f"/dev/infiniband/uverbs{index}")

    def stop_instance(self, bdf: str, name: str = "instance-0000002a") -> None:
        """Take it back."""
        self.vf(bdf).driver = "mlx5_core"
        self.disk.remove(f"/run/libvirt/qemu/{name}.xml")

    def move_to_netns(self, bdf: str) -> None:
        """Move the VF's netdev into the network namespace of a container."""
        self.vf(bdf).netns = True

    def reboot(self, boot: Sequence[Boot] = (), after_network: Sequence[Boot] = ()) -> None:
        """Restart: /run, VFs, eswitch modes and LAGs are gone, installed files stay.

        Enabled units with an entry in ``services`` start: those ordered before network-pre.target
        (and ``boot``) while the PFs are in no bond yet, the others (and ``after_network``) after.
        """
        members = {bond.name: sorted({*bond.declared, *bond.members}) for bond in self.network.bonds.values()}
        self.reboots += 1
        self.power_on()
        for bond in self.network.bonds.values():
            bond.members = []
        self.clock += 90.0
        self._start(early=True, extra=boot)
        for name, netdevs in members.items():
            self.network.bonds[name].members = netdevs
            self.network.bonds[name].since = self.clock
        self.members_changed()
        self.sleep(5.0)
        self._start(early=False, extra=after_network)

    def _argument_words(self) -> list[str]:
        """The kernel's arguments."""
        path = "/proc/cmdline"
        return self.disk.read(path).split() if path in self.disk.content else []

    def _start(self, *, early: bool, extra: Sequence[Boot]) -> None:
        for name in self.services:
            unit = f"{tools.UNITS}/{name}"
            if not tools.is_enabled(self.disk, name):
                continue
            lines = self.disk.read(unit).splitlines()
            words = [
                line.partition("=!")[2] for line in lines if line.startswith("ConditionKernelCommandLine=!")
            ]
            if not set(words).isdisjoint(self._argument_words()):
                continue  # skipped, which is no failure (systemd.unit(5))
            orders = [line for line in lines if line.startswith("Before=")]
            if any("network-pre.target" in line for line in orders) == early:
                self.start(name)
        for function in extra:
            function(self)


def _plain(name: str, kind: str) -> Link:
    return Link(name, 0, None, None, 1500, True, True, kind, None, None, None, None)
