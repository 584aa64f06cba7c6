# SPDX-License-Identifier: Apache-2.0
"""Whether Open vSwitch brings a host's own network back when it starts again, as each boot has it."""

from converge import Finding, Severity

from hostnic.devices import users
from hostnic.network import ovs, routes
from hostnic.system import System

CLEARED = (
    "run: juju refresh ovn-chassis; neither boot this host nor restart Open vSwitch before its charm has "
    f"installed {ovs.CLEARS} (https://bugs.launchpad.net/bugs/2169426)"
)
"""The remedy for a host on which Open vSwitch would not forward again after its next start."""


def cut_off(system: System, settings: ovs.Settings) -> Finding | None:
    """A host that no boot brings back: Open vSwitch waits there for what is reached through it."""
    if not settings.waits_for or system.files.exists(ovs.CLEARS):
        return None
    ways = {way for address in settings.waits_for if (way := routes.to(system, address))}
    if not ways or not ways <= users.on_datapath(system):
        return None
    what = (
        "would forward nothing after its next start, also by a boot: OVN keeps flow-restore-wait until "
        f"ovn-controller reaches the Southbound database, and the way there is {min(ways)}"
    )
    return Finding(Severity.BLOCKED, "Open vSwitch", what, CLEARED)
