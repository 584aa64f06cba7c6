# SPDX-License-Identifier: Apache-2.0
"""The program of the boot units, which the boot copy has: the plan that a hook would run, without Juju.

boot    runs after the network and sriov-switchdev's units, and first waits for the ports and their bonds.
again   runs after a netdev or an RDMA device was added again, which has lost its settings.
"""

import sys
from collections.abc import Sequence

import record
from converge import Severity, cause, words
from converge.execute import execute
from desired import Desired
from hostnic import exclusive
from hostnic.machine import Machine
from hostnic.ops import until
from hostnic.ops.refusal import unreadable
from hostnic.system import HostStep, System, read_own
from nic import before
from nic.judge import judge
from observe import observe
from observed import Observed
from plan import plan

from boot import bootfile

DEADLINE = 90.0
"""Seconds for the ports to appear and for their bonds to carry traffic."""

AGAIN_DEADLINE = 20.0

TURN = 60.0
"""Until another program of these charms has ended its changes of the host."""

ROUNDS = 3
"""systemd starts no unit that runs already: a port that is added meanwhile is served in another round."""


def main(arguments: Sequence[str]) -> int:
    """Run one phase; the exit code is 1 when something went wrong."""
    deadlines = {"boot": DEADLINE, "again": AGAIN_DEADLINE}
    deadline = deadlines.get(arguments[0]) if len(arguments) == 1 else None
    if deadline is None:
        print(f"usage: boot.pyz {'|'.join(deadlines)}", file=sys.stderr)
        return 5
    problems = converge(Machine(), deadline)
    for problem in problems:
        print(problem, file=sys.stderr, flush=True)
    return 1 if problems else 0


def converge(system: System, deadline: float) -> tuple[str, ...]:
    """Bring the ports to the state that the last hook left on disk.

    Returns what went wrong, one sentence each.
    """
    try:
        wanted = bootfile.from_json(read_own(system, bootfile.PATH))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        return (f"{bootfile.PATH}: {words(error)}; the next hook of the charm rewrites it",)
    try:
        first = not system.files.exists(record.SERVED)
        record.begin(system)
        problems = _converge(system, wanted, deadline, first)
    except OSError as error:
        problems = (unreadable(error),)
    try:
        record.write(system, running=False, problems=problems)
    except OSError as error:
        problems = (*problems, f"{record.PATH} cannot be written: {cause(error)}")
    return problems


def _without_others(wanted: Desired, observed: Observed) -> tuple[Desired, list[str]]:
    """``wanted`` without ports at whose address another card is, and a sentence for each of them."""
    others = {port.bdf: port for port in observed.ports if wanted.is_other(port.bdf, port.permanent_mac)}
    ports = tuple(bdf for bdf in wanted.ports if bdf not in others)
    known = dict(wanted.macs)
    return wanted._replace(ports=ports), [
        f"{bdf}: another card is at this address (MAC {others[bdf].permanent_mac}, not {known[bdf]}), "
        "and is left alone; the next hook of the charm configures it if option devices selects it"
        for bdf in wanted.ports
        if bdf in others
    ]


def _converge(
    system: System, wanted: Desired, deadline: float, first: bool, rounds: int = ROUNDS
) -> tuple[str, ...]:
    # If a port is still missing or out of its bond, the others are set now, and the next hook does the rest.
    looks: list[Observed] = []
    until(system, lambda: _formed(system, wanted, looks), deadline)
    with exclusive.lock(system, TURN) as lock:
        if not lock.held:
            return (f"{exclusive.held_by_another(TURN)}; {exclusive.REMEDY}",)
        observed = _look(system, wanted) if lock.waited else looks[0]
        wanted, others = _without_others(wanted.where_they_are(observed.macs), observed)
        found = plan(judge(wanted, observed), observed.findings)
        if found.steps:
            ours = None if first else wanted
            before.keep(system, observed.among(wanted.ports), observed, ours)
        failed = execute(found, system, _announce).findings if found.steps else ()
    if found.steps and not failed and rounds > 1:
        return (*others, *_converge(system, wanted, min(deadline, AGAIN_DEADLINE), first, rounds - 1))
    blocking = [finding for finding in found.findings if finding.severity is Severity.BLOCKED]
    held = [f"held: {item.step.what}: {item.reason}; {item.release}" for item in found.held]
    return (*others, *(finding.sentence() for finding in (*blocking, *failed)), *held)


def _look(system: System, wanted: Desired) -> Observed:
    names = (name for name, _ in wanted.cc_params)
    return observe(system, names, wanted.qos.roce.priority, speak=wanted.lldp)


def _formed(system: System, wanted: Desired, looks: list[Observed]) -> bool:
    looks[:] = [_look(system, wanted)]
    wanted = wanted.where_they_are(looks[0].macs)
    ports = [looks[0].port(bdf) for bdf in wanted.ports]
    return all(
        port is not None and (port.distributing or wanted.is_other(port.bdf, port.permanent_mac))
        for port in ports
    )


def _announce(step: HostStep) -> None:
    print(step.what, flush=True)
