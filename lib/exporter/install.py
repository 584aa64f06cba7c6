# SPDX-License-Identifier: Apache-2.0
"""The exporter's copy and its unit on a machine: one runs, whatever charms are there.

Each charm installs a copy of its own. The unit starts the first one that exists in the order of
:data:`CHARMS`, so that its text stays the same when a charm comes or goes; the charm whose copy runs owns the
unit's file. The address at which a charm is to be scraped is in a file beside its copy: the unit has those of
all charms, whichever one's copy runs. They are part of a command of the unit, so what is no address, or could
be of others than root, is left out. Hooks that find all in place start no process.
"""

import re
from ipaddress import ip_address

from converge import Finding, Severity, cause
from converge.document import readable
from converge.shape import InvalidValue
from hostnic.boot import bootcopy, installed, sandbox, units
from hostnic.boot.bootcopy import BootCopy
from hostnic.boot.sandbox import Does
from hostnic.ops.boot import InstallBootCopy
from hostnic.system import System, if_told, read_own, read_text

from exporter.facts import COPIES

CHARMS = ("sriov-switchdev", "nic-firmware", "roce-qos", "cumulus-fabric")
"""Charms that install it; the first one that is there runs its copy."""
MODULES = (
    "exporter",
    *(f"exporter.{name}" for name in ("catalogue", "facts", "main", "server", "sources", "workers")),
)
ADDRESS = "exporter.address"
"""The file with the address at which a charm's unit is scraped, if it is related to Prometheus."""
SERVES = r"(?<=/exporter\.pyz)[^;&]*(?=; done')"
"""The place of the addresses in the unit's file."""
MOST_MEMORY = "64M"
UNIT = "ovn-offload-exporter.service"


def unit_text(*addresses: str) -> str:
    """The unit's file. Its user has CAP_NET_ADMIN, and CapabilityBoundingSet allows no other.

    It serves loopback, and these addresses.
    """
    program = f"{COPIES}/$$charm/exporter.pyz"
    start = " ".join((f"test -e {program} && exec /usr/bin/python3 -I -S {program}", *addresses))
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


def install(system: System, charm: str, address: str = "") -> tuple[Finding, ...]:
    """Put this charm's copy and its ``address`` in place, and have the unit run the first charm's copy.

    Of a unit that is another charm's, only the addresses are changed. Returns a finding for each file of
    another charm whose address is not served.

    Raises OSError or StepError if something cannot be written, or systemd refuses; InvalidValue if
    ``address`` is none.
    """
    copy = copy_of(charm)
    stamp = bootcopy.stamp(copy)
    restart = installed.look(system, copy, (), ()).stamp != stamp
    if restart:
        InstallBootCopy(copy, stamp).run(system)
    _keep_address(system, copy, address)
    addresses, unread = _addresses(system)
    if _present(system)[:1] != [charm]:
        _serve(system, addresses)
        return unread
    if read_text(system, units.path(UNIT)) != (text := unit_text(*addresses)).strip():
        system.files.install(units.path(UNIT), text.encode())
        units.reload(system, [UNIT])
        restart = True
    if not units.enabled(system, UNIT):
        system.run(["systemctl", "enable", "--no-reload", UNIT])
        restart = True
    if restart:
        system.run(["systemctl", "restart", UNIT])
    return unread


def remove(system: System, charm: str) -> None:
    """Take this charm's copy and address away; the next charm's takes over, and without one the unit goes.

    Raises OSError if something cannot be removed, or systemd refuses.
    """
    copy = copy_of(charm)
    ran = _present(system)[:1] == [charm]
    for path in (_address_of(charm), copy.stamp_path, copy.path):
        if system.files.exists(path):
            system.files.remove(path)
    if system.files.exists(copy.directory) and not system.files.listdir(copy.directory):
        system.files.remove(copy.directory)
    path = units.path(UNIT)
    if not system.files.exists(path):
        return
    if _present(system):
        if not _serve(system, _addresses(system)[0]) and ran:
            system.run(["systemctl", "restart", UNIT])
        return
    if not ran:
        return
    system.run(["systemctl", "disable", "--no-reload", UNIT])
    system.run(["systemctl", "stop", UNIT])
    system.files.remove(path)
    system.run(["systemctl", "daemon-reload"])


def _address_of(charm: str) -> str:
    return f"{copy_of(charm).directory}/{ADDRESS}"


def _addresses(system: System) -> tuple[list[str], tuple[Finding, ...]]:
    """Return the addresses of all charms, each once, and a finding for each file with none to be believed."""
    found, unread = set[str](), list[Finding]()
    for charm in CHARMS:
        path = _address_of(charm)
        try:
            found.add(read_address(read_own(system, path)))
        except FileNotFoundError:
            continue
        except (OSError, InvalidValue) as error:
            what = f"is not served: {cause(error)} ({path})"
            remedy = "its next hook mends that; where it has no unit, delete the file"
            unread.append(Finding(Severity.WARNING, f"{ADDRESS} of {charm}", what, remedy))
    return sorted(found), tuple(unread)


def read_address(text: str) -> str:
    """The IP address in a file at :data:`ADDRESS`, as Python writes it.

    Raises InvalidValue if it is none, or has a scope: the unit's shell and systemd would read more into that.
    """
    given = text.strip()
    try:
        if "%" not in given:
            return str(ip_address(given))
    except ValueError:
        pass
    raise InvalidValue(ADDRESS, given, "an IP address without a scope")


def _keep_address(system: System, copy: BootCopy, address: str) -> None:
    path = _address_of(copy.charm)
    text = f"{address}\n"
    if address and if_told(lambda: read_own(system, path)) != text:
        system.files.install(path, readable(text, read_address).encode())
    elif not address and system.files.exists(path):
        system.files.remove(path)


def _serve(system: System, addresses: list[str]) -> bool:
    """Have the unit, whichever revision's it is, serve these addresses; whether it did not."""
    text = read_text(system, units.path(UNIT)) or ""
    wanted = re.sub(SERVES, "".join(f" {address}" for address in addresses), text)
    if wanted == text:
        return False
    system.files.install(units.path(UNIT), f"{wanted}\n".encode())
    units.reload(system, [UNIT])
    system.run(["systemctl", "restart", UNIT])
    return True


def _present(system: System) -> list[str]:
    """The charms whose copies are there, the one that runs first."""
    return [charm for charm in CHARMS if system.files.exists(copy_of(charm).path)]
