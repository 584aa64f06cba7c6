# SPDX-License-Identifier: Apache-2.0
"""How long the steps of a boot and of a live change may take; the units' timeouts follow from it. Seconds.

The kernel answers a change of mode when it is done, which may take minutes with 127 VFs. All times are
upper bounds: without a fault a boot takes seconds per port.
"""

from desired import Desired
from hostnic.ops.refusal import BUSY_TIME
from hostnic.system import MODE_CHANGE_TIME
from nic.chain import LAG

TURN = 60.0
"""Until another program of these charms has ended its changes of the host."""

LONG_TURN = 900.0
"""The same for the unit that restores ports: a hook may burn firmware."""

DEVICES = 60.0
"""Until udev has loaded the driver and the uplinks have appeared."""

VFS = 120.0
"""Until new VFs have appeared."""

REPRESENTORS = 30.0
"""Until the uplink has its switch id and each VF its representor, after the change of mode."""

DESTROY = 60.0
"""Until no VF is left."""

MEMBER = 50.0
"""Until a port carries traffic in its bond again: a slow LACP partner sends every 30 s."""

BOND = 90.0
"""Until networkd has made the bond."""

BIND = 2.0
"""For each VF to be bound: mlx5_core needs less than a second for one."""

TO_LEGACY = BUSY_TIME + MODE_CHANGE_TIME + DESTROY
"""Per port, to legacy mode without VFs: while the eswitch is busy it is asked again."""

UNDO = MODE_CHANGE_TIME + TO_LEGACY
"""The same at boot: a change that still runs is waited for first."""

CHANGE = VFS + BUSY_TIME + MODE_CHANGE_TIME + REPRESENTORS + MEMBER
"""Per port, from none to VFs in switchdev mode."""

OTHER_ORDER = DESTROY + VFS
"""Per port, if its firmware refuses switchdev mode while it has VFs, which it does at once: they are created
again after the change."""

LIVE = max(1800, int(2 * (TO_LEGACY + CHANGE + OTHER_ORDER) + LAG))
"""For both ports of a NIC, from switchdev mode through legacy mode to switchdev mode again, and VF-LAG."""


REVERT_TURN = 4.0 * LIVE
"""For the revert timer: a hook that is still at work confirms or undoes its change itself."""


def early_start(wanted: Desired) -> int:
    """The seconds of the early unit: all ports change, fail, and are brought back."""
    return int(TURN + DEVICES + len(wanted.everything) * (CHANGE + OTHER_ORDER + UNDO))


def early_stop(wanted: Desired) -> int:
    """The seconds of its fallback, and until a process that the kernel does not let go is given up."""
    return int(max(1, len(wanted.everything)) * UNDO)


def bind_start(wanted: Desired) -> int:
    """The seconds of the binding unit: each NIC's bond and VF-LAG, and each VF; late VFs are destroyed."""
    vfs = sum(port.num_vfs for port in wanted.everything)
    return int(
        TURN
        + max(
            600,
            len({port.nic for port in wanted.everything}) * (BOND + LAG)
            + vfs * BIND
            + len(wanted.everything) * DESTROY,
        )
    )


def restore_start(wanted: Desired) -> int:
    """The seconds of the restoring unit: as a boot, and once more for a port that is lost meanwhile."""
    return int(LONG_TURN) + 2 * (early_start(wanted) + bind_start(wanted))


def restore_unheard(wanted: Desired) -> int:
    """The seconds from the restoring unit's start until it counts as dead."""
    return restore_start(wanted) + 2 * early_stop(wanted) + 60


def early_unheard(wanted: Desired) -> int:
    """The seconds from the early unit's start until it counts as dead: it, its end and its fallback."""
    return early_start(wanted) + 2 * early_stop(wanted) + 60


def bind_unheard(wanted: Desired) -> int:
    """The seconds from the last record of a boot unit until the binding unit counts as dead."""
    return bind_start(wanted) + 60
