# SPDX-License-Identifier: Apache-2.0
"""Read what the plan needs to know about this host. Never writes; spawns no process on a converged host."""

from collections.abc import Collection, Iterable, Iterator

import desired
import record
from boot import bootfile, driver_reload, files
from converge import Finding, Severity, cause
from converge.finding import RETRIED
from desired import Desired
from hostnic import cpus, nova
from hostnic.boot import installed
from hostnic.devices import discover, users
from hostnic.devices.model import Host, Pf
from hostnic.devices.port import MLX5
from hostnic.network import ovs
from hostnic.network.after_start import cut_off
from hostnic.system import Channels, System, list_names, read_text
from nic.judge import Move, Nic
from nic.places import located
from observed import Judged, NextBoot, Observed
from writers import netplan, other_files, unseen

WHOLE_NIC = frozenset((Move.CHANGE, Move.LAG, Move.UNIT))
"""The moves that interrupt all ports of a NIC."""

NETWORKD_DIRECTORIES = ("/etc/systemd/network", "/run/systemd/network")


def observe(system: System, judged: Judged | None = None) -> Observed:
    """Read the host. ``judged`` is what others' files set, where that is known already."""
    host, settings = discover.observe(system), _ovs(system)
    findings = [*host.findings, *_owned_by_a_snap(system)]
    if isinstance(settings, ovs.Settings) and (found := cut_off(system, settings)):
        findings.append(found)
    kept = installed.look(system, files.COPY, files.MAY_BE, (*files.UNITS, files.FOLLOW))
    previous = located(_previous(kept.files[desired.PATH], findings), host)
    bonds, by_old_name = _declared_bonds(system, host, previous)
    writers, unclear = judged or _second_writers(system, host.pfs)
    converged = record.read_converged(system)
    boot = record.read_boot(system)
    return Observed(
        host=host,
        now=system.now(),
        previous=previous,
        installed=kept,
        boot=boot,
        undone=unseen.undone(system, host.pfs, boot),
        live=record.read_live(system),
        armed=record.armed(system),
        follower=record.read_follower(system),
        converged=converged,
        alone=driver_reload.alone(system, host, converged),
        declared_bonds=bonds,
        bonds_by_old_name=by_old_name,
        vf_writers=writers,
        unclear=unclear,
        host_network=_host_network(system, host),
        channels=_channels(system, host, findings),
        ovs=settings,
        offered=None if (options := nova.read(system)) is None else nova.offered(options),
        ovn_bonds=_ovn_bonds(system, host, settings),
        cpus=cpus.online(system),
        findings=tuple(findings),
    )


def _second_writers(system: System, pfs: Collection[Pf]) -> Judged:
    """Files that set VFs or modes, as the charm does, and findings about such that cannot be read."""
    in_netplan, unreadable = netplan.second_writers(system, pfs)
    return (*in_netplan, *other_files.others(system, pfs)), unreadable


def ask(system: System, observed: Observed, nics: Iterable[Nic]) -> Observed:
    """Add what is asked only of a NIC with a difference that is mended by interrupting something.

    This host's own uses of its ports. And of the firmware, what it offers after the next boot, for ports that
    offer too few VFs now, and whether it lets VF-LAG form while VFs are bound, where only that is missing or
    only one port changes. Nothing else that is read may spawn a process.

    Without such a difference this is ``observed`` itself.
    """
    nics = tuple(nics)
    whole = [nic for nic in nics if not WHOLE_NIC.isdisjoint(each.move for each in nic.differences)]
    at_stake = {port.bdf for nic in whole for port in nic.declared}
    at_stake |= {each.subject for nic in nics for each in nic.differences if each.move is Move.QUEUES}
    if not at_stake:
        return observed
    short = [now.port.bdf for nic in whole for now in nic.ports if now.short]
    forming = [nic for nic in whole if nic.only_lag or nic.one_changes]
    preallocated = {nic.slot for nic in forming if _preallocates(system, nic.declared[0].bdf)}
    return observed._replace(
        host=users.with_own(system, observed.host, at_stake),
        next_boot={bdf: next_boot(system, bdf) for bdf in short},
        preallocated=frozenset(preallocated),
    )


def _preallocates(system: System, bdf: str) -> bool:
    from hostnic.firmware import mstconfig  # not on a host in order: hooks stay fast

    try:
        return mstconfig.preallocates_lag(system, bdf)
    except OSError:  # as on firmware without it: VFs are unbound first
        return False


def next_boot(system: System, bdf: str) -> NextBoot:
    """Ask the firmware of one port; spawns a process."""
    from hostnic.firmware import mstconfig  # not on a host in order: hooks stay fast

    try:
        offered = mstconfig.offered_vfs(system, bdf)
    except OSError as error:
        return NextBoot(None, cause(error))
    return NextBoot(offered.next_boot, current=offered.current)


def _previous(text: str | None, findings: list[Finding]) -> Desired:
    if text is None:
        return Desired()
    try:
        return bootfile.from_json(text)
    except ValueError as error:
        what = f"{error}; it is rewritten"
        findings.append(Finding(Severity.WARNING, desired.PATH, what))
        return Desired()


def _declared_bonds(system: System, host: Host, previous: Desired) -> tuple[dict[str, str], dict[str, str]]:
    """Bond memberships as networkd is configured, read only when a port is missing from the bond it was in.

    networkd's own files (netplan writes them below /run) name the bond's members by name or MAC address. The
    second has those by a name that the port had before.
    """
    bonded = ((port, host.pf(port.bdf)) for port in previous.ports if port.bond)
    detached = [(port, pf) for port, pf in bonded if pf and pf.bond is None]
    declared, by_old_name = dict[str, str](), dict[str, str]()
    for settings in _networks(system) if detached else ():
        names = settings.get("Name", "").split()
        macs = f"{settings.get('PermanentMACAddress', '')} {settings.get('MACAddress', '')}".lower().split()
        for port, pf in detached if "Bond" in settings else ():
            if pf.netdev in names or (pf.mac or "").lower() in macs:
                declared[pf.bdf] = settings["Bond"]
            elif pf.netdev and port.netdev in names and not port.is_other(pf.mac):
                by_old_name[pf.bdf] = settings["Bond"]
    return declared, {bdf: bond for bdf, bond in by_old_name.items() if bdf not in declared}


def _networks(system: System) -> Iterator[dict[str, str]]:
    """Each .network file's settings (systemd.network(5)); sections do not matter here."""
    for directory in NETWORKD_DIRECTORIES:
        for name in list_names(system, directory):
            if name.endswith(".network"):
                lines = (read_text(system, f"{directory}/{name}") or "").splitlines()
                pairs = (line.partition("=") for line in lines)
                yield {key.strip(): value.strip() for key, equals, value in pairs if equals}


def _channels(system: System, host: Host, findings: list[Finding]) -> dict[str, Channels]:
    """Queues of the uplinks in switchdev mode; in legacy mode mlx5 gives a port enough by itself."""
    found: dict[str, Channels] = {}
    for pf in host.pfs:
        if pf.netdev is None or pf.eswitch_mode != "switchdev":
            continue
        try:
            channels = system.ethtool.channels(pf.netdev)
        except OSError as error:
            what = f"the queues of {pf.netdev} cannot be read: {cause(error)}"
            findings.append(Finding(Severity.WARNING, pf.bdf, what, RETRIED))
            continue
        if channels:
            found[pf.bdf] = channels
    return found


def _ovs(system: System) -> ovs.Settings | str | None:
    try:
        return ovs.settings(system, ovs.PATIENCE)
    except FileNotFoundError:
        return None
    except OSError as error:
        return cause(error)


def _owned_by_a_snap(system: System) -> Iterator[Finding]:
    """Refuse a host whose Open vSwitch is MicroOVN's, as Sunbeam's are from 2025.1 on."""
    if system.files.exists(ovs.MICROOVN):
        what = "is the snap microovn's, whose settings and order at boot this charm does not know"
        yield Finding(Severity.BLOCKED, "Open vSwitch", what, "keep this charm off hosts with MicroOVN")


def _ovn_bonds(system: System, host: Host, settings: ovs.Settings | str | None) -> frozenset[str]:
    """The bonds that OVN's traffic goes through; asked only where several have ports of mlx5."""
    bonds = {pf.bond for pf in host.pfs if pf.bond and pf.port.driver == MLX5}
    endpoints = settings.endpoints if isinstance(settings, ovs.Settings) else frozenset[str]()

    def carries(name: str) -> bool:
        names = users.stand_on(system, name)
        held = users.addresses_on(system, names) if endpoints else ()
        return users.DATAPATH in names or not endpoints.isdisjoint(held)

    return frozenset(filter(carries, bonds)) if len(bonds) > 1 else frozenset()


def _host_network(system: System, host: Host) -> frozenset[str]:
    alone = [pf.netdev for pf in host.pfs if pf.netdev and not pf.bond]
    return frozenset(users.of_netdevs(system, alone)) if alone else frozenset()
