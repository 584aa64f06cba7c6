# SPDX-License-Identifier: Apache-2.0
"""The site file: what MAAS shall know of a site. Wrong values are named in one sentence each."""

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, cast, get_args, get_origin

import yaml


class SiteError(Exception):
    """The site file is wrong; the message names the place, the value and what is allowed."""


def cpus(text: str) -> set[int]:
    """`2-5,8,^4` as numbers, as Nova's cpu-dedicated-set has them; ValueError for anything else."""
    found: dict[bool, set[int]] = {False: set(), True: set()}
    for word in filter(None, text.split(",")):
        match = re.fullmatch(r"(\^?)(\d+)(?:-(\d+))?", word.strip())
        if match is None:
            raise ValueError(f"{text} is no set of CPUs such as 2-23")
        found[bool(match[1])].update(range(int(match[2]), int(match[3] or match[2]) + 1))
    return found[False] - found[True]


class Secret(str):
    """`file:PATH`: what a file holds that nobody else may be able to read; plans never hold it."""

    def __new__(cls, text: str) -> "Secret":
        if not text.startswith("file:"):
            raise ValueError("…; write file:PATH, the value itself does not belong here")
        return super().__new__(cls, text)

    def read(self) -> str:
        path = Path(self.removeprefix("file:")).expanduser()
        try:
            if path.stat().st_mode & 0o077:
                raise SiteError(f"{path} can be read by others; run chmod 600 {path}.")
            return path.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SiteError(f"{path} cannot be read: {getattr(error, 'strerror', error)}.") from error


def _checked(test: Callable[[Any], object], allowed: str = "", default: Any = dataclasses.MISSING) -> Any:
    """A field whose value, or each of whose values, `test` is false of, or refuses with ValueError."""
    return dataclasses.field(default=default, metadata={"test": test, "allowed": allowed})


def _range(text: str) -> bool:
    ends: list[Any] = [ip_address(end) for end in text.partition("-")[::2]]
    return ends[0] <= ends[1]


@dataclass(frozen=True, kw_only=True)
class Network:
    """One VLAN with its subnet, in one space. MTU in bytes."""

    name: str
    vid: int = _checked(lambda vid: 0 <= vid <= 4094, "allowed is 0 to 4094")
    vlan: str
    mtu: int = _checked(lambda mtu: 552 <= mtu <= 65535, "allowed is 552 to 65535")
    subnet: str
    cidr: str = _checked(ip_network)
    gateway: str = _checked(ip_address, default="")
    dhcp: str = _checked(_range, "write FIRST-LAST", "")
    reserved: tuple[str, ...] = _checked(_range, "write FIRST-LAST", ())


@dataclass(frozen=True, kw_only=True)
class Tag:
    """Machines of one kind: what MAAS tags them with, how they boot, and how their ports are built.

    Hugepages are of 1 GiB. Without bond the networks are on the port itself.
    """

    name: str
    networks: tuple[str, ...]
    comment: str = ""
    kernel: str = _checked(
        lambda text: not re.search(r"\b(isolcpus|hugepages)=", text),
        "write isolcpus as dedicated-cpus, hugepages as hugepages",
        default="",
    )
    hugepages: int = _checked(lambda pages: pages >= 0, "allowed is 0 or more", 0)
    dedicated_cpus: str = _checked(cpus, default="")
    hwe_kernel: str = ""
    bond: str = ""
    bridge: str = ""

    @property
    def kernel_opts(self) -> str:
        """The options as MAAS passes them to the kernel."""
        pages = f"default_hugepagesz=1G hugepagesz=1G hugepages={self.hugepages}" if self.hugepages else ""
        isolated = f"isolcpus={self.dedicated_cpus}" if self.dedicated_cpus else ""
        return " ".join(part for part in (pages, self.kernel, isolated) if part)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One server: its tag, the netdevs of its ports as MAAS names them, and how MAAS powers it."""

    name: str
    tag: str
    ports: tuple[str, ...]
    power_type: str
    power_address: str
    power_user: Secret
    power_pass: Secret
    power_driver: str = ""


@dataclass(frozen=True, kw_only=True)
class Site:
    """The whole file; networks by space."""

    maas: str = _checked(lambda url: url.startswith(("http://", "https://")), "write http://HOST:5240/MAAS")
    api_key: Secret
    dns: tuple[str, ...] = _checked(ip_address)
    fabric: str
    networks: dict[str, Network]
    tags: dict[str, Tag]
    machines: dict[str, Machine]

    @classmethod
    def read(cls, path: Path) -> "Site":
        """Read and validate a file."""
        try:
            site: Site = _record(cls, yaml.safe_load(path.read_text()), "")
            for where, value, allowed in _inconsistent(site):
                raise SiteError(f"{where}: {value}; {allowed}.")
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise SiteError(f"{path} cannot be read: {str(error).splitlines()[0]}.") from error
        except SiteError as error:
            raise SiteError(f"{path}: {error}") from error
        return site


def _record(kind: Any, body: object, where: str, **named: str) -> Any:
    """A dataclass from a mapping, its keys and values checked."""
    fields = {f.name.replace("_", "-"): f for f in dataclasses.fields(kind) if f.name not in named}
    place, known = where or "the site", ", ".join(sorted(fields))
    if not isinstance(body, dict):
        raise SiteError(f"{place}: {body!r} is not a mapping.")
    given = cast("dict[Any, object]", body)
    for key in [key for key in given if key not in fields]:
        raise SiteError(f"{place}: {key} is not known; known are {known}.")
    for key, f in fields.items():
        if key not in given and f.default is dataclasses.MISSING:
            raise SiteError(f"{place}: {key} is missing.")
    items = [(fields[key], value, f"{where}.{key}".lstrip(".")) for key, value in given.items()]
    return kind(**named, **{f.name: _value(f.type, f.metadata, value, place) for f, value, place in items})


def _value(kind: Any, rule: Mapping[str, Any], value: object, where: str) -> Any:
    """A value of a field's kind: records by name, a list, text or a number."""
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin is dict and isinstance(value, dict) and value:
        records = cast("dict[object, object]", value)
        return {str(k): _record(inner[1], body, f"{where}.{k}", name=str(k)) for k, body in records.items()}
    if origin is tuple and isinstance(value, list):
        return tuple(_value(str, rule, item, where) for item in cast("list[object]", value))
    kinds: dict[Any, Any] = {int: int, str: int | str, Secret: str}
    given = kinds.get(origin)
    if given is None or not isinstance(value, given) or isinstance(value, bool):
        name = {int: "a whole number", tuple: "a list", dict: "a filled mapping"}.get(origin, "text")
        raise SiteError(f"{where}: {value!r} is not {name}.")
    try:
        if rule and rule["test"](kind(value)) is False:
            raise SiteError(f"{where}: {value}; {rule['allowed']}.")
        return kind(value)
    except (ValueError, TypeError) as error:  # addresses of IPv4 and IPv6 do not compare
        raise SiteError(f"{where}: {error}.") from error


def _inconsistent(site: Site) -> Iterator[tuple[str, object, str]]:
    """Place, value and what is allowed, where values do not go together."""
    vids = [network.vid for network in site.networks.values()]
    if vids[0] or len(set(vids)) < len(vids):
        yield "networks: vid", vids, "the first is 0, machines boot from it, and each stands once"
    yield from _inconsistent_networks(site)
    yield from _inconsistent_tags(site)
    for name, machine in site.machines.items():
        if machine.tag not in site.tags:
            yield f"machines.{name}.tag", machine.tag, f"write one of {', '.join(site.tags)}"
        elif len(set(machine.ports)) != (wanted := 2 if site.tags[machine.tag].bond else 1):
            yield f"machines.{name}.ports", list(machine.ports), f"tag {machine.tag} wants {wanted}"


def _inconsistent_networks(site: Site) -> Iterator[tuple[str, object, str]]:
    for space, network in site.networks.items():
        for text in filter(None, (network.gateway, network.dhcp, *network.reserved)):
            if any(ip_address(end) not in ip_network(network.cidr) for end in text.split("-")):
                yield f"networks.{space}", text, f"write an address in {network.cidr}"


def _inconsistent_tags(site: Site) -> Iterator[tuple[str, object, str]]:
    for name, tag in site.tags.items():
        unknown = set(tag.networks) - set(site.networks)
        if unknown or not tag.networks:
            yield f"tags.{name}.networks", sorted(unknown), f"write some of {', '.join(site.networks)}"
        if bool(tag.bond) != bool(tag.bridge):
            yield f"tags.{name}", tag.bond or tag.bridge, "bond and bridge go together"
