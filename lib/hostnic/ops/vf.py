# SPDX-License-Identifier: Apache-2.0
"""Virtual functions: created, destroyed, bound to a driver and unbound, through PCI's sysfs."""

import errno
from dataclasses import dataclass

from converge import StepError

from hostnic.devices import pci
from hostnic.ops import refusal
from hostnic.ops.waiting import until
from hostnic.system import System


@dataclass(frozen=True)
class SetAutoprobe:
    """Whether VFs of ``bdf`` are bound to a driver as they appear (``sriov_drivers_autoprobe``)."""

    bdf: str
    on: bool

    def run(self, system: System) -> None:
        """Write it unless it already is so."""
        path = pci.attribute(self.bdf, "sriov_drivers_autoprobe")
        want = "1" if self.on else "0"
        try:
            if system.files.read(path).strip() == want:
                return
            system.files.write(path, want)
            if system.files.read(path).strip() != want:
                raise StepError(f"sriov_drivers_autoprobe of {self.bdf} did not become {want}")
        except OSError as error:
            raise refusal.of_device(self.bdf, error) from error


@dataclass(frozen=True)
class CreateVfs:
    """Create ``count`` VFs on a PF that has none, and wait until each of them exists.

    Some NICs (ConnectX-6 Lx) return from the write before their VFs are there, and a change of
    eswitch mode that overtakes them fails with a firmware syndrome: hence the wait.
    """

    bdf: str
    count: int
    deadline: float = 120.0

    def run(self, system: System) -> None:
        """Write ``sriov_numvfs``, then wait for ``virtfn<i>/physfn`` of each VF."""
        try:
            now, total = pci.num_vfs(system, self.bdf), pci.total_vfs(system, self.bdf)
        except OSError as error:
            raise refusal.of_device(self.bdf, error) from error
        if now not in (0, self.count):
            raise refusal.of_num_vfs(self.bdf, self.count, total, OSError(errno.EBUSY, "VFs exist"))
        if now == 0:
            try:
                system.files.write(pci.attribute(self.bdf, "sriov_numvfs"), str(self.count))
            except OSError as error:
                raise refusal.of_num_vfs(self.bdf, self.count, total, error) from error
        if not until(system, lambda: pci.vfs_present(system, self.bdf) >= self.count, self.deadline):
            there = pci.vfs_present(system, self.bdf)
            raise StepError(
                f"{there} of {self.count} VFs of {self.bdf} appeared within {self.deadline:g} s",
                "the next reconcile looks again; the kernel log says what the firmware waits for",
            )
        if pci.num_vfs(system, self.bdf) != self.count:
            raise StepError(f"sriov_numvfs of {self.bdf} did not become {self.count}")


@dataclass(frozen=True)
class DestroyVfs:
    """Destroy all VFs of ``bdf``. The plan has made sure that nobody uses them."""

    bdf: str
    deadline: float = 60.0

    def run(self, system: System) -> None:
        """Write 0 to ``sriov_numvfs`` and wait until no VF is left."""
        try:
            if pci.num_vfs(system, self.bdf) == 0:
                return
            system.files.write(pci.attribute(self.bdf, "sriov_numvfs"), "0")
        except OSError as error:
            raise refusal.of_device(self.bdf, error) from error
        gone = until(
            system,
            lambda: pci.num_vfs(system, self.bdf) == 0 and pci.vfs_present(system, self.bdf) == 0,
            self.deadline,
        )
        if not gone:
            raise StepError(
                f"VFs of {self.bdf} are still there after {self.deadline:g} s",
                "see who holds them: lspci -k, virsh list, ip netns",
            )


@dataclass(frozen=True)
class UnbindVf:
    """Take the VF at ``bdf`` from whatever driver it is bound to."""

    bdf: str

    def run(self, system: System) -> None:
        """Write its address to its own driver's ``unbind``; VFs may sit on vfio-pci."""
        driver = pci.driver(system, self.bdf)
        if driver is None:
            return
        try:
            system.files.write(f"{pci.DRIVERS}/{driver}/unbind", self.bdf)
        except OSError as error:
            if pci.driver(system, self.bdf) is not None:
                raise refusal.of_device(self.bdf, error) from error
        if pci.driver(system, self.bdf) is not None:
            raise StepError(f"VF {self.bdf} is still bound to {driver}")


@dataclass(frozen=True)
class BindVf:
    """Bind the VF at ``bdf`` to ``driver``.

    Only after :class:`SetAutoprobe` has turned its PF's autoprobe on: until then the PCI core probes
    no VF, asked for or not (drivers/pci/pci-driver.c pci_device_can_probe).
    """

    bdf: str
    deadline: float = 30.0
    driver: str = "mlx5_core"

    def run(self, system: System) -> None:
        """Write its address to the driver's ``bind`` and wait until the driver has it."""
        bound = pci.driver(system, self.bdf)
        if bound == self.driver:
            return
        if bound is not None:
            raise StepError(f"VF {self.bdf} is bound to {bound}", f"unbind it from {bound} first")
        try:
            system.files.write(f"{pci.DRIVERS}/{self.driver}/bind", self.bdf)
        except OSError as error:
            if pci.driver(system, self.bdf) != self.driver:
                raise self._refused(error) from error
        if not until(system, lambda: pci.driver(system, self.bdf) == self.driver, self.deadline):
            raise StepError(
                f"{self.driver} did not take VF {self.bdf} within {self.deadline:g} s",
                "the kernel log says why its probe failed",
            )

    def _refused(self, error: OSError) -> StepError:
        if error.errno == errno.ENOENT:
            return StepError(f"driver {self.driver} is not loaded", f"modprobe {self.driver}")
        if error.errno == errno.ENODEV:
            return StepError(
                f"the kernel binds no driver to VF {self.bdf}: {refusal.words(error)}",
                "turn sriov_drivers_autoprobe of its PF on; the kernel log says more",
            )
        return StepError(
            f"{self.driver} refused VF {self.bdf}: {refusal.words(error)}",
            "the kernel log says why its probe failed",
        )
