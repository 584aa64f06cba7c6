# SPDX-License-Identifier: Apache-2.0
"""How this host's ports must treat traffic. Hooks decide it; :mod:`bootfile` keeps it for boot. Pure."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from hostnic.devices.place import place_of
from hostnic.devices.port import is_other_card
from hostnic.devices.rdma import MODES, Defaults
from hostnic.netlink import dcb
from hostnic.netlink.dcb import App, Ets
from hostnic.netlink.dcbdrivers import Driver

if TYPE_CHECKING:
    from charmkit.fabric import Qos


class Desired(NamedTuple):
    """The declared ports, and the settings that each of them gets."""

    ports: tuple[str, ...]  # PCI addresses, ascending
    qos: "Qos"  # trust, PFC, marks and shares
    cable: int = 0  # metres; 0 leaves it to the driver
    tos: int = 106  # default ToS of new RDMA connections
    mode: str = "v2"  # their default RoCE mode: `v1` or `v2`
    vlans: tuple[tuple[int, int], ...] = ()  # VLAN id and PCP of kernel VLAN devices
    # Congestion control parameters as debugfs names them; a NIC may lack any of them
    cc_params: tuple[tuple[str, int], ...] = ()
    ecn: bool | None = True  # congestion notification for the RoCE priority; None leaves it
    takeover: bool = False  # DCBX may be taken over from the firmware and from lldpad
    lldp: bool = True  # networkd sends and receives LLDP on the ports
    # ToS of the tunnels' outer header: `inherit`, a number, or None to leave it. It is kept in Open vSwitch's
    # database, so boot does not set it.
    encap_tos: str | None = None
    # The option from which the ports follow; no port is forgotten while it stays the same
    devices: str = "auto"
    # PCI addresses and the permanent MAC addresses of the ports there, as far as they are known: at boot
    # another card at such an address is left alone
    macs: tuple[tuple[str, str], ...] = ()

    def is_other(self, bdf: str, mac: str | None) -> bool:
        """Whether ``mac``, which is at ``bdf``, is the permanent MAC address of another card."""
        return is_other_card(dict(self.macs).get(bdf), mac)

    def where_they_are(self, there: Mapping[str, str | None]) -> "Desired":
        """The same, with ports at the PCI addresses at which their permanent MAC addresses are now.

        ``there`` has the permanent MAC address at each PCI address of the host. A card goes to another
        address with another slot, with a card that is added beside it, and with an update of the BIOS. A port
        that is not found stays at its own address unless one that is found has that now.
        """
        known = dict(self.macs)
        found = {bdf: at for bdf in self.ports if (at := place_of(known.get(bdf), bdf, there))}
        places = {bdf: bdf for bdf in {*self.ports} - {*found.values()}} | found
        macs = {places[bdf]: mac for bdf, mac in self.macs if bdf in places}
        return self._replace(ports=tuple(sorted({*places.values()})), macs=tuple(sorted(macs.items())))

    @property
    def defaults(self) -> Defaults:
        """The defaults for new RDMA connections."""
        return Defaults(MODES[self.mode], self.tos)

    def priority(self, dscp: int) -> int:
        """The priority of packets with this DSCP.

        RoCE and CNP get their whole class of eight (class selector and drop precedences), as switches map
        them, so that the older mark 24 is lossless, too. Other classes have the priority of their class
        selector, but none of the priorities that RoCE, CNP and PFC have for themselves.
        """
        for bits in (0, 3):  # the mark alone, then its class
            for mark in (self.qos.roce, self.qos.cnp):
                if dscp >> bits == mark.dscp >> bits:
                    return mark.priority
        taken = {self.qos.roce.priority, self.qos.cnp.priority, *self.qos.pfc}
        return 0 if dscp >> 3 in taken else dscp >> 3

    def apps(self, driver: Driver) -> tuple[App, ...]:
        """APP entries that ``driver`` is to have."""
        found: list[App] = []
        if driver.ports:
            priority = self.qos.roce.priority
            found.append(App(dcb.ETHERTYPE, dcb.ROCE_V1, priority))
            found.append(App(dcb.DATAGRAM_PORT, dcb.ROCE_V2, priority))
        if driver.dscp and self.qos.trust == "dscp":
            found += [App(dcb.DSCP, dscp, self.priority(dscp)) for dscp in range(dcb.DSCPS)]
        return tuple(found)

    @property
    def ets(self) -> Ets:
        """Traffic classes and shares as dcbnl has them; classes without traffic are strict."""
        shares = self.qos.ets
        return Ets(
            prio_tc=tuple(priority if priority in shares else 0 for priority in range(dcb.CLASSES)),
            tsa=tuple(
                dcb.ETS if isinstance(shares.get(tc), int) else dcb.STRICT for tc in range(dcb.CLASSES)
            ),
            bandwidth=tuple(
                share if isinstance(share := shares.get(tc), int) else 0 for tc in range(dcb.CLASSES)
            ),
        )
