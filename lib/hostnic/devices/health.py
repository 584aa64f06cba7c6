# SPDX-License-Identifier: Apache-2.0
"""Whether a port forwards as well as it could: two looks at its counters, and what grew between them.

The names are mlx5's (en_stats.c; counters.rst in the kernel's documentation of the driver). Counters that a
driver lacks are passed over. Nothing here writes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from converge import Finding, Severity, cause

from hostnic.devices.model import Pf
from hostnic.ops.members import is_distributing
from hostnic.system import System

MOST_PAUSED = 0.1
"""Share of the time that a priority may be stopped without a finding: bursts do that, storms do more."""

READ = "run the action again; the kernel log of this host may tell more"
NO_LINK = "no link"
CABLE = "clean or replace the cable and the transceivers of this port"
SWITCH = "compare action show-qos with the switch port's counters"
AIR = "check the airflow and the transceiver"
POWER = "see the kernel log; a power cycle of the host restarts the NIC"
TUNE = "action check-host shows how this host is tuned"
PCIE = "action check-host shows the PCIe link; reseat the card if it is slower than the slot"

SIGNS = {
    "link_down_events_phy": ("the link went down {count} times", CABLE),
    "rx_crc_errors_phy": ("{count} received frames had a wrong checksum", CABLE),
    "rx_pcs_symbol_err_phy": ("{count} received symbols were wrong, which FEC could not correct", CABLE),
    "rx_discards_phy": ("{count} received frames were dropped: the port's buffer was full", SWITCH),
    "tx_discards_phy": ("{count} frames to send were dropped", SWITCH),
    "rx_out_of_buffer": ("{count} received frames were dropped: the host had no buffer ready", TUNE),
    "outbound_pci_stalled_wr_events": ("PCIe held up what the NIC writes in {count} seconds", PCIE),
    "outbound_pci_stalled_rd_events": ("PCIe held up what the NIC reads in {count} seconds", PCIE),
    "module_high_temp": ("the transceiver became too hot {count} times", AIR),
    "module_unplug": ("the transceiver was unplugged {count} times", CABLE),
    "module_bus_stuck": ("the transceiver did not answer {count} times", CABLE),
    "module_bad_shorted": ("the transceiver or cable was found damaged {count} times", CABLE),
}
"""Counters that stand still on a healthy port: what their growth means, and what helps."""

DISCARDED = re.compile(r"rx_prio(\d)_discards")
PAUSED = re.compile(r"(rx|tx)_(prio\d|global)_pause_duration")
"""Microseconds of pause: with ``rx`` this port was told to stop, with ``tx`` it told the other end."""


class Counted(NamedTuple):
    """The counters of ports at one moment, in monotonic seconds."""

    at: float
    # By netdev, the driver's by name; none where they could not be read
    counters: Mapping[str, Mapping[str, int]]
    unread: Mapping[str, str]  # by netdev, why not


class PortLook(NamedTuple):
    """A port at one moment."""

    pf: Pf  # the port
    name: str  # its netdev
    distributing: bool | None  # its bond sends on it; None outside a bond
    silent: str  # why the firmware did not answer; empty if it did


class Look(NamedTuple):
    """All ports that have a netdev, and what they have counted."""

    ports: tuple[PortLook, ...]
    counted: Counted


def count(system: System, ports: Iterable[Pf]) -> Counted:
    """Read the counters of each port."""
    at = system.now()
    counters: dict[str, Mapping[str, int]] = {}
    unread: dict[str, str] = {}
    for netdev in (pf.netdev for pf in ports if pf.netdev):
        try:
            counters[netdev] = system.ethtool.statistics(netdev)
        except OSError as error:
            counters[netdev], unread[netdev] = {}, cause(error)
    return Counted(at, counters, unread)


def look(system: System, ports: Sequence[Pf]) -> Look:
    """Read the counters and the bond's state of each port, and ask its firmware for its version.

    The last is a command like any other: it fails if the firmware hangs, although the link is up.
    """
    counted = count(system, ports)
    return Look(tuple(_look(system, pf, pf.netdev) for pf in ports if pf.netdev), counted)


def _look(system: System, pf: Pf, netdev: str) -> PortLook:
    silent = ""
    try:
        system.devlink.info(pf.bdf)
    except OSError as error:
        silent = cause(error)
    distributing = is_distributing(system, pf.bond, netdev) if pf.bond else None
    return PortLook(pf, netdev, distributing, silent)


def compare(before: Counted, now: Look) -> tuple[Finding, ...]:
    """Name the faults of ports now, and those since they were counted. Pure."""
    after = now.counted
    return tuple(
        found
        for port in now.ports
        if (known := before.counters.get(port.name)) is not None
        for found in (
            *_state(port, after.unread.get(port.name, "")),
            *_growth(port.name, known, after.counters[port.name], after.at - before.at),
        )
    )


def _state(port: PortLook, unread: str) -> Iterator[Finding]:
    name = port.name
    if port.silent:
        what = f"the firmware answers no command: {port.silent}"
        yield Finding(Severity.WARNING, name, what, POWER)
    if unread:
        yield Finding(Severity.WARNING, name, f"its counters cannot be read: {unread}", READ)
    if port.pf.carrier is False:
        yield Finding(Severity.WARNING, name, NO_LINK, CABLE)
    elif port.distributing is False:
        what = f"{port.pf.bond} does not send on it"
        yield Finding(Severity.WARNING, name, what, "compare LACP on the switch port with this bond")


def _growth(
    name: str, before: Mapping[str, int], after: Mapping[str, int], seconds: float
) -> Iterator[Finding]:
    for counter, value in after.items():
        count = value - before.get(counter, value)
        if count <= 0:
            continue
        sign: Sequence[str] = SIGNS.get(counter, ())
        if found := DISCARDED.fullmatch(counter):
            sign = (f"{{count}} frames of priority {found[1]} were dropped", SWITCH)
        elif found := PAUSED.fullmatch(counter):
            sign = _paused(found[1], found[2], count / 1e6 / seconds if seconds else 0.0)
        if sign:
            yield Finding(Severity.WARNING, name, sign[0].format(count=count), sign[1])


def _paused(side: str, whose: str, share: float) -> Sequence[str]:
    """A pause that lasted: what it means, and what helps; nothing for a short one."""
    if share < MOST_PAUSED:
        return ()
    what = f"priority {whose[-1]}" if whose != "global" else "all traffic"
    percent = f"{min(share, 1.0):.0%} of the time"
    if side == "rx":
        return f"the network stopped {what} of this port for {percent}", SWITCH
    return f"this host stopped {what} of the network for {percent}: it receives too slowly", TUNE
