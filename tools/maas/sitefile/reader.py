# SPDX-License-Identifier: Apache-2.0
"""The reader of a site file. Wrong values are named in one sentence each."""

import re
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from converge.shape import Boolean, Integer, InvalidValue, ListOf, MappingOf, Record
from hostnic import cpus
from maas.sitefile import addresses, names
from maas.sitefile.consistency import inconsistent
from maas.sitefile.model import BASES, Machine, Network, Nic, Secret, Site, Tag
from maas.sitefile.power import DRIVERS, TYPES
from yamlfile import reader

HOLDS = "a site file is a mapping of maas, networks, tags, machines, …"


def read_site(path: Path) -> Site:
    """Read and validate a file; the intent's path starts at the folder of the file.

    Raises FileError if a value is wrong, or does not fit to others.
    """
    site = reader.read(reader.text_of(path), str(path), lambda document: _SITE.read("", document), HOLDS)
    return replace(site, intent=str(path.parent / site.intent)) if site.intent else site


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
ADDRESS = Word("an IPv4 or IPv6 address", addresses.address)
# MAAS cuts spaces at the ends of any text, and takes no NUL.
_PROSE = Word("text without a NUL byte", lambda text: "\0" not in text and text.strip())
_RANGE = Word("a range of addresses, FIRST-LAST", addresses.span)
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
        "cidr": Word("a subnet without host bits, such as 192.168.25.0/24", addresses.subnet),
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
