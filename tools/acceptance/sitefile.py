# SPDX-License-Identifier: Apache-2.0
"""The site file of the acceptance test: every value has the reference design's (RDG's) as its default."""

from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from converge import StepError
from converge.shape import Boolean, Integer, InvalidValue, ListOf, OneOf, Record, Text, Union
from yamlfile import reader
from yamlfile.values import FileError

HOLDS = "a site file is a mapping of nodes, image, flavor, public, …"
SOFTWARE = ("dpdk", "trex", "cuda")
"""The software that an image may have besides the stock one's packages; each needs a recipe (guests.py)."""
_NAME = Text(r"[\w.:@-]+(?: [\w.:@-]+)*", "a name")
_TITLE = Text(r"\S+(?: \S+)*", "a name")
"""Of what others made: glance-simplestreams-sync, for one, calls images auto-sync/…."""


class _Checked:
    """Text that `test` takes without a ValueError."""

    def __init__(self, allowed: str, test: Callable[[str], object]) -> None:
        self.allowed, self.test = allowed, test

    def read(self, where: str, value: object) -> str:
        try:
            if isinstance(value, str):
                self.test(value)
                return value
        except ValueError:
            pass
        raise InvalidValue(where, value, self.allowed)

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "description": self.allowed}


_ADDRESS = _Checked("an IPv4 address", IPv4Address)
_SUBNET = _Checked(
    "an IPv4 subnet without host bits, such as 10.7.208.0/24: floating IPs are IPv4", IPv4Network
)
LINE_SHARE = 40
"""% that the CPUs which isolcpus leaves to the hosts reach at 25 to 200 Gb/s with packets of 9000 bytes."""
RDG_VLAN = 9
RDG_SUBNET = {
    "cidr": "10.7.208.0/24",
    "first": "10.7.208.65",
    "last": "10.7.208.99",
    "gateway": "10.7.208.1",
}
"""The subnet of a new external network where the site file gives no VLAN, and no subnet."""


@dataclass(frozen=True, kw_only=True)
class Public:
    """The external network, which floating IPs are from: one that exists, or else a new one.

    Attributes:
        physical_network: of a new network; an existing one must be on it only if `vlan` is given.
        vlan: 0 for a flat network. None allows an existing network to be on any.
        cidr: an IPv4 subnet of the network. An empty one allows an existing network to have any.
        first: the first address of a new subnet's allocation pool.
        last: the last one.
        gateway: of a new subnet.

    """

    name: str = "vlan_public"
    physical_network: str = "tenantvlan"
    vlan: int | None = None
    cidr: str = ""
    first: str = ""
    last: str = ""
    gateway: str = ""

    def __post_init__(self) -> None:
        cidr = self.new_subnet["cidr"]
        for key, end in (("first", self.first), ("last", self.last), ("gateway", self.gateway)):
            if end and IPv4Address(end) not in IPv4Network(cidr):
                raise InvalidValue(key, end, f"an address in {cidr}")

    @property
    def new_vlan(self) -> int:
        """The VLAN of a new network, 0 for a flat one."""
        return RDG_VLAN if self.vlan is None else self.vlan

    @property
    def new_subnet(self) -> dict[str, str]:
        """A new subnet's cidr, first, last and gateway; empty where the site file has to give it."""
        usual = RDG_SUBNET if self.cidr in ("", RDG_SUBNET["cidr"]) else {}
        given = {"cidr": self.cidr, "first": self.first, "last": self.last, "gateway": self.gateway}
        return {key: value or usual.get(key, "") for key, value in given.items()}


@dataclass(frozen=True, kw_only=True)
class Flavor:
    """The size of each server: MiB of memory, GiB of disk, CPUs.

    Attributes:
        large_pages: the memory is in huge pages, which the nodes then need; a size for pages of that size.
        dedicated_cpus: each virtual CPU has a processor of its own; Nova then needs cpu-dedicated-set.

    """

    name: str = "m1.packet"
    ram: int = 8192
    disk: int = 20
    vcpus: int = 20
    large_pages: bool | str = True
    dedicated_cpus: bool = True


@dataclass(frozen=True, kw_only=True)
class SiteFile:
    """The values of a site file.

    Attributes:
        nodes: compute hosts of one rack as Nova names them, each of which gets a server; all rungs use the
            first two, the others are sent through pair by pair. Empty for the first two that are up. Compute
            hosts of Ironic are not among them.
        other_rack: one more compute host, in another rack; without it, no rung crosses racks.
        disturb: compute hosts on which UDP and RDMA at line rate may be sent.
        image: the image's name in Glance; `image_file` is uploaded under that name if there is none.
        software: what that image contains besides a stock Ubuntu; the rungs that need it run.
        gpu_alias: alias of pci-alias; one such device goes into each server if `software` has cuda.
        vlan_physical_network: of the VLAN network for tenants. Nova's whitelist must have VFs for it.
        ipv6: the servers' ports on the data networks have an IPv6 address, too, and are measured over it.
        mtu: of the physical network, in bytes.
        seconds: duration of each measurement.
        line_share: % of the line rate that host to host must reach, to be what VFs are compared with.

    """

    nodes: tuple[str, ...] = ()
    other_rack: str = ""
    disturb: tuple[str, ...] = ()
    image: str = "ubuntu-22.04"
    image_file: str = ""
    image_user: str = "ubuntu"
    software: tuple[str, ...] = ()
    public_key: str = "~/.ssh/id_ed25519.pub"
    flavor: Flavor = field(default_factory=Flavor)
    gpu_alias: str = "a100-gpu"
    public: Public = field(default_factory=Public)
    vlan_physical_network: str = "tenantvlan"
    ipv6: bool = False
    mtu: int = 9000
    seconds: int = 30
    line_share: int = LINE_SHARE

    def __post_init__(self) -> None:
        if len(self.nodes) == 1 or len({*self.nodes, self.other_rack}) < len(self.nodes) + 1:
            allowed = "two or more different compute hosts, none of them other-rack"
            raise InvalidValue("nodes", list(self.nodes), allowed)
        unknown = set(self.disturb) - {*self.nodes, self.other_rack}
        if unknown:
            raise InvalidValue("disturb", min(unknown), "compute hosts that nodes or other-rack list")

    @staticmethod
    def read(path: Path | None) -> "SiteFile":
        """Read and check a file; the RDG's values without one."""
        if path is None:
            return SiteFile()
        try:
            text = reader.text_of(path)
            return reader.read(text, str(path), lambda document: _SITE.read("", document), HOLDS)
        except FileError as error:
            raise StepError(str(error)) from error


_FLAVOR = Record(
    Flavor,
    {
        "name": _NAME,
        "ram": Integer(512, None),
        "disk": Integer(1, None),
        "vcpus": Integer(2, 100),
        "large-pages": Union({bool: Boolean(), str: OneOf(("2MB", "1GB"))}),
        "dedicated-cpus": Boolean(),
    },
)
_PUBLIC = Record(
    Public,
    {
        "name": _TITLE,
        "physical-network": _NAME,
        "vlan": Integer(0, 4094, "a VLAN, or 0 for a flat network:"),
        "cidr": _SUBNET,
        "first": _ADDRESS,
        "last": _ADDRESS,
        "gateway": _ADDRESS,
    },
)
_SITE = Record(
    SiteFile,
    {
        "nodes": ListOf(_NAME, "compute hosts"),
        "other-rack": _NAME,
        "disturb": ListOf(_NAME, "compute hosts"),
        "image": _TITLE,
        "image-file": Text(r".+", "a path"),
        "image-user": _NAME,
        "software": ListOf(OneOf(SOFTWARE), "software"),
        "public-key": Text(r".+", "a path"),
        "flavor": _FLAVOR,
        "gpu-alias": _NAME,
        "public": _PUBLIC,
        "vlan-physical-network": _NAME,
        "ipv6": Boolean(),
        "mtu": Integer(1280, 65535, "an MTU"),
        "seconds": Integer(1, 3600, "seconds"),
        "line-share": Integer(1, 100, "% of the line rate"),
    },
)
