# SPDX-License-Identifier: Apache-2.0
"""The options of this host's nova.conf, and the ports whose VFs Nova gives to instances by them."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from hostnic.system import System, read_text

PATH = "/etc/nova/nova.conf"
WHITELIST = (
    ("pci", "device_spec"),
    ("pci", "passthrough_whitelist"),
    ("DEFAULT", "pci_passthrough_whitelist"),
)
"""The list of PCI devices by its names since Zed, before, and before Ocata (nova/conf/pci.py). The first one
that is set counts; each of its lines is one entry or a list of entries in JSON."""

Options = Mapping[tuple[str, str], Sequence[str]]
"""All values of each option, by section and name: an option may be written more than once."""


class Entry(NamedTuple):
    """One entry of the list.

    Attributes:
        devname: the netdev of the port whose VFs it offers; None where it selects in another way.
        for_ports: it has `physical_network`, without which no port of Neutron's gets its devices.

    """

    devname: str | None
    for_ports: bool


def read(system: System) -> Options | None:
    """nova.conf's options; None before nova-compute is installed."""
    text = read_text(system, PATH)
    return None if text is None else parse(text)


def parse(text: str) -> Options:
    """As oslo.config reads it: sections, ``key = value``."""
    found: dict[tuple[str, str], list[str]] = {}
    section = ""
    for line in text.splitlines():
        if head := re.fullmatch(r"\[([^\]]+)\]\s*", line):
            section = head[1]
        elif pair := re.fullmatch(r"(\w+)\s*[=:]\s*(.*?)\s*", line):
            found.setdefault((section, pair[1]), []).append(pair[2])
    return found


def last(options: Options, section: str, name: str) -> str | None:
    """The value of an option that takes one, of which the last counts; None where it is not set."""
    values = options.get((section, name))
    return values[-1] if values else None


def offered(options: Options) -> tuple[Entry, ...] | None:
    """The list of PCI devices; None if it is not what Nova can read: it does not start then, and says why."""
    values = next((options[name] for name in WHITELIST if options.get(name)), ())
    found: list[Any] = []
    for value in values:
        try:
            read: Any = json.loads(value) if value else []
        except (ValueError, RecursionError):
            return None
        found += read if isinstance(read, list) else [read]
    if not all(isinstance(each, dict) for each in found):
        return None
    return tuple(
        Entry(str(each["devname"]) if "devname" in each else None, "physical_network" in each)
        for each in found
    )


def why_no_vf(entries: Collection[Entry], ports: Collection[str]) -> str:
    """Why no port of an instance gets a VF of these netdevs; empty if it may.

    Of an entry that selects in another way than by a netdev, only Nova knows what it selects.
    """
    if not entries:
        return "nova.conf lists no PCI device (device_spec, formerly passthrough_whitelist)"
    offers = [each for each in entries if each.for_ports]
    if not offers:
        return "no PCI device that nova.conf lists has physical_network"
    names = {each.devname for each in offers}
    if None in names or not names.isdisjoint(ports):
        return ""
    return f"nova.conf offers those of {', '.join(sorted(filter(None, names)))}"
