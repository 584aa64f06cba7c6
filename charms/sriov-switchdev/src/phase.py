# SPDX-License-Identifier: Apache-2.0
"""What the phases of the units share: the desired state, running steps, and the way back to legacy mode."""

from collections.abc import Iterable, Sequence

import bootfile
import desired
import steps as nic
from converge import Plan, StepError
from converge.execute import execute
from desired import Desired, Port
from hostnic import cpus
from hostnic.devices.model import Host
from hostnic.system import MODE_CHANGE_TIME, HostStep, System
from observed import Trouble
from steps import Work


def load(system: System) -> tuple[Desired, list[Trouble]]:
    """The desired state that the last hook left, and what is wrong with it."""
    try:
        return bootfile.from_json(system.files.read(desired.PATH)), []
    except FileNotFoundError:
        return Desired(), []
    except (OSError, ValueError) as error:
        trouble = Trouble(desired.PATH, str(error), "the next hook of the charm rewrites it")
        return Desired(), [trouble]


def pairs_of(host: Host, ports: Iterable[Port]) -> list[Work]:
    """The ports that this host has, with the driver whose eswitch they need; never another card."""
    return [
        (port, pf)
        for port, pf in nic.pairs_of(host, ports)
        if pf.port.driver == "mlx5_core" and not port.is_other(pf.mac)
    ]


def other_cards(host: Host, ports: Iterable[Port]) -> list[Trouble]:
    """The ports at whose PCI addresses this host has another card now."""
    others = [(port, pf.mac) for port, pf in nic.pairs_of(host, ports) if port.is_other(pf.mac)]
    return [Trouble(port.bdf, *nic.other_card(port.mac, mac)) for port, mac in others]


def run(system: System, steps: Sequence[HostStep], who: str = "the boot step") -> list[Trouble]:
    """Run the steps up to the first that fails, which is the trouble; ``who`` runs them."""
    failed = execute(Plan(tuple(steps)), system, lambda step: print(step.what, flush=True)).finding
    return [Trouble(failed.subject, f"{who} {failed.what}", failed.remedy)] if failed else []


def queues_of(system: System, wanted: Desired) -> int:
    """How many queues an uplink gets."""
    return wanted.uplink_queues or cpus.online(system)


def still_changing(system: System, ports: Iterable[Port]) -> list[Trouble]:
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
