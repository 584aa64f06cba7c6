# SPDX-License-Identifier: Apache-2.0
"""Restore ports whose driver was loaded anew while the host runs: VFs, mode, queues, bond, VF-LAG.

udev starts this with the new netdev of a port (files.py), and so does a hook for what had to wait. Nothing
races it: it runs after the boot units; hooks leave the NICs alone while the record says that it runs; it
leaves the NICs alone while a live change waits for its confirmation, and a live change begins only while it
does not run (live.Arm), so that the revert timer is not armed then. What other charms set on the ports comes
after it (roce-qos' unit is ordered so).

VFs in use stay as they are, and their port in legacy mode, until they are free (driver_reload.py). A port
that fails is left in legacy mode with zero VFs, as at boot: VFs in legacy mode would match Nova's whitelist.
"""

import contextlib
from collections.abc import Sequence

import record
from desired import Desired, WantedPort
from hostnic import cpus
from hostnic.devices import discover, users
from hostnic.devices.lag import PORTS
from hostnic.devices.model import Host
from hostnic.ops.refusal import unreadable
from hostnic.system import System
from nic import chain, judge
from nic.judge import Move, PortNow
from observed import APPROVE, BootFailure, Observed

from boot import driver_reload, phase
from boot.files import DISPATCH

WHO = "ovn-offload-sriov-restore"
"""As its failures name the unit."""

ROUNDS = 2
"""systemd starts no unit that runs already: a port that is lost meanwhile has its turn in the second."""


def restore_ports(system: System) -> tuple[BootFailure, ...]:
    """Restore every lost port that can be. Writes nothing if none is lost.

    Another card at the address of a port is left alone; the charm is told to look at it.
    """
    wanted, problems = phase.load(system)
    others = phase.other_cards(discover.observe(system), wanted)
    if not _lost(system, wanted):
        if others:
            _wake(system)
        return (*problems, *others)
    return (*others, *_restore(system, wanted, problems))


def _restore(system: System, wanted: Desired, problems: list[BootFailure]) -> tuple[BootFailure, ...]:
    before = record.read_boot(system).phases.get("restore")
    failures = before.failures if before else 0
    record.write_boot(system, "restore", "running", failures=failures)
    if record.armed(system):
        print("a live change waits for its confirmation: the next hook goes on", flush=True)
        record.write_boot(system, "restore", "done", failures=failures)
        return ()
    try:
        for _ in range(ROUNDS):
            # A fatal error of the firmware takes both ports of a NIC: wait for the other one, if it comes.
            wanted, _, _ = phase.await_ports(system, wanted)
            for ports in [ports for ports in wanted.nics().values() if _lost(system, wanted, ports)]:
                problems += _restore_nic(system, wanted, ports)
            if problems:
                break
    except OSError as error:
        what, remedy = unreadable(error), "see journalctl -u ovn-offload-sriov-restore"
        problems.append(BootFailure("restore", what, remedy))
    return _end(system, problems, failures)


def cut_off(system: System) -> tuple[BootFailure, ...]:
    """After the unit did not come to its end: no unused VF stays in legacy mode or unbound."""
    wanted, problems = phase.load(system)
    cut = "the unit that restores ports did not come to its end"
    problems.append(BootFailure("restore", cut, "see journalctl -u ovn-offload-sriov-restore"))
    for port in _lost(system, wanted):
        problems += _give_up(system, port)
    for ports in wanted.nics().values():
        nic = judge.at_hand(ports, wanted, Observed(discover.observe(system)))
        if any(vf.driver is None for now in nic.ports for vf in now.pf.vfs):
            problems += _finish(system, wanted, ports, ports)
    found = record.read_boot(system).phases.get("restore")
    return _end(system, problems, found.failures if found else 0)


def _end(system: System, problems: Sequence[BootFailure], failures: int) -> tuple[BootFailure, ...]:
    """Record the outcome, and have the charm look at it."""
    state = "failed" if problems else "done"
    record.write_boot(system, "restore", state, tuple(problems), failures + 1 if problems else 0)
    _wake(system)
    return tuple(problems)


def _wake(system: System) -> None:
    with contextlib.suppress(OSError):  # the charm may be gone; otherwise the next hook looks
        system.run(["systemctl", "start", "--no-block", DISPATCH])


def _look(system: System, ports: Sequence[WantedPort]) -> Host:
    """The host, with its own uses of the ports' VFs."""
    return users.with_own(system, discover.observe(system), [port.bdf for port in ports])


def _lost(system: System, wanted: Desired, ports: Sequence[WantedPort] = ()) -> list[WantedPort]:
    """The lost ports of one NIC, which has these ``ports``; of all NICs without them."""
    converged = record.read_converged(system)
    if not converged:
        return []
    seen = Observed(_look(system, ports or wanted.ports), converged=converged)
    nics = [ports] if ports else wanted.nics().values()
    return [now.port for nic in nics for now in judge.at_hand(nic, wanted, seen).ports if now.lost]


def _restore_nic(system: System, wanted: Desired, ports: Sequence[WantedPort]) -> list[BootFailure]:
    """One port after the other: the bond always keeps a port that carries traffic."""
    nic = judge.at_hand(ports, wanted, Observed(_look(system, ports)))
    todo = [now for port in ports if (now := _restorable(system, wanted, port))]
    freed = chain.freed_by_restore(nic, todo)
    failed, noted = phase.run(system, chain.unbound(freed), spare=False, who=WHO)
    problems = [*failed, *noted]
    for port in [now.port for now in todo] if not failed else ():
        # An instance may have taken a VF meanwhile, or the other port lost its link.
        if now := _restorable(system, wanted, port):
            problems += _restore_port(system, wanted, now)
    return [*problems, *_finish(system, wanted, ports, [now.port for now in freed])]


def _restore_port(system: System, wanted: Desired, now: PortNow) -> list[BootFailure]:
    problems = list[BootFailure]()
    for part in chain.restored(now, wanted, cpus.online(system)):
        # A port keeps VFs and mode without its queues, and if it does not come back into its bond.
        spare = part.move in (Move.QUEUES, Move.JOIN)
        failed, noted = phase.run(system, part, spare=spare, who=WHO)
        problems += [*failed, *noted]
        if failed:
            return [*problems, *_give_up(system, now.port)]
    return problems


def _restorable(system: System, wanted: Desired, port: WantedPort) -> PortNow | None:
    """A lost port that can be restored now, as it is; None if it is to be left alone."""
    host, nic = _look(system, [port]), frozenset({port.nic})
    seen = Observed(host, converged=nic, alone=driver_reload.alone(system, host, nic))
    now = next(iter(judge.at_hand([port], wanted, seen).ports), None)
    if now is None or not now.lost:
        return None
    reason, helps = now.left
    if reason:
        print(f"{port.bdf} stays in legacy mode: {reason}; {helps}; or {APPROVE}", flush=True)
        return None
    return now


def _give_up(system: System, port: WantedPort) -> list[BootFailure]:
    """Leave the port in legacy mode with zero VFs, unless somebody has taken one meanwhile."""
    if running := phase.still_changing(system, [port]):
        return running
    nic = judge.at_hand([port], Desired(), Observed(_look(system, [port])))
    return phase.to_legacy(system, [now for now in nic.ports if not now.users])


def _finish(
    system: System, wanted: Desired, ports: Sequence[WantedPort], touched: Sequence[WantedPort]
) -> list[BootFailure]:
    """VF-LAG, if both ports are in switchdev mode again, and then the VFs that were unbound for it."""
    nic = judge.at_hand(ports, wanted, Observed(discover.observe(system)))
    switched = [now for now in nic.ports if now.pf.eswitch_mode == "switchdev"]
    back = [now for now in switched if now.port in touched]
    whole = len(nic.ports) in PORTS and len(switched) == len(nic.ports)
    if touched and not whole and wanted.lag_required and nic.awaits_lag:
        return []
    binding = chain.vfs(nic, back, lag=bool(touched) and whole and nic.awaits_lag)
    return phase.bind_vfs(system, wanted, binding, WHO)
