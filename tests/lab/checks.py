# SPDX-License-Identifier: Apache-2.0
"""What the kernel says of a converged node, read without the charm's code."""

from dataclasses import dataclass

from lab import site
from lab.guest import Guest


@dataclass(frozen=True)
class Check:
    """One fact that must hold, and what was found."""

    subject: str
    wanted: str
    found: str
    holds: bool


def _equal(subject: str, wanted: str, found: str) -> Check:
    return Check(subject, wanted, found or "nothing", wanted == found)


def _shell(guest: Guest, script: str) -> str:
    return " ".join(guest.run(script, check=False).stdout.split())


def converged(guest: Guest, vfs: int) -> list[Check]:
    """VFs, eswitch modes, VF-LAG, bound VFs, offload features, and the node's network."""
    checks: list[Check] = []
    for bdf, netdev in site.PFS.items():
        device = f"/sys/bus/pci/devices/{bdf}"
        modes = _shell(guest, f"devlink dev eswitch show pci/{bdf} | grep -o 'mode [a-z]*' | head -1")
        bound = _shell(guest, f"ls -d {device}/virtfn*/driver | wc -l")
        offload = _shell(guest, f"ethtool -k {netdev} | grep '^hw-tc-offload:' | cut -d' ' -f2")
        lag = _shell(guest, f"cd /sys/kernel/debug/mlx5/{bdf}/lag && cat state && sed -n 1p type")
        checks += [
            _equal(f"{netdev}: VFs", str(vfs), _shell(guest, f"cat {device}/sriov_numvfs")),
            _equal(f"{netdev}: eswitch", "mode switchdev", modes),
            _equal(f"{netdev}: VFs bound", str(vfs), bound),
            _equal(f"{netdev}: hw-tc-offload", "on", offload),
            _equal(f"{netdev}: VF-LAG", "active switchdev", lag),
        ]
    partner = _shell(guest, f"grep 'Partner Mac' /proc/net/bonding/{site.BOND} | cut -d: -f2-")
    ports = _shell(guest, f"grep 'Number of ports' /proc/net/bonding/{site.BOND} | cut -d: -f2")
    failed = _shell(guest, "systemctl list-units --failed --plain --no-legend | cut -d' ' -f1")
    return [
        *checks,
        _equal(f"{site.BOND}: aggregated ports", "2", ports),
        Check(f"{site.BOND}: LACP partner", "present", partner, partner not in ("", "00:00:00:00:00:00")),
        _equal(
            f"{site.BRIDGE}: port", "bond0", _shell(guest, f"ovs-vsctl list-ports {site.BRIDGE} | grep bond")
        ),
        Check(
            "network, both ways",
            "reachable",
            *(("reachable", True) if site.reachable(guest) else ("cut", False)),
        ),
        _equal("failed systemd units", "none", failed or "none"),
    ]
