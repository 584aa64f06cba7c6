# SPDX-License-Identifier: Apache-2.0
"""What a reboot stops, in the words of the actions ``approve-reboot`` and ``plan``."""

from collections.abc import Mapping

from hostnic.devices import users
from hostnic.system import System, if_told, read_text

from charmkit.reboot.state import UnitState

HOSTNAME = "/proc/sys/kernel/hostname"
"""What nova-compute calls its host, unless nova.conf has the option ``host``."""

_SERVICE = "openstack compute service set {} {} nova-compute"


def running(system: System) -> tuple[str, ...]:
    """The instances that run on this host; none where that cannot be read."""
    return if_told(lambda: users.instances(system)) or ()


def interruption(system: System, unit: str, units: Mapping[str, UnitState]) -> dict[str, str]:
    """The results of an action on ``unit``: how many instances stop with the reboots of ``units``.

    Only this unit's own instances are named: databags carry numbers alone. The commands are for the operator,
    who decides whether Nova may schedule new instances on a host that is about to reboot.
    """
    counts = {name: state.instances for name, state in units.items()}
    if unit in counts:
        here = running(system)
        counts[unit] = len(here)
    else:
        here = ()
    results = {"instances": ", ".join(f"{name}: {count}" for name, count in sorted(counts.items()))}
    if here:
        results["instances-here"] = ", ".join(here)
    if any(counts.values()):
        host = (set(counts) == {unit} and read_text(system, HOSTNAME)) or "HOST"
        results["before"] = _SERVICE.format("--disable --disable-reason reboot", host)
        results["after"] = _SERVICE.format("--enable", host)
    return results
