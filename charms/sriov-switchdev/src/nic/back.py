# SPDX-License-Identifier: Apache-2.0
"""The way back of a port, from anything that chain.py may have left. Pure."""

from collections.abc import Iterator

from converge import Op
from hostnic.devices.model import Pf
from hostnic.system import System
from observed import PortState


def back(bdf: str, to: PortState | None = None, pf: Pf | None = None) -> Iterator[Op[System]]:
    """The way back to the state before a change, or to legacy mode without VFs.

    VFs in legacy mode match Nova's whitelist. Without ``to``, autoprobe is not turned on, so that VFs that
    appear after all remain unbound, and a bond keeps its port.

    ``pf``, the port as it is, is only needed with ``to``.
    """
    from hostnic.ops.bonding import JoinBond, LeaveBond
    from hostnic.ops.eswitch import SetEswitchMode, SetQueues
    from hostnic.ops.vf import BindVfs, CreateVfs, DestroyVfs, SetAutoprobe, UnbindVfs

    if to is None or pf is None:
        yield from (UnbindVfs(bdf), SetEswitchMode(bdf, "legacy"), DestroyVfs(bdf))
        return
    netdev = pf.netdev or to.netdev
    if pf.eswitch_mode != to.mode or pf.port.num_vfs != to.num_vfs:
        yield from (LeaveBond(netdev), UnbindVfs(bdf), SetEswitchMode(bdf, "legacy"))
        if pf.port.num_vfs != to.num_vfs:
            yield DestroyVfs(bdf)
            if to.num_vfs:
                yield from (SetAutoprobe(bdf, False), CreateVfs(bdf, to.num_vfs))
        if to.mode != "legacy":
            yield SetEswitchMode(bdf, to.mode)
            if to.queues:
                yield SetQueues(netdev, to.queues)
    if to.bond:
        yield JoinBond(netdev, to.bond)
    if to.num_vfs:
        yield from (SetAutoprobe(bdf, True), BindVfs(bdf))  # while it is off the kernel binds no VF
    yield SetAutoprobe(bdf, to.autoprobe)
