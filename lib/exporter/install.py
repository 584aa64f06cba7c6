# SPDX-License-Identifier: Apache-2.0
"""The exporter's copy and its unit on a machine: one runs, whatever charms are there.

Each charm installs a copy of its own. The unit starts the first one that exists in the order of
:data:`CHARMS`, so that its text stays the same when a charm comes or goes; the charm whose copy runs owns the
unit's file. Hooks that find all in place start no process.
"""

from hostnic.boot import bootcopy, installed, sandbox, units
from hostnic.boot.bootcopy import BootCopy
from hostnic.boot.sandbox import Does
from hostnic.ops.boot import InstallBootCopy
from hostnic.system import System, read_text

from exporter.facts import COPIES

CHARMS = ("sriov-switchdev", "nic-firmware", "roce-qos", "cumulus-fabric")
"""Charms that install it; the first one that is there runs its copy."""
MODULES = (
    "exporter",
    *(f"exporter.{name}" for name in ("catalogue", "facts", "main", "server", "sources", "workers")),
)
MOST_MEMORY = "64M"
UNIT = "ovn-offload-exporter.service"


def unit_text(address: str = "") -> str:
    """The unit's file. Its user has CAP_NET_ADMIN, and CapabilityBoundingSet allows no other.

    It serves loopback, and ``address`` unless that is empty.
    """
    program = f"{COPIES}/$$charm/exporter.pyz"
    start = f"test -e {program} && exec /usr/bin/python3 -I -S {program} {address}".rstrip()
    return f"""# Installed by the charms of ovn-offload; local changes are overwritten.

[Unit]
Description=Metrics of the charms of ovn-offload for Prometheus
ConditionPathExistsGlob={COPIES}/*/exporter.pyz
After=network.target
StartLimitIntervalSec=0

[Service]
ExecStart=/bin/sh -c 'for charm in {" ".join(CHARMS)}; do {start}; done'
Restart=always
RestartSec=30
# a user of its own, who owns no file
DynamicUser=yes
AmbientCapabilities=CAP_NET_ADMIN
# more is a fault: the service begins anew
MemoryMax={MOST_MEMORY}
{sandbox.text(Does.NETLINK, Does.SERVES)}

[Install]
WantedBy=multi-user.target
"""


def copy_of(charm: str) -> BootCopy:
    """The exporter's copy of a charm."""
    return BootCopy(charm, MODULES, "exporter", ("prometheus_client",))


def install(system: System, charm: str, address: str = "") -> None:
    """Put this charm's copy in place and, unless another charm's runs, have the unit run it at ``address``.

    Raises OSError or StepError if something cannot be written, or systemd refuses.
    """
    copy = copy_of(charm)
    stamp = bootcopy.stamp(copy)
    restart = installed.look(system, copy, (), ()).stamp != stamp
    if restart:
        InstallBootCopy(copy, stamp).run(system)
    if _present(system)[:1] != [charm]:
        return
    if read_text(system, units.path(UNIT)) != unit_text(address).strip():
        system.files.install(units.path(UNIT), unit_text(address).encode())
        units.reload(system, [UNIT])
        restart = True
    if not units.enabled(system, UNIT):
        system.run(["systemctl", "enable", "--no-reload", UNIT])
        restart = True
    if restart:
        system.run(["systemctl", "restart", UNIT])


def remove(system: System, charm: str) -> None:
    """Take this charm's copy away; the next charm's takes over, and without one the unit goes.

    Raises OSError if something cannot be removed, or systemd refuses.
    """
    copy = copy_of(charm)
    ran = _present(system)[:1] == [charm]
    for path in (copy.stamp_path, copy.path):
        if system.files.exists(path):
            system.files.remove(path)
    if system.files.exists(copy.directory) and not system.files.listdir(copy.directory):
        system.files.remove(copy.directory)
    path = units.path(UNIT)
    if not ran or not system.files.exists(path):
        return
    if _present(system):
        system.run(["systemctl", "restart", UNIT])
        return
    system.run(["systemctl", "disable", "--no-reload", UNIT])
    system.run(["systemctl", "stop", UNIT])
    system.files.remove(path)
    system.run(["systemctl", "daemon-reload"])


def _present(system: System) -> list[str]:
    """The charms whose copies are there, the one that runs first."""
    return [charm for charm in CHARMS if system.files.exists(copy_of(charm).path)]
