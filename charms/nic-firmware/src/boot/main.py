# SPDX-License-Identifier: Apache-2.0
"""The boot unit's program: set the registers that GPUDirect needs, before instances start.

It never fails the boot: what it could not set is in the journal, and the charm's next hook reports it.
"""

import sys
from collections.abc import Callable, Iterator, Sequence

from converge import StepError, cause
from converge.shape import InvalidValue
from hostnic import exclusive
from hostnic.devices import pci, users
from hostnic.firmware import gpudirect
from hostnic.firmware.gpudirect import Difference
from hostnic.machine import Machine
from hostnic.ops.gpudirect import SetRegister
from hostnic.ops.refusal import unreadable
from hostnic.system import System, read_own

from boot import files, gpu

TURN = 60.0
"""Until another program of these charms has ended its changes of the host."""


def main(arguments: Sequence[str]) -> int:
    """Run; the exit code is 1 when something could not be set."""
    if arguments:
        print("usage: boot.pyz", file=sys.stderr)
        return 5
    problems = gpudirect_at_boot(Machine())
    for problem in problems:
        print(problem, file=sys.stderr, flush=True)
    return 1 if problems else 0


def gpudirect_at_boot(system: System) -> list[str]:
    """Set every register that differs; returns what failed, one sentence each."""
    try:
        with exclusive.lock(system, TURN) as lock:
            if not lock.held:
                return [f"{exclusive.held_by_another(TURN)}; {exclusive.REMEDY}"]
            return _gpudirect(system)
    except OSError as error:
        return [unreadable(error)]


def _gpudirect(system: System) -> list[str]:
    running = users.instances(system)
    if running:
        return [f"nothing is set while instances run: {', '.join(running)}"]
    try:
        nics = gpu.from_json(read_own(system, files.WANTED))
    except (InvalidValue, OSError) as error:
        return [f"{files.WANTED}: {cause(error)}"]
    bridges = sorted(system.files.listdir(pci.DEVICES))
    return [
        *(problem for bdf in bridges for problem in _set(system, gpudirect.of_bridge, bdf)),
        *(problem for bdf in nics for problem in _set(system, gpudirect.of_nic, bdf)),
    ]


def _set(system: System, read: Callable[[System, str], Sequence[Difference]], bdf: str) -> Iterator[str]:
    """Set the registers of one function: the others do not depend on it."""
    try:
        wrong = read(system, bdf)
    except OSError as error:
        yield f"{bdf}: {cause(error)}"
        return
    for difference in wrong:
        try:
            SetRegister(difference).run(system)
        except (StepError, OSError) as error:
            yield f"{bdf}: {cause(error)}"
