# SPDX-License-Identifier: Apache-2.0
"""The common parts of the units' phases: the desired state, running steps, and the record of a failure."""

from collections.abc import Iterable

import desired
import record
from converge import Plan, StepError, words
from converge.execute import execute
from desired import Desired, WantedPort
from hostnic.devices import discover
from hostnic.devices.model import Host
from hostnic.devices.port import MLX5
from hostnic.ops import until
from hostnic.system import MODE_CHANGE_TIME, System, read_own
from nic import judge
from nic.back import back
from nic.chain import Part
from nic.judge import Move, PortNow
from nic.places import located
from observed import MISSED, BootFailure, Observed

from boot import bootfile, budget


def load(system: System) -> tuple[Desired, list[BootFailure]]:
    """The desired state that the last hook left, its ports where they are now, and what is wrong with it."""
    wanted, problems = read(system)
    return (located(wanted, discover.observe(system)) if wanted.everything else wanted), problems


def read(system: System) -> tuple[Desired, list[BootFailure]]:
    """The same with the ports' PCI addresses as the hook has left them."""
    try:
        return bootfile.from_json(read_own(system, desired.PATH)), []
    except FileNotFoundError:
        return Desired(), []
    except (OSError, ValueError) as error:
        problem = BootFailure(desired.PATH, words(error), "the next hook of the charm rewrites it")
        return Desired(), [problem]


def await_ports(system: System, wanted: Desired) -> tuple[Desired, Host, list[BootFailure]]:
    """Wait until each port has its driver and its netdev, except those that are absent.

    Returns ``wanted`` with its ports where they are, the host as read last, and problems.
    """
    host, here, missing = Host((), (), ""), wanted, list[WantedPort]()

    def all_there() -> bool:
        nonlocal host, here, missing
        host = discover.observe(system)
        here = located(wanted, host)
        there = {pf.bdf for pf in host.pfs if pf.port.driver == MLX5 and pf.netdev}
        missing = [port for port in here.ports if port.bdf not in there]
        return not missing

    until(system, all_there, budget.DEVICES)
    what = f"{MISSED} within {budget.DEVICES:g} s of the boot"
    remedy = "see the kernel log for the NIC"
    return here, host, [BootFailure(port.bdf, f"{port.netdev} {what}", remedy) for port in missing]


def other_cards(host: Host, wanted: Desired) -> list[BootFailure]:
    """The ports at whose PCI addresses this host has another card now."""
    nics = judge.joined(wanted, Observed(host))
    others = (other for nic in nics for other in nic.others)
    return [BootFailure(other.port.bdf, other.what, other.remedy) for other in others]


def run(
    system: System, part: Part, *, spare: bool, who: str = "the boot step"
) -> tuple[list[BootFailure], list[BootFailure]]:
    """Run the steps of a part, up to the first that fails unless the NIC can do without them (``spare``).

    Returns the problem that ended it, if one did, and those that did not.
    """
    noted: list[BootFailure] = []
    for step in part.steps:
        plan = record.noted(Plan((step,)))
        failed = execute(plan, system, lambda step: print(step.what, flush=True)).finding
        if failed:
            problem = BootFailure(failed.subject, f"{who} {failed.what}", failed.remedy)
            if not spare:
                return [problem], noted
            noted.append(problem)
    return [], noted


def bind_vfs(
    system: System, wanted: Desired, parts: Iterable[Part], who: str = "the boot step"
) -> list[BootFailure]:
    """Wait for VF-LAG, and bind VFs one port after the other: a failure must not keep others unbound.

    VFs stay unbound where a VF-LAG that is required does not form.
    """
    problems: list[BootFailure] = []
    for part in parts:
        spare = part.move is Move.BIND or not wanted.lag_required
        failed, noted = run(system, part, spare=spare, who=who)
        problems += [*noted, *failed]
        if failed:
            break
    return problems


def still_changing(system: System, ports: Iterable[WantedPort]) -> list[BootFailure]:
    """Wait for changes of mode that outlived their answer; those that still run must not be interfered with.

    The kernel answers a question about the mode when the change is over.
    """
    for port in ports:
        try:
            system.devlink.eswitch_mode(port.bdf)
        except TimeoutError:
            what = f"a change of its mode still runs {MODE_CHANGE_TIME:g} s later; the NIC is left alone"
            return [BootFailure(port.bdf, what, "see the kernel log, and reboot")]
        except OSError:
            continue  # whatever is done next says why
    return []


def to_legacy(system: System, ports: Iterable[PortNow]) -> list[BootFailure]:
    """Bring ports to legacy mode with zero VFs, each as far as possible; return what did not work."""
    problems: list[BootFailure] = []
    given_up = [now.port for now in ports]
    record.forget_left(system, [port.bdf for port in given_up])
    for port in given_up:
        for op in back(port.bdf):
            try:
                op.run(system)
            except (StepError, OSError) as error:
                what = f"fallback to legacy mode with zero VFs: {words(error)}"
                problems.append(BootFailure(port.bdf, what, getattr(error, "remedy", "")))
    return problems
