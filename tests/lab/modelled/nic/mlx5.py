# SPDX-License-Identifier: Apache-2.0
"""mlx5's answers: what the modelled NIC does when asked, and the words in which it refuses.

Sources: drivers/pci/iov.c, and eswitch_offloads.c and fs_core.c of mlx5_core (Linux 6.12), with the
stricter refusals of newer firmware on, as the project's virtual card has them by default.
"""

import errno
import os
from collections.abc import Callable

from lab.modelled.nic import vflag
from lab.modelled.nic.model import FakeCard, FakePort, FakeVf

BUSY = "mlx5_core: Can't change mode, E-Switch is busy"
NO_OFFLOADS = "mlx5_core: Failed setting eswitch to offloads"
NO_SLOW_PATH = (
    "CREATE_FLOW_TABLE(0x930) op_mod(0x0) failed, status bad resource state(0x9), "
    "syndrome (0x98afbb), err(-22)",
    "E-Switch: Failed to create slow path FDB Table err -22",
)
NO_SMFS = "mlx5_core: Software managed steering is not supported when eswitch offloads enabled."
BAD_STEERING = 'mlx5_core: Bad parameter: supported values are ["dmfs", "smfs"]'
INLINE_MODELS = ("15b3:1013", "15b3:1015")
"""ConnectX-4 and ConnectX-4 Lx: the only ones that need, and take, an inline mode."""


def refuse(number: int, words: str = "") -> OSError:
    """The kernel's refusal; without extended-ack text, its standard words."""
    return OSError(number, words or os.strerror(number))


def end_eswitch(port: FakePort, say: Callable[[str], None]) -> None:
    """A switch that is there ends, and the driver says so (eswitch.c: mlx5_eswitch_disable_locked).

    Before kernel 5.19 its words are all that tells of the end of a LAG.
    """
    switchdev = port.eswitch_mode == "switchdev"
    if switchdev or (port.eswitch_mode == "legacy" and (port.vfs or port.none_mode)):
        say(f"E-Switch: Disable: mode({'OFFLOADS' if switchdev else 'LEGACY'}), nvfs({len(port.vfs)})")


def set_num_vfs(card: FakeCard, port: FakePort, text: str, now: float, say: Callable[[str], None]) -> None:
    """``echo N > sriov_numvfs``; ``say`` takes lines of the kernel log.

    The switch of legacy mode starts before there are VFs (sriov.c: mlx5_sriov_enable), and takes a LAG down.
    """
    if not text.isdigit():
        raise refuse(errno.EINVAL)
    count, present = int(text), len(port.present(now))
    if count > port.total_vfs:
        raise refuse(errno.ERANGE)
    if count == present:
        return
    if port.driver is None:
        raise refuse(errno.ENOENT)
    if count and port.vfs:
        raise refuse(errno.EBUSY)
    if count and port.no_mmio:
        raise refuse(errno.ENOMEM)
    if count and port.eswitch_mode != "switchdev":
        vflag.dissolve(card, say)
    elif port.none_mode and not count:
        end_eswitch(port, say)
    port.vfs_made += count
    port.vfs = [_new_vf(port, index, now + port.vf_delay) for index in range(count)]
    if port.none_mode and not count:
        port.eswitch_mode = "none"
        port.nic_profile()
        vflag.dissolve(card, say)
    elif port.eswitch_mode == "none":
        port.eswitch_mode = "legacy"


def _new_vf(port: FakePort, index: int, ready: float) -> FakeVf:
    inode = port.number << 32 | port.vfs_made - index
    vf = FakeVf(index, port.vf_address(index), ready, index in port.never_probing, inode=inode)
    if port.autoprobe and not vf.never_probes:
        vf.driver = "mlx5_core"
    return vf


def bind(port: FakePort, vf: FakeVf, driver: str, now: float) -> None:
    """``echo BDF > drivers/<driver>/bind``; PCI probes no VF while autoprobe is off (pci-driver.c).

    A probe that is put off answers EAGAIN, and the kernel repeats it by itself (bind_store in bus.c).
    """
    if not port.autoprobe:
        raise refuse(errno.ENODEV)
    if vf.driver is not None or (vf.never_probes and driver == "mlx5_core"):
        raise refuse(errno.EBUSY)
    if vf.deferred and driver == "mlx5_core":
        vf.probed_at = now + vf.deferred
        raise refuse(errno.EAGAIN)
    vf.driver = driver


def try_eswitch_mode(port: FakePort, mode: str, now: float, say: Callable[[str], None]) -> None:
    """The firmware's part of ``devlink dev eswitch set … mode``: whether it refuses.

    The switch in its old mode ends first. The firmware makes no slow path table with encapsulation while a VF
    is in use, whichever driver has it; some makes none while there is a VF. Legacy mode has no such table.
    """
    end_eswitch(port, say)
    late = len(port.present(now)) < len(port.vfs)
    in_the_way = any(vf.driver or port.switchdev_first for vf in port.vfs)
    if mode == "switchdev" and (port.mode_fails or late or in_the_way):
        for line in NO_SLOW_PATH:
            say(line)
        raise refuse(errno.EINVAL, NO_OFFLOADS)


def set_eswitch_mode(port: FakePort, mode: str) -> None:
    """Make the changes that are there when a change of mode ends."""
    port.eswitch_mode = mode
    if mode == "switchdev":
        port.hw_tc_offload = True
        port.uplink_profile()
    else:
        port.nic_profile()


def try_lock(port: FakePort, now: float) -> None:
    """mlx5_esw_try_lock: EBUSY for rules of this eswitch, EINVAL while its lock is held, in one text."""
    if now < port.locked_until:
        raise refuse(errno.EINVAL, BUSY)
    if port.rules:
        raise refuse(errno.EBUSY, BUSY)


def param(card: FakeCard, port: FakePort, name: str) -> str | bool:
    """The runtime value of a devlink parameter."""
    if name == "flow_steering_mode":
        return port.steering_mode
    if name == "esw_multiport" and card.multiport_param:
        return card.multiport
    raise refuse(errno.EINVAL)


def set_param(card: FakeCard, port: FakePort, name: str, value: str | bool | int) -> None:
    """Set a devlink parameter."""
    param(card, port, name)
    if name == "flow_steering_mode":
        if value not in ("smfs", "dmfs"):
            raise refuse(errno.EINVAL, BAD_STEERING)
        if value == "smfs" and port.eswitch_mode == "switchdev":
            raise refuse(errno.EOPNOTSUPP, NO_SMFS)
        port.steering_mode = str(value)
    elif value and card.lag:
        raise refuse(errno.EINVAL)
    elif bool(value) != card.multiport:
        if value and any(other.eswitch_mode != "switchdev" for other in card.ports):
            raise refuse(errno.EOPNOTSUPP)
        card.lag, card.lag_in_firmware = ("multiport_eswitch", True) if value else (None, False)


def set_inline_mode(card: FakeCard, port: FakePort, mode: str) -> None:
    """``devlink dev eswitch set … inline-mode``."""
    if port.eswitch_mode == "none":
        raise refuse(errno.EOPNOTSUPP)
    if card.device not in INLINE_MODELS and mode != "none":
        raise refuse(errno.EOPNOTSUPP, "mlx5_core: Inline mode can't be set")
    port.inline_mode = mode
