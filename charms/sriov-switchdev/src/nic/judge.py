# SPDX-License-Identifier: Apache-2.0
"""What of a NIC is not as declared, judged once for all who ask. Pure.

A difference names the move that mends it. What the host or a driver does not tell (None) is no difference.
"""

import enum
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from converge import Severity
from converge.finding import RETRIED
from desired import Desired, Port
from hostnic.devices.lag import NO_LAG_OBJECT, PORTS, WITH_DEBUGFS, no_lag_remedy, release
from hostnic.devices.model import Pf
from hostnic.devices.port import MLX5
from hostnic.system import Channels
from observed import Observed

from nic import steps
from nic.steps import PortAndPf

GONE = "if it was taken out, run action accept-nic on this unit; else see the kernel log"


class Move(enum.Enum):
    """What mends a difference, and what a part of the way of a NIC does."""

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

    about: (
        str  # `gone`, `vfs`, `mode`, `offload`, `bond`, `bound`, `autoprobe`, `queues`, `steering`, `vf_lag`
    )
    subject: str  # the PCI address of the port; of VF-LAG, the slot
    words: str  # in a sentence with other differences of the same subject
    move: Move  # what mends it
    # None: WAITING, or PLANNED where its move is held
    level: Severity | None = None
    remedy: str = ""  # empty: what its move waits for


class PortNow(NamedTuple):
    """A declared port that is there: as it shall be and as it is, and what is asked of it more than once."""

    port: Port
    pf: Pf
    channels: Channels | None = None  # queues of its uplink; None where they are not known or do not matter
    lost: bool = False  # it was in switchdev mode in this boot, and fell back to legacy mode
    late: bool = False  # its VFs came after the boot step had given them up
    changes: bool = False  # its VFs or its mode must change
    detached: bool = False  # it is out of the bond that it belongs in
    alone: str = ""  # why its link must stay up, in words; empty if another port carries the bond's traffic
    beside: tuple[str, ...] = ()  # the other members of its bond, by netdev
    queues: int | None = None  # how many it shall get; None where a change sets them, or these will do


class Nic(NamedTuple):
    """The declared ports of one NIC, and what differs."""

    slot: str  # as Desired.nics has it
    declared: tuple[Port, ...]  # all of them
    ports: tuple[PortNow, ...]  # those that are there
    others: tuple[tuple[Port, str | None], ...] = ()  # those at whose address another card is, by this MAC
    lag: VfLag = VfLag.NONE
    differences: tuple[Difference, ...] = ()

    @property
    def pairs(self) -> list[PortAndPf]:
        """The ports that are there, each as declared and as observed."""
        return [(now.port, now.pf) for now in self.ports]

    @property
    def changes(self) -> bool:
        """Whether VFs or mode of a port must change."""
        return any(now.changes for now in self.ports)

    @property
    def only_lag(self) -> bool:
        """Whether VFs and modes are as declared, and VF-LAG is not though it can form."""
        return self.lag is VfLag.MISSING and not self.changes

    @property
    def lost(self) -> list[str]:
        """The PCI addresses of the ports that the restoring unit has to restore first."""
        return [now.port.bdf for now in self.ports if now.lost]


def joined(wanted: Desired, observed: Observed) -> tuple[Nic, ...]:
    """Each declared NIC with what is there of it."""
    return tuple(_nic(slot, ports, wanted, observed) for slot, ports in wanted.nics().items())


def at_hand(ports: Iterable[Port], wanted: Desired, observed: Observed) -> Nic:
    """One NIC as boot and restore have it at hand: those of its ``ports`` with the driver that they need."""
    served = tuple(port for port in ports if (pf := observed.host.pf(port.bdf)) and pf.port.driver == MLX5)
    return _nic(served[0].nic if served else "", served, wanted, observed)


def _nic(slot: str, declared: tuple[Port, ...], wanted: Desired, observed: Observed) -> Nic:
    there, others, found = list[PortNow](), list[tuple[Port, str | None]](), list[Difference]()
    at = [(port, observed.host.pf(port.bdf)) for port in declared]
    pairs = [(port, pf) for port, pf in at if pf and not port.is_other(pf.mac)]
    lag = _lag_of(pairs)
    # `required` keeps VFs unbound where VF-LAG cannot form, and that is said.
    kept_unbound = wanted.lag_required and lag is VfLag.IMPOSSIBLE
    for port, pf in at:
        if pf is None:
            found.append(_gone(port, observed))
        elif port.is_other(pf.mac):
            others.append((port, pf.mac))
        else:
            now = _now(port, pf, wanted, observed)
            there.append(now)
            found += _differences(now, wanted, kept_unbound=kept_unbound)
    found += _lag(slot, lag, pairs, wanted)
    if lag is VfLag.UNKNOWN:
        found += _unknown(there, observed.host.kernel)
    return Nic(slot, declared, tuple(there), tuple(others), lag, tuple(found))


def _lag_of(pairs: Collection[PortAndPf]) -> VfLag:
    told = [pf.lag.vf_lag for port, pf in pairs if port.lag]
    if False in told:
        if len(pairs) not in PORTS:
            return VfLag.APART
        return VfLag.IMPOSSIBLE if any(pf.lag.unsupported for _, pf in pairs) else VfLag.MISSING
    if not told:
        return VfLag.NONE
    return VfLag.ACTIVE if True in told else VfLag.UNKNOWN


def _now(port: Port, pf: Pf, wanted: Desired, observed: Observed) -> PortNow:
    channels, changes = observed.channels.get(port.bdf), steps.needs_work(port, pf)
    alone = pf.bdf in observed.alone or steps.carries_alone(pf, observed.host)
    return PortNow(
        port,
        pf,
        channels,
        lost=port.nic in observed.converged and bool(pf.netdev) and pf.eswitch_mode == "legacy",
        late=steps.is_late(pf, observed.boot),
        changes=changes,
        detached=steps.is_detached(port, pf),
        alone=f"{pf.netdev} is the only port of {pf.bond} that carries traffic" if alone else "",
        beside=tuple(observed.host.beside(pf)),
        queues=None if changes else steps.queues_to_set(wanted, channels, observed.cpus),
    )


def _gone(port: Port, observed: Observed) -> Difference:
    if any(found.subject == port.bdf for found in observed.host.findings):
        words = f"whether {port.netdev} is as declared is not known while it cannot be read"
        return Difference("gone", port.bdf, words, Move.NONE, Severity.BLOCKED, RETRIED)
    words = f"the port ({port.netdev}) is gone"
    return Difference("gone", port.bdf, words, Move.NONE, Severity.BLOCKED, GONE)


def _differences(now: PortNow, wanted: Desired, *, kept_unbound: bool) -> Iterator[Difference]:
    """Everything that differs of one port."""
    port, pf, bdf = now.port, now.pf, now.port.bdf
    count = pf.port.num_vfs
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


def _lag(slot: str, lag: VfLag, pairs: Sequence[PortAndPf], wanted: Desired) -> Iterator[Difference]:
    if lag is VfLag.IMPOSSIBLE:
        worst = Severity.BLOCKED if wanted.lag_required else Severity.WARNING
        remedy = no_lag_remedy(max(pf.port.total_vfs for _, pf in pairs))
        yield Difference("vf_lag", slot, f"VF-LAG cannot form: {NO_LAG_OBJECT}", Move.NONE, worst, remedy)
    elif lag is VfLag.MISSING:
        first = pairs[0][1].lag
        instead = f"; the NIC bonds its ports as {first.type} instead" if first.active else ""
        yield Difference("vf_lag", slot, f"VF-LAG is not active{instead}", Move.LAG)


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
