# SPDX-License-Identifier: Apache-2.0
"""The values of a site file: what MAAS shall know of a site."""

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from converge import StepError
from intent import expand
from intent.model import Fabric
from maas.sitefile.power import TYPES
from operate import private
from yamlfile import reader
from yamlfile.values import FileError

BASES = {"ubuntu@22.04": "jammy", "ubuntu@24.04": "noble"}
"""The bases that the charms are built for (charms/*/charmcraft.yaml), with MAAS' names of these releases."""


def port_stem(name: str) -> str:
    """A netdev's name without the port's own name, which not every kernel reports: `enp63s0f0np0`."""
    return re.sub(r"np\d+$", "", name)


class Secret(str):
    """`file:PATH`: what a file holds that nobody else may be able to read; plans never hold it."""

    def read(self) -> str:
        """The only line of the file, without its end.

        Raises StepError if it cannot be read, others can read it, or it has no line or several.
        """
        path = Path(self.removeprefix("file:")).expanduser()
        try:
            line = reader.only_line(reader.private(path))
            if line != line.strip():
                raise ValueError("has a line with spaces at its ends, which MAAS would cut")
            return private.keep(line)
        except ValueError as error:
            raise StepError(f"{path} {error}", "write the value into it, as its only line") from None


NO_SECRET = Secret()


@dataclass(frozen=True, kw_only=True)
class Network:
    """One VLAN with its subnet, in one space. MTU in bytes; ranges of addresses as FIRST-LAST.

    The fabric is empty for that of the site: switches without a link to those have one of their own. The name
    of the VLAN may be absent for an untagged one, which MAAS names itself.
    """

    name: str = ""
    fabric: str = ""
    vid: int
    vlan: str = ""
    mtu: int
    subnet: str
    cidr: str
    gateway: str = ""
    dhcp: str = ""
    reserved: tuple[str, ...] = ()

    @property
    def fabric_key(self) -> str:
        """The key of its fabric in plans."""
        return f"fabric {self.fabric}".strip()

    def vlan_key(self, vid: int | None = None) -> str:
        """The key of its VLAN in plans, or of another VLAN of its fabric."""
        of = f" of {self.fabric}" if self.fabric else ""
        return f"VLAN {self.vid if vid is None else vid}{of}"


@dataclass(frozen=True, kw_only=True)
class Nic:
    """Ports of a machine besides those of its tag: one, or two with a bond.

    `rdma`: the host's own RDMA, such as storage, goes through it.
    """

    networks: tuple[str, ...]
    bond: str = ""
    rdma: bool = False

    @property
    def width(self) -> int:
        """How many ports it has."""
        return 2 if self.bond else 1


@dataclass(frozen=True, kw_only=True)
class Tag:
    """Machines of one kind: what MAAS tags them with, how they boot, and how their ports are built.

    Hugepages are of 1 GiB, reserved memory is in MiB. The bridge is on the bond, or without one on the
    only port; without a bridge the networks are on the port itself. The rest is for Nova: physical networks
    by port ("none" for Geneve networks), PCI addresses of the ports (`0000:3f:00.0`), the product id of the
    VFs (`101e`), and further devices for instances (`10de:20f1`).
    """

    name: str = ""
    networks: tuple[str, ...]
    comment: str = ""
    kernel: str = ""
    hugepages: int = 0
    reserved_host_memory: int = 0
    dedicated_cpus: str = ""
    hwe_kernel: str = ""
    bond: str = ""
    bridge: str = ""
    physnets: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    vf_product: str = ""
    passthrough: tuple[str, ...] = ()
    nics: dict[str, Nic] = field(default_factory=dict[str, Nic])

    @property
    def spaces(self) -> tuple[str, ...]:
        """The networks of all ports."""
        return (*self.networks, *(name for nic in self.nics.values() for name in nic.networks))

    @property
    def width(self) -> int:
        """How many ports each machine has."""
        return 2 if self.bond else 1

    @property
    def kernel_opts(self) -> str:
        """The options as MAAS passes them to the kernel."""
        pages = f"default_hugepagesz=1G hugepagesz=1G hugepages={self.hugepages}" if self.hugepages else ""
        isolated = f"isolcpus={self.dedicated_cpus}" if self.dedicated_cpus else ""
        return " ".join(part for part in (pages, self.kernel, isolated) if part)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One server: its tag, the netdevs of its ports as MAAS names them, and how MAAS powers it.

    The MAC address is that of the port that it boots from: MAAS makes only IPMI machines without one.
    """

    name: str = ""
    tag: str
    ports: tuple[str, ...]
    power_type: str
    power_address: str = ""
    power_user: Secret = NO_SECRET
    power_pass: Secret = NO_SECRET
    power_driver: str = ""
    mac: str = ""
    nics: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    @property
    def has_own_bmc(self) -> bool:
        """Whether its power address is no other machine's, such as that of a host of virtual machines."""
        return TYPES[self.power_type].own_bmc

    @property
    def power(self) -> dict[str, str]:
        """The values that are set of the parameters that its power type takes."""
        found = {name: str(getattr(self, name)) for name in TYPES[self.power_type].takes}
        return {name: getattr(self, name) for name, value in found.items() if value}

    @property
    def every_port(self) -> tuple[str, ...]:
        """Its ports, and those of its further NICs."""
        return (*self.ports, *(port for ports in self.nics.values() for port in ports))


@dataclass(frozen=True)
class Stack:
    """Ports of one machine and what is on them: a bond, a bridge, and networks of one fabric."""

    ports: tuple[str, ...]
    bond: str
    bridge: str
    networks: tuple[Network, ...]

    @property
    def top(self) -> str:
        """The uppermost of port, bond and bridge, which the VLANs are on."""
        return self.bridge or self.bond or self.ports[0]

    @property
    def untagged_key(self) -> str:
        """The key of the VLAN that ports, bond and bridge are in."""
        return self.networks[0].vlan_key(0)


@dataclass(frozen=True, kw_only=True)
class Site:
    """The whole file; networks by space; the bundle's base; the path of the intent, or nothing."""

    maas: str
    api_key: Secret
    dns: tuple[str, ...]
    fabric: str
    networks: dict[str, Network]
    tags: dict[str, Tag]
    machines: dict[str, Machine]
    base: str = "ubuntu@22.04"
    intent: str = ""

    @property
    def series(self) -> str:
        """MAAS' name of the release that machines get."""
        return BASES[self.base]

    @cached_property
    def fabric_intent(self) -> Fabric | None:
        """The fabric of the intent that this file names, or None. Raises FileError if it cannot be read."""
        if not self.intent:
            return None
        try:
            text = reader.text_of(Path(self.intent))
        except FileError as error:
            if error.place:
                raise
            what = f"intent of the site file: {error.what}; its path starts at the site file's folder"
            raise FileError(what) from error
        return expand.read(text, self.intent)

    @property
    def boot(self) -> Network:
        """The network that machines boot from: the first without a VLAN tag, of those with DHCP if any."""
        untagged = [network for network in self.networks.values() if not network.vid]
        return next((network for network in untagged if network.dhcp), untagged[0])

    @property
    def fabrics(self) -> dict[str, str]:
        """The name of each fabric, by its key."""
        return {each.fabric_key: each.fabric or self.fabric for each in self.networks.values()}

    def stacks(self, machine: Machine) -> list[Stack]:
        """Return the stacks of a machine: the ports of its tag, then those of its further NICs."""
        tag = self.tags[machine.tag]
        first = Stack(machine.ports, tag.bond, tag.bridge, self._named(tag.networks))
        others = [
            Stack(machine.nics[name], nic.bond, "", self._named(nic.networks))
            for name, nic in tag.nics.items()
        ]
        return [first, *others]

    def _named(self, networks: tuple[str, ...]) -> tuple[Network, ...]:
        return tuple(self.networks[name] for name in networks)
