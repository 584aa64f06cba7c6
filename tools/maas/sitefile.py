# SPDX-License-Identifier: Apache-2.0
"""The site file: what MAAS shall know of a site. Wrong values are named in one sentence each."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from converge import StepError
from converge.shape import Boolean, Integer, InvalidValue, ListOf, MappingOf, Record
from hostnic import cpus
from intent import expand
from intent.model import Fabric
from maas.consistency import inconsistent
from maas.rules import names, spelling
from maas.rules.power import DRIVERS, TYPES
from operate import private
from yamlfile import reader
from yamlfile.values import FileError

HOLDS = "a site file is a mapping of maas, networks, tags, machines, …"
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
        """What is set of the parameters that its power type takes."""
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

    @staticmethod
    def read(path: Path) -> "Site":
        """Read and validate a file; the intent's path starts at the folder of the file.

        Raises FileError if a value is wrong, or does not fit to others.
        """
        site = reader.read(reader.text_of(path), str(path), lambda document: _SITE.read("", document), HOLDS)
        return replace(site, intent=str(path.parent / site.intent)) if site.intent else site

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
        """What machines boot from: the first network without a VLAN tag, of those with DHCP if any."""
        untagged = [network for network in self.networks.values() if not network.vid]
        return next((network for network in untagged if network.dhcp), untagged[0])

    @property
    def fabrics(self) -> dict[str, str]:
        """The name of each fabric, by its key."""
        return {each.fabric_key: each.fabric or self.fabric for each in self.networks.values()}

    def stacks(self, machine: Machine) -> list[Stack]:
        """What a machine has: the ports of its tag, then those of its further NICs."""
        tag = self.tags[machine.tag]
        first = Stack(machine.ports, tag.bond, tag.bridge, self._named(tag.networks))
        others = [
            Stack(machine.nics[name], nic.bond, "", self._named(nic.networks))
            for name, nic in tag.nics.items()
        ]
        return [first, *others]

    def _named(self, networks: tuple[str, ...]) -> tuple[Network, ...]:
        return tuple(self.networks[name] for name in networks)


class Word:
    """Text, also where YAML takes it for a number, as `spell` has it, which refuses it or gives False.

    Addresses are spelled as MAAS answers with them: ``2001:db8::1`` for ``2001:DB8:0::1``.
    """

    def __init__(self, allowed: str = "text", spell: Callable[[str], object] = str) -> None:
        self.allowed, self.spell = allowed, spell

    def read(self, where: str, value: object) -> str:
        try:
            is_word = isinstance(value, str | int) and not isinstance(value, bool)
            if is_word and (spelled := self.spell(str(value))) is not False:
                return str(spelled)
        except (ValueError, TypeError):  # addresses of IPv4 and IPv6 do not compare
            pass
        raise InvalidValue(where, value, self.allowed)

    def schema(self) -> dict[str, Any]:
        return {"type": ["string", "integer"], "description": self.allowed}


class _Secret(Word):
    """Where a secret is. What stands there instead may be the secret itself, and is not repeated."""

    def read(self, where: str, value: object) -> Secret:
        if not isinstance(value, str) or not value.startswith("file:"):
            raise InvalidValue(where, "…", self.allowed)
        return Secret(value)


def _like(pattern: str, allowed: str, flags: int = re.ASCII) -> Word:
    return Word(allowed, lambda text: re.fullmatch(pattern, text, flags) is not None and text)


def _one_of(allowed: Collection[str]) -> Word:
    return Word(f"one of {', '.join(allowed)}", lambda text: text in allowed and text)


_TEXT = Word()
_HOST, _SPACE = _like(*names.HOST), _like(*names.SPACE)
# Of these, MAAS takes the letters of any language.
_FABRIC, _VLAN, _SUBNET = (_like(*each, 0) for each in (names.FABRIC, names.VLAN, names.SUBNET))
_LABEL = _like(r"[\w-]{1,250}", "letters, digits, - and _, as MAAS has them in tags")
_NETDEV = _like(*names.NETDEV)
_SECRET = _Secret("file:PATH, since the value itself does not belong here")
ADDRESS = Word("an IPv4 or IPv6 address", spelling.address)
# MAAS cuts spaces at the ends of any text, and takes no NUL.
_PROSE = Word("text without a NUL byte", lambda text: "\0" not in text and text.strip())
_RANGE = Word("a range of addresses, FIRST-LAST", spelling.ends)
_URL = _like(r"https?://[^\s/]+/MAAS/?", "http://HOST:5240/MAAS")
_KERNEL = Word(
    "the options as one text, with isolcpus as dedicated-cpus, and hugepages as hugepages",
    lambda text: not re.search(r"\b(isolcpus|hugepages)=|\0", text) and " ".join(text.split()),
)
_HWE = _like(r"(hwe|ga)-(\d\d\.\d\d|rolling)(-[\w-]+)?", "a kernel as MAAS names it, such as hwe-22.04")
_PCI_ADDRESS = _like(r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]", "PCI addresses such as 0000:3f:00.0")
_PCI_IDS = _like(r"[0-9a-f]{4}:[0-9a-f]{4}", "VENDOR:PRODUCT such as 10de:20f1")
_PRODUCT = _like(r"[0-9a-f]{4}", "a product id such as 101e")
_NETWORK = Record(
    Network,
    {
        "fabric": _FABRIC,
        "vid": Integer(0, 4094, "a VLAN"),
        "vlan": _VLAN,
        "mtu": Integer(552, 65535, "an MTU"),
        "subnet": _SUBNET,
        "cidr": Word("a subnet without host bits, such as 192.168.25.0/24", spelling.subnet),
        "gateway": ADDRESS,
        "dhcp": _RANGE,
        "reserved": ListOf(_RANGE, "ranges of addresses"),
    },
)
_NIC = Record(Nic, {"networks": ListOf(_TEXT, "networks"), "bond": _NETDEV, "rdma": Boolean()})
_TAG = Record(
    Tag,
    {
        "networks": ListOf(_TEXT, "networks"),
        "comment": _PROSE,
        "kernel": _KERNEL,
        "hugepages": Integer(0, None),
        "reserved-host-memory": Integer(0, None, "MiB"),
        "dedicated-cpus": Word("a set of CPUs such as 2-23", lambda text: (cpus.numbers(text), text)[1]),
        "hwe-kernel": _HWE,
        "bond": _NETDEV,
        "bridge": _NETDEV,
        "physnets": ListOf(_TEXT, "physical networks"),
        "addresses": ListOf(_PCI_ADDRESS, "PCI addresses"),
        "vf-product": _PRODUCT,
        "passthrough": ListOf(_PCI_IDS, "PCI devices"),
        "nics": MappingOf(_TEXT, _NIC, "further NICs"),
    },
)
_MACHINE = Record(
    Machine,
    {
        "tag": _TEXT,
        "ports": ListOf(_NETDEV, "netdevs"),
        "power-type": _one_of(TYPES),
        "power-address": _like(r"\S*", "an address or a URL without spaces"),
        "power-user": _SECRET,
        "power-pass": _SECRET,
        "power-driver": _one_of(DRIVERS),
        "mac": _like(r"[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}", "a MAC address such as 04:3f:72:00:01:00"),
        "nics": MappingOf(_TEXT, ListOf(_NETDEV, "netdevs"), "ports by further NIC of its tag"),
    },
)


def _site(**fields: Any) -> Site:
    """The whole file, with each entry's name in it, if its values go together."""
    for part in ("networks", "tags", "machines"):
        fields[part] = {name: replace(entry, name=name) for name, entry in fields[part].items()}
    for name, network in fields["networks"].items():
        if network.fabric == fields["fabric"]:
            fields["networks"][name] = replace(network, fabric="")
    site = Site(**fields)
    for where, value, allowed in inconsistent(site):
        raise InvalidValue(where, value, allowed)
    return site


_PARTS: dict[str, Any] = {
    "maas": _URL,
    "api-key": _SECRET,
    "dns": ListOf(ADDRESS, "addresses"),
    "fabric": _FABRIC,
    "networks": MappingOf(_SPACE, _NETWORK, "networks by space", least=1),
    "tags": MappingOf(_LABEL, _TAG, "tags", least=1),
    "machines": MappingOf(_HOST, _MACHINE, "machines", least=1),
}
_SITE = Record(_site, {**_PARTS, "base": _one_of(BASES), "intent": _TEXT}, required=tuple(_PARTS))
