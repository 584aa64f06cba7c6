# SPDX-License-Identifier: Apache-2.0
"""The kernel's refusals: temporary ones, and the others as sentences with a remedy."""

import contextlib
import errno
from collections.abc import Callable, Generator
from typing import TypeVar

from converge import StepError, cause

from hostnic.system import System

GONE = (errno.ENODEV, errno.ENXIO)
BUSY = "E-Switch is busy"
"""mlx5's words for rules that use an eswitch (EBUSY), for an operation in progress (EBUSY, from 6.8 on) and
for a held lock (EINVAL): mlx5_esw_try_lock in eswitch.c."""
RATE_NODES = "Rate node(s) exist"
"""devlink's words, with EBUSY, for what stays until somebody removes it (devlink_rate_nodes_check)."""
BUSY_TIME = 60.0
"""Seconds for which an operation asks again. Open vSwitch removes a rule that is idle for 30 s (ovn-chassis
sets max-idle so), and a change of mode takes seconds."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 4.0
"""Between two requests. Each one for a mode takes an active LAG down for a moment, even if it is refused."""

Answer = TypeVar("Answer")


def when_free(system: System, ask: Callable[[], Answer], most: float = BUSY_TIME) -> Answer:
    """Call ``ask`` again while a device is busy, for ``most`` seconds at most, and return its answer.

    Raises OSError with the last refusal, or the first one that is not temporary.
    """
    end, pause = system.now() + most, FIRST_PAUSE_S
    while True:
        try:
            return ask()
        except OSError as error:
            left = end - system.now()
            if left <= 0 or not is_temporary(error):
                raise
        system.sleep(min(pause, left))
        pause = min(2 * pause, LONGEST_PAUSE_S)


def is_temporary(error: OSError) -> bool:
    """Whether the refusal may end without anybody doing something about it."""
    if error.errno == errno.EINVAL:
        return BUSY in cause(error)
    return error.errno == errno.EAGAIN or (error.errno == errno.EBUSY and RATE_NODES not in cause(error))


@contextlib.contextmanager
def explained(what: str, remedy: str = "") -> Generator[None, None, None]:
    """Turn a refusal in the ``with`` block into a :class:`StepError`: ``what``, then the kernel's words."""
    try:
        yield
    except OSError as error:
        raise StepError(f"{what}: {cause(error)}", remedy) from error


def unreadable(error: OSError) -> str:
    """Return the sentence of a boot unit or a timer for a failed read that is not about one device."""
    return f"the host cannot be read: {cause(error)}"


def of_device(bdf: str, error: OSError) -> StepError:
    """A refusal for which the kernel's own message is the best explanation."""
    if error.errno in GONE:
        return StepError(
            f"{bdf} does not answer ({cause(error)})",
            "see the kernel log for a PCIe error or a surprise removal of the NIC",
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return StepError(
            f"the kernel does not permit it ({cause(error)})",
            "check /sys/kernel/security/lockdown and that the unit runs as root",
        )
    return StepError(f"the kernel refused: {cause(error)}")


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
    if is_temporary(error):
        return StepError(
            f"the driver of {bdf} is busy and makes no VFs: {cause(error)}",
            "see the kernel log for what the NIC is doing",
        )
    if error.errno == errno.ENOENT:
        return StepError(
            f"no driver with SR-IOV is bound to {bdf}",
            "see the kernel log for why mlx5_core did not bind",
        )
    return of_device(bdf, error)
