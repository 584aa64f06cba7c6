# SPDX-License-Identifier: Apache-2.0
"""The kernel's refusals as sentences with a remedy."""

import errno

from converge import StepError

GONE = (errno.ENODEV, errno.ENXIO)


def words(error: OSError) -> str:
    """The kernel's own words: the extended-ack text when it gave one."""
    return error.strerror or str(error)


def unreadable(error: OSError) -> str:
    """What a program that starts without a hook says when a read fails that no device is named for."""
    return f"the host cannot be read: {words(error)}"


def of_device(bdf: str, error: OSError) -> StepError:
    """A refusal for which the kernel's own message is the best explanation."""
    if error.errno in GONE:
        return StepError(
            f"{bdf} does not answer ({words(error)})",
            "see the kernel log for a PCIe error or a surprise removal of the NIC",
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return StepError(
            f"the kernel does not permit it ({words(error)})",
            "check /sys/kernel/security/lockdown and that the unit runs as root",
        )
    return StepError(f"the kernel refused: {words(error)}")


def of_num_vfs(bdf: str, count: int, total: int, error: OSError) -> StepError:
    """Why ``sriov_numvfs`` of ``bdf`` did not take ``count``; ``total`` is what the firmware offers."""
    if error.errno == errno.ENOMEM:
        return StepError(
            f"not enough MMIO resources for {count} VFs on {bdf}",
            "enable SR-IOV (and Above 4G Decoding) in the BIOS, or boot with pci=realloc",
        )
    if error.errno == errno.ERANGE:
        return StepError(
            f"the firmware of {bdf} offers {total} VFs, not {count}",
            "raise NUM_OF_VFS (charm nic-firmware) and reboot",
        )
    if error.errno == errno.EBUSY:
        return StepError(
            f"{bdf} already has VFs, and their number only changes through 0",
            "free the VFs, then let the charm destroy and create them again",
        )
    if error.errno == errno.ENOENT:
        return StepError(
            f"no driver with SR-IOV is bound to {bdf}",
            "see the kernel log for why mlx5_core did not bind",
        )
    return of_device(bdf, error)
