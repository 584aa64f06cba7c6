# SPDX-License-Identifier: Apache-2.0
"""What list-devices and show-offload print: a table for people, the same rows for programs."""

from charmkit.output import Table
from desired import Desired
from hostnic.model import Pf
from hostnic.system import System
from observe import NextBoot, Observed, next_boot
from steps import vf_lag


def devices(system: System, wanted: Desired, observed: Observed) -> Table:
    """Every SR-IOV capable port, and what the option ``devices`` makes of it."""
    rows = [_device(pf, wanted, next_boot(system, pf.bdf)) for pf in observed.host.pfs]
    return Table(rows, "This host has no SR-IOV capable NIC.")


def _device(pf: Pf, wanted: Desired, after: NextBoot) -> dict[str, str]:
    port = wanted.port(pf.bdf)
    return {
        "port": pf.bdf,
        "netdev": pf.netdev or "-",
        "driver": pf.port.driver or "-",
        "firmware": f"{pf.firmware or '-'} ({pf.psid or 'no PSID'})",
        "numa": str(pf.numa_node),
        "bond": pf.bond or "-",
        "vfs": str(pf.port.num_vfs),
        "offered": str(pf.port.total_vfs),
        "next boot": str(after.vfs) if after.vfs is not None else "unknown",
        "mode": pf.eswitch_mode or "-",
        "vf-lag": {True: "active", False: "no", None: "unknown"}[vf_lag(pf)],
        "wanted": f"{port.num_vfs} VFs" if port else "not selected",
    }
