# SPDX-License-Identifier: Apache-2.0
"""QEMU for a guest: the hardware that it emulates, and its process."""

import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import iommu
from lab.cable import WIRES, Nic
from lab.process import die_with_parent

UNHURRIED = "systemd.service_watchdogs=no udev.event_timeout=7200"
"""Limits of systemd that count the wall clock, while a busy host gives a guest little of its processor: the
watchdogs of udevd, networkd and journald (three minutes), and udev's time for one event, such as that which
loads the card's module. The lab's own limits (lab.patience) end a guest that hangs. Those for the start of
units are in images/root/etc/systemd/system.conf.d."""


@dataclass(frozen=True)
class Machine:
    """The hardware of a guest. A snapshot fits only the hardware that it was taken on.

    Attributes:
        accelerator: QEMU's arguments for KVM, or for emulation.
        memory: MiB.
        nics: its ends of cables to other guests.
        disks: files with file systems that it only reads: raw ones, and qcow2 by their name.
        with_iommu: whether PCI devices have IOMMU groups.

    """

    accelerator: Sequence[str]
    memory: int
    nics: Sequence[Nic]
    disks: Sequence[Path]
    with_iommu: bool

    @property
    def kind(self) -> list[str]:
        """The properties that tell it from other hardware."""
        macs = (nic.mac for nic in self.nics)
        return [*self._board, *self.accelerator, *macs, str(self.memory), *map(str, self.disks)]

    @property
    def _board(self) -> list[str]:
        return iommu.MACHINE if self.with_iommu else ["-machine", "pc"]

    def start(
        self,
        directory: Path,
        kernel: Path,
        initrd: Path,
        far: Sequence[socket.socket],
        *,
        cold: bool,
        snapshot: str | None,
        arguments: str = "",
    ) -> subprocess.Popen[bytes]:
        """Start QEMU on the files of a guest's directory; it ends when this process does.

        Args:
            directory: has ``disk.qcow2`` and ``code.img``, and gets ``console.log`` and ``qemu.log``.
            kernel: of the guest.
            initrd: of the guest.
            far: QEMU's ends, which are closed here: the agent's, the monitor's, the shell's.
            cold: whether the card's power was off before; its module is told.
            snapshot: the one to start from, or none for a boot.
            arguments: more ones for the kernel, as an operator types them in the boot loader.

        """
        numbers = [sock.fileno() for sock in far]
        append = f"{self._kernel_command_line(cold=cold)} {arguments}".rstrip()
        files = ["-kernel", str(kernel), "-initrd", str(initrd), "-append", append]
        command = [*self._command(directory, numbers), *files]
        if snapshot:
            command += ["-loadvm", snapshot]
        with (directory / "qemu.log").open("wb") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                pass_fds=numbers, preexec_fn=die_with_parent,
            )  # fmt: skip
        for sock in far:
            sock.close()
        return process

    def _kernel_command_line(self, *, cold: bool) -> str:
        cold_start = " mlx5_core.power_cycle=1" if cold else ""
        wired = " lab.wires" if any(nic.mac in WIRES for nic in self.nics) else ""
        groups = f" {iommu.PARAMETERS}" if self.with_iommu else ""
        return (
            f"root=/dev/vda rw console=ttyS0 quiet panic=-1 systemd.show_status=false {UNHURRIED} "
            # What costs time under emulation and protects nothing here.
            "mitigations=off random.trust_cpu=on audit=0 nowatchdog lsm=capability rodata=off nokaslr "
            f"cryptomgr.notests no_timer_check{cold_start}{wired}{groups}"
        )

    def _command(self, directory: Path, far: Sequence[int]) -> list[str]:
        agent, monitor, shell = far
        root = f"file={directory / 'disk.qcow2'},format=qcow2,cache=unsafe,discard=unmap"
        command = [
            "qemu-system-x86_64", *self.accelerator, *self._board, "-smp", "2", "-m", str(self.memory),
            "-nodefaults", "-no-user-config", "-display", "none", "-action", "reboot=shutdown",
            "-chardev", f"file,id=console,path={directory / 'console.log'},append=on",
            "-serial", "chardev:console",
            "-chardev", f"socket,id=monitor,fd={monitor}",
            "-mon", "chardev=monitor,mode=control",
            "-drive", f"if=none,id=root,{root}",
            "-device", "virtio-blk-pci,drive=root",
            "-drive", f"if=none,id=code,file={directory / 'code.img'},format=raw,readonly=on",
            "-device", "virtio-blk-pci,drive=code",
            "-device", "virtio-rng-pci", "-device", "virtio-serial-pci",
            "-chardev", f"socket,id=agent,fd={agent}",
            "-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0",
            "-chardev", f"socket,id=shell,fd={shell}", "-device", "virtconsole,chardev=shell",
        ]  # fmt: skip
        for number, disk in enumerate(self.disks):
            kind = "qcow2" if disk.suffix == ".qcow2" else "raw"
            drive = f"if=none,id=disk{number},file={disk},format={kind},readonly=on"
            command += ["-drive", drive, "-device", f"virtio-blk-pci,drive=disk{number}"]
        for number, nic in enumerate(self.nics):
            command += nic.arguments(f"cable{number}")
        return command
