# SPDX-License-Identifier: Apache-2.0
"""The program of the units and of a timer, which the boot copy has.

early     before the network: VFs created unbound, switchdev mode. A NIC on which a step fails is
          left in legacy mode with zero VFs (VFs in legacy mode would match Nova's whitelist and
          fail every plug), and the network comes up.
bind      when the bond has formed: waits for VF-LAG, then binds the VFs, before instances start.
fallback  if early or restore did not finish (crash, timeout): the same legacy mode with zero VFs.
restore   the driver of a port was loaded anew while the host runs (restore.py).
follow    as a service: VFs have no carrier while their bond has none (follow.py).
revert    an armed live change was not confirmed in time.

The outcome is kept for the charm's status (record.py).
"""

import contextlib
import sys
from collections.abc import Callable, Sequence
from functools import wraps

import record
from desired import Desired, WantedPort
from hostnic import cpus, exclusive
from hostnic.boot import units
from hostnic.devices import discover
from hostnic.devices.model import Host, Pf
from hostnic.machine import Machine
from hostnic.ops import until
from hostnic.ops.members import is_distributing
from hostnic.ops.refusal import unreadable
from hostnic.system import System
from nic import chain, judge
from nic.judge import Move, Nic
from nic.places import located
from observed import BootFailure, Observed

from boot import budget
from boot.files import BIND
from boot.phase import (
    await_ports,
    bind_vfs,
    load,
    other_cards,
    read,
    run,
    still_changing,
    to_legacy,
)

Phase = Callable[[System], tuple[BootFailure, ...]]


def main(arguments: Sequence[str]) -> int:
    """Run one phase; the exit code is 1 when something went wrong."""
    phases = {
        "early": early,
        "bind": bind,
        "fallback": fallback,
        "restore": restore,
        "follow": follow,
        "revert": revert,
    }
    phase = phases.get(arguments[0]) if len(arguments) == 1 else None
    if phase is None:
        print(f"usage: boot.pyz {'|'.join(phases)}", file=sys.stderr)
        return 5
    problems = phase(Machine())
    for problem in problems:
        print(problem.finding().sentence(), file=sys.stderr, flush=True)
    return 1 if problems else 0


def exclusively(name: str, wait: float) -> Callable[[Phase], Phase]:
    """Have a phase run while no other program changes the host; what cannot be read becomes a problem.

    An early phase that ends so stays "running" in the record: systemd starts the fallback after it.

    The phase ``name`` is given up after ``wait`` seconds.
    """

    def of(phase: Phase) -> Phase:
        @wraps(phase)
        def run(system: System) -> tuple[BootFailure, ...]:
            try:
                with exclusive.lock(system, wait) as lock:
                    if lock.held:
                        return phase(system)
                problem = BootFailure(name, exclusive.held_by_another(wait), exclusive.REMEDY)
            except OSError as error:
                problem = BootFailure(name, unreadable(error), "see journalctl -u 'ovn-offload-sriov-*'")
            with contextlib.suppress(OSError):  # it is in the journal
                if name == "bind" or (name == "fallback" and _unfinished(system) == {"early"}):
                    record.write_boot(system, "bind" if name == "bind" else "early", "failed", (problem,))
            return (problem,)

        return run

    return of


def _unfinished(system: System) -> set[str]:
    """The phases that have begun and not ended."""
    return {name for name, found in record.read_boot(system).phases.items() if found.state == "running"}


@exclusively("early", budget.TURN)
def early(system: System) -> tuple[BootFailure, ...]:
    """VFs and switchdev mode of every NIC, before the network; a NIC that fails does not stop the others."""
    record.write_boot(system, "early", "running")
    wanted, problems = read(system)
    wanted, host, late = await_ports(system, wanted)
    problems += [*late, *other_cards(host, wanted)]
    with_vfs = {pf.bdf for pf in host.pfs if pf.port.num_vfs}
    record.note_found(system, [port.bdf for port in wanted.ports if port.bdf in with_vfs])
    for number, ports in enumerate(wanted.nics().values()):
        if number:  # the previous NIC took seconds, in which a bond may have appeared
            host = discover.observe(system)
        problems += _early_nic(system, wanted, ports, host)
    record.write_boot(system, "early", "failed" if problems else "done", tuple(problems))
    _note_bind(system)
    return tuple(problems)


def _note_bind(system: System) -> None:
    """Record that the binding unit does not start in this boot, so that no hook waits for it.

    The power may be cut between enabling the two units.
    """
    try:
        starts = units.enabled(system, BIND)
    except OSError:
        return  # hooks wait for it as long as it may take
    if not starts:
        what, remedy = f"{BIND} was not enabled, so that VFs stayed unbound", "the next hook enables it"
        record.write_boot(system, "bind", "failed", (BootFailure("bind", what, remedy),))


@exclusively("bind", budget.TURN)
def bind(system: System) -> tuple[BootFailure, ...]:
    """Bind the VFs of each NIC that early has prepared, once its VF-LAG is active."""
    record.write_boot(system, "bind", "running")
    wanted, problems = read(system)
    host = discover.observe(system)
    wanted = located(wanted, host)
    for number, (slot, ports) in enumerate(wanted.nics().items()):
        if number:  # binding the VFs of the previous NIC took seconds
            host = discover.observe(system)
        nic = judge.at_hand(ports, wanted, Observed(host, boot=record.read_boot(system)))
        if nic.ports and not nic.changes:
            record.NoteConverged(slot).run(system)
        problems += _bind_nic(system, wanted, nic)
    record.write_boot(system, "bind", "failed" if problems else "done", tuple(problems))
    return tuple(problems)


@exclusively("fallback", budget.TURN)
def fallback(system: System) -> tuple[BootFailure, ...]:
    """Bring every NIC that an unfinished early left half way to legacy mode with zero VFs."""
    unfinished = _unfinished(system)
    if "restore" in unfinished:
        from boot.restore import cut_off

        return cut_off(system)
    if "early" not in unfinished:
        return ()
    wanted, problems = load(system)
    cut = "the boot step did not come to its end"
    problems += [BootFailure("early", cut, "see journalctl -u ovn-offload-sriov-early")]
    for ports in wanted.nics().values():
        if running := still_changing(system, ports):
            problems += running
            continue
        nic = judge.at_hand(ports, wanted, Observed(discover.observe(system)))
        if nic.changes:
            problems += to_legacy(system, nic.ports)
    record.write_boot(system, "early", "failed", tuple(problems))
    return tuple(problems)


@exclusively("restore", budget.LONG_TURN)
def restore(system: System) -> tuple[BootFailure, ...]:
    """Restore ports whose driver was loaded anew."""
    from boot.restore import restore_ports  # not at boot: the network waits for it

    return restore_ports(system)


def follow(system: System) -> tuple[BootFailure, ...]:
    """Follow uplinks, beside whoever changes the host: nobody else sets representors."""
    import signal  # only this service needs these

    from boot.follow import follow as serve

    def end(*_: object) -> None:
        raise SystemExit

    signal.signal(signal.SIGTERM, end)
    return serve(system)


@exclusively("revert", budget.REVERT_TURN)
def revert(system: System) -> tuple[BootFailure, ...]:
    """Restore what an unconfirmed live change left."""
    if not record.armed(system):
        return ()
    import live  # not at boot: the network waits for it

    why = f"it was not confirmed within {live.TIMEOUT_S} s"
    problems = live.revert(system, why)
    return tuple(BootFailure("revert", problem, "look at the node's console") for problem in problems)


def _early_nic(system: System, wanted: Desired, ports: Sequence[WantedPort], host: Host) -> list[BootFailure]:
    """One NIC's VFs and modes. Usually no bond exists yet; mlx5 changes the mode of a bonded port too."""
    nic = judge.at_hand(ports, wanted, Observed(host))
    work = [now.port.bdf for now in nic.ports if now.changes]
    if work and any(now.pf.vfs for now in nic.ports):  # not at a boot: somebody has started the unit
        from hostnic.devices import users  # at a boot, the network waits for it

        own = users.with_own(system, host, [port.bdf for port in ports])
        nic = judge.at_hand(ports, wanted, Observed(own))
    if work and (busy := ", ".join(now.users for now in nic.ports if now.users)):
        what = f"VFs were in use when the boot step ran: {busy}; nothing was changed"
        return [BootFailure(work[0], what, "free them, then reboot")]

    def carries(pf: Pf) -> bool:
        return is_distributing(system, pf.bond, pf.netdev or "")

    problems: list[BootFailure] = []
    for part in chain.at_boot(nic, wanted, cpus.online(system), carries):
        if part.is_last:
            break  # in the binding unit
        failed, noted = run(system, part, spare=part.move is Move.QUEUES)
        problems += noted
        if failed:
            left = judge.at_hand(ports, wanted, Observed(discover.observe(system)))
            undone = still_changing(system, ports) or to_legacy(system, left.ports)
            return [*failed, *problems, *undone]
    record.note_left(system, [now.port.bdf for now in nic.ports], anew=False)
    return problems


def _bind_nic(system: System, wanted: Desired, nic: Nic) -> list[BootFailure]:
    if late := [now for now in nic.ports if now.late]:
        return to_legacy(system, late)
    ready = nic.only(now for now in nic.ports if not now.changes)
    if all(vf.driver for now in ready.ports for vf in now.pf.vfs):
        return []
    if ready.awaits_lag:
        _await_bond(system, ready)
    return bind_vfs(system, wanted, chain.vfs(ready, ready.ports, lag=ready.awaits_lag))


def _await_bond(system: System, nic: Nic) -> None:
    """Wait for the kernel's bond, in which VF-LAG forms."""

    def together() -> bool:
        masters = {link.name: link.master for link in system.links.all()}
        return all(masters.get(now.netdev) == now.port.bond for now in nic.ports)

    if any(now.pf.bond != now.port.bond for now in nic.ports):
        until(system, together, budget.BOND)
