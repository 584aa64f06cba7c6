# SPDX-License-Identifier: Apache-2.0
"""From options and what was observed to the desired state of each port. Pure."""

from config import Options
from converge import Finding, Severity
from desired import Desired, Port
from hostnic import selector
from hostnic.model import Bond, Host, Pf
from observe import Observed

LAG_BOND_MODES = ("802.3ad", "active-backup", "balance-xor")
"""Bond modes that mlx5 can offload: one active port, or a hash (mlx5 lag/lag.c)."""

BOTH_PORTS = "bond exactly the two ports of one NIC, or set vf-lag=disabled"


def resolve(options: Options, observed: Observed) -> tuple[Desired, tuple[Finding, ...]]:
    """Decide which ports are converged to what.

    Returns:
        The desired state, and findings: devices that do not exist, bonds in which VF-LAG cannot form.
        With a blocking finding the desired state must not be applied.

    """
    host = as_declared(observed)
    choice = selector.resolve(options.selected, host, options.num_vfs)
    findings = list(choice.findings)
    if choice.absent:
        findings.append(Finding(Severity.INFO, "devices", f"not on this host: {', '.join(choice.absent)}"))
    names = {port.bdf: port.netdev for port in observed.previous.ports} if observed.previous else {}
    ports: list[Port] = []
    for chosen in choice.chosen:
        pf = chosen.pf
        reason = None if options.vf_lag == "disabled" else _no_lag(pf, host)
        if reason and (pf.bond or pf.bridge or options.vf_lag == "required"):
            severity = Severity.BLOCKED if options.vf_lag == "required" else Severity.WARNING
            what, remedy = reason
            findings.append(Finding(severity, pf.bdf, f"VF-LAG cannot form: {what}", remedy))
        lag = options.vf_lag != "disabled" and reason is None
        netdev = pf.netdev or names.get(pf.bdf, "")
        ports.append(Port(pf.bdf, netdev, chosen.vfs, pf.bond, lag))
    if not options.selected and observed.previous:
        # "auto" does not forget a port that fell off the bus or lost its driver.
        known = {pf.bdf for pf in host.pfs if pf.netdev}
        ports += [port for port in observed.previous.ports if port.bdf not in known]
        ports.sort(key=lambda port: port.bdf)
    # A NIC bonds both of its ports or none: with one of them left out, none.
    by_card = Desired(tuple(ports)).cards()
    whole = {card for card, both in by_card.items() if len(both) == 2 and all(port.lag for port in both)}
    ports = [port._replace(lag=port.card in whole) for port in ports]
    steering = None if options.steering_mode == "keep" else options.steering_mode
    return Desired(tuple(ports), steering, options.vf_lag == "required"), tuple(findings)


def as_declared(observed: Observed) -> Host:
    """The host with each port in the bond that it belongs in, also when it is out of it now.

    A port that left its bond unasked (a step failed half way) still belongs there when the network
    configuration says so.
    """
    host = observed.host
    strays = {
        pf.bdf: bond
        for pf in host.pfs
        if not pf.bond and (bond := observed.declared_bonds.get(pf.bdf)) and host.bond(bond)
    }
    pfs = tuple(pf._replace(bond=strays.get(pf.bdf, pf.bond)) for pf in host.pfs)
    bonds = tuple(_with(bond, pfs) for bond in host.bonds)
    return host._replace(pfs=pfs, bonds=bonds)


def _with(bond: Bond, pfs: tuple[Pf, ...]) -> Bond:
    names = {pf.netdev for pf in pfs if pf.bond == bond.name and pf.netdev}
    return bond._replace(members=tuple(sorted({*bond.members, *names})))


def _no_lag(pf: Pf, host: Host) -> tuple[str, str] | None:
    """Why VF-LAG cannot form with this port, and the remedy; None when it can."""
    if pf.bond is None and pf.bridge is not None:
        return (
            f"the port itself is in {pf.bridge}; a bond of Open vSwitch is not a kernel bond",
            "make a kernel bond of both ports (MAAS: Create Bond) and put the bond into the bridge",
        )
    bond = host.bond(pf.bond) if pf.bond else None
    if bond is None:
        return "the port is in no kernel bond", BOTH_PORTS
    if bond.mode not in LAG_BOND_MODES:
        return f"{bond.name} has mode {bond.mode}", f"use one of {', '.join(LAG_BOND_MODES)}"
    members = {name: host.pf(name) for name in bond.members}
    strangers = sorted(name for name, member in members.items() if member is None or member.card != pf.card)
    if strangers:
        return f"{bond.name} also has {', '.join(strangers)}, which is no port of the same NIC", BOTH_PORTS
    if len(members) != 2:
        return f"{bond.name} has only {pf.netdev} of the NIC", BOTH_PORTS
    if pf.esw_multiport:
        return (
            "the devlink parameter esw_multiport is on, which excludes VF-LAG",
            f"devlink dev param set pci/{pf.bdf} name esw_multiport value false cmode runtime",
        )
    return None
