# SPDX-License-Identifier: Apache-2.0
"""States of a modelled host that tests start from, reached by the real operations.

Each takes a host, changes it, empties its trace and gives it back: ``converged(FakeHost())``.
"""

from hostnic.ops.bonding import AwaitLag, JoinBond, LeaveBond
from hostnic.ops.eswitch import SetEswitchMode
from hostnic.ops.vf import BindVf, CreateVfs, SetAutoprobe

from lab.modelled.host import FakeHost


def free(host: FakeHost) -> FakeHost:
    """All ports out of their bonds."""
    for port in host.network.ports():
        LeaveBond(port.netdev).run(host)
    host.trace.clear()
    return host


def with_vfs(host: FakeHost, count: int = 2, *, bound: bool = False) -> FakeHost:
    """``count`` VFs on each port, unbound unless asked otherwise."""
    for port in host.network.ports():
        port.autoprobe = bound
        CreateVfs(port.bdf, count).run(host)
    host.trace.clear()
    return host


def switchdev(host: FakeHost, count: int = 2) -> FakeHost:
    """Unbound VFs, switchdev mode, and the ports out of their bonds."""
    with_vfs(free(host), count)
    for port in host.network.ports():
        SetEswitchMode(port.bdf, "switchdev").run(host)
    host.trace.clear()
    return host


def converged(host: FakeHost, count: int = 2, *, bound: bool = True) -> FakeHost:
    """The first NIC as it should be: switchdev, bond0 as VF-LAG, VFs bound."""
    switchdev(host, count)
    ports = host.cards[0].ports
    for port in ports:
        JoinBond(port.netdev, "bond0").run(host)
    AwaitLag(tuple(port.bdf for port in ports)).run(host)
    for port in ports:
        SetAutoprobe(port.bdf, True).run(host)
        for vf in port.vfs if bound else ():
            BindVf(vf.bdf).run(host)
    host.sleep(2.0)
    host.trace.clear()
    return host
