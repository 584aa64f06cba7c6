# SPDX-License-Identifier: Apache-2.0
"""Virtual functions: created, destroyed, bound to a driver and unbound, through PCI's sysfs."""

import errno
from dataclasses import dataclass

from converge import StepError, cause

from hostnic.devices import pci
from hostnic.devices.port import MLX5
from hostnic.ops import refusal, until
from hostnic.system import System

CREATE_TIME, DESTROY_TIME, BIND_TIME = 120.0, 60.0, 60.0
"""Seconds until all VFs of a PF exist, until they are gone, and until the driver has one VF."""


@dataclass(frozen=True)
class SetAutoprobe:
    """Turn ``sriov_drivers_autoprobe`` of ``bdf`` on or off: whether the kernel binds VFs as they appear."""

    bdf: str
    on: bool

    def run(self, system: System) -> None:
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

    On some NICs (ConnectX-6 Lx) the write returns before the VFs exist, and a change of eswitch mode before
    that fails with a firmware syndrome.
    """

    bdf: str
    count: int

    def run(self, system: System) -> None:
        """Write ``sriov_numvfs``, then wait for ``virtfn<i>/physfn`` of each VF."""
        end, total = system.now() + CREATE_TIME, 0
        try:
            total = pci.total_vfs(system, self.bdf)
            refusal.when_free(system, lambda: self._ask(system))
        except OSError as error:
            raise refusal.of_num_vfs(self.bdf, self.count, total, error) from error
        if not until(system, lambda: pci.vfs_present(system, self.bdf) >= self.count, end - system.now()):
            there = pci.vfs_present(system, self.bdf)
            raise StepError(
                f"{there} of {self.count} VFs of {self.bdf} appeared within {CREATE_TIME:g} s",
                "the kernel log says what the firmware waits for",
            )
        if pci.num_vfs(system, self.bdf) != self.count:
            raise StepError(f"sriov_numvfs of {self.bdf} did not become {self.count}")

    def _ask(self, system: System) -> None:
        now = pci.num_vfs(system, self.bdf)
        if now not in (0, self.count):
            raise StepError(
                f"{self.bdf} already has VFs, and their number only changes through 0",
                "free the VFs, then let the charm destroy and create them again",
            )
        if now == 0:
            system.files.write(pci.attribute(self.bdf, "sriov_numvfs"), str(self.count))


@dataclass(frozen=True)
class DestroyVfs:
    """Destroy all VFs of ``bdf``. The plan has checked that none is in use."""

    bdf: str

    def run(self, system: System) -> None:
        end = system.now() + DESTROY_TIME
        try:
            if pci.num_vfs(system, self.bdf) == 0:
                return
            path = pci.attribute(self.bdf, "sriov_numvfs")
            refusal.when_free(system, lambda: system.files.write(path, "0"), DESTROY_TIME)
        except OSError as error:
            raise refusal.of_device(self.bdf, error) from error
        gone = until(
            system,
            lambda: pci.num_vfs(system, self.bdf) == 0 and pci.vfs_present(system, self.bdf) == 0,
            end - system.now(),
        )
        if not gone:
            raise StepError(
                f"VFs of {self.bdf} are still there after {DESTROY_TIME:g} s",
                "see what uses them: lspci -k, virsh list, ip netns",
            )


@dataclass(frozen=True)
class UnbindVf:
    """Unbind the VF at ``bdf`` from its driver, which may be vfio-pci."""

    bdf: str

    def run(self, system: System) -> None:
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
    """Bind the VF at ``bdf`` to mlx5_core.

    Only works while its PF's autoprobe is on (:class:`SetAutoprobe`): otherwise the PCI core refuses explicit
    binding, too (drivers/pci/pci-driver.c pci_device_can_probe).
    """

    bdf: str

    def run(self, system: System) -> None:
        bound = pci.driver(system, self.bdf)
        if bound == MLX5:
            return
        if bound is not None:
            raise StepError(f"VF {self.bdf} is bound to {bound}", f"unbind it from {bound} first")
        try:
            system.files.write(f"{pci.DRIVERS}/{MLX5}/bind", self.bdf)
        except OSError as error:
            # The kernel probes it again by itself after EAGAIN (bind_store in drivers/base/bus.c).
            if error.errno != errno.EAGAIN and pci.driver(system, self.bdf) != MLX5:
                raise self._refused(error) from error
        if not until(system, lambda: pci.driver(system, self.bdf) == MLX5, BIND_TIME):
            raise StepError(
                f"{MLX5} did not take VF {self.bdf} within {BIND_TIME:g} s",
                "the kernel log says why its probe failed",
            )

    def _refused(self, error: OSError) -> StepError:
        if error.errno == errno.ENOENT:
            return StepError(f"driver {MLX5} is not loaded", f"modprobe {MLX5}")
        if error.errno == errno.ENODEV:
            return StepError(
                f"the kernel binds no driver to VF {self.bdf}: {cause(error)}",
                "turn sriov_drivers_autoprobe of its PF on; the kernel log says more",
            )
        return StepError(
            f"{MLX5} refused VF {self.bdf}: {cause(error)}",
            "the kernel log says why its probe failed",
        )


@dataclass(frozen=True)
class UnbindVfs:
    """Unbind every VF of ``bdf`` from its driver."""

    bdf: str

    def run(self, system: System) -> None:
        """Unbind in order of index."""
        for address in pci.vf_addresses(system, self.bdf).values():
            UnbindVf(address).run(system)


@dataclass(frozen=True)
class BindVfs:
    """Bind every VF of ``bdf`` that has no driver to mlx5_core."""

    bdf: str

    def run(self, system: System) -> None:
        """Bind in order of index; a VF that an instance took meanwhile keeps its driver.

        Raises StepError, which names each VF that stays unbound; all others are bound.
        """
        refused: list[StepError] = []
        for address in pci.vf_addresses(system, self.bdf).values():
            if pci.driver(system, address) is None:
                try:
                    BindVf(address).run(system)
                except StepError as error:
                    refused.append(error)
        if refused:
            raise StepError("; ".join(error.reason for error in refused), refused[0].remedy)
