# SPDX-License-Identifier: Apache-2.0
"""The differences of a NIC from its declaration, judged once for all who ask. Pure.

A difference names the move that mends it. What the host or a driver does not tell (None) is no difference.
"""

import enum
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from converge import Severity
from converge.finding import RETRIED
from desired import Desired, WantedPort
from hostnic.devices.lag import NO_LAG_OBJECT, PORTS, WITH_DEBUGFS, no_lag_remedy, release
from hostnic.devices.model import Host, Pf, users_in_words
from hostnic.devices.port import MLX5
from hostnic.system import Channels
from observed import BootRecord, NextBoot, Observed, PortRecord

GONE = "if it was taken out, run action accept-nic on this unit; else see the kernel log"

STOP_IT = (
    "find and stop it, then run action accept-nic on this unit; "
    "journalctl -b -o short-monotonic shows what ran at that second; "
    "grep -rlsE 'sriov_numvfs|eswitch' /etc /opt /root /usr/local /var/lib/cloud names files that set them; "
    "the page When VFs or VF-LAG are missing has a trace that names the program"
)
"""The remedy where something else sets VFs, and no file that the charm reads names it."""


class Move(enum.Enum):
    """The move that mends a difference, and to which each part of a NIC's way belongs."""

    CHANGE = "VFs or mode of a port change, and the NIC with it"
    LAG = "VF-LAG forms"
    JOIN = "a port returns into its bond"
    SET = "a setting that interrupts nothing"
    QUEUES = "the uplink's queues, which interrupt its link"
    BIND = "VFs are bound"
    UNIT = "the unit that restores ports"
    BOOT = "the next boot, with all that it does"
    NONE = "none of these"


class VfLag(enum.Enum):
    """VF-LAG of a NIC, by what all of its ports tell: one that says no decides, then one that says yes."""

    NONE = "not declared"
    ACTIVE = "active"
    MISSING = "not active, and it can form"
    IMPOSSIBLE = "not active, and the firmware offers none"
    APART = "not active, and not all ports of the NIC are there"
    UNKNOWN = "no port tells"


class Difference(NamedTuple):
    """One thing that is not as declared."""

    about: str  # the property: `vfs`, `mode`, `queues`, `vf_lag` …
    subject: str  # the PCI address of the port; of VF-LAG, the slot
    words: str  # in a sentence with other differences of the same subject
    move: Move  # what mends it
    # None: WAITING, or PLANNED where its move is held
    level: Severity | None = None
    remedy: str = ""  # empty: what its move waits for
    stops: bool = False  # nothing is done about the host while it is there


class PortNow(NamedTuple):
    """A declared port that is there: as it shall be and as it is, and what is asked of it more than once."""

    port: WantedPort
    pf: Pf
    channels: Channels | None = None  # queues of its uplink; None where they are not known or do not matter
    lost: bool = False  # it was in switchdev mode in this boot, and fell back to legacy mode
    late: bool = False  # its VFs came after the boot step had given them up
    changes: bool = False  # its VFs or its mode must change
    detached: bool = False  # it is out of the bond that it belongs in
    alone: str = ""  # why its link must stay up, in words; empty if another port carries the bond's traffic
    beside: tuple[str, ...] = ()  # the other members of its bond, by netdev
    queues: int | None = None  # how many it shall get; None where a change sets them, or these will do
    next_boot: NextBoot | None = None  # VFs from the next boot on; asked of the firmware only where `short`
    undone: str = ""  # what something else has made of it since the charm left it, in words
    found: int = 0  # VFs that something else had made before the boot unit

    @property
    def netdev(self) -> str:
        """Its uplink, as declared while it has none."""
        return self.pf.netdev or self.port.netdev

    @property
    def users(self) -> str:
        """Who uses its VFs, in words: whoever loses them with a change; empty when all are free."""
        return users_in_words((vf.bdf, vf.users) for vf in self.pf.vfs)

    @property
    def left(self) -> tuple[str, str]:
        """Why it stays as it is while it is lost, and what helps; empty if it can be restored.

        The firmware changes no mode while VFs are in use, and the change takes the port's link down.
        """
        if self.users:
            return f"VFs are in use: {self.users}", f"free them (the next hook then restores {self.pf.bdf})"
        return self.alone, f"fix {' or '.join(self.beside) or 'the other port'}" if self.alone else ""

    @property
    def short(self) -> bool:
        """Whether the firmware offers fewer VFs now than are declared."""
        return self.pf.port.total_vfs < self.port.num_vfs

    @property
    def later(self) -> int | None:
        """How many VFs the next boot brings, if they suffice then and do not now; None otherwise."""
        after = self.next_boot if self.short else None
        return after.vfs if after and after.changes and (after.vfs or 0) >= self.port.num_vfs else None

    @property
    def dark(self) -> bool:
        """Whether its uplink has no carrier."""
        return self.pf.carrier is False


class OtherCard(NamedTuple):
    """Another card at the address of a declared port, which is left alone."""

    port: WantedPort
    what: str
    remedy: str


class Nic(NamedTuple):
    """The declared ports of one NIC, and what differs."""

    slot: str  # as Desired.nics has it
    declared: tuple[WantedPort, ...]  # all of them
    ports: tuple[PortNow, ...]  # those that are there
    others: tuple[OtherCard, ...] = ()  # those at whose address another card is
    lag_required: bool = False  # VFs stay unbound where VF-LAG is not active
    differences: tuple[Difference, ...] = ()

    @property
    def lag(self) -> VfLag:
        """VF-LAG of the ports that are there."""
        told = [now.pf.lag.vf_lag for now in self.ports if now.port.lag]
        if False in told:
            if len(self.ports) not in PORTS:
                return VfLag.APART
            none = any(now.pf.lag.unsupported for now in self.ports)
            return VfLag.IMPOSSIBLE if none else VfLag.MISSING
        if not told:
            return VfLag.NONE
        return VfLag.ACTIVE if True in told else VfLag.UNKNOWN

    @property
    def awaits_lag(self) -> bool:
        """Whether VFs stay unbound until VF-LAG is active; not where it cannot form and is not required."""
        declared = any(now.port.lag for now in self.ports)
        return declared and (self.lag_required or self.lag is not VfLag.IMPOSSIBLE)

    @property
    def keeps_unbound(self) -> bool:
        """Whether VFs stay unbound, as VF-LAG is required and cannot form."""
        return self.lag_required and self.lag is VfLag.IMPOSSIBLE

    @property
    def bonded(self) -> bool:
        """Whether a port of it belongs in a bond."""
        return any(now.port.bond for now in self.ports)

    @property
    def changes(self) -> bool:
        """Whether VFs or mode of a port must change."""
        return any(now.changes for now in self.ports)

    @property
    def only_lag(self) -> bool:
        """Whether VFs and modes are as declared, and VF-LAG is not though it can form."""
        return self.lag is VfLag.MISSING and not self.changes

    @property
    def one_changes(self) -> bool:
        """Whether VFs or mode of some ports of a bonded NIC change, and VFs of the others are bound."""
        others = [now.pf for now in self.ports if not now.changes]
        bound = any(vf.driver for pf in others for vf in pf.vfs)
        return len(self.ports) in PORTS and self.bonded and self.changes and bound

    @property
    def lost(self) -> list[str]:
        """The PCI addresses of the ports that the restoring unit has to restore first."""
        return [now.port.bdf for now in self.ports if now.lost]

    def only(self, ports: Iterable[PortNow]) -> "Nic":
        """The NIC as if it had only these ``ports`` of it; what differs is not told."""
        return self._replace(ports=tuple(ports), differences=())


def joined(wanted: Desired, observed: Observed) -> tuple[Nic, ...]:
    """Each declared NIC with what is there of it."""
    return tuple(_nic(slot, ports, wanted, observed) for slot, ports in wanted.nics().items())


def at_hand(ports: Iterable[WantedPort], wanted: Desired, observed: Observed) -> Nic:
    """Return the NIC as boot and restore have it at hand: the ``ports`` with the driver that they need."""
    served = tuple(port for port in ports if (pf := observed.host.pf(port.bdf)) and pf.port.driver == MLX5)
    return _nic(served[0].nic if served else "", served, wanted, observed)


def _nic(slot: str, declared: tuple[WantedPort, ...], wanted: Desired, observed: Observed) -> Nic:
    there, others = list[PortNow](), list[OtherCard]()
    for port in declared:
        pf = observed.host.pf(port.bdf)
        if pf and port.is_other(pf.mac):
            others.append(OtherCard(port, *other_card(port.mac, pf.mac)))
        elif pf:
            there.append(_now(port, pf, wanted, observed))
    nic = Nic(slot, declared, tuple(there), tuple(others), wanted.lag_required)
    return nic._replace(differences=tuple(_differences(nic, wanted, observed)))


def _now(port: WantedPort, pf: Pf, wanted: Desired, observed: Observed) -> PortNow:
    channels = observed.channels.get(port.bdf)
    changes = pf.port.num_vfs != port.num_vfs or pf.eswitch_mode != "switchdev"
    before = observed.boot.ports.get(port.bdf, PortRecord()).found
    lost = port.nic in observed.converged and bool(pf.netdev) and pf.eswitch_mode == "legacy"
    alone = pf.bdf in observed.alone or _carries_alone(pf, observed.host)
    return PortNow(
        port,
        pf,
        channels,
        lost=lost,
        late=_is_late(pf, observed.boot),
        changes=changes,
        detached=bool(port.bond) and pf.bond != port.bond,
        alone=f"{pf.netdev} is the only port of {pf.bond} that carries traffic" if alone else "",
        beside=tuple(observed.host.beside(pf)),
        queues=None if changes else _queues_to_set(wanted, channels, observed.cpus),
        next_boot=observed.next_boot.get(port.bdf),
        undone="" if lost else observed.undone.get(port.bdf, ""),
        found=before.number if before else 0,
    )


def _carries_alone(pf: Pf, host: Host) -> bool:
    """Whether no other port of its bond carries traffic, by the links of PFs.

    The bonding driver also knows of LACP and of members that are no PF; what takes a port out asks it.
    """
    others = (host.pf(name) for name in host.beside(pf))
    return bool(pf.bond and pf.carrier) and all(other and not other.carrier for other in others)


def _is_late(pf: Pf, boot: BootRecord) -> bool:
    """VFs came after the boot step had given them up: in legacy mode, bound to nothing, used by nobody."""
    early = boot.phases.get("early")
    given_up = early is not None and early.state == "failed"
    free = not any(vf.driver or vf.users for vf in pf.vfs)
    return given_up and pf.eswitch_mode == "legacy" and pf.port.num_vfs > 0 and free


def _queues_to_set(wanted: Desired, channels: Channels | None, cpus: int) -> int | None:
    """How many queues an uplink shall have instead of those that it has; None if these will do.

    Without a declared number, one per online CPU is enough: more are left alone.

    ``channels`` is what the uplink has, None where that is not known; ``cpus`` are those that are online.
    """
    if channels is None:
        return None
    count = min(wanted.uplink_queues or cpus, channels.most)
    enough = channels.combined == count or (channels.combined > count and not wanted.uplink_queues)
    return None if enough else count


def _gone(port: WantedPort, observed: Observed) -> Difference:
    if any(found.subject == port.bdf for found in observed.host.findings):
        words = f"whether {port.netdev} is as declared is not known while it cannot be read"
        return Difference("gone", port.bdf, words, Move.NONE, Severity.BLOCKED, RETRIED)
    words = f"the port ({port.netdev}) is gone"
    return Difference("gone", port.bdf, words, Move.NONE, Severity.BLOCKED, GONE)


def _differences(nic: Nic, wanted: Desired, observed: Observed) -> Iterator[Difference]:
    """Everything that differs of the NIC: port by port, then VF-LAG."""
    there = {now.port: now for now in nic.ports}
    lag, others = nic.lag, [other.port for other in nic.others]
    for port in nic.declared:
        if port in there:
            yield from _of_port(there[port], wanted, kept_unbound=nic.keeps_unbound)
        elif port not in others:
            yield _gone(port, observed)
    if lag is VfLag.IMPOSSIBLE:
        worst = Severity.BLOCKED if nic.lag_required else Severity.WARNING
        remedy = no_lag_remedy(max(now.pf.port.total_vfs for now in nic.ports))
        yield Difference("vf_lag", nic.slot, f"VF-LAG cannot form: {NO_LAG_OBJECT}", Move.NONE, worst, remedy)
    elif lag is VfLag.MISSING:
        first = nic.ports[0].pf.lag
        instead = f"; the NIC bonds its ports as {first.type} instead" if first.active else ""
        yield Difference("vf_lag", nic.slot, f"VF-LAG is not active{instead}", Move.LAG)
    elif lag is VfLag.UNKNOWN:
        yield from _unknown(nic.ports, observed.host.kernel)


def _of_port(now: PortNow, wanted: Desired, *, kept_unbound: bool) -> Iterator[Difference]:
    """Everything that differs of one port."""
    port, pf, bdf = now.port, now.pf, now.port.bdf
    count = pf.port.num_vfs
    if now.undone:  # and it would be after a change or a reboot
        words, stops = now.undone, now.changes
        yield Difference("others", bdf, words, Move.NONE, Severity.BLOCKED, STOP_IT, stops)
    if now.found:
        words = f"something else sets its VFs before the boot unit: {now.found} were there"
        yield Difference("others", bdf, words, Move.NONE, Severity.WARNING, STOP_IT)
    if count != port.num_vfs:
        yield Difference("vfs", bdf, f"{count} of {port.num_vfs} VFs", Move.CHANGE)
    if now.lost:
        yield Difference("mode", bdf, "eswitch fell back to legacy mode", Move.UNIT)
    elif pf.eswitch_mode not in (None, "switchdev"):  # see preflight for a port without an eswitch
        yield Difference("mode", bdf, f"eswitch in {pf.eswitch_mode} mode", Move.CHANGE)
    if pf.hw_tc_offload is False:
        yield Difference("offload", bdf, "hw-tc-offload off", Move.SET)
    if now.detached:
        yield Difference("bond", bdf, f"out of {port.bond}", Move.JOIN)
    unbound = sum(vf.driver is None for vf in pf.vfs)
    if unbound and count == port.num_vfs and not kept_unbound:
        yield Difference("bound", bdf, f"{unbound} of {count} VFs bound to no driver", Move.BIND)
    elif not pf.autoprobe and not now.changes and not kept_unbound:
        yield Difference("autoprobe", bdf, "VF autoprobe off", Move.BIND)
    if now.channels and now.queues:
        # The port forwards, but few CPUs receive what the host itself handles.
        words = f"the number of queues of {pf.netdev} is {now.channels.combined}, not {now.queues}"
        yield Difference("queues", bdf, words, Move.QUEUES, Severity.WARNING)
    mode = wanted.steering_mode
    if mode and pf.steering_mode not in (None, mode) and not now.changes:
        # The port forwards in either mode, and no NIC is set anew for it.
        words = f"flow steering mode is {pf.steering_mode}, not {mode}"
        remedy = "the next boot sets it, if NIC and kernel can"
        yield Difference("steering", bdf, words, Move.BOOT, Severity.INFO, remedy)


def figures(port: WantedPort, now: PortNow | None) -> dict[str, int]:
    """Return a port's declaration for the exporter, which compares; ``now`` is None while it is not there."""
    declared = {"vfs": port.num_vfs, "switchdev": 1}
    if now is None or now.pf.hw_tc_offload is not None:  # else the driver does not tell
        declared["hw_tc_offload"] = 1
    if now and now.channels and not now.changes:  # else the change sets them, too
        declared["queues"] = now.queues or now.channels.combined
    return declared


def _unknown(there: Collection[PortNow], kernel: str) -> Iterator[Difference]:
    newer = release(kernel) >= WITH_DEBUGFS
    remedy = (
        "mount debugfs at /sys/kernel/debug; kernel lockdown can hide it"
        if newer
        else "kernel 5.19 and later show it; on jammy, deploy hwe-22.04"
    )
    for now in there:
        lag = now.pf.lag
        if now.port.lag and lag.vf_lag is None and not now.changes:
            since = ": a LAG formed in this boot, and may have ended" if lag.source == "kernel log" else ""
            words = f"LAG state unknown on kernel {kernel}{since}"
            yield Difference("vf_lag", now.port.bdf, words, Move.NONE, Severity.INFO, remedy)


def other_card(known: str | None, mac: str | None) -> tuple[str, str]:
    """Return a sentence on a card with ``mac`` at the address of a known port, and the remedy."""
    what = f"another card is at this address (MAC {mac}, not {known}), and is left alone"
    return what, "put the declared card there, or run action accept-nic on this unit"
