# SPDX-License-Identifier: Apache-2.0
"""Read what the plan needs to know about this host. Never writes; spawns no process on a converged host."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import bootcopy
import desired
import files
import record
from converge import Finding, Severity
from desired import Desired
from hostnic import discover, units
from hostnic.model import Host
from hostnic.system import System

NETPLAN_DIRECTORIES = ("/etc/netplan", "/run/netplan", "/lib/netplan")
VF_KEYS = ("virtual-function-count:", "embedded-switch-mode:")
OVN_CHASSIS_FILE = "/etc/netplan/150-charm-ovn.yaml"


@dataclass(frozen=True)
class NextBoot:
    """VFs that the firmware of one port will offer after the next boot, or why that is unknown."""

    vfs: int | None
    reason: str = ""


@dataclass(frozen=True)
class Observed:
    """The host, what the charm has installed on it, and what happened since this boot.

    Attributes:
        host: NICs and bonds.
        now: monotonic seconds.
        previous: the desired state that was installed last.
        files: path and text of each small file that the charm installs; None where there is none.
        stamp: digest of the installed boot copy; None without one.
        enabled: the charm's units that start at boot.
        boot: what the boot units did.
        live: what live changes did.
        declared_bonds: netdev to bond by the network configuration; read only while a port is out of its bond.
        vf_writers: netplan files that set VFs or eswitch modes.
        host_network: netdevs of PFs that carry a route or another device (VLAN, bond, bridge).
        next_boot: by BDF, for ports that offer too few VFs now.
        findings: what could not be read.

    """

    host: Host
    now: float = 0.0
    previous: Desired | None = None
    files: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])
    stamp: str | None = None
    enabled: frozenset[str] = frozenset()
    boot: record.BootRecord = record.BootRecord()
    live: record.LiveRecord = record.LiveRecord()
    declared_bonds: Mapping[str, str] = field(default_factory=dict[str, str])
    vf_writers: tuple[str, ...] = ()
    host_network: frozenset[str] = frozenset()
    next_boot: Mapping[str, NextBoot] = field(default_factory=dict[str, NextBoot])
    findings: tuple[Finding, ...] = ()


def observe(system: System) -> Observed:
    """Read the host."""
    host = discover.observe(system)
    findings = list(host.findings)
    texts = {path: _text(system, path) for path in files.PATHS}
    previous = _previous(texts[desired.PATH], findings)
    return Observed(
        host=host,
        now=system.now(),
        previous=previous,
        files=texts,
        stamp=_text(system, bootcopy.STAMP) if system.exists(bootcopy.ARCHIVE) else None,
        enabled=frozenset(name for name in files.UNITS if units.enabled(system, name)),
        boot=record.read_boot(system),
        live=record.read_live(system),
        declared_bonds=_declared_bonds(system, host, previous, findings),
        vf_writers=_vf_writers(system),
        host_network=_host_network(system, host),
        findings=tuple(findings),
    )


def ask_firmware(system: System, observed: Observed, wanted: Desired) -> Observed:
    """Add what the firmware offers after the next boot, for ports that offer too few VFs now.

    The only reading that may spawn processes on a host that is otherwise in order.
    """
    short = [
        port.bdf
        for port in wanted.ports
        if (pf := observed.host.pf(port.bdf)) and pf.total_vfs < port.num_vfs
    ]
    return replace(observed, next_boot={bdf: next_boot(system, bdf) for bdf in short})


def next_boot(system: System, bdf: str) -> NextBoot:
    """Ask the firmware of one port; spawns a process."""
    from hostnic import mstconfig

    try:
        return NextBoot(mstconfig.next_boot_vfs(system, bdf))
    except OSError as error:
        return NextBoot(None, error.strerror or str(error))


def _text(system: System, path: str) -> str | None:
    try:
        return system.read(path)
    except OSError:
        return None


def _previous(text: str | None, findings: list[Finding]) -> Desired | None:
    if text is None:
        return None
    try:
        return desired.from_json(text)
    except ValueError as error:
        what = f"{error}; it is written anew"
        findings.append(Finding(Severity.WARNING, desired.PATH, what))
        return None


def _declared_bonds(
    system: System, host: Host, previous: Desired | None, findings: list[Finding]
) -> dict[str, str]:
    """Bond memberships by netplan, asked for only when a port is missing from the bond it was in."""
    if previous is None:
        return {}
    strays = [port for port in previous.ports if port.bond and (pf := host.pf(port.bdf)) and pf.bond is None]
    if not strays:
        return {}
    from hostnic import netplan

    try:
        return netplan.bond_members(system)
    except OSError as error:
        findings.append(Finding(Severity.WARNING, "netplan", f"bond members cannot be read: {error}"))
        return {}


def _vf_writers(system: System) -> tuple[str, ...]:
    """Netplan files that set VFs or eswitch modes; a scan of lines, as idle hooks start no process."""
    writers: list[str] = []
    for directory in NETPLAN_DIRECTORIES:
        try:
            names = sorted(name for name in system.listdir(directory) if name.endswith(".yaml"))
        except OSError:
            continue
        for path in (f"{directory}/{name}" for name in names):
            lines = [line.strip() for line in (_text(system, path) or "").splitlines()]
            owns = path == OVN_CHASSIS_FILE and "ethernets:" in lines
            if owns or any(line.startswith(VF_KEYS) for line in lines):
                writers.append(path)
    return tuple(writers)


def _host_network(system: System, host: Host) -> frozenset[str]:
    routed: set[str] = set()
    for line in (_text(system, "/proc/net/route") or "").splitlines()[1:]:
        routed.add(line.split()[0])
    for line in (_text(system, "/proc/net/ipv6_route") or "").splitlines():
        words = line.split()
        if not words[0].startswith(("fe80", "ff00")):
            routed.add(words[-1])
    return frozenset(
        pf.netdev for pf in host.pfs if pf.netdev and (pf.netdev in routed or _has_upper(system, pf.netdev))
    )


def _has_upper(system: System, netdev: str) -> bool:
    try:
        return any(name.startswith("upper_") for name in system.listdir(f"/sys/class/net/{netdev}"))
    except OSError:
        return False
