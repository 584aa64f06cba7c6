# SPDX-License-Identifier: Apache-2.0
"""Scenarios that must end alike on the modelled host and on a real kernel with the virtual card.

``scenario(system, fault)`` acts on a plain node (both PFs of a NIC in bond0, no VF) and returns what
it saw, line by line. ``python3 -m lab.modelled.contract NAME`` prints the lines that the host it
runs on gives; ``tests/functional/test_hostnic.py`` compares them with :class:`FakeHost`'s.
"""

import errno
import sys
from collections.abc import Callable
from contextlib import suppress

from converge import StepError
from hostnic.devices import discover, pci
from hostnic.devices.lag import DEBUGFS
from hostnic.devices.model import Pf
from hostnic.devices.port import uplink_of
from hostnic.machine import Machine
from hostnic.ops.bonding import AwaitLag, JoinBond, LeaveBond
from hostnic.ops.eswitch import SetEswitchMode, SetHwTcOffload
from hostnic.ops.vf import BindVf, CreateVfs, DestroyVfs, SetAutoprobe, UnbindVf
from hostnic.system import System

from lab.modelled.host import FakeHost
from lab.modelled.recorder import Recorder

Fault = Callable[[str, str, str], None]
"""``fault(bdf, name, value)`` arranges a fault of the card: ``mode_fail``, ``vf_delay_ms`` …"""
Scenario = Callable[[System, Fault], list[str]]

P0, P1 = "0000:3b:00.0", "0000:3b:00.1"
UPLINK0, UPLINK1 = "enp59s0f0np0", "enp59s0f1np1"
PORTS = ((P0, UPLINK0), (P1, UPLINK1))
BOND = "bond0"
SETTLED = 1.5
"""Seconds in which the kernel's work items are done, also on an emulated machine."""


def said(action: Callable[[], object]) -> str:
    """Return the outcome: the result, or the error with its name and the kernel's words."""
    try:
        return str(action())
    except StepError as error:
        return f"step error: {error.reason}"
    except OSError as error:
        return f"{errno.errorcode.get(error.errno or 0, '?')}: {error.strerror}"


def _lag(system: System, pf: Pf) -> str:
    """The LAG, and two details of an active one that no charm reads."""
    details: list[str] = []
    for name in ("port_sel_mode", "flags") if pf.lag.active else ():
        with suppress(OSError):
            details += system.files.read(f"{DEBUGFS}/{pf.bdf}/lag/{name}").split()[:1]
    return f"{pf.lag.active} {pf.lag.type} {details} {pf.lag.source}"


def _port(system: System, pf: Pf) -> list[str]:
    uplink = uplink_of(system.links.all(), pf.bdf)
    name = uplink.port_name if uplink else None
    return [
        f"{pf.bdf} {pf.port.driver} {pf.port.device} {pf.netdev} {name} {pf.firmware} {pf.psid}",
        f"  vfs {pf.port.num_vfs} of {pf.port.total_vfs}, autoprobe {pf.autoprobe}, iommu {pf.iommu}",
        f"  {pf.eswitch_mode} {pf.steering_mode} {pf.esw_multiport} offload {pf.hw_tc_offload}",
        f"  bond {pf.bond}, bridge {pf.port.bridge}, carrier {pf.carrier}, lag {_lag(system, pf)}",
        *(f"  vf {vf.bdf} {vf.driver} {vf.netdev is not None} {vf.users}" for vf in pf.vfs),
    ]


def look(system: System) -> list[str]:
    """Everything that is observed, without names and addresses that differ between machines."""
    system.sleep(SETTLED)
    host = discover.observe(system)
    lines = [line for pf in host.pfs for line in _port(system, pf)]
    links = {link.name: link for link in system.links.all()}
    lines.append(f"one switch: {len({links[pf.netdev].switch_id for pf in host.pfs if pf.netdev}) == 1}")
    lines += [f"{bond.name} {bond.mode} {bond.members} {links[bond.name].master}" for bond in host.bonds]
    return lines + [finding.sentence() for finding in host.findings]


def plain(system: System, _fault: Fault) -> list[str]:
    """A node as it was deployed."""
    return look(system)


def _free(system: System) -> None:
    for _, netdev in PORTS:
        LeaveBond(netdev).run(system)


def _prepare(system: System, count: int) -> None:
    for bdf, _ in PORTS:
        SetAutoprobe(bdf, False).run(system)
        CreateVfs(bdf, count).run(system)


def _switch(system: System) -> None:
    for bdf, netdev in PORTS:
        SetEswitchMode(bdf, "switchdev").run(system)
        SetHwTcOffload(netdev, True).run(system)


def _join(system: System) -> None:
    for _, netdev in PORTS:
        JoinBond(netdev, BOND).run(system)


def _bind(system: System) -> None:
    for bdf, _ in PORTS:
        SetAutoprobe(bdf, True).run(system)
        for address in pci.vf_addresses(system, bdf).values():
            BindVf(address).run(system)


def _converge(system: System) -> None:
    _free(system)
    _prepare(system, 2)
    _switch(system)
    _join(system)
    AwaitLag((P0, P1)).run(system)
    _bind(system)


def converge(system: System, _fault: Fault) -> list[str]:
    """Both PFs to switchdev and VF-LAG, step by step, and then once more without a write."""
    seen = ["vfs in a bond:"]
    _prepare(system, 2)
    seen += look(system)
    recorder = Recorder(system)
    _converge(recorder)
    seen += ["converged:", *look(system), "written:", *recorder.writes]
    again = Recorder(system)
    for bdf, _ in PORTS:
        CreateVfs(bdf, 2).run(again)
    _switch(again)
    _join(again)
    AwaitLag((P0, P1)).run(again)
    _bind(again)
    return [*seen, f"written again: {again.writes}"]


def refusals(system: System, _fault: Fault) -> list[str]:
    """Return the refusals of the kernel and of mlx5, in their words."""
    num_vfs = pci.attribute(P0, "sriov_numvfs")
    total = pci.total_vfs(system, P0)
    seen = [
        said(lambda: system.files.write(num_vfs, str(total + 1))),
        said(lambda: system.files.write(num_vfs, "many")),
        said(lambda: system.devlink.set_eswitch_mode(P0, "switchdev")),
        said(lambda: system.devlink.set_eswitch_mode(P0, "legacy")),
        said(lambda: system.devlink.set_inline_mode(P0, "transport")),
        said(lambda: system.devlink.param(P0, "no_such_parameter")),
        said(lambda: system.devlink.set_param(P0, "flow_steering_mode", "other")),
    ]
    system.sleep(SETTLED)  # until the bond's LAG is back, which each change of the mode takes down
    seen += [
        said(lambda: system.devlink.set_param(P0, "esw_multiport", True)),
        said(lambda: system.devlink.set_eswitch_mode("0000:3b:00.7", "switchdev")),
        said(lambda: system.ethtool.hw_tc_offload("no-such-dev"))[:6],
        said(lambda: system.links.set_master("no-such-dev", None)),
    ]
    _free(system)
    system.files.write(num_vfs, "1")
    address = pci.vf_addresses(system, P0)[0]
    bind, unbind = f"{pci.DRIVERS}/mlx5_core/bind", f"{pci.DRIVERS}/mlx5_core/unbind"
    seen += [
        said(lambda: system.files.write(num_vfs, "2")),
        said(lambda: system.devlink.set_eswitch_mode(P0, "switchdev")),
        said(lambda: system.files.write(bind, address)),
        said(lambda: system.files.write(unbind, address)),
        said(lambda: system.files.write(unbind, address)),
        said(lambda: SetAutoprobe(P0, False).run(system)),
        said(lambda: BindVf(address).run(system)),
        said(lambda: system.devlink.set_eswitch_mode(P0, "switchdev")),
        said(lambda: system.devlink.set_param(P0, "flow_steering_mode", "dmfs")),
        said(lambda: system.devlink.set_param(P0, "flow_steering_mode", "smfs")),
        said(lambda: system.links.set_up(UPLINK0, True)),
        said(lambda: system.links.set_master(UPLINK0, BOND)),
        said(lambda: system.ethtool.set_hw_tc_offload(UPLINK0, False)),
    ]
    return seen + look(system)


def multiport(system: System, _fault: Fault) -> list[str]:
    """A bond of ports that ``esw_multiport`` joins already."""
    _free(system)
    _switch(system)
    seen = [said(lambda: system.devlink.set_param(P0, "esw_multiport", True))]
    seen.append(said(lambda: JoinBond(UPLINK0, BOND).run(system)))
    return seen + look(system)


def lag_lost(system: System, _fault: Fault) -> list[str]:
    """A bond broken under bound VFs: the LAG does not come back until the driver restarts."""
    _converge(system)
    LeaveBond(UPLINK0).run(system)
    seen = look(system)
    for bdf, _ in PORTS:
        for address in pci.vf_addresses(system, bdf).values():
            UnbindVf(address).run(system)
    JoinBond(UPLINK0, BOND).run(system)
    return seen + look(system)


def bound_too_early(system: System, _fault: Fault) -> list[str]:
    """A VF that is bound before the bond is formed keeps VF-LAG from coming about."""
    _free(system)
    _prepare(system, 1)
    _switch(system)
    _bind(system)
    _join(system)
    return [said(lambda: AwaitLag((P0, P1), 3.0).run(system)), *look(system)]


def back_to_legacy(system: System, _fault: Fault) -> list[str]:
    """The way back: VFs unbound, out of the bond, legacy mode, VFs destroyed, into the bond."""
    _converge(system)
    for bdf, _ in PORTS:
        for address in pci.vf_addresses(system, bdf).values():
            UnbindVf(address).run(system)
    _free(system)
    for bdf, _ in PORTS:
        SetEswitchMode(bdf, "legacy").run(system)
        DestroyVfs(bdf).run(system)
    _join(system)
    return look(system)


def faults(system: System, fault: Fault) -> list[str]:
    """The card's faults as the operations report them."""
    num_vfs = pci.attribute(P0, "sriov_numvfs")
    _free(system)
    SetAutoprobe(P0, False).run(system)
    fault(P0, "numvfs_enomem", "1")
    seen = [said(lambda: CreateVfs(P0, 2).run(system))]
    fault(P0, "numvfs_enomem", "0")
    fault(P0, "vf_delay_ms", "3000")
    system.files.write(num_vfs, "2")
    seen.append(f"promised: {pci.num_vfs(system, P0)}, {pci.vfs_present(system, P0)}")
    seen.append(said(lambda: system.files.write(num_vfs, "1")))
    seen.append(said(lambda: SetEswitchMode(P0, "switchdev").run(system)))
    system.sleep(4.0)
    seen.append(f"late: {pci.num_vfs(system, P0)}, {pci.vfs_present(system, P0)}")
    fault(P0, "vf_delay_ms", "0")
    fault(P0, "mode_fail", "1")
    seen.append(said(lambda: SetEswitchMode(P0, "switchdev").run(system)))
    fault(P0, "mode_fail", "0")
    seen.append(said(lambda: SetEswitchMode(P0, "switchdev").run(system)))
    SetEswitchMode(P1, "switchdev").run(system)
    fault(P0, "lag_never", "1")
    _join(system)
    seen.append(said(lambda: AwaitLag((P0, P1), 3.0).run(system)))
    return seen + look(system)


SCENARIOS: dict[str, Scenario] = {
    scenario.__name__: scenario
    for scenario in (
        plain,
        converge,
        refusals,
        multiport,
        bound_too_early,
        lag_lost,
        back_to_legacy,
        faults,
    )
}


def on_model(name: str, host: FakeHost) -> list[str]:
    """The scenario on a modelled host."""

    def fault(bdf: str, which: str, value: str) -> None:
        port = host.port(bdf)
        if which == "numvfs_enomem":
            port.no_mmio = value == "1"
        elif which == "vf_delay_ms":
            port.vf_delay = int(value) / 1000
        elif which == "mode_fail":
            port.mode_fails = value == "1"
        elif which == "lag_never":
            host.cards[0].lag_never = value == "1"
        else:
            raise ValueError(f"the model has no fault {which}")

    return SCENARIOS[name](host, fault)


def on_machine(name: str) -> list[str]:
    """The scenario on the host that this runs on, which has the virtual card."""
    machine = Machine()

    def fault(bdf: str, which: str, value: str) -> None:
        machine.files.write(f"/sys/kernel/debug/vcx/{bdf}/fault_{which}", value)

    return SCENARIOS[name](machine, fault)


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in on_machine(sys.argv[1])))
