# SPDX-License-Identifier: Apache-2.0
"""Files of udev and NetworkManager with sections and keys, which set VFs of the ports that they match."""

import re
from collections.abc import Collection, Iterator

from hostnic.devices.model import Pf
from hostnic.system import System
from observed import Setting, Writer

from writers.ports import meets
from writers.texts import files_in, in_force, plain, read

LINKS = tuple(f"{base}/systemd/network" for base in ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"))

CONNECTIONS = tuple(f"{base}/NetworkManager/system-connections" for base in ("/etc", "/run", "/usr/lib"))

SETTINGS = (
    "/etc/NetworkManager/NetworkManager.conf",
    "/etc/NetworkManager/conf.d",
    "/run/NetworkManager/conf.d",
    "/usr/lib/NetworkManager/conf.d",
)

COUNT = "SR-IOVVirtualFunctions"

SRIOV = re.compile(r"^\s*\[sriov\]", re.MULTILINE)


def of_links(system: System, pfs: Collection[Pf]) -> Iterator[Writer]:
    """systemd.link(5): the option, or a section for a VF, from which udev takes how many there are.

    A file may have drop-ins in any of the directories.
    """
    for path in in_force(system, LINKS, ".link"):
        name = path.rpartition("/")[2]
        more = in_force(system, (f"{place}/{name}.d" for place in LINKS), ".conf")
        parts = {each: _sections(read(system, each)) for each in (path, *more)}
        every = [each for part in parts.values() for each in part]
        match = [(key, value) for section, key, value in every if section == "Match" and value]
        for part, sections in parts.items():
            counts = [COUNT for _, key, value in sections if key == COUNT and value]
            keys = (*counts[:1], *["[SR-IOV]" for section, _, _ in sections if section == "SR-IOV"][:1])
            if keys and match:
                ports = frozenset(pf.bdf for pf in pfs if all(meets(pf, *each) for each in match))
                yield Writer(part, (Setting(name, keys, ports),), "udev's .link file")


def of_connections(system: System, pfs: Collection[Pf]) -> Iterator[Writer]:
    """NetworkManager's keyfiles with a section ``sriov`` (nm-settings-keyfile(5)).

    It sets the number of VFs whenever it activates the connection, to 0 where the section names none.
    """
    names = {
        "interface-name": "OriginalName",
        "mac-address": "MACAddress",
        "path": "Path",
        "driver": "Driver",
    }
    for path in (path for directory in CONNECTIONS for path in files_in(system, directory)):
        text = read(system, path)
        if SRIOV.search(text):
            given = [(key, value) for _, key, value in _sections(text) if value and key in names]
            match = [(names[key], value.replace(";", " ")) for key, value in given]
            ports = frozenset(pf.bdf for pf in pfs if all(meets(pf, *each) for each in match))
            yield Writer(path, (Setting(path.rpartition("/")[2], ("[sriov]",), ports),), "NetworkManager")
    for path in (path for place in SETTINGS for path in files_in(system, place)):
        sections: dict[str, dict[str, str]] = {}
        for section, key, value in _sections(plain(read(system, path))):
            sections.setdefault(section, {})[key] = value
        matches = [keys.get("match-device", "*") for keys in sections.values() if "sriov-num-vfs" in keys]
        if matches:  # NetworkManager.conf(5)
            ports = frozenset(pf.bdf for pf in pfs if any(_is_matched(pf, match) for match in matches))
            yield Writer(path, (Setting(path, ("sriov-num-vfs",), ports),), "NetworkManager")


def _is_matched(pf: Pf, match: str) -> bool:
    """Whether a list of NetworkManager's, such as ``driver:mlx5_core,except:mac:…``, has a port."""
    specs = [each for each in re.split(r"[\s,;]+", match) if each]
    left = [each.removeprefix("except:") for each in specs if each.startswith("except:")]
    taken = [each for each in specs if not each.startswith("except:")] or ["*"]
    # Of a kind that is not known here, one that is taken may be a port of ours, and one that is left not.
    return any(_meets_spec(pf, each, True) for each in taken) and not any(
        _meets_spec(pf, each, False) for each in left
    )


def _meets_spec(pf: Pf, spec: str, otherwise: bool) -> bool:
    kind, _, value = spec.rpartition(":") if not spec.startswith("mac:") else spec.partition(":")
    names = {"interface-name": "OriginalName", "": "OriginalName", "mac": "MACAddress", "driver": "Driver"}
    key = names.get(kind)
    return meets(pf, key, value.lstrip("=")) if key else otherwise


def _sections(text: str) -> list[tuple[str, str, str]]:
    section, found = "", list[tuple[str, str, str]]()
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line.strip("[]")
        elif "=" in line and not line.startswith(("#", ";")):
            key, _, value = line.partition("=")
            found.append((section, key.strip(), value.strip()))
    return found
