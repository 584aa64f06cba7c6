# SPDX-License-Identifier: Apache-2.0
"""One throw-away virtual machine: power, files, commands, snapshots."""

import contextlib
import fcntl
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

from lab import code, host, iommu, qemu, store
from lab.accel import accelerator, qemu_version
from lab.cable import Nic
from lab.channel import Agent, ChannelError, Monitor
from lab.image import Image, digest, image, locked
from lab.juju.remote import Unit
from lab.patience import STALLED, Patience
from lab.progress import Step
from lab.releases import RELEASES

MEMORY = 1024  # MiB
BOOTED = "first-boot"
BOOT = 600.0  # seconds until its agent answers, and then until systemd has started all
FAILED = "systemctl list-units --failed --plain --no-legend | cut -d' ' -f1 | xargs -r systemctl status -l; :"
"""Prints the units that failed, with the end of what each one logged."""
LEFT_ALONE = """networkctl list --no-legend | while read -r _ name _ _ setup; do
    [ "$setup" != unmanaged ] || [ ! -e "/run/systemd/network/10-netplan-$name.network" ] || echo "$name"
done"""
"""Prints the netdevs of netplan's files that networkd does not configure.

On a slow machine systemd 249 may look at a port between its new name and udev's second event for the old
one, and then leaves it alone for the whole boot.
"""
ENVIRONMENT = [
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME=/root",
    "LC_ALL=C.UTF-8",
]


class GuestError(RuntimeError):
    """A command failed in the guest, or the guest itself did."""


@dataclass(frozen=True)
class Setup:
    """The changes to a guest's image: made and booted once, and kept in the snapshot that it starts from.

    Attributes:
        name: of this kind of guest, fit for a file's name.
        script: of the shell; root runs it after the image's first boot, and reboots.
        running: of the shell, too; root runs it after that, and what it leaves running is in the snapshot.
            The project's code is not: it copies what it needs.

    """

    name: str
    script: str
    running: str = ""


@dataclass(frozen=True)
class Completed:
    """A finished command of the guest."""

    returncode: int
    stdout: str
    stderr: str


class Guest:
    """A virtual machine of a release, from ``with`` to its end.

    Its disk is an overlay on the cached image, in a directory of its own that vanishes with it. Two guests,
    or two runs on one host, share nothing but the image.

    Args:
        release: one of ``lab.releases``.
        console_log: keep the serial console's log at this path, too, when the guest is gone.
        nics: its ends of cables to other guests; see :mod:`lab.cable`.
        setup: what it is besides the image.
        memory: MiB.
        disks: files with file systems that it only reads, known to it by their labels.
        with_iommu: whether PCI devices have IOMMU groups, so that vfio-pci can take a VF; see
            :mod:`lab.iommu`.
        newer: a release of the same distribution, whose kernel :meth:`upgrade_kernel` installs.

    """

    def __init__(
        self,
        release: str = "trixie",
        *,
        console_log: Path | None = None,
        nics: Sequence[Nic] = (),
        setup: Setup | None = None,
        memory: int = MEMORY,
        disks: Sequence[Path] = (),
        with_iommu: bool = False,
        newer: str = "",
    ) -> None:
        self.release = RELEASES[release]
        self._newer = image(newer) if newer else None
        self._nics = nics
        self._setup = setup or Setup(f"nics-{digest(nic.mac for nic in nics)}" if nics else "plain", "")
        self._with_iommu = with_iommu
        self._name = f"{self._setup.name}-iommu" if with_iommu else self._setup.name
        self._keep_log = console_log
        self._memory = memory
        self._disks = [*disks, self._newer.disk] if self._newer else disks
        self._upgraded = False
        self.shell_socket: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._agent: Agent | None = None
        self._monitor: Monitor | None = None

    def __enter__(self) -> "Guest":
        self._image_lock = self._image.kernel.open()
        fcntl.flock(self._image_lock, fcntl.LOCK_SH)
        with locked(store.folder() / "guests.lock"):  # else one sweeps another's, made and not yet locked
            host.sweep_guests()
            self.directory = Path(tempfile.mkdtemp(prefix="guest-", dir=store.folder()))
            self._directory_lock = (self.directory / "lock").open("w")
            fcntl.flock(self._directory_lock, fcntl.LOCK_SH)
        self.console = self.directory / "console.log"
        try:
            self._disk = self.directory / "disk.qcow2"
            code.write_disk(self.directory / "code.img")
            self._initrd = self._image.initrd
            if self._with_iommu:
                self._initrd = self.directory / "initrd"
                self._initrd.write_bytes(iommu.before(self._image.initrd.read_bytes()))
            with locked(self._image.directory / f"first-boot-{self._name}.lock"):
                if not self._booted.exists():
                    self._boot_first()
            copy = ["cp", "--sparse=always", "--reflink=auto", str(self._booted), str(self._disk)]
            subprocess.run(copy, check=True)
            self._start(cold=True, snapshot=BOOTED)
            self.run(f"date -s @{time.time():.0f} && mount {code.MOUNTED}")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._stopped()
        if self._keep_log and self.console.exists():
            self._keep_log.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.console, self._keep_log)
        shutil.rmtree(self.directory)
        self._directory_lock.close()
        self._image_lock.close()

    def prepare(self) -> None:
        """Build the image and do the first boot now, with their progress shown, unless the cache has them."""
        if not self._booted.exists():
            with self:
                pass

    @cached_property
    def _image(self) -> Image:
        return image(self.release.name)

    @cached_property
    def _machine(self) -> qemu.Machine:
        return qemu.Machine(accelerator(self._image), self._memory, self._nics, self._disks, self._with_iommu)

    @cached_property
    def _booted(self) -> Path:
        """A disk with the snapshot of a complete first boot, kept beside the image that it belongs to.

        A snapshot fits only the QEMU and the devices that it was taken with.
        """
        directory = self._image.directory  # first: a host may have QEMU only since then
        made_by = [Path(module) for module in (__file__, qemu.__file__, iommu.__file__)]
        setup = (self._setup.script, self._setup.running)
        key = digest([qemu_version(), *self._machine.kind, *setup, *made_by])
        return directory / f"booted-{self._name}-{key}.qcow2"

    def _boot_first(self) -> None:
        """Boot the image for real, once; later guests start from there in seconds.

        The code disk differs from run to run, so that it is not mounted in the snapshot.
        """
        for other in self._image.directory.glob(f"booted-{self._name}-{'?' * 16}.qcow2"):
            other.unlink()
        create = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", str(self._image.disk)]
        subprocess.run([*create, str(self._disk)], check=True, stdin=subprocess.DEVNULL)
        with Step(f"{self.release.title}: first boot of {self._name}"):
            try:
                self._start(cold=True)
                if self._setup.script:
                    self.run(self._setup.script, timeout=600)  # several may boot side by side
                    self.reboot()
                if self.run(LEFT_ALONE).stdout:
                    self.reboot()
                if self._setup.running:
                    self.run(self._setup.running, timeout=900)
                if failed := self.run(f"{FAILED}\n{LEFT_ALONE}").stdout:
                    raise GuestError(f"not a boot to start from:\n{failed}")
            except GuestError as problem:
                kept = store.folder() / f"first-boot-{self.release.name}-{self._name}.log"
                shutil.copy(self.console, kept)
                raise GuestError(f"{problem}\nThe guest's console is kept in {kept}.") from problem
            self.run(f"umount -q {code.MOUNTED}; sync && echo 3 >/proc/sys/vm/drop_caches")
            self.save(BOOTED)
        self._power_off()
        self._disk.rename(self._booted)

    def kill(self) -> None:
        """Pull the plug for good, from any thread: whoever waits for the guest gets an error."""
        if self._process and self._process.poll() is None:
            self._process.kill()

    def run(
        self,
        command: str | Sequence[str],
        *,
        check: bool = True,
        timeout: float = 60,
        stdin: str | None = None,
    ) -> Completed:
        """Run a command as root and wait for its end; a string goes to ``sh -c``.

        Args:
            command: what to run.
            check: whether another exit status than 0 is an error.
            timeout: seconds as :class:`lab.patience.Patience` counts them; then the process is ended.
            stdin: what it reads.

        Raises:
            GuestError: it failed (with ``check``), took longer than ``timeout``, or the guest is gone.

        """
        argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        try:
            status, out, err = self.agent.run(
                argv, stdin.encode() if stdin is not None else None, ENVIRONMENT, timeout
            )
        except ChannelError as problem:
            raise GuestError(f"{problem}\n{self.tail()}") from problem
        done = Completed(status, out.decode(errors="replace"), err.decode(errors="replace"))
        if check and status != 0:
            shown = command if isinstance(command, str) else shlex.join(command)
            raise GuestError(
                f"exit status {status}: {shown[:500]}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
            )
        return done

    def patience(self, limit: float) -> Patience:
        """A deadline of as many seconds, counted as far as this guest could use them."""
        return Patience(limit, self.processes)

    def processes(self) -> list[int]:
        """Of this guest, while it runs: QEMU's id."""
        return [self._process.pid] if self._process else []

    def until(self, holds: Callable[[], bool], limit: float, pause: float = 1.0) -> bool:
        """Whether something comes to hold within as many seconds; it is asked again after each pause."""
        patience = self.patience(limit)
        while not holds():
            if patience.over():
                return False
            time.sleep(pause)
        return True

    def read(self, path: str) -> str:
        """A file's text."""
        return self.run(["cat", path]).stdout

    def write(self, path: str, content: str | bytes, mode: int = 0o644) -> None:
        """Write a file, and its directory when that is missing."""
        data = content.encode() if isinstance(content, str) else content
        script = 'mkdir -p "$(dirname "$1")" && cat >"$1" && chmod "$2" "$1"'
        status, _, err = self.agent.run(
            ["/bin/sh", "-c", script, "sh", path, f"{mode:o}"], data, ENVIRONMENT, 60
        )
        if status != 0:
            raise GuestError(f"{path}: {err.decode(errors='replace')}")

    @property
    def boot_id(self) -> str:
        """Changes at each boot."""
        return self.read("/proc/sys/kernel/random/boot_id").strip()

    def reboot(self, timeout: float = 600, arguments: str = "") -> None:
        """A clean reboot, with more kernel arguments for this boot; returns when the boot is complete."""
        before = self.boot_id
        self.run("systemd-run --quiet --no-block systemctl reboot")
        self._await_exit(timeout)
        self._start(cold=False, arguments=arguments)
        if self.boot_id == before:
            raise GuestError("the guest came back without a new boot id")

    def cut_power(self) -> None:
        """Pull the plug, from any thread: what was not yet on the disk is lost."""
        with contextlib.suppress(ChannelError):  # QEMU may be gone before it answers
            self.monitor.call("quit")

    def power_cycle(self) -> None:
        """Pull the plug and start again."""
        self._power_off()
        self._start(cold=True)

    def save(self, name: str) -> None:
        """Take a snapshot of the running machine, disk and memory."""
        self.monitor.human(f"savevm {name}")

    def load(self, name: str) -> None:
        """Go back to a snapshot, also one taken before a reboot or a power cycle.

        In a new QEMU: under emulation one that goes back does not let the processors' clock go back with it
        (``cpu_get_ticks`` of QEMU 7.2), and the guest's timers would meet a leap of minutes.
        """
        self._power_off()
        self._start(cold=True, snapshot=name)

    def further_disk(self, number: int) -> str:
        """The device of one of ``disks``; the root's disk and the code's come before them."""
        return f"/dev/vd{chr(ord('c') + number)}"

    def upgrade_kernel(self) -> None:
        """Install the newer release's kernel beside the present one, as apt does; the next boots have it.

        Its modules, with the virtual card's, come from that release's image. The rest of the system stays.
        """
        self.run(f"mount -o ro,noload {self.further_disk(len(self._disks) - 1)} /mnt")
        self.run("cp -a /mnt/usr/lib/modules/. /usr/lib/modules/ && umount /mnt && sync", timeout=600)
        self._upgraded = True

    def unit(self, app: str, **known: Any) -> Unit:
        """Deploy a charm of charms/ as a Juju unit of this machine; see :class:`lab.juju.remote.Unit`."""
        return Unit(self, app, **known)

    def tail(self, lines: int = 25) -> str:
        """The end of the console log."""
        return "\n".join(self.console.read_text(errors="replace").splitlines()[-lines:])

    @property
    def agent(self) -> Agent:
        if not self._agent:
            raise GuestError("the guest is not running")
        return self._agent

    @property
    def monitor(self) -> Monitor:
        if not self._monitor:
            raise GuestError("the guest is not running")
        return self._monitor

    def _start(self, *, cold: bool, snapshot: str | None = None, arguments: str = "") -> None:
        """Start QEMU, and wait until the guest's boot is complete or the snapshot answers.

        A reboot ends QEMU and starts it anew, so that the kernel command line can tell a cold start from a
        warm one, as the card's power rails do.
        """
        agent, agent_far = socket.socketpair()
        monitor, monitor_far = socket.socketpair()
        self.shell_socket, shell_far = socket.socketpair()
        self._process = self._machine.start(
            self.directory,
            self._newer.kernel if self._newer and self._upgraded else self._image.kernel,
            self._newer.initrd if self._newer and self._upgraded else self._initrd,
            [agent_far, monitor_far, shell_far],
            cold=cold,
            snapshot=snapshot,
            arguments=arguments,
        )
        # No other thread's until it has booted: synchronising drops answers.
        booting = Agent(agent, self.patience)
        try:
            self._monitor = Monitor(monitor, self.patience)
            self._await_agent(booting)
            if not snapshot:
                boot = ["/usr/bin/systemctl", "is-system-running", "--wait"]
                booting.run(boot, None, ENVIRONMENT, BOOT)
        except ChannelError as problem:
            for ours in (agent, monitor):
                ours.close()
            messages = (self.directory / "qemu.log").read_text(errors="replace")
            raise GuestError(f"the guest did not start: {problem}\n{messages}{self.tail()}") from problem
        self._agent = booting

    def _await_agent(self, agent: Agent) -> None:
        """Wait for the agent as long as the boot shows progress: disks are used, or the console grows."""
        boot, stalled = self.patience(BOOT), self.patience(STALLED)
        seen = None
        while not agent.sync(timeout=2):
            signs = self.monitor.operations(), self.console.stat().st_size if self.console.exists() else 0
            if signs != seen:
                seen = signs
                stalled.restart()
            elif stalled.over():
                raise ChannelError(f"no sign of life for {STALLED:.0f} s")
            if boot.over():
                raise ChannelError(f"its agent does not answer within {BOOT:.0f} s")

    def _power_off(self) -> None:
        self.cut_power()
        self._await_exit(30)

    def _await_exit(self, timeout: float) -> None:
        process, patience = self._process, self.patience(timeout)
        assert process
        while process.poll() is None:
            if patience.over():
                raise GuestError(f"the guest did not go down within {timeout:.0f} s\n{self.tail()}")
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1.0)
        self._stopped()

    def _stopped(self) -> None:
        if self._process:
            self._process.wait()
        for channel in (self._agent, self._monitor, self.shell_socket):
            if channel:
                channel.close()
        self._process = self._agent = self._monitor = self.shell_socket = None
