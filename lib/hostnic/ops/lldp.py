# SPDX-License-Identifier: Apache-2.0
"""Which daemon speaks LLDP: systemd-networkd, by a drop-in for each port. lldpad must not run.

Source: systemd.network(5).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from hostnic.ops import refusal
from hostnic.ops.files import holds
from hostnic.system import Link, System, list_names, read_text

LINKS = "/run/systemd/netif/links"
FRAMES = "/run/systemd/netif/lldp"
"""Where networkd keeps the frames that it received; systemd 257 and later have no such directory."""
DROP_INS = "/etc/systemd/network"
_NAME = "50-ovn-offload-lldp.conf"
DROP_IN = """\
# Installed by the charm roce-qos; local changes are overwritten.
[Network]
LLDP=yes
EmitLLDP=nearest-bridge
"""
LLDPAD = "lldpad.service"


class DropIn(NamedTuple):
    """The drop-in that has networkd use LLDP on one link."""

    path: str
    there: bool  # it is in place


def drop_in(
    system: System, link: Link, links: Iterable[Link], file_of: Callable[[int], str], *, wanted: bool
) -> DropIn | None:
    """Return the drop-in for ``link``; None if networkd does not manage the link.

    Where it is ``wanted`` and not there, None also if its file applies to others of ``links`` that are not in
    the same bond: they would speak LLDP, too, and may be anybody's, such as the representors of tenants' VFs.
    ``file_of`` is :func:`network_file`, which may remember what it has read.
    """
    name = file_of(link.ifindex)
    if not name:
        return None
    path = f"{DROP_INS}/{name}.d/{_NAME}"
    found = DropIn(path, speaks(system, path))
    if found.there or not wanted:
        return found
    foreign = [each for each in links if each != link and (not each.master or each.master != link.master)]
    return None if any(file_of(each.ifindex) == name for each in foreign) else found


def network_file(system: System, ifindex: int) -> str:
    """The name of networkd's file that applies to a netdev; empty if there is none."""
    lines = (read_text(system, f"{LINKS}/{ifindex}") or "").splitlines()
    files = [line.partition("=")[2] for line in lines if line.startswith("NETWORK_FILE=")]
    return files[0].rpartition("/")[2] if files else ""


def installed(system: System) -> list[str]:
    """Every drop-in that is in place, also those of ports that are gone."""
    paths = [f"{DROP_INS}/{name}/{_NAME}" for name in list_names(system, DROP_INS)]
    return [path for path in paths if speaks(system, path)]


def speaks(system: System, path: str) -> bool:
    """Whether the drop-in at ``path`` is in place."""
    return holds(system, path, DROP_IN.encode())


@dataclass(frozen=True)
class SetLldp:
    """Have networkd send and receive LLDP on one port, or stop it.

    Before systemd 257 it takes effect at the next boot, since networkd is not asked to reload: version 252
    set the members of a bond down when it reloaded, and all links after a daemon-reload, at which netplan
    writes networkd's files anew. Version 257 left them up. The versions between were not tested.
    """

    path: str
    on: bool

    def run(self, system: System) -> None:
        """Install or remove the drop-in, and have networkd read it."""
        with refusal.explained(self.path, "see systemctl status systemd-networkd"):
            if speaks(system, self.path) == self.on:
                return
            if self.on:
                system.files.install(self.path, DROP_IN.encode())
            else:
                system.files.remove(self.path)
            if not system.files.exists(FRAMES):
                system.run(["networkctl", "reload"])


@dataclass(frozen=True)
class StopLldpad:
    """Stop lldpad now, and at boot."""

    def run(self, system: System) -> None:
        """Disable and stop it, and its socket, which would start it again."""
        with refusal.explained("cannot stop lldpad", "remove the package lldpad"):
            system.run(["systemctl", "disable", "--now", LLDPAD, "lldpad.socket"])
