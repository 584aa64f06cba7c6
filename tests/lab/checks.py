# SPDX-License-Identifier: Apache-2.0
"""Checks of a converged node by the kernel's own words, without the charm's code."""

from dataclasses import dataclass

from lab import site
from lab.guest import Guest


@dataclass(frozen=True)
class Check:
    """One fact that must hold, and what was found."""

    area: str
    subject: str
    wanted: str
    found: str
    holds: bool

    def line(self, width: int) -> str:
        """As people read it, with the subject as wide as the widest."""
        wrong = "" if self.holds else f"   wanted: {self.wanted}"
        return f"  {'ok ' if self.holds else 'BAD'} {self.subject.ljust(width)}  {self.found}{wrong}"


def equal(area: str, subject: str, wanted: str, found: str) -> Check:
    """Check that the found value is exactly the wanted one."""
    return Check(area, subject, wanted, found or "nothing", wanted == found)


def _shell(guest: Guest, script: str) -> str:
    return " ".join(guest.run(script, check=False).stdout.split())


def ports(guest: Guest, vfs: int) -> list[Check]:
    """VFs, eswitch mode, bound VFs, offload feature and VF-LAG of each port."""
    checks: list[Check] = []
    for bdf, netdev in site.PFS.items():
        device = f"/sys/bus/pci/devices/{bdf}"
        mode = _shell(guest, f"devlink dev eswitch show pci/{bdf} | grep -o 'mode [a-z]*' | head -1")
        bound = _shell(guest, f"ls -d {device}/virtfn*/driver | wc -l")
        offload = _shell(guest, f"ethtool -k {netdev} | grep '^hw-tc-offload:' | cut -d' ' -f2")
        lag = _shell(guest, f"cd /sys/kernel/debug/mlx5/{bdf}/lag && cat state && sed -n 1p type")
        checks += [
            equal("VFs", f"{netdev}: VFs", str(vfs), _shell(guest, f"cat {device}/sriov_numvfs")),
            equal("eswitch", f"{netdev}: eswitch", "mode switchdev", mode),
            equal("VFs", f"{netdev}: VFs bound", str(vfs), bound),
            equal("eswitch", f"{netdev}: hw-tc-offload", "on", offload),
            equal("VF-LAG", f"{netdev}: VF-LAG", "active switchdev", lag),
        ]
    return checks


def aggregated(guest: Guest) -> Check:
    """LACP has taken both ports into the bond."""
    found = _shell(guest, f"grep 'Number of ports' /proc/net/bonding/{site.BOND} | cut -d: -f2")
    return equal("network", f"{site.BOND}: aggregated ports", "2", found)


def bridged(guest: Guest) -> Check:
    """The bond is a port of the Open vSwitch bridge."""
    found = _shell(guest, f"ovs-vsctl list-ports {site.BRIDGE} | grep bond")
    return equal("network", f"{site.BRIDGE}: port", site.BOND, found)


def failed_units(guest: Guest) -> Check:
    """None of systemd's units has failed."""
    found = _shell(guest, "systemctl list-units --failed --plain --no-legend | cut -d' ' -f1")
    return equal("network", "failed systemd units", "none", found or "none")


def converged(guest: Guest, vfs: int) -> list[Check]:
    """All of it for the one node of the default site, whose peer is the namespace ``tor``."""
    partner = _shell(guest, f"grep 'Partner Mac' /proc/net/bonding/{site.BOND} | cut -d: -f2-")
    there = partner not in ("", "00:00:00:00:00:00")
    reachable = site.reachable(guest)
    return [
        *ports(guest, vfs),
        aggregated(guest),
        Check("network", f"{site.BOND}: LACP partner", "present", partner, there),
        bridged(guest),
        equal("network", "network, both ways", "reachable", "reachable" if reachable else "cut"),
        failed_units(guest),
    ]
