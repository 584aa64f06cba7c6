# SPDX-License-Identifier: Apache-2.0
"""The exporter's copy and its unit on a machine: one runs, whatever charms are there.

Each host charm installs a copy of its own. The unit starts the first one that exists in the order of
:data:`CHARMS`, so that its text stays the same when a charm comes or goes; the charm whose copy runs owns the
unit's file. Hooks that find all in place start no process.
"""

from typing import NamedTuple

from hostnic.boot import bootcopy, sandbox, units
from hostnic.boot.bootcopy import BootCopy
from hostnic.boot.sandbox import Does
from hostnic.ops.boot import InstallBootCopy
from hostnic.system import System, read_text

from exporter.catalogue import ADDRESS

CHARMS = ("sriov-switchdev", "nic-firmware", "roce-qos")
"""Host charms; the first one that is there runs its copy."""
FABRIC = "cumulus-fabric"
MODULES = ("exporter", *(f"exporter.{name}" for name in ("catalogue", "facts", "main", "sources", "workers")))
DIRECTORY = "/usr/lib/ovn-offload"
MOST_MEMORY = "64M"


class Unit(NamedTuple):
    """The unit that serves one kind of charm.

    Attributes:
        name: of the unit's file.
        charms: whose copies it may run, the preferred one first.
        argument: of the program.
        does: what it is allowed.
        capabilities: those that the user has; CapabilityBoundingSet allows no other.

    """

    name: str
    charms: tuple[str, ...]
    argument: str
    does: tuple[Does, ...]
    capabilities: str

    @property
    def environment(self) -> str:
        """The file that tells where it listens besides loopback."""
        return f"/etc/ovn-offload/{self.name.removesuffix('.service')}.env"

    def text(self) -> str:
        """The unit's file."""
        program = f"{DIRECTORY}/$$charm/exporter.pyz"
        start = f"test -e {program} && exec /usr/bin/python3 -I -S {program}{self.argument}"
        return f"""# Installed by the charms of ovn-offload; local changes are overwritten.

[Unit]
Description=Metrics of the charms of ovn-offload for Prometheus
ConditionPathExistsGlob={DIRECTORY}/*/exporter.pyz
After=network.target
StartLimitIntervalSec=0

[Service]
ExecStart=/bin/sh -c 'for charm in {" ".join(self.charms)}; do {start}; done'
EnvironmentFile=-{self.environment}
Restart=always
RestartSec=30
# a user of its own, who owns no file
DynamicUser=yes
AmbientCapabilities={self.capabilities}
# more is a fault: the service begins anew
MemoryMax={MOST_MEMORY}
{sandbox.text(*self.does)}

[Install]
WantedBy=multi-user.target
"""


HOST_UNIT = Unit("ovn-offload-exporter.service", CHARMS, "", (Does.NETLINK, Does.SERVES), "CAP_NET_ADMIN")
FABRIC_UNIT = Unit("ovn-offload-fabric-exporter.service", (FABRIC,), " fabric", (Does.SERVES,), "")


def copy_of(charm: str) -> BootCopy:
    """The exporter's copy of a charm."""
    return BootCopy(charm, MODULES, "exporter", ("prometheus_client",))


def unit_of(charm: str) -> Unit:
    """The unit that runs a charm's copy."""
    return FABRIC_UNIT if charm == FABRIC else HOST_UNIT


def install(system: System, charm: str) -> None:
    """Put this charm's copy in place and, unless another charm's runs, have the unit run it.

    Raises:
        OSError, StepError: something cannot be written, or systemd refuses.

    """
    copy, unit = copy_of(charm), unit_of(charm)
    stamp = bootcopy.stamp(copy)
    restart = not system.files.exists(copy.path) or read_text(system, copy.stamp_path) != stamp
    if restart:
        InstallBootCopy(copy, stamp).run(system)
    if _present(system, unit)[0] != charm:
        return
    if read_text(system, units.path(unit.name)) != unit.text().strip():
        system.files.install(units.path(unit.name), unit.text().encode())
        show = ["systemctl", "show", "--property=NeedDaemonReload", "--value", unit.name]
        if "yes" in system.query(show).split():
            system.run(["systemctl", "daemon-reload"])
        restart = True
    if not units.enabled(system, unit.name):
        system.run(["systemctl", "enable", "--no-reload", unit.name])
        restart = True
    if restart:
        system.run(["systemctl", "restart", unit.name])


def listen(system: System, charm: str, address: str) -> None:
    """Have the exporter serve ``address``, too, or loopback alone if it is empty.

    An address that another charm of the machine has set stays.

    Raises:
        OSError: the file cannot be written, or systemd refuses.

    """
    unit = unit_of(charm)
    before = read_text(system, unit.environment)
    head = f"# {charm}\n"
    wanted = f"{head}{ADDRESS}={address}" if address else None
    if before == wanted or (before is not None and not before.startswith(head)):
        return
    if wanted:
        system.files.install(unit.environment, f"{wanted}\n".encode())
    else:
        system.files.remove(unit.environment)
    if system.files.exists(units.path(unit.name)):
        system.run(["systemctl", "restart", unit.name])


def remove(system: System, charm: str) -> None:
    """Take this charm's copy away; the next charm's takes over, and without one the unit goes.

    Raises:
        OSError: something cannot be removed, or systemd refuses.

    """
    copy, unit = copy_of(charm), unit_of(charm)
    ran = _present(system, unit)[:1] == [charm]
    for path in (copy.stamp_path, copy.path):
        if system.files.exists(path):
            system.files.remove(path)
    if system.files.exists(copy.directory) and not system.files.listdir(copy.directory):
        system.files.remove(copy.directory)
    path = units.path(unit.name)
    if (read_text(system, unit.environment) or "").startswith(f"# {charm}\n"):
        system.files.remove(unit.environment)
    if not ran or not system.files.exists(path):
        return
    if _present(system, unit):
        system.run(["systemctl", "restart", unit.name])
        return
    system.run(["systemctl", "disable", "--no-reload", unit.name])
    system.run(["systemctl", "stop", unit.name])
    system.files.remove(path)
    system.run(["systemctl", "daemon-reload"])


def _present(system: System, unit: Unit) -> list[str]:
    """The charms whose copies are there, the one that runs first."""
    return [charm for charm in unit.charms if system.files.exists(copy_of(charm).path)]
