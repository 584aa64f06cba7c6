# SPDX-License-Identifier: Apache-2.0
"""From options and what was observed to the desired state of each port. Pure."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from config import Options
from converge import Finding, Severity
from desired import Desired, WantedPort
from hostnic.devices import inventory, selector
from hostnic.devices.model import Bond, Host, Pf
from hostnic.devices.port import MLX5, Port
from hostnic.devices.selector import Auto, Choice, Entry
from hostnic.firmware.msterrors import BURN, LIVEFISH
from nic import vf_lag
from observed import Observed

RENAMED = "name it so, or its bond; if the port that is called so now is meant, run action accept-nic"


def resolve(options: Options, observed: Observed, application: str) -> tuple[Desired, tuple[Finding, ...]]:
    """Decide which ports are converged to what.

    ``application`` is this charm's name in the model, for the command that sets an option.

    Returns the desired state, and findings: devices and bonds that do not exist, bonds without VF-LAG. With a
    blocking finding the desired state must not be applied.
    """
    host = as_declared(observed)
    entries, renamed = _entries(options, observed)
    choice = _choose(options, entries, host, observed, application)
    gone = _gone(options, observed, choice)
    slots = {*(port.slot for port in gone), *(port.nic for port in choice.ports)}
    dead = host.in_flash_recovery & slots  # the other NICs go on
    away = {port.nic for port in gone if port.lag}
    ports, without_lag = list[WantedPort](), list[Finding]()
    for chosen, vfs in (each for each in choice.chosen if each.port.nic not in dead):
        pf = next(pf for pf in host.pfs if pf.port == chosen)
        was = observed.previous.port(pf.bdf)
        returns = was is not None and was.lag and was.nic in away  # so the next boot has both ports
        reason = None if returns or options.vf_lag == "disabled" else vf_lag.prevented(pf, host)
        if reason and (pf.bond or pf.port.bridge or options.vf_lag == "required"):
            without_lag.append(_without_lag(options, pf.bdf, *reason))
        bonded = options.vf_lag != "disabled" and reason is None
        netdev = pf.netdev or (was.netdev if was else "")
        card = was.card if was and returns else vf_lag.card_of(pf, host) if bonded else None
        # Another card at the address of a declared port must be accepted first.
        mac = was.mac if was and was.mac else pf.mac
        former = _former(options, was, pf)
        ports.append(WantedPort(pf.bdf, netdev, vfs, pf.bond, bonded, mac, card, former))
    taken, displaced = {port.bdf for port in ports}, list[WantedPort]()
    for port in gone:
        (displaced if port.bdf in taken else ports).append(port)
        taken.add(port.bdf)
    ports.sort(key=lambda port: port.bdf)
    # A NIC bonds all of its ports or none: with one of them left out, none.
    whole = set[str]()
    for slot, of_nic in Desired(tuple(ports)).nics().items():
        if all(port.lag for port in of_nic):
            left_out = _left_out(of_nic, host)
            if left_out:
                without_lag.append(_half(options, of_nic[0], left_out, host))
            elif len(of_nic) > 1:
                whole.add(slot)
    ports = [port._replace(lag=port.nic in whole) for port in ports]
    missed = observed.boot.missed.union(port.bdf for port in observed.previous.absent)
    missed &= {port.bdf for port in gone if not host.pf(port.bdf)}
    missed |= {port.bdf for port in ports if port.slot in dead}
    there = tuple(port for port in ports if port.bdf not in missed)
    absent = (*(port for port in ports if port.bdf in missed), *displaced)
    steering = None if options.steering_mode == "keep" else options.steering_mode
    required, queues = options.vf_lag == "required", options.uplink_queues
    wanted = Desired(there, steering, required, queues, absent, options.follow_uplink)
    gone_names = {name for port in gone for name in _names(port)}
    unknown = [name for name in choice.absent if name not in gone_names]
    return wanted, (
        *_missing_bonds(options, observed),
        *renamed,
        *(() if options.selected else _passed_over(host, {port.bdf for port in choice.ports})),
        *([choice.refusal] if choice.refusal else selector.missing(unknown)),
        *(Finding(Severity.HELD, pf.bdf, LIVEFISH, _burn(pf.bdf)) for pf in host.pfs if pf.port.nic in dead),
        *without_lag,
    )


def _burn(bdf: str) -> str:
    """Return the remedy for a NIC in flash recovery."""
    return BURN.replace("BDF", bdf)


def _entries(options: Options, observed: Observed) -> tuple[tuple[Entry, ...], list[Finding]]:
    """The entries of ``devices``, each that names a declared port as it was called before by its address now.

    Whoever has that name or address now is not meant, as long as the declared port is on this host.
    """
    before = {
        name: pf
        for port in observed.previous.ports
        if (pf := observed.host.pf(port.bdf)) and port.mac and pf.mac == port.mac
        for name in (port.netdev, *port.former)
        if name not in pf.port.names
    }
    found = [
        entry._replace(name=before[entry.name].bdf) if entry.name in before else entry
        for entry in options.selected
    ]
    renamed = [
        Finding(
            Severity.INFO,
            selector.OPTION,
            f"{entry.name} is {pf.netdev or 'the port'} at {pf.bdf} now",
            RENAMED,
        )
        for entry in options.selected
        if (pf := before.get(entry.name))
    ]
    return tuple(found), renamed


def _former(options: Options, was: WantedPort | None, pf: Pf) -> tuple[str, ...]:
    """Return the names in ``devices`` of a port that has another name or address now."""
    if was is None or was.is_other(pf.mac):
        return ()
    named = {entry.name for entry in options.selected}.difference(pf.port.names)
    return tuple(sorted(named.intersection((was.netdev, *was.former))))


def _of_ovn(host: Host, observed: Observed) -> tuple[set[str], tuple[str, ...]]:
    """The ports that ``auto`` means, by BDF; and the bonds of which one has to be named, if it is not clear.

    Of one bond all are meant. Of several, those of the bonds that OVN uses, and NICs that have been switched;
    only where there are none, those that were declared before.
    """
    bonded = [pf for pf in host.pfs if _is_bonded_mlx5(pf.port)]
    bonds = tuple(sorted({pf.bond for pf in bonded if pf.bond}))
    if len(bonds) < 2:
        return {pf.bdf for pf in bonded}, ()
    converged, declared = observed.converged, {port.bdf for port in observed.previous.ports}
    switched = {pf.bdf for pf in bonded if pf.eswitch_mode == "switchdev" or pf.port.nic in converged}
    known = switched | {pf.bdf for pf in bonded if pf.bond in observed.ovn_bonds}
    known = known or declared & {pf.bdf for pf in bonded}
    return known, () if known else bonds


def _passed_over(host: Host, ours: set[str]) -> Iterator[Finding]:
    """Yield the ports that ``auto`` passes over: InfiniBand, and bonds such as those of a storage network."""
    yield from selector.infiniband(pf.port for pf in host.pfs)
    others = [pf for pf in host.pfs if ours and _is_bonded_mlx5(pf.port) and pf.bdf not in ours]
    for bond in sorted({pf.bond for pf in others if pf.bond}):
        ports = " ".join(pf.netdev or pf.bdf for pf in others if pf.bond == bond)
        what = f"auto leaves {bond} ({ports}) alone: OVN has no bridge and no tunnel endpoint on it"
        remedy = (
            f"name {ports} in {selector.OPTION} to give them VFs; this host's own RDMA over them ends then"
        )
        yield Finding(Severity.INFO, selector.OPTION, what, remedy)


def _choose(
    options: Options, entries: Sequence[Entry], host: Host, observed: Observed, application: str
) -> Choice:
    there = [pf.port for pf in host.pfs]
    usable = any(map(_may_be_chosen, there)) or not there
    ours, unclear = _of_ovn(host, observed)
    if unclear and not options.selected:
        what = f"is auto, but {' and '.join(unclear)} may be OVN's: none is in a bridge of Open vSwitch"
        return selector.refuse(what, f"run: juju config {application} {selector.OPTION}=PORTS")

    def means(port: Port) -> bool:
        return port.bdf in ours

    auto = Auto(means, NOTHING, BOND if usable else ELSEWHERE, application if usable else "")
    without_firmware = host.in_flash_recovery
    alive = [port for port in there if port.nic not in without_firmware]
    dead = next((port for port in there if port not in alive), None)
    if dead and not any(map(_may_be_chosen, alive)):
        auto = Auto(means, LIVEFISH, _burn(dead.bdf))
    choice = selector.choose(entries, there, auto, options.num_vfs)
    others = [port for port in choice.ports if not port.device.startswith(inventory.MELLANOX)]
    if not others:
        return choice
    listed = ", ".join(f"{each.netdev or each.bdf} ({each.bdf}, {vf_lag.driven_by(each)})" for each in others)
    left = " ".join(port.netdev or port.bdf for port in choice.ports if port not in others)
    remedy = f"name the ports of the ConnectX alone: {left}" if left else f"correct {selector.OPTION}"
    return selector.refuse(f"names {listed}, not a ConnectX or BlueField NIC", remedy)


def _is_bonded_mlx5(port: Port) -> bool:
    return port.driver == MLX5 and port.bond is not None and not port.infiniband


def _may_be_chosen(port: Port) -> bool:
    """Whether it may be chosen by its name: naming another one would only bring the next refusal."""
    ours = port.device.startswith(inventory.MELLANOX) and port.device not in inventory.CONNECTX3
    return ours and not port.infiniband


NOTHING, BOND = "no mlx5 port is bonded", "bond the ports in MAAS"
ELSEWHERE = "relate this charm to applications on hosts with a ConnectX whose ports are Ethernet"


def _missing_bonds(options: Options, observed: Observed) -> Iterator[Finding]:
    """Ports whose bond does not exist, or misses them, while the network configuration still has them.

    Without these findings a bond that networkd is creating again would be forgotten, and VF-LAG with it.
    """
    for port in observed.previous.ports:
        pf, old = observed.host.pf(port.bdf), observed.bonds_by_old_name.get(port.bdf)
        if pf and old and _meant(port, options):
            what = f"{old} is declared for {port.netdev}, and that port is {pf.netdev} now"
            remedy = "have netplan match its MAC address, or name it so there"
            yield Finding(Severity.BLOCKED, port.bdf, what, remedy)
        bond = observed.declared_bonds.get(port.bdf)
        if bond and not observed.host.bond(bond) and _meant(port, options):
            yield Finding(
                Severity.BLOCKED,
                port.bdf,
                f"{bond}, which this port belongs in, does not exist",
                "see networkctl and journalctl -u systemd-networkd; or take the bond out of netplan's files",
            )


def _gone(options: Options, observed: Observed, choice: Choice) -> list[WantedPort]:
    """Ports that fell off the bus or lost their driver; they stay declared unless others serve their bond."""
    previous, there = observed.previous, {port.bdf for port in choice.ports}
    for port in previous.ports:
        pf = observed.host.pf(port.bdf)
        if pf and pf.netdev and not port.is_other(pf.mac):
            there.add(port.bdf)
    before = Counter(port.bond for port in previous.everything)
    served = Counter(port.bond for port in choice.ports)
    return [
        port
        for port in previous.everything
        if (port.bdf not in there or port in previous.absent)
        and _meant(port, options)
        and not (port.bond and served[port.bond] >= before[port.bond])
    ]


def _meant(port: WantedPort, options: Options) -> bool:
    """Whether ``devices`` still selects a port that was declared before."""
    names = {entry.name for entry in options.selected}
    return not names or not names.isdisjoint(_names(port))


def _names(port: WantedPort) -> tuple[str, ...]:
    """Return the names by which ``devices`` may call it."""
    return tuple(filter(None, (port.bdf, port.netdev, port.bond, *port.former)))


def _left_out(of_nic: Collection[WantedPort], host: Host) -> list[Pf]:
    """The members of a NIC's bond that are not selected."""
    bond, names = host.bond(next(iter(of_nic)).bond), {port.bdf for port in of_nic}
    members = [pf for name in (bond.members if bond else ()) if (pf := host.pf(name))]
    return [pf for pf in members if pf.bdf not in names]


def _half(options: Options, port: WantedPort, others: Sequence[Pf], host: Host) -> Finding:
    """Name a NIC of whose ports not all are selected, while all are in a bond that could be a VF-LAG.

    Where they are in switchdev mode now, the next boot would leave the ``others`` in legacy mode without VFs.
    """
    pf = host.pf(port.bdf)
    words = " ".join(
        f"{other.netdev}:{other.port.num_vfs}"
        if other.eswitch_mode == "switchdev"
        else other.netdev or other.bdf
        for other in others
    )
    remedy = f"name {words} in option devices too, or set vf-lag=disabled"
    why = (
        "the NIC's other port is not selected"
        if len(others) == 1
        else "other ports of the NIC are not selected"
    )
    at_stake = any(other.eswitch_mode == "switchdev" for other in others)
    if pf and pf.eswitch_mode == "switchdev" and at_stake and pf.lag.vf_lag is not False:
        what = f"the next boot would end VF-LAG: {why}"
        return Finding(Severity.BLOCKED, port.bdf, what, remedy)
    return _without_lag(options, port.bdf, why, remedy)


def _without_lag(options: Options, bdf: str, why: str, remedy: str) -> Finding:
    severity = Severity.BLOCKED if options.vf_lag == "required" else Severity.WARNING
    return Finding(severity, bdf, f"VF-LAG cannot form: {why}", remedy)


def as_declared(observed: Observed) -> Host:
    """The host with each port in the bond that it belongs in, even if it is out of it now.

    A port that is out of its bond because a step failed still belongs there if the network configuration
    says so.
    """
    host = observed.host
    detached = {
        pf.bdf: bond
        for pf in host.pfs
        if not pf.bond and (bond := observed.declared_bonds.get(pf.bdf)) and host.bond(bond)
    }
    pfs = tuple(pf._replace(port=pf.port._replace(bond=detached.get(pf.bdf, pf.bond))) for pf in host.pfs)
    bonds = tuple(_with(bond, pfs) for bond in host.bonds)
    return host._replace(pfs=pfs, bonds=bonds)


def _with(bond: Bond, pfs: tuple[Pf, ...]) -> Bond:
    names = {pf.netdev for pf in pfs if pf.bond == bond.name and pf.netdev}
    return bond._replace(members=tuple(sorted({*bond.members, *names})))
