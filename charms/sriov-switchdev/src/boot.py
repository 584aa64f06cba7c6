# SPDX-License-Identifier: Apache-2.0
"""What the boot units run from the boot copy: ``early``, ``bind``, ``fallback``; ``revert`` is the timer's.

early     before the network: VFs created unbound, switchdev mode. A NIC on which a step fails is
          left in legacy mode with zero VFs (VFs in legacy mode would match Nova's whitelist and
          fail every plug), and the network comes up.
bind      when the bond has formed: waits for VF-LAG, then binds the VFs, before instances start.
fallback  if early did not finish (crash, timeout): the same legacy mode with zero VFs.
revert    an armed live change was not confirmed in time.

The outcome is kept for the charm's status (record.py).
"""

import sys
from collections.abc import Iterable, Sequence

import bootfile
import budget
import desired
import record
import steps as nic
from converge import Plan, StepError
from converge.execute import execute
from desired import Desired, Port
from hostnic import cpus
from hostnic.devices import discover
from hostnic.devices.model import Host, Pf, users_in_words
from hostnic.machine import Machine
from hostnic.ops import until
from hostnic.ops.members import is_distributing
from hostnic.system import MODE_CHANGE_TIME, HostStep, System
from observed import Trouble
from steps import Work


def main(arguments: Sequence[str]) -> int:
    """Run one phase; the exit code is 1 when something went wrong."""
    phases = {"early": early, "bind": bind, "fallback": fallback, "revert": revert}
    phase = phases.get(arguments[0]) if len(arguments) == 1 else None
    if phase is None:
        print(f"usage: boot.pyz {'|'.join(phases)}", file=sys.stderr)
        return 5
    troubles = phase(Machine())
    for trouble in troubles:
        print(trouble.finding().sentence(), file=sys.stderr, flush=True)
    return 1 if troubles else 0


def early(system: System) -> tuple[Trouble, ...]:
    """VFs and switchdev mode of every NIC, before the network; a NIC that fails does not stop the others."""
    record.write_boot(system, "early", "running")
    wanted, troubles = _load(system)
    host, late = _await_ports(system, wanted)
    troubles += late
    for number, ports in enumerate(wanted.nics().values()):
        if number:  # the previous NIC took seconds, in which a bond may have appeared
            host = discover.observe(system)
        troubles += _early_nic(system, wanted, ports, host)
    record.write_boot(system, "early", "failed" if troubles else "done", tuple(troubles))
    return tuple(troubles)


def bind(system: System) -> tuple[Trouble, ...]:
    """Bind the VFs of each NIC that early has prepared, once its VF-LAG is active."""
    record.write_boot(system, "bind", "running")
    try:
        wanted, troubles = _load(system)
        for ports in wanted.nics().values():
            troubles += _bind_nic(system, wanted, _pairs(discover.observe(system), ports))
    except OSError as error:
        troubles = [
            Trouble("bind", f"the host cannot be read: {error}", "see journalctl -u ovn-offload-sriov-bind")
        ]
    record.write_boot(system, "bind", "failed" if troubles else "done", tuple(troubles))
    return tuple(troubles)


def fallback(system: System) -> tuple[Trouble, ...]:
    """Bring every NIC that an unfinished early left half way to legacy mode with zero VFs."""
    found = record.read_boot(system).phases.get("early")
    if found is None or found.state != "running":
        return ()
    wanted, troubles = _load(system)
    cut = "the boot step did not come to its end"
    troubles += [Trouble("early", cut, "see journalctl -u ovn-offload-sriov-early")]
    for ports in wanted.nics().values():
        if running := _still_changing(system, ports):
            troubles += running
            continue
        pairs = _pairs(discover.observe(system), ports)
        if any(nic.needs_work(port, pf) for port, pf in pairs):
            troubles += to_legacy(system, pairs)
    record.write_boot(system, "early", "failed", tuple(troubles))
    return tuple(troubles)


def revert(system: System) -> tuple[Trouble, ...]:
    """Restore what an unconfirmed live change left."""
    if not record.armed(system):
        return ()
    import live  # not at boot: the network waits for it

    why = f"it was not confirmed within {live.TIMEOUT_S} s"
    problems = live.revert(system, why)
    return tuple(Trouble("revert", problem, "look at the node's console") for problem in problems)


def to_legacy(system: System, pairs: Sequence[Work]) -> list[Trouble]:
    """Bring ports to legacy mode with zero VFs, each as far as possible; return what did not work.

    Autoprobe stays off: VFs that appear after all remain unbound.
    """
    from hostnic.ops.eswitch import SetEswitchMode
    from hostnic.ops.vf import DestroyVfs, UnbindVfs

    troubles: list[Trouble] = []
    for port, _ in pairs:
        bdf = port.bdf
        for op in (UnbindVfs(bdf), SetEswitchMode(bdf, "legacy"), DestroyVfs(bdf)):
            try:
                op.run(system)
            except (StepError, OSError) as error:
                what, remedy = f"fallback to legacy mode with zero VFs: {error}", getattr(error, "remedy", "")
                troubles.append(Trouble(bdf, what, remedy))
    return troubles


def _still_changing(system: System, ports: Iterable[Port]) -> list[Trouble]:
    """Wait for changes of mode that outlived their answer; those that still run must not be interfered with.

    The kernel answers a question about the mode when the change is over.
    """
    for port in ports:
        try:
            system.devlink.eswitch_mode(port.bdf)
        except TimeoutError:
            what = f"a change of its mode still runs {MODE_CHANGE_TIME:g} s later; the NIC is left alone"
            return [Trouble(port.bdf, what, "see the kernel log, and reboot")]
        except OSError:
            continue  # whatever is done next says why
    return []


def _load(system: System) -> tuple[Desired, list[Trouble]]:
    """The desired state that the last hook left, and what is wrong with it."""
    try:
        return bootfile.from_json(system.files.read(desired.PATH)), []
    except FileNotFoundError:
        return Desired(), []
    except (OSError, ValueError) as error:
        trouble = Trouble(desired.PATH, str(error), "the next hook of the charm rewrites it")
        return Desired(), [trouble]


def _await_ports(system: System, wanted: Desired) -> tuple[Host, list[Trouble]]:
    """Wait until every port has its driver and its netdev; return the host as read last."""
    hosts: list[Host] = []
    missing: list[Port] = []

    def all_there() -> bool:
        hosts[:] = [discover.observe(system)]
        there = {pf.bdf for pf in hosts[0].pfs if pf.port.driver == "mlx5_core" and pf.netdev}
        missing[:] = [port for port in wanted.ports if port.bdf not in there]
        return not missing

    until(system, all_there, budget.DEVICES)
    return hosts[0], [
        Trouble(
            port.bdf,
            f"{port.netdev} did not appear within {budget.DEVICES:g} s of the boot",
            "see the kernel log for the NIC",
        )
        for port in missing
    ]


def _early_nic(system: System, wanted: Desired, ports: Sequence[Port], host: Host) -> list[Trouble]:
    """One port after the other. Usually no bond exists yet; mlx5 changes the mode of a bonded port too."""
    pairs = _pairs(host, ports)
    work = [(port, pf) for port, pf in pairs if nic.needs_work(port, pf)]
    if work and (busy := users_in_words((vf.bdf, vf.users) for _, pf in pairs for vf in pf.vfs)):
        what = f"VFs were in use when the boot step ran: {busy}; nothing was changed"
        return [Trouble(work[0][0].bdf, what, "free them, then reboot")]
    count, why = wanted.uplink_queues or cpus.online(system), "in switchdev mode mlx5 gives it one"
    troubles: list[Trouble] = []
    failed = _run(system, nic.unbind(work))
    for port, pf in pairs:
        changes = (port, pf) in work
        if failed or (pf.bond and not changes):
            continue
        steps = nic.create(port, pf, wanted.steering_mode, host_network=False) if changes else []
        back = [nic.await_member(port, pf, pf.bond, nic.SETTLE)] if pf.bond and _carries(system, pf) else []
        failed = _run(system, steps)
        if not failed:
            # The NIC forwards without these queues: it is kept if they are refused.
            troubles += _run(system, [nic.queues(port, pf, count, why)])
            failed = _run(system, back)
    if not failed:
        return troubles
    running = _still_changing(system, ports)
    undone = running or to_legacy(system, _pairs(discover.observe(system), ports))
    return [*failed, *troubles, *undone]


def _carries(system: System, pf: Pf) -> bool:
    """Whether the port carries traffic in its bond, so that the other one may have to wait for it."""
    return bool(pf.bond and pf.netdev and is_distributing(system, pf.bond, pf.netdev))


def _bind_nic(system: System, wanted: Desired, work: Sequence[Work]) -> list[Trouble]:
    if late := [(port, pf) for port, pf in work if nic.is_late(pf, record.read_boot(system))]:
        return to_legacy(system, late)
    pairs = [(port, pf) for port, pf in work if pf.port.num_vfs and pf.eswitch_mode == "switchdev"]
    if not pairs or all(vf.driver for _, pf in pairs for vf in pf.vfs):
        return []
    troubles: list[Trouble] = []
    if nic.awaits_lag(pairs, wanted.lag_required):
        troubles += _await_lag(system, pairs)
    if troubles and wanted.lag_required:
        return troubles
    for step in nic.bind(pairs, after_change=True):  # one by one: a failure must not keep other VFs unbound
        troubles += _run(system, [step])
    return troubles


def _await_lag(system: System, pairs: Sequence[Work]) -> list[Trouble]:
    """Wait for the kernel's bond, then for VF-LAG."""

    def together() -> bool:
        masters = {link.name: link.master for link in system.links.all()}
        return all(masters.get(pf.netdev or port.netdev) == port.bond for port, pf in pairs)

    if any(pf.bond != port.bond for port, pf in pairs):
        until(system, together, budget.BOND)
    return _run(system, [nic.await_lag(pairs, budget.LAG)])


def _pairs(host: Host, ports: Iterable[Port]) -> list[Work]:
    return [(port, pf) for port, pf in nic.pairs_of(host, ports) if pf.port.driver == "mlx5_core"]


def _run(system: System, steps: Sequence[HostStep]) -> list[Trouble]:
    """Run the steps up to the first that fails, which is the trouble."""
    failed = execute(Plan(tuple(steps)), system, lambda step: print(step.what, flush=True)).finding
    return [Trouble(failed.subject, f"the boot step {failed.what}", failed.remedy)] if failed else []
