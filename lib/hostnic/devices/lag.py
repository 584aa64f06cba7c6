# SPDX-License-Identifier: Apache-2.0
"""Whether the NIC itself bonds its two ports (VF-LAG), read as well as each kernel allows.

1. debugfs ``mlx5/<bdf>/lag`` (kernel 5.19 and later; drivers/net/ethernet/mellanox/mlx5/core/lag/debugfs.c).
2. The RDMA device ``mlx5_bond_<n>`` of a port: it exists exactly while a LAG is active.
3. This boot's kernel log: ``lag map`` when a LAG came up, failures when it did not.
4. Otherwise it is unknown: ``Lag.active`` is None.

The RDMA device comes before the log: it shows the present state, and reading it starts no process.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from hostnic.process import CommandError
from hostnic.system import System

# Text: re compiles a pattern at its first use and keeps it, and an idle hook hardly uses one.
ENTRY = r"\n(?=mlx5_core )"
"""Between two messages: one of several lines carries driver and device on its first only."""
PLACE = r"\w+:\d+:\(pid \d+\): "
DEBUGFS = "/sys/kernel/debug/mlx5"
RDMA = "/sys/class/infiniband"

UP = r"lag map:? "
DOWN = r"Failed to (create|activate|deactivate|modify) (VF |RoCE )?LAG|E-Switch: Disable|Deactivat\w+ LAG"
TROUBLE = r"Failed to \w+ (VF |RoCE )?LAG|unbound prior to|Can't activate LAG"


class Lag(NamedTuple):
    """Hardware bond of a NIC's two ports (debugfs ``mlx5/<bdf>/lag``, kernel >= 5.19).

    Attributes:
        active: the NIC itself bonds its ports; None if this kernel does not tell.
        type: ``switchdev`` for VF-LAG, ``roce``, ``multiport_eswitch`` …; None when not active.
        port_sel_mode: ``hash`` or ``queue_affinity``.
        shared_fdb: both ports share one forwarding database.
        source: where this was read: ``debugfs``, ``kernel log``, ``RDMA device``, ``none``.

    """

    active: bool | None
    type: str | None = None
    port_sel_mode: str | None = None
    shared_fdb: bool | None = None
    source: str = "none"

    @property
    def vf_lag(self) -> bool | None:
        """Whether it is VF-LAG, as opposed to no LAG or one for RoCE; None if the kernel does not tell."""
        return self.type in (None, "switchdev") if self.active else self.active


def kernel_log(system: System) -> str:
    """This boot's kernel messages of mlx5, oldest first; empty when they cannot be read."""
    try:
        return system.query(
            ["journalctl", "--dmesg", "--boot", "--output=cat", "--quiet", "--no-pager", "--grep=mlx5_core"]
        )
    except CommandError:
        return ""


def read(system: System, bdf: str, log: Callable[[], str] | None = None) -> Lag:
    """The LAG as the port at ``bdf`` reports it.

    Args:
        system: the host.
        bdf: a PF.
        log: gives the kernel log; called only if neither debugfs nor the RDMA device tells.

    """
    directory = f"{DEBUGFS}/{bdf}/lag"
    try:
        state = system.files.read(f"{directory}/state").strip()
    except OSError:
        return _without_debugfs(system, bdf, log or (lambda: kernel_log(system)))
    if state != "active":
        return Lag(active=False, source="debugfs")
    return Lag(
        active=True,
        type=_detail(system, f"{directory}/type"),
        port_sel_mode=_detail(system, f"{directory}/port_sel_mode"),
        shared_fdb=_shared_fdb(_detail(system, f"{directory}/flags")),
        source="debugfs",
    )


def reason(system: System, bdf: str) -> str:
    """The kernel's last message on why no LAG formed, to append to a sentence; empty if there is none."""
    for entry in reversed(re.split(ENTRY, kernel_log(system))):
        if bdf in entry and re.search(TROUBLE, entry):
            parts = re.sub(PLACE, "", entry.split(bdf, 1)[1].lstrip(": ")).split("\n")
            return f"; the kernel says: {': '.join(part.strip() for part in parts if part.strip())}"
    return ""


def _detail(system: System, path: str) -> str | None:
    """An attribute that only exists, or only answers, while the LAG is active."""
    try:
        return system.files.read(path).strip() or None
    except OSError:
        return None


def _shared_fdb(flags: str | None) -> bool | None:
    match = re.search(r"shared_fdb:\s*(on|off)", flags or "")
    return match.group(1) == "on" if match else None


def _without_debugfs(system: System, bdf: str, log: Callable[[], str]) -> Lag:
    if _rdma_bond(system, bdf):
        return Lag(active=True, source="RDMA device")
    state = from_log(log(), bdf)
    return Lag(active=state, source="none" if state is None else "kernel log")


def _rdma_bond(system: System, bdf: str) -> bool:
    try:
        names = system.files.listdir(RDMA)
    except OSError:
        return False
    for name in names:
        if name.startswith("mlx5_bond_"):
            try:
                if system.files.readlink(f"{RDMA}/{name}/device").endswith(bdf):
                    return True
            except OSError:
                continue
    return False


def from_log(log: str, bdf: str) -> bool | None:
    """Whether the LAG was active by the log's last message about it; None if there is none.

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
