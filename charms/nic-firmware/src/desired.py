# SPDX-License-Identifier: Apache-2.0
"""The values that the firmware of each port must be set to. Pure."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from converge import Finding
from hostnic.devices.port import Nic
from hostnic.firmware import mstconfig
from observed import Observed


class Setting(NamedTuple):
    """One wanted value."""

    name: str  # as mstconfig spells it, with `_P<n>` where there is one value for each port
    value: int | str  # a number; text only if its number is unknown
    source: str  # the option or the charm that requests it, in words
    at_least: bool = False  # a larger number is also right
    gate: str = ""  # the parameter that must be 1 at the next boot before the firmware takes this one
    required: bool = False  # the operator named it; a NIC without it is an error
    optional: bool = False  # a NIC whose firmware lacks it is right without it
    # Names that resemble one which mstflint's database does not have; None for a name that it has
    near: tuple[str, ...] | None = None
    # Where it is placed on a NIC (`ethernet.placed`), as addresses of ports
    through: str = ""  # the port through which it is set
    port: str = ""  # the port that it is about; empty if that is the NIC, or the port through which it is set
    takes: tuple[str, ...] = ()  # the ports that it takes Ethernet from
    makes: str = ""  # the InfiniBand port that becomes Ethernet with it

    def matches(self, shown: str | None) -> bool:
        """Whether a value as mstconfig shows it, ``True(1)``, is the wanted one."""
        number = mstconfig.number(shown)
        if isinstance(self.value, str):
            return (shown or "").partition("(")[0].lower() == self.value.lower()
        if number is None:
            return False
        return number >= self.value if self.at_least else number == self.value

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


class Desired(NamedTuple):
    """The settings of each selected port. The first port of a NIC has those that its ports share."""

    ports: Mapping[str, Mapping[str, Setting]] = {}  # BDF to parameter name to setting
    ethernet_may_go: bool = False  # even from ports that the host uses (`allow-ethernet-loss`)
    # InfiniBand ports that the operator named: they become Ethernet even while they are in use
    named: frozenset[str] = frozenset()
    # By BDF, what makes an unused InfiniBand port Ethernet once the operator says so
    undecided: Mapping[str, Setting] = {}
    # By BDF of a port in use as InfiniBand that nobody named, the parameter that could make it Ethernet
    watched: Mapping[str, str] = {}
    findings: tuple[Finding, ...] = ()  # what there is to say of the options; it may block


def chosen_nics(wanted: Desired, observed: Observed) -> Iterator[Nic]:
    """The chosen NICs, also those without a wanted parameter: an image may have been burned."""
    return (nic for nic in observed.nics if any(port.bdf in wanted.ports for port in nic.ports))
