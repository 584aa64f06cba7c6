# SPDX-License-Identifier: Apache-2.0
"""Data centre bridging that must end alike on the modelled host and on a real kernel with the virtual card.

``bridging(system, fault)`` acts on a plain node and returns what it saw, line by line, as the scenarios of
:mod:`lab.modelled.contract` do. ``python3 -m lab.modelled.contract_dcb`` prints the lines of its host.
"""

import sys
from collections.abc import Callable

from hostnic.machine import Machine
from hostnic.netlink import dcb
from hostnic.netlink.dcb import App, Dcb, Ets, Pfc
from hostnic.ops import members
from hostnic.ops.bonding import LeaveBond
from hostnic.ops.dcb import SetApps, SetEts, SetPfc, TakeDcbx
from hostnic.ops.eswitch import SetEswitchMode
from hostnic.system import System

from lab.modelled.contract import BOND, P0, UPLINK0, UPLINK1, said
from lab.modelled.host import FakeHost

Fault = Callable[[str, int], None]
"""``fault(bdf, mode)``: 0 none, 2 no operations, 3 every setter refuses (``dcb_fault`` of the card)."""

ROCE = Ets(
    prio_tc=(0, 0, 0, 3, 0, 0, 6, 0),
    tsa=(dcb.ETS, dcb.STRICT, dcb.STRICT, dcb.ETS, dcb.STRICT, dcb.STRICT, dcb.STRICT, dcb.STRICT),
    bandwidth=(50, 0, 0, 50, 0, 0, 0, 0),
)
MAP = tuple(App(dcb.DSCP, dscp, 5 if dscp == 26 else dscp >> 3) for dscp in range(dcb.DSCPS))


def look(system: System, netdev: str = UPLINK0) -> list[str]:
    """Return the driver's answers, with the names of its counters, but without their values."""
    found = system.dcb.get(netdev)
    pfc = found.pfc or Pfc(())
    apps = {app.protocol: app.priority for app in found.apps if app.selector == dcb.DSCP}
    return [
        f"{netdev} {found.ets}",
        f"  pfc {pfc.priorities} delay {pfc.delay} dcbx {found.dcbx}",
        f"  counts {' '.join(system.ethtool.statistics(netdev))}",
        f"  {len(found.apps)} entries, {len(apps)} DSCPs, 26 {apps.get(26)}, 48 {apps.get(48)}",
    ]


def bridging(system: System, fault: Fault) -> list[str]:
    """Settings, refusals, a roll over the bond, and a change of the eswitch mode."""
    seen = ["as it starts:", *look(system)]
    for wrong in (
        Dcb(ets=Ets(ROCE.prio_tc, (dcb.CBS, *ROCE.tsa[1:]), ROCE.bandwidth)),
        Dcb(ets=Ets(ROCE.prio_tc, ROCE.tsa, (50, 0, 0, 40, 0, 0, 0, 0))),
        Dcb(ets=Ets((8, *ROCE.prio_tc[1:]), ROCE.tsa, ROCE.bandwidth)),
        Dcb(apps=(App(dcb.ETHERTYPE, dcb.ROCE_V1, 3),)),
        Dcb(apps=(App(dcb.DSCP, 64, 3),)),
    ):
        seen.append(said(lambda wrong=wrong: system.dcb.set(UPLINK0, wrong)))
    seen.append(said(lambda: system.dcb.delete_apps(UPLINK0, [App(dcb.DSCP, 26, 3)])))
    seen.append(said(lambda: system.dcb.set_dcbx(UPLINK0, dcb.LLD_MANAGED)))
    for name in ("lo", BOND, "nosuch0"):
        seen.append(said(lambda name=name: system.dcb.get(name)))
    seen += ["refusals left:", *look(system)]
    system.dcb.set(UPLINK0, Dcb(apps=(App(dcb.DSCP, 26, 3), App(dcb.DSCP, 48, 1))))
    system.dcb.set(UPLINK0, Dcb(apps=(App(dcb.DSCP, 26, 5),)))
    seen += ["replaced in place:", *look(system)]
    for op in (SetEts(UPLINK0, ROCE), SetApps(UPLINK0, (dcb.DSCP,), MAP), TakeDcbx(UPLINK0, 0x0D, dcb.HOST)):
        seen.append(said(lambda op=op: op.run(system)))
    for netdev, other in ((UPLINK0, UPLINK1), (UPLINK1, UPLINK0)):
        change = members.InTurn(SetPfc(netdev, (3,), 20), netdev, BOND, (other,))
        seen.append(said(lambda op=change: op.run(system)))
        seen.append(said(lambda n=netdev: members.AwaitMember(n, BOND, settle=2.0).run(system)))
        seen.append(f"distributing: {members.is_distributing(system, BOND, netdev)}")
    seen += ["set:", *look(system), *look(system, UPLINK1)]
    LeaveBond(UPLINK0).run(system)
    SetEswitchMode(P0, "switchdev").run(system)
    seen += ["after a mode change:", *look(system)]
    fault(P0, 3)
    seen.append(said(lambda: SetEts(UPLINK0, ROCE).run(system)))
    fault(P0, 2)
    seen.append(said(lambda: system.dcb.get(UPLINK0)))
    fault(P0, 0)
    SetApps(UPLINK0, (dcb.DSCP,), ()).run(system)
    return [*seen, "trust PCP:", *look(system)]


def on_model(host: FakeHost) -> list[str]:
    """The scenario on a modelled host."""

    def fault(bdf: str, mode: int) -> None:
        port = host.port(bdf).dcb
        port.no_ops, port.refuses = mode == 2, mode == 3

    return bridging(host, fault)


def on_machine() -> list[str]:
    """The scenario on the host that this runs on, which has the virtual card."""
    machine = Machine()

    def fault(bdf: str, mode: int) -> None:
        machine.files.write(f"/sys/kernel/debug/vcx/{bdf}/dcb_fault", str(mode))

    return bridging(machine, fault)


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in on_machine()))
