# SPDX-License-Identifier: Apache-2.0
"""Whether a port forwards as well as it could: two looks at its counters, and what grew between them.

The names are mlx5's (en_stats.c; counters.rst in the kernel's documentation of the driver). Counters that a
driver lacks are passed over. Nothing here writes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from converge import Finding, Severity

from hostnic.devices.model import Pf
from hostnic.ops.members import is_distributing
from hostnic.system import System

MOST_PAUSED = 0.1
"""Share of the time that a priority may be stopped without a finding: bursts do that, storms do more."""

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
"""Microseconds: of ``rx`` this port was told to stop, of ``tx`` it told the other end."""


class PortLook(NamedTuple):
    """A port at one moment.

    Attributes:
        pf: the port.
        counters: the driver's, by name; empty if they could not be read, and ``unread`` has the reason.
        distributing: its bond sends on it; None outside a bond.
        silent: why the firmware did not answer; empty if it did.

    """

    pf: Pf
    counters: Mapping[str, int] = {}
    distributing: bool | None = None
    unread: str = ""
    silent: str = ""


class Look(NamedTuple):
    """All ports at one moment, in monotonic seconds."""

    at: float
    ports: tuple[PortLook, ...]


def look(system: System, ports: Iterable[Pf]) -> Look:
    """Read the counters and the bond's state of each port, and ask its firmware for its version.

    The last is a command like any other: it fails if the firmware hangs, although the link is up.
    """
    at = system.now()
    return Look(at, tuple(_look(system, pf) for pf in ports if pf.netdev))


def _look(system: System, pf: Pf) -> PortLook:
    netdev, unread, silent = pf.netdev or "", "", ""
    counters: Mapping[str, int] = {}
    try:
        counters = system.ethtool.statistics(netdev)
    except OSError as error:
        unread = error.strerror or str(error)
    try:
        system.devlink.info(pf.bdf)
    except OSError as error:
        silent = error.strerror or str(error)
    distributing = is_distributing(system, pf.bond, netdev) if pf.bond else None
    return PortLook(pf, counters, distributing, unread, silent)


def compare(before: Look, after: Look) -> tuple[Finding, ...]:
    """What is wrong with the ports now, or went wrong between two looks. Pure."""
    earlier = {port.pf.bdf: port for port in before.ports}
    seconds = after.at - before.at
    return tuple(
        found
        for port in after.ports
        if (known := earlier.get(port.pf.bdf))
        for found in (*_state(port), *_growth(port.pf.netdev or port.pf.bdf, known, port, seconds))
    )


def _state(port: PortLook) -> Iterator[Finding]:
    name = port.pf.netdev or port.pf.bdf
    if port.silent:
        what = f"the firmware answers no command: {port.silent}"
        yield Finding(Severity.WARNING, name, what, POWER)
    if port.unread:
        yield Finding(Severity.WARNING, name, f"its counters cannot be read: {port.unread}")
    if port.pf.carrier is False:
        yield Finding(Severity.WARNING, name, "no link", CABLE)
    elif port.distributing is False:
        what = f"{port.pf.bond} does not send on it"
        yield Finding(Severity.WARNING, name, what, "compare LACP on the switch port with this bond")


def _growth(name: str, before: PortLook, after: PortLook, seconds: float) -> Iterator[Finding]:
    grown = {
        counter: count - before.counters[counter]
        for counter, count in after.counters.items()
        if count > before.counters.get(counter, count)
    }
    for counter, count in grown.items():
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
