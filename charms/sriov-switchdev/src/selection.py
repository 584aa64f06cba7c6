# SPDX-License-Identifier: Apache-2.0
"""From options and what was observed to the desired state of each port. Pure."""

from dataclasses import replace

from config import Options, Selector
from converge import Finding, Severity
from desired import Desired, Port
from hostnic.model import Bond, Host, Pf
from observe import Observed

LAG_BOND_MODES = ("802.3ad", "active-backup", "balance-xor")
"""Bond modes that mlx5 can offload: one active port, or a hash (mlx5 lag/lag.c)."""


def resolve(options: Options, observed: Observed) -> tuple[Desired, tuple[Finding, ...]]:
    """Decide which ports are converged to what.

    Returns:
        The desired state, and findings: devices that do not exist, bonds in which VF-LAG cannot form.
        With a blocking finding the desired state must not be applied.

    """
    host, findings = observed.host, list[Finding]()
    counts = _selected(options, observed, findings)
    ports = [
        Port(pf.bdf, pf.netdev or _name_before(pf, observed), counts[pf.bdf], bond_of(pf, observed))
        for pf in host.pfs
        if pf.bdf in counts
    ]
    lag_severity = Severity.BLOCKED if options.vf_lag == "required" else Severity.WARNING
    judged: list[Port] = []
    for port in ports:
        reason = None if options.vf_lag == "disabled" else _no_lag(port, observed)
        if reason and (port.bond or options.vf_lag == "required" or _in_ovs(port, host)):
            what, remedy = reason
            findings.append(Finding(lag_severity, port.bdf, f"VF-LAG cannot form: {what}", remedy))
        judged.append(replace(port, lag=options.vf_lag != "disabled" and reason is None))
    # A NIC bonds both of its ports or none.
    whole = {port.card for port in judged if port.lag} - {port.card for port in judged if not port.lag}
    judged = [replace(port, lag=port.card in whole) for port in judged]
    steering = None if options.steering_mode == "keep" else options.steering_mode
    required = options.vf_lag == "required"
    return Desired(tuple(sorted(judged, key=lambda port: port.bdf)), steering, required), tuple(findings)


def bond_of(pf: Pf, observed: Observed) -> str | None:
    """The bond that a port belongs in: the one that it is in, or the one that it left unasked.

    A port that is out of its bond now (a step failed half way) still belongs there when it was there
    when the host was set up and the network configuration still says so.
    """
    if pf.bond:
        return pf.bond
    before = observed.previous.port(pf.bdf) if observed.previous else None
    if before is None or before.bond is None or observed.host.bond(before.bond) is None:
        return None
    return before.bond if observed.declared_bonds.get(before.netdev) == before.bond else None


def members(bond: Bond, observed: Observed) -> tuple[str, ...]:
    """Netdevs of ``bond``, counting ports that left it unasked."""
    strays = [pf.netdev for pf in observed.host.pfs if not pf.bond and bond_of(pf, observed) == bond.name]
    return tuple(sorted({*bond.members, *(name for name in strays if name)}))


def _name_before(pf: Pf, observed: Observed) -> str:
    before = observed.previous.port(pf.bdf) if observed.previous else None
    return before.netdev if before else ""


def _selected(options: Options, observed: Observed, findings: list[Finding]) -> dict[str, int]:
    """VFs per selected BDF."""
    if not options.selectors:
        pfs = [pf for pf in observed.host.pfs if pf.driver == "mlx5_core" and bond_of(pf, observed)]
        if not pfs:
            findings.append(
                Finding(
                    Severity.BLOCKED,
                    "devices",
                    "auto finds no port of an mlx5 NIC in a kernel bond",
                    f"bond both ports of a NIC, or name ports in option devices; {_present(observed.host)}",
                )
            )
        return {pf.bdf: options.num_vfs for pf in pfs}
    counts: dict[str, int] = {}
    unknown: list[str] = []
    for selector in options.selectors:
        pfs = _matching(selector, observed)
        if not pfs:
            unknown.append(selector.name)
        for pf in pfs:
            count = selector.num_vfs or options.num_vfs
            if counts.setdefault(pf.bdf, count) != count:
                findings.append(
                    Finding(
                        Severity.BLOCKED,
                        pf.bdf,
                        f"option devices selects it twice, with {counts[pf.bdf]} and with {count} VFs",
                        "name it once",
                    )
                )
    if not counts:
        findings.append(
            Finding(
                Severity.BLOCKED,
                "devices",
                f"none of {', '.join(unknown)} is an SR-IOV capable port of this host",
                _present(observed.host),
            )
        )
    elif unknown:
        findings.append(Finding(Severity.INFO, "devices", f"not on this host: {', '.join(unknown)}"))
    return counts


def _matching(selector: Selector, observed: Observed) -> list[Pf]:
    if pf := observed.host.pf(selector.name):
        return [pf]
    if observed.host.bond(selector.name):
        return [pf for pf in observed.host.pfs if bond_of(pf, observed) == selector.name]
    before = observed.previous.ports if observed.previous else ()
    known = {port.bdf for port in before if port.netdev == selector.name}
    return [pf for pf in observed.host.pfs if pf.netdev is None and pf.bdf in known]


def _present(host: Host) -> str:
    names = [f"{pf.netdev or 'no netdev'} ({pf.bdf}{', ' + pf.bond if pf.bond else ''})" for pf in host.pfs]
    return f"this host has {', '.join(names)}" if names else "this host has no SR-IOV capable NIC"


def _in_ovs(port: Port, host: Host) -> bool:
    pf = host.pf(port.bdf)
    return pf is not None and pf.bond is None and pf.bridge is not None


def _no_lag(port: Port, observed: Observed) -> tuple[str, str] | None:
    """Why VF-LAG cannot form with this port, and the remedy; None when it can."""
    host = observed.host
    pf = host.pf(port.bdf)
    if pf is not None and _in_ovs(port, host):
        return (
            f"the port itself is in bridge {pf.bridge}; an Open vSwitch bond is not a kernel bond",
            "make a kernel bond of both ports (MAAS: Create Bond) and put the bond into the bridge",
        )
    bond = host.bond(port.bond) if port.bond else None
    if pf is None or bond is None:
        return "the port is in no kernel bond", "bond both ports of the NIC, or set vf-lag=disabled"
    if bond.mode not in LAG_BOND_MODES:
        return f"{bond.name} has mode {bond.mode}", f"use one of {', '.join(LAG_BOND_MODES)}"
    pairs = {name: host.pf(name) for name in members(bond, observed)}
    strangers = sorted(name for name, member in pairs.items() if member is None or member.card != pf.card)
    if strangers:
        return (
            f"{bond.name} also has {', '.join(strangers)}, which is no port of the same NIC",
            "bond exactly the two ports of one NIC",
        )
    if len(pairs) != 2:
        return f"{bond.name} has {len(pairs)} port of the NIC", "bond exactly the two ports of one NIC"
    if pf.esw_multiport:
        return (
            "the devlink parameter esw_multiport is on, which excludes VF-LAG",
            f"devlink dev param set pci/{pf.bdf} name esw_multiport value false cmode runtime",
        )
    return None
