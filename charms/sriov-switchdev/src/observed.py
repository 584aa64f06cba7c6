# SPDX-License-Identifier: Apache-2.0
"""The state of this host as plain values; observe.py and record.py read them."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from converge import Finding, Severity
from desired import Desired
from hostnic.boot import Installed
from hostnic.devices.model import Host
from hostnic.system import Channels

if TYPE_CHECKING:
    from hostnic.network.ovs import Settings  # the boot units do without it
    from hostnic.nova import Entry

APPROVE = "run approve-reboot"
"""How a reboot is approved, where the application that takes the action is not known, as in a boot unit."""

MISSED = "did not appear"
"""A boot's words for a port for which it has waited in vain."""

Phase = Literal["early", "bind", "restore"]
State = Literal["running", "done", "failed"]


class NextBoot(NamedTuple):
    """VFs that the firmware of one port will offer after the next boot, or why that is unknown."""

    vfs: int | None  # their number; None if it is unknown
    reason: str = ""  # why it is unknown
    current: int | None = None  # the number that the firmware's current parameters say; None if unknown

    @property
    def changes(self) -> bool:
        """Whether the next boot may change what the port offers; not if the number is current already."""
        return self.vfs is not None and self.vfs != self.current


class Setting(NamedTuple):
    """One thing in a file that sets what the charm sets."""

    name: str  # what stands in the file for the port, or the unit that the file belongs to
    keys: tuple[str, ...] = ()  # what to take away
    # PCI addresses of this host's ports that it concerns; None if it may be any
    ports: frozenset[str] | None = None
    vfs: str = ""  # their number as the file has it, or nothing

    def concerns(self, ports: Collection[str]) -> bool:
        """Whether it concerns one of the ports with these PCI addresses."""
        return self.ports is None or not self.ports.isdisjoint(ports)


class Writer(NamedTuple):
    """A file that sets what the charm sets, of ports that the charm has or of others."""

    path: str  # the file
    settings: tuple[Setting, ...]  # what it sets
    tool: str = "netplan"  # what reads the file, in words
    creates: bool = True  # False for one that takes VFs as others have created them


Judged = tuple[tuple[Writer, ...], tuple[Finding, ...]]
"""Files that set VFs or modes, and findings about such that cannot be read."""


class BootFailure(NamedTuple):
    """One thing that went wrong in a phase, in the operator's words."""

    subject: str
    what: str
    remedy: str = ""

    def finding(self, severity: Severity = Severity.BLOCKED) -> Finding:
        """The problem as a finding."""
        return Finding(severity, self.subject, self.what, self.remedy)


class PhaseRecord(NamedTuple):
    """How far a boot unit got."""

    state: State  # `running` until the unit ends
    at: float  # monotonic seconds of the last change
    problems: tuple[BootFailure, ...] = ()  # what went wrong
    failures: int = 0  # how often it failed in a row; only `restore` runs more than once in a boot


class Vfs(NamedTuple):
    """The VFs and the eswitch mode of one port at one time."""

    number: int
    mode: str | None  # None where the kernel does not tell
    made: int | None = None  # another number once the VFs were made anew; None without VFs
    at: float = 0.0  # monotonic seconds


class PortRecord(NamedTuple):
    """The charm's notes on one port in this boot."""

    found: Vfs | None = None  # VFs that were there before the first boot unit; None if there were none
    left: Vfs | None = None  # as the charm left it, or found it as declared; None while that is not known


class BootRecord(NamedTuple):
    """The record of the units in this boot; one that did not start has no record."""

    phases: Mapping[Phase, PhaseRecord] = {}
    ports: Mapping[str, PortRecord] = {}  # by PCI address

    @property
    def problems(self) -> tuple[BootFailure, ...]:
        """The failures of this boot, in order."""
        return tuple(problem for record in self.phases.values() for problem in record.problems)

    @property
    def missed(self) -> frozenset[str]:
        """PCI addresses of the ports for which this boot has waited in vain."""
        early = self.phases.get("early")
        return (
            frozenset(each.subject for each in early.problems if MISSED in each.what)
            if early
            else frozenset()
        )

    def unfinished(self, now: float, early_time: float, bind_time: float) -> bool:
        """Whether a boot unit still runs. It counts as dead so many seconds after its last record."""
        early, bind = self.phases.get("early"), self.phases.get("bind")
        if early is None:
            return False
        latest = bind or early
        most = early_time if latest is early and early.state == "running" else bind_time
        return now - latest.at < most and (bind is None or bind.state == "running")

    def restoring(self, now: float, most: float) -> bool:
        """Whether ports are restored now. The unit counts as dead ``most`` seconds after its last record."""
        found = self.phases.get("restore")
        return found is not None and found.state == "running" and now - found.at < most


class LiveRecord(NamedTuple):
    """Live changes of this boot towards one desired state."""

    target: str = ""  # digest of the desired state that they were for
    failures: int = 0  # how many failed in a row
    undone: str = ""  # why the last one was undone; empty when none was


class Follower(NamedTuple):
    """The note of the service that has representors follow their uplinks."""

    stamp: str  # of the boot copy whose code it runs
    lowered: Mapping[int, str] = {}  # the netdevs that it has set down: their names by their indexes


class PortState(NamedTuple):
    """One port as it was before the change."""

    bdf: str
    netdev: str
    mode: str
    num_vfs: int
    autoprobe: bool
    bond: str | None
    queues: int = 0  # of its uplink; 0 where that is not known
    mac: str | None = None  # its permanent MAC address; None where that is not known


class Observed(NamedTuple):
    """The host, what the charm has installed on it, and what happened since this boot."""

    host: Host  # NICs and bonds
    now: float = 0.0  # monotonic seconds
    previous: Desired = Desired()  # the desired state that was installed last; empty without one
    installed: Installed = Installed()  # what the charm keeps on disk for the next boot
    boot: BootRecord = BootRecord()  # what the boot units did
    # What something else made of ports after the charm had left them, in words, by BDF
    undone: Mapping[str, str] = {}
    live: LiveRecord = LiveRecord()  # what live changes did
    armed: bool = False  # a live change waits for its confirmation
    follower: Follower | None = None  # the service that follows uplinks; None while it does not run
    # Slots of the NICs whose VFs and eswitch modes were as declared in this boot
    converged: frozenset[str] = frozenset()
    # BDF to bond as networkd is configured; read only while a port is out of its bond
    declared_bonds: Mapping[str, str] = {}
    # The same of ports that have another name now than networkd is configured with
    bonds_by_old_name: Mapping[str, str] = {}
    # Files that set VFs or eswitch modes at boot, also those of other NICs
    vf_writers: tuple[Writer, ...] = ()
    unclear: tuple[Finding, ...] = ()  # about such files that cannot be read
    # Netdevs of PFs outside a bond that carry the host's own network
    host_network: frozenset[str] = frozenset()
    next_boot: Mapping[str, NextBoot] = {}  # by BDF, for ports that offer too few VFs now
    # Slots of the NICs whose VF-LAG forms while VFs are bound; asked only if VF-LAG is missing, or if one
    # port changes while the VFs of the other are bound
    preallocated: frozenset[str] = frozenset()
    channels: Mapping[str, Channels] = {}  # queues of each uplink, by BDF; only of ports in switchdev mode
    # Ports in legacy mode of NICs that were as declared, by BDF, which alone carry traffic in their bonds
    alone: frozenset[str] = frozenset()
    # What Open vSwitch is told about offload, or why it does not tell; None where it does not run
    ovs: "Settings | str | None" = None
    # The PCI devices that Nova lists for instances; None where it is not installed, or cannot read its list
    offered: "tuple[Entry, ...] | None" = None
    # Bonds that are in Open vSwitch or carry the tunnel endpoint; only where several have ports of mlx5
    ovn_bonds: frozenset[str] = frozenset()
    cpus: int = 1  # logical CPUs that are online
    approve: str = APPROVE  # the command that approves a reboot of this machine
    findings: tuple[Finding, ...] = ()  # what else could not be read
