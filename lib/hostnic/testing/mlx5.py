# SPDX-License-Identifier: Apache-2.0
"""mlx5's rules: what the modelled NIC does when asked, and the words in which it refuses.

Sources: drivers/pci/iov.c, and eswitch_offloads.c and lag/lag.c of mlx5_core (Linux 6.12), with the
stricter refusals of newer firmware on, as the project's virtual card has them.
"""

import errno
import os

from hostnic.testing.nic import FakeCard, FakePort, FakeVf

HASHING = ("802.3ad", "balance-xor")
BUSY = "mlx5_core: E-Switch is busy"
SYNDROME = "mlx5_core: firmware command failed, status bad parameter(0x3), syndrome (0x98afbb)"
MANY_VFS = "Can't activate LAG offload, PF is configured with more than 64 VFs"
BOUND_VFS = "Make sure all VFs are unbound prior to VF LAG activation or deactivation"


def refuse(number: int, words: str = "") -> OSError:
    """The kernel's refusal; without extended-ack text, its standard words."""
    return OSError(number, words or os.strerror(number))


def set_num_vfs(port: FakePort, text: str, now: float) -> None:
    """``echo N > sriov_numvfs``."""
    if not text.isdigit():
        raise refuse(errno.EINVAL)
    count = int(text)
    if count > port.firmware.total_vfs:
        raise refuse(errno.ERANGE)
    if count == len(port.vfs):
        return
    if port.driver is None:
        raise refuse(errno.ENOENT)
    if count and port.vfs:
        raise refuse(errno.EBUSY)
    port.vfs = [_new_vf(port, index, now + port.vf_delay) for index in range(count)]


def _new_vf(port: FakePort, index: int, ready: float) -> FakeVf:
    vf = FakeVf(index, port.vf_address(index), ready, never_probes=index in port.never_probing)
    if port.autoprobe and not vf.never_probes:
        vf.driver = "mlx5_core"
    return vf


def bind(vf: FakeVf, driver: str) -> None:
    """``echo BDF > drivers/<driver>/bind``."""
    if vf.driver is not None:
        raise refuse(errno.EBUSY)
    if vf.never_probes:
        raise refuse(errno.EIO)
    vf.driver = driver


def set_eswitch_mode(port: FakePort, mode: str, now: float, in_bond: bool) -> None:
    """``devlink dev eswitch set … mode``."""
    if mode not in ("legacy", "switchdev"):
        raise refuse(errno.EOPNOTSUPP)
    if mode == port.eswitch_mode:
        return
    if port.rules or in_bond or any(vf.driver for vf in port.vfs):
        raise refuse(errno.EBUSY, BUSY)
    if port.mode_fails or len(port.present(now)) < len(port.vfs):
        raise refuse(errno.EINVAL, SYNDROME)
    port.eswitch_mode = mode


def wanted_lag(card: FakeCard, bond_mode: str | None, alone: bool) -> str | None:
    """The type of LAG that this NIC would form now.

    Args:
        card: the NIC.
        bond_mode: of the one bond that all of its ports are in; None when there is none.
        alone: that bond has no other member.

    """
    modes = {port.eswitch_mode for port in card.ports}
    if len(card.ports) != 2 or not alone or bond_mode not in (*HASHING, "active-backup"):
        return None
    if card.lag_never or any(port.params.get("esw_multiport") for port in card.ports):
        return None
    if any(port.firmware.num_of_vfs > 64 for port in card.ports):
        return None
    return "switchdev" if modes == {"switchdev"} else None


def lag_trouble(card: FakeCard) -> str | None:
    """What the kernel logs when a LAG that should form, or go, does not; None when it does."""
    if any(vf.driver for port in card.ports for vf in port.vfs):
        return BOUND_VFS
    return None
