# SPDX-License-Identifier: Apache-2.0
"""The site file: what MAAS shall know of a site. Wrong values are named in one sentence each."""

import dataclasses
import ipaddress
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml

T = TypeVar("T")


class SiteError(Exception):
    """The site file is wrong; the message names the place, the value and what is allowed."""


@dataclass(frozen=True)
class Network:
    """One VLAN with its subnet, in one space. MTU in bytes."""

    name: str
    vid: int
    vlan: str
    mtu: int
    subnet: str
    cidr: str
    gateway: str = ""
    dhcp: str = ""
    reserved: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tag:
    """One MAAS tag and the kernel options that its machines boot with. Hugepages of 1 GiB."""

    name: str
    comment: str = ""
    kernel: str = ""
    hugepages: int = 0
    dedicated_cpus: str = ""

    @property
    def kernel_opts(self) -> str:
        """The options as MAAS passes them to the kernel."""
        pages = f"default_hugepagesz=1G hugepagesz=1G hugepages={self.hugepages}" if self.hugepages else ""
        isolated = f"isolcpus={self.dedicated_cpus}" if self.dedicated_cpus else ""
        return " ".join(part for part in (pages, self.kernel, isolated) if part)


@dataclass(frozen=True)
class Role:
    """How machines of one kind are built. Without bond the networks are on the port itself."""

    name: str
    tag: str
    networks: tuple[str, ...]
    hwe_kernel: str = ""
    bond: str = ""
    bridge: str = ""


@dataclass(frozen=True)
class Machine:
    """One server: its role, the netdevs of its ports as MAAS names them, and how to power it."""

    name: str
    role: str
    ports: tuple[str, ...]
    power: dict[str, str] = field(repr=False)


@dataclass(frozen=True)
class Site:
    """The whole file; networks by space."""

    maas: str
    api_key: str = field(repr=False)
    dns: tuple[str, ...]
    fabric: str
    networks: dict[str, Network]
    tags: dict[str, Tag]
    roles: dict[str, Role]
    machines: dict[str, Machine]

    def dedicated_cpus(self, tag: str) -> str:
        """The CPUs that the kernel leaves to Nova on machines of a tag."""
        return self.tags[tag].dedicated_cpus

    def hwe_kernel(self, tag: str) -> str:
        """The minimum kernel of machines of a tag; "" is the release's own."""
        return next((role.hwe_kernel for role in self.roles.values() if role.tag == tag), "")

    @classmethod
    def read(cls, path: Path) -> "Site":
        """Read and validate a file."""
        try:
            data = yaml.safe_load(path.read_text())
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise SiteError(f"{path} cannot be read: {str(error).splitlines()[0]}.") from error
        try:
            site = _record(cls, data, "")
            _check(site)
        except SiteError as error:
            raise SiteError(f"{path}: {error}") from error
        return site


def secret(reference: str, where: str) -> str:
    """The content of the file that `file:PATH` names, which nobody else may be able to read."""
    path = Path(reference.removeprefix("file:")).expanduser()
    try:
        if path.stat().st_mode & 0o077:
            raise SiteError(f"{where}: {path} can be read by others; run chmod 600 {path}.")
        return path.read_text().strip()
    except OSError as error:
        raise SiteError(f"{where}: {path} cannot be read: {error.strerror}.") from error


def cpus(text: str) -> set[int]:
    """`2-5,8,^4` as numbers, as Nova's cpu-dedicated-set has them; ValueError for anything else."""
    found: dict[bool, set[int]] = {False: set(), True: set()}
    for word in filter(None, text.split(",")):
        match = re.fullmatch(r"(\^?)(\d+)(?:-(\d+))?", word.strip())
        if match is None:
            raise ValueError(f"{text} is no set of CPUs such as 2-23")
        found[bool(match[1])].update(range(int(match[2]), int(match[3] or match[2]) + 1))
    return found[False] - found[True]


SECTIONS = {"networks": Network, "tags": Tag, "roles": Role, "machines": Machine}


def _record(kind: type[T], body: object, where: str, **named: str) -> T:
    """A dataclass from a mapping, its keys and types checked."""
    declared: Iterable[Any] = dataclasses.fields(kind)
    fields = {f.name.replace("_", "-"): f for f in declared if f.name not in named}
    if not isinstance(body, dict):
        raise SiteError(f"{where or 'the site'}: {body!r} is no mapping.")
    values: dict[str, Any] = dict(named)
    for key, value in body.items():
        if key not in fields:
            raise SiteError(
                f"{where or 'the site'}: {key} is not known; known are {', '.join(sorted(fields))}."
            )
        values[fields[key].name] = _typed(fields[key].type, value, f"{where}.{key}".lstrip("."))
    for key, f in fields.items():
        if f.name not in values and f.default is dataclasses.MISSING:
            raise SiteError(f"{where or 'the site'}: {key} is missing.")
    return kind(**values)


def _typed(kind: object, value: object, where: str) -> object:
    text = isinstance(value, str | int) and not isinstance(value, bool)
    if where in SECTIONS and isinstance(value, dict) and value:
        return {str(k): _record(SECTIONS[where], v, f"{where}.{k}", name=str(k)) for k, v in value.items()}
    if kind is str and text:
        return str(value)
    if kind is int and isinstance(value, int) and text:
        return value
    if kind == tuple[str, ...] and isinstance(value, list):
        return tuple(map(str, value))
    if kind == dict[str, str] and isinstance(value, dict):
        return {str(key): str(item) for key, item in value.items()}
    name = {str: "text", int: "a whole number", tuple[str, ...]: "a list"}.get(kind, "a mapping")
    raise SiteError(f"{where}: {value!r} is not {name}.")


def _check(site: Site) -> None:
    _want(site.maas.startswith(("http://", "https://")), "maas", site.maas, "write http://HOST:5240/MAAS")
    _want(
        site.api_key.startswith("file:"),
        "api-key",
        "…",
        "write file:PATH, the key itself does not belong here",
    )
    for address in site.dns:
        _parsed(ipaddress.ip_address, address, "dns")
    for network in site.networks.values():
        _check_network(network, f"networks.{network.name}")
    vids = [network.vid for network in site.networks.values()]
    wrong = "the first is 0, machines boot from it, and each stands once"
    _want(vids[0] == 0 and len(set(vids)) == len(vids), "networks: vid", vids, wrong)
    for tag in site.tags.values():
        _parsed(cpus, tag.dedicated_cpus, f"tags.{tag.name}.dedicated-cpus")
        clean = not re.search(r"\b(isolcpus|hugepages)=", tag.kernel)
        _want(
            clean,
            f"tags.{tag.name}.kernel",
            tag.kernel,
            "write isolcpus as dedicated-cpus and hugepages as hugepages",
        )
    for role in site.roles.values():
        where = f"roles.{role.name}"
        _want(role.tag in site.tags, f"{where}.tag", role.tag, f"write one of {', '.join(site.tags)}")
        unknown = set(role.networks) - set(site.networks)
        _want(not unknown, f"{where}.networks", sorted(unknown), f"write some of {', '.join(site.networks)}")
        _want(
            bool(role.bond) == bool(role.bridge),
            where,
            role.bond or role.bridge,
            "bond and bridge go together",
        )
    for machine in site.machines.values():
        where = f"machines.{machine.name}"
        _want(
            machine.role in site.roles, f"{where}.role", machine.role, f"write one of {', '.join(site.roles)}"
        )
        wanted = 2 if site.roles[machine.role].bond else 1
        _want(
            len(set(machine.ports)) == wanted,
            f"{where}.ports",
            list(machine.ports),
            f"role {machine.role} has {wanted}",
        )
        for key in {"pass", "user"} & set(machine.power):
            referred = machine.power[key].startswith("file:")
            _want(
                referred,
                f"{where}.power.{key}",
                "…",
                "write file:PATH, the value itself does not belong here",
            )
        _want("type" in machine.power, f"{where}.power", "no type", "write type: ipmi")


def _check_network(network: Network, where: str) -> None:
    subnet = _parsed(ipaddress.ip_network, network.cidr, f"{where}.cidr")
    _want(0 <= network.vid <= 4094, f"{where}.vid", network.vid, "allowed is 0 to 4094")
    _want(552 <= network.mtu <= 65535, f"{where}.mtu", network.mtu, "allowed is 552 to 65535")
    ends = [network.gateway] if network.gateway else []
    for text in filter(None, (network.dhcp, *network.reserved)):
        first, _, last = text.partition("-")
        pair = [_parsed(ipaddress.ip_address, end, where) for end in (first, last)]
        _want(pair[0] <= pair[1], where, text, "write FIRST-LAST")
        ends += [first, last]
    for end in ends:
        _want(
            _parsed(ipaddress.ip_address, end, where) in subnet,
            where,
            end,
            f"write an address in {network.cidr}",
        )


def _want(right: bool, where: str, value: object, allowed: str) -> None:
    if not right:
        raise SiteError(f"{where}: {value}; {allowed}.")


def _parsed(parse: Callable[[str], Any], text: str, where: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise SiteError(f"{where}: {error}.") from error
