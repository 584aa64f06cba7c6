# SPDX-License-Identifier: Apache-2.0
"""The site file: what MAAS shall know of a site. Wrong values are named in one sentence each."""

import dataclasses
import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml

T = TypeVar("T")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class SiteError(Exception):
    """The site file is wrong; the message names the place, the value and what is allowed."""


@dataclass(frozen=True)
class Network:
    """One VLAN with its subnet, in one space. MTU in bytes."""

    space: str
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
    """The whole file."""

    maas: str
    api_key: str = field(repr=False)
    dns: tuple[str, ...]
    fabric: str
    networks: dict[str, Network]
    tags: dict[str, Tag]
    roles: dict[str, Role]
    machines: dict[str, Machine]

    @property
    def spaces(self) -> set[str]:
        return set(self.networks)

    def dedicated_cpus(self, tag: str) -> str:
        """The CPUs that the kernel leaves to Nova on machines of a tag."""
        return self.tags[tag].dedicated_cpus

    def hwe_kernel(self, tag: str) -> str:
        """The minimum kernel of machines of a tag; "" is the release's own."""
        return next((role.hwe_kernel for role in self.roles.values() if role.tag == tag), "")

    def mtu(self, space: str) -> int | None:
        """The MTU that a space carries; None for a space that the site does not have."""
        return self.networks[space].mtu if space in self.networks else None

    @classmethod
    def read(cls, path: Path) -> "Site":
        """Read and validate a file."""
        try:
            data = yaml.safe_load(path.read_text())
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise SiteError(f"{path} cannot be read: {str(error).splitlines()[0]}.") from error
        try:
            return _site(data)
        except SiteError as error:
            raise SiteError(f"{path}: {error}") from error


def secret(reference: str, where: str) -> str:
    """The content of the file that `file:PATH` names, which nobody else may be able to read."""
    path = Path(reference.removeprefix("file:")).expanduser()
    try:
        if path.stat().st_mode & 0o077:
            raise SiteError(f"{where}: {path} can be read by others; run chmod 600 {path}.")
        return path.read_text().strip()
    except OSError as error:
        raise SiteError(f"{where}: {path} cannot be read: {error.strerror}.") from error


def _site(data: object) -> Site:
    top = _known(data, "the site", {f.name.replace("_", "-") for f in dataclasses.fields(Site)})
    networks = {
        name: _record(Network, body, f"networks.{name}", space=name)
        for name, body in _section(top, "networks")
    }
    tags = {name: _record(Tag, body, f"tags.{name}", name=name) for name, body in _section(top, "tags")}
    roles = {name: _record(Role, body, f"roles.{name}", name=name) for name, body in _section(top, "roles")}
    machines = {
        name: _record(Machine, body, f"machines.{name}", name=name)
        for name, body in _section(top, "machines")
    }
    texts = {key: top.get(key) for key in ("maas", "api-key", "fabric")}
    for key, value in texts.items():
        if not isinstance(value, str) or not value:
            raise SiteError(f"{key}: {value!r} is no text.")
    if not str(texts["maas"]).startswith(("http://", "https://")):
        raise SiteError(f"maas: {texts['maas']} is no address; write http://HOST:5240/MAAS.")
    _reference(texts["api-key"], "api-key")
    dns = tuple(map(str, top.get("dns", ())))
    site = Site(
        str(texts["maas"]), str(texts["api-key"]), dns, str(texts["fabric"]), networks, tags, roles, machines
    )
    _check(site)
    return site


def _check(site: Site) -> None:
    for name in site.dns:
        _address(name, "dns")
    for network in site.networks.values():
        _check_network(network, f"networks.{network.space}")
    vids = [network.vid for network in site.networks.values()]
    if vids[:1] != [0] or len(set(vids)) < len(vids):
        raise SiteError(f"networks: vid {vids}: the first is 0, machines boot from it, and each stands once.")
    for role in site.roles.values():
        _one_of(role.tag, site.tags, f"roles.{role.name}.tag")
        for space in role.networks:
            _one_of(space, site.networks, f"roles.{role.name}.networks")
        if bool(role.bond) != bool(role.bridge):
            raise SiteError(f"roles.{role.name}: bond and bridge go together; write both or none.")
    for machine in site.machines.values():
        where = f"machines.{machine.name}"
        _one_of(machine.role, site.roles, f"{where}.role")
        wanted = 2 if site.roles[machine.role].bond else 1
        if len(set(machine.ports)) != wanted:
            raise SiteError(f"{where}.ports: {list(machine.ports)}: role {machine.role} has {wanted}.")
        for key in ("pass", "user"):
            if key in machine.power:
                _reference(machine.power[key], f"{where}.power.{key}")
    for tag in site.tags.values():
        if not re.fullmatch(r"(\d+(-\d+)?(,\d+(-\d+)?)*)?", tag.dedicated_cpus):
            raise SiteError(
                f"tags.{tag.name}.dedicated-cpus: {tag.dedicated_cpus} is no set of CPUs such as 2-23."
            )
        if re.search(r"\b(isolcpus|hugepages)=", tag.kernel):
            raise SiteError(
                f"tags.{tag.name}.kernel: write isolcpus as dedicated-cpus and hugepages as hugepages."
            )


def _check_network(network: Network, where: str) -> None:
    try:
        subnet = ipaddress.ip_network(network.cidr)
    except ValueError as error:
        raise SiteError(f"{where}.cidr: {error}; write as in 192.168.25.0/24.") from error
    if not 0 <= network.vid <= 4094 or not 552 <= network.mtu <= 65535:
        raise SiteError(f"{where}: vid {network.vid} is 0 to 4094, mtu {network.mtu} is 552 to 65535.")
    ends = [end for text in (network.dhcp, *network.reserved) if text for end in _range(text, where)]
    for address in ends + ([_address(network.gateway, where)] if network.gateway else []):
        if address not in subnet:
            raise SiteError(f"{where}: {address} is not in {network.cidr}.")


def _range(text: str, where: str) -> list[Address]:
    first, dash, last = text.partition("-")
    ends = [_address(first, where), _address(last, where)] if dash else []
    if len(ends) != 2 or ends[0] > ends[1]:
        raise SiteError(f"{where}: {text} is no range; write FIRST-LAST.")
    return ends


def _address(text: str, where: str) -> Address:
    try:
        return ipaddress.ip_address(text)
    except ValueError as error:
        raise SiteError(f"{where}: {text!r} is no IP address.") from error


def _reference(value: object, where: str) -> None:
    if not str(value).startswith("file:"):
        raise SiteError(f"{where}: write file:PATH, the value itself does not belong here.")


def _one_of(value: str, known: Iterable[str], where: str) -> None:
    if value not in known:
        raise SiteError(f"{where}: {value} is not one of {', '.join(known)}.")


def _section(top: dict[str, Any], key: str) -> list[tuple[str, Any]]:
    section = top.get(key)
    if not isinstance(section, dict) or not section:
        raise SiteError(f"{key}: there is none.")
    return [(str(name), body) for name, body in section.items()]


def _known(data: object, where: str, known: set[str]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise SiteError(f"{where}: {data!r} is no mapping.")
    for key in data.keys() - known:
        raise SiteError(f"{where}: {key} is not known; known are {', '.join(sorted(known))}.")
    return data


def _record(kind: type[T], body: object, where: str, **named: str) -> T:
    """A dataclass from a mapping, its keys and types checked."""
    fields = {f.name.replace("_", "-"): f for f in dataclasses.fields(kind) if f.name not in named}
    values: dict[str, Any] = dict(named)
    for key, value in _known(body, where, set(fields)).items():
        values[fields[key].name] = _typed(fields[key].type, value, f"{where}.{key}")
    for key, f in fields.items():
        if f.name not in values and f.default is dataclasses.MISSING:
            raise SiteError(f"{where}: {key} is missing.")
    return kind(**values)


def _typed(kind: object, value: object, where: str) -> object:
    if kind is str and isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    if kind is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind == tuple[str, ...] and isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    if kind == dict[str, str] and isinstance(value, dict):
        return {str(key): str(item) for key, item in value.items()}
    name = {str: "text", int: "a whole number", tuple[str, ...]: "a list of texts"}.get(kind, "a mapping")
    raise SiteError(f"{where}: {value!r} is not {name}.")
