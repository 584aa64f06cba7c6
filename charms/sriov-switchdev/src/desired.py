# SPDX-License-Identifier: Apache-2.0
"""The desired state of this host's ports: decided in a hook, kept in a file, brought about at each boot."""

import hashlib
import json
from collections.abc import Iterable
from typing import NamedTuple

from hostnic.devices.port import is_other_card

PATH = "/etc/ovn-offload/sriov-switchdev.json"
VERSION = 1


class WantedPort(NamedTuple):
    """One PF as it shall be."""

    bdf: str  # PCI address with domain
    netdev: str  # the name that its uplink keeps
    # VFs, all bound once the port is converged; a port without VFs is in switchdev mode all the same, which
    # VF-LAG needs of both (mlx5 lag/lag.c)
    num_vfs: int
    bond: str | None = None  # the kernel bond that it belongs in, or None
    lag: bool = False  # VF-LAG is to be active when both ports of the NIC are in that bond
    # Its permanent MAC address, by which boot tells it from another card at this PCI address; None if that is
    # not known
    mac: str | None = None
    # The slot by which its card goes if the bond's ports are at two PCI slots of one card
    card: str | None = None
    # What option `devices` calls it and it is not called any more: earlier PCI addresses and netdevs
    former: tuple[str, ...] = ()

    def is_other(self, mac: str | None) -> bool:
        """Whether ``mac``, which is at this PCI address, is the permanent MAC address of another card."""
        return is_other_card(self.mac, mac)

    @property
    def slot(self) -> str:
        """Domain, bus and slot of its PCI address."""
        return self.bdf.rpartition(".")[0]

    @property
    def nic(self) -> str:
        """The slot that its NIC's ports share; that of the first port of a card at two slots."""
        return self.card or self.slot


class Desired(NamedTuple):
    """All ports, by BDF, and what they have in common."""

    ports: tuple[WantedPort, ...] = ()  # by BDF
    steering_mode: str | None = None  # `smfs`, `dmfs`, or None for the driver's choice
    lag_required: bool = False  # VFs stay unbound until VF-LAG is active
    uplink_queues: int = 0  # queues of each uplink; 0 for one per online CPU
    # Ports that no boot waits for, though each has its turn once it is there: they were missing at a whole
    # boot, or another declared port has their PCI address now
    absent: tuple[WantedPort, ...] = ()
    follow_uplink: bool = False  # VFs have no carrier while their bond, or their port without one, has none

    @property
    def everything(self) -> tuple[WantedPort, ...]:
        """All ports, the absent ones last."""
        return (*self.ports, *self.absent)

    def port(self, bdf: str) -> WantedPort | None:
        """The port with this PCI address, or None."""
        return next((port for port in self.ports if port.bdf == bdf), None)

    def nics(self) -> dict[str, tuple[WantedPort, ...]]:
        """The ports of each NIC, by the NIC's PCI slot."""
        nics: dict[str, tuple[WantedPort, ...]] = {}
        for port in self.ports:
            nics[port.nic] = (*nics.get(port.nic, ()), port)
        return nics

    def nic_of(self, key: str) -> str:
        """The NIC, as :meth:`nics` has it, that a step or failure with this key is about; empty for none."""
        place = key.partition("/")[0]
        return next((port.nic for port in self.ports if place in (port.bdf, port.nic)), "")

    def to_json(self) -> str:
        """The text of the file at ``PATH``, which bootfile.py reads."""
        content: dict[str, object] = {**self._asdict(), "version": VERSION}
        content |= {"ports": _plain(self.ports), "absent": _plain(self.absent)}
        for name in ("absent", "follow_uplink"):
            if not content[name]:
                del content[name]
        return json.dumps(content, indent=1, sort_keys=True) + "\n"

    @property
    def digest(self) -> str:
        """A short name of this state, for records."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]


def _plain(ports: Iterable[WantedPort]) -> list[dict[str, object]]:
    """Ports as JSON has them; ``former`` only where there is one."""
    fields = [port._asdict() for port in ports]
    return [{name: value for name, value in port.items() if value != ()} for port in fields]
