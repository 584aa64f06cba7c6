# SPDX-License-Identifier: Apache-2.0
"""Whether the NIC itself bonds its ports (VF-LAG), read as well as each kernel allows.

mlx5 bonds all ports of a card, two or four, that are in one bond, or none (lag/lag.c:
mlx5_handle_changeupper_event: the bond has exactly ``ldev->ports`` of them, the firmware's num_lag_ports).

1. debugfs ``mlx5/<bdf>/lag`` (kernel 5.19 and later; drivers/net/ethernet/mellanox/mlx5/core/lag/debugfs.c).
   The driver makes it only with a LAG object, which the firmware may not offer (lag/lag.h:
   mlx5_lag_is_supported): ``mlx5/<bdf>`` without it means that no LAG can form.
2. The RDMA devices: a LAG for RoCE, or a VF-LAG with a shared FDB, leaves the second port without one
   (lag/lag.c: mlx5_lag_remove_devices; infiniband/hw/mlx5/ib_rep.c). Their names do not tell: rdma-core
   renames them, and ``mlx5_bond_<n>`` is only what one was called when it was registered.
3. Before 5.19, this boot's kernel log. The driver logs why no LAG formed, and nothing when one ends, so that
   "lag map" does not show that one is still active.
4. Otherwise it is unknown: ``Lag.active`` is None.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hostnic.devices import pci
from hostnic.devices.port import uplink_of
from hostnic.system import Link, System, if_told, read_text

# Text: re compiles a pattern at its first use and keeps it, and an idle hook hardly uses one.
ENTRY = r"\n(?=mlx5_core )"
"""Between two messages: one of several lines carries driver and device on its first only."""
PLACE = r"\w+:\d+:\(pid \d+\): "
DEBUGFS = "/sys/kernel/debug/mlx5"
RDMA = "/sys/class/infiniband"

OSRELEASE = "/proc/sys/kernel/osrelease"
WITH_DEBUGFS = (5, 19)
"""The first kernel whose mlx5 shows LAGs in debugfs."""

FOUR_PORTS, FOUR_PORTS_OF_ROCE = (6, 5), (5, 19)
"""The first kernels whose mlx5 bonds four ports in switchdev mode (MLX5_LAG_OFFLOADS_SUPPORTED_PORTS in
mlx5_lag_check_prereq), and for RoCE (MLX5_MAX_PORTS)."""

UP = r"lag map:? "
DOWN = r"Failed to (create|activate|deactivate) (VF |RoCE )?LAG|E-Switch: Disable|Deactivat\w+ LAG"
TROUBLE = r"Failed to \w+ (VF |RoCE )?LAG|unbound prior to|Can't activate LAG"


class Lag(NamedTuple):
    """Hardware bond of a NIC's ports."""

    active: bool | None  # the NIC itself bonds its ports; None if this kernel does not tell
    type: str | None = None  # `switchdev` for VF-LAG, `roce`, `multiport_eswitch` …; None when not active
    source: str = "none"  # where this was read: `debugfs`, `kernel log`, `RDMA device`, `none`
    unsupported: bool = False  # the firmware offers the driver no LAG object, so that none can form

    @property
    def vf_lag(self) -> bool | None:
        """Whether it is VF-LAG, as opposed to no LAG or one for RoCE; None if the kernel does not tell."""
        return self.type in (None, "switchdev") if self.active else self.active


PORTS = (2, 4)
"""How many ports a LAG of mlx5 has."""
NO_LAG_OBJECT = "the firmware offers no LAG object"


def no_lag_remedy(total_vfs: int) -> str:
    """Return the remedy for :data:`NO_LAG_OBJECT` on a NIC whose ports offer up to ``total_vfs`` VFs."""
    if total_vfs > pci.MAX_VFS_WITH_LAG:
        return f"set NUM_OF_VFS to {pci.MAX_VFS_WITH_LAG} or less (charm nic-firmware) and reboot"
    return "update the NIC's firmware (charm nic-firmware), or set vf-lag=disabled"


def release(kernel: str) -> tuple[int, int]:
    """Major and minor number of a kernel's release string; (0, 0) for what is none."""
    numbers = re.match(r"(\d{1,4})\.(\d{1,4})", kernel)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def most_ports(kernel: str, four: tuple[int, int] = FOUR_PORTS) -> int:
    """How many ports mlx5 of this kernel bonds at most; ``four`` is the first one that bonds four."""
    return 4 if release(kernel) >= four else 2


def kernel_log(system: System) -> str:
    """This boot's kernel messages of mlx5, oldest first; empty when they cannot be read."""
    how = ["--dmesg", "--boot", "--output=cat", "--quiet", "--no-pager", "--grep=mlx5_core"]
    return if_told(lambda: system.query(["journalctl", *how])) or ""


def read(system: System, bdf: str, log: Callable[[], str] | None = None) -> Lag:
    """The LAG as the port at ``bdf`` reports it.

    ``log`` gives the kernel log; it is called only before 5.19, and if the RDMA devices do not tell.
    """
    directory = f"{DEBUGFS}/{bdf}/lag"
    try:
        state = system.files.read(f"{directory}/state").strip()
    except OSError:
        return _without_state(system, bdf, log or (lambda: kernel_log(system)))
    if state != "active":
        return Lag(active=False, source="debugfs")
    # The type only answers while the LAG is active.
    return Lag(active=True, type=read_text(system, f"{directory}/type") or None, source="debugfs")


def reason(system: System, bdf: str) -> str:
    """The kernel's last message on why no LAG formed, to append to a sentence; empty if there is none."""
    for entry in reversed(re.split(ENTRY, kernel_log(system))):
        if bdf in entry and re.search(TROUBLE, entry):
            parts = re.sub(PLACE, "", entry.split(bdf, 1)[1].lstrip(": ")).split("\n")
            return f"; the kernel says: {': '.join(part.strip() for part in parts if part.strip())}"
    return ""


def _without_state(system: System, bdf: str, log: Callable[[], str]) -> Lag:
    """The LAG where debugfs has no state of it, or does not show it."""
    old = release(system.files.read(OSRELEASE)) < WITH_DEBUGFS
    if not old and _lacks_object(system, bdf):
        return Lag(active=False, source="debugfs", unsupported=True)
    if one_rdma_device(system, bdf, system.links.all()):
        kind = "switchdev" if system.devlink.eswitch_mode(bdf) == "switchdev" else "roce"
        return Lag(active=True, type=kind, source="RDMA device")
    state = from_log(log(), bdf) if old else None
    # What came up may have ended since, which the driver does not log.
    return Lag(active=None if state else state, source="none" if state is None else "kernel log")


def _lacks_object(system: System, bdf: str) -> bool:
    """Whether debugfs can be read, and the driver has no LAG in it."""
    there = if_told(lambda: system.files.listdir(f"{DEBUGFS}/{bdf}"))
    return there is not None and "lag" not in there  # None: not mounted, switched off, or not for us


def one_rdma_device(system: System, bdf: str, links: Sequence[Link]) -> bool:
    """Whether the ports of this NIC are in one bond, and the first alone has an RDMA device.

    The bond is asked for because a port's RDMA device can be switched off, too (devlink's enable_rdma).
    """
    own = uplink_of(links, bdf)
    bonds = {link.name for link in links if own and link.name == own.master and link.kind == "bond"}
    members = [link for link in links if link.master in bonds]
    ports = sorted(link.pci or "" for link in members)
    one_slot = len({port.rpartition(".")[0] for port in ports}) == 1
    one_switch = len({link.switch_id for link in members}) == 1 and members[0].switch_id
    if len(ports) not in PORTS or bdf not in ports or not (one_slot or one_switch):
        return False
    # A device in another network namespace is not visible; the directory of its function still is.
    first, *others = (system.files.exists(pci.attribute(port, "infiniband")) for port in ports)
    return first and not any(others)


def from_log(log: str, bdf: str) -> bool | None:
    """Whether the LAG came up by the log's last message about it; None if there is none.

    Only the first port of a NIC logs for both: lines of any function in the same slot count.
    """
    slot = bdf.rpartition(".")[0]
    state: bool | None = None
    for line in log.splitlines():
        if slot not in line:
            continue
        if re.search(DOWN, line):
            state = False
        elif re.search(UP, line):
            state = True
    return state
