# SPDX-License-Identifier: Apache-2.0
"""VFs that this host itself uses, on mlx5_core: read only where a plan would take VFs away."""

from desired import Desired
from hostnic import netuse
from hostnic.model import Pf, Vf
from hostnic.system import System
from observe import Observed
from preflight import needs_work
from steps import lag_missing


def ask_host(system: System, observed: Observed, wanted: Desired) -> Observed:
    """Add the host's own uses to the VFs of each NIC whose VFs a plan would unbind.

    Reads nothing on a host whose VFs and VF-LAG are as declared.
    """
    at_stake: set[str] = set()
    for ports in wanted.cards().values():
        pairs = [(port, pf) for port in ports if (pf := observed.host.pf(port.bdf))]
        if any(needs_work(port, pf) for port, pf in pairs) or lag_missing(pairs):
            at_stake.update(_name(vf) for _, pf in pairs for vf in pf.vfs if not vf.users)
    at_stake.discard("")
    if not at_stake:
        return observed
    uses = netuse.of_netdevs(system, sorted(at_stake))

    def used(pf: Pf) -> Pf:
        return pf._replace(vfs=tuple(vf._replace(users=vf.users or uses.get(_name(vf), ())) for vf in pf.vfs))

    return observed._replace(host=observed.host._replace(pfs=tuple(used(pf) for pf in observed.host.pfs)))


def _name(vf: Vf) -> str:
    return vf.netdev or ""
