# SPDX-License-Identifier: Apache-2.0
"""netplan's files that set VFs or eswitch modes, as the charm itself does: a second writer.

``netplan apply`` and netplan's boot service replace all VFs where their number differs, even VFs in use.

The files are read with PyYAML, which ops has loaded already, in whatever style they are written: no process,
so that a hook on a host in order starts none, and each finding names its file. Boot never reads them.
"""

import contextlib
from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase

import yaml
from converge import Finding, Severity, cause
from hostnic.devices.model import Pf
from hostnic.system import System
from observed import Judged, Setting, Writer

OVN_CHASSIS_FILE = "/etc/netplan/150-charm-ovn.yaml"
KEYS = ("virtual-function-count", "embedded-switch-mode", "delay-virtual-functions-rebind", "link")
"""Keys of an ethernet device. ``link`` makes it a VF of the device that it names, and netplan creates as many
VFs as there are such devices (netplan_cli/cli/sriov.py)."""

ETHERNETS = "ethernets"
ETC, RUN, LIB = "/etc/netplan", "/run/netplan", "/lib/netplan"
_MERGE = "<<"


def second_writers(system: System, pfs: Collection[Pf] = ()) -> Judged:
    """The files that set VFs or eswitch modes, and a finding for each that could but cannot be read.

    netplan merges its files: one may have a device's ``match``, and another one its VFs. So once a file sets
    something, all are read for the devices that they define.
    """
    findings: list[Finding] = []
    texts: dict[str, str] = {}
    documents: dict[str, yaml.Node | None] = {}
    for path in _paths(system, findings):
        try:
            texts[path] = system.files.read(path)
            if _may_set(path, texts[path]):
                documents[path] = _first_document(texts[path])
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            findings.append(unreadable(path, error))
    setting = {path: found for path, node in documents.items() if (found := list(_settings(path, node)))}
    if not setting:
        return (), tuple(findings)
    defined: dict[str, list[yaml.Node]] = {}
    for path, text in texts.items():
        with contextlib.suppress(ValueError):  # what it sets is a finding already
            for name, node in _devices(documents[path] if path in documents else _first_document(text)):
                defined.setdefault(name, []).append(node)
    writers = [
        Writer(
            path,
            tuple(
                Setting(name, keys, _ports(pfs, {link, name}, defined) if name else None, count)
                for name, keys, link, count in found
            ),
            "ovn-chassis" if path == OVN_CHASSIS_FILE else "netplan",
        )
        for path, found in setting.items()
    ]
    return tuple(writers), tuple(findings)


def _devices(document: yaml.Node | None) -> Iterator[tuple[str, yaml.Node]]:
    for network in _of(document, "network"):
        for devices in _of(network, ETHERNETS):
            yield from _entries(devices)


def _settings(path: str, document: yaml.Node | None) -> Iterator[tuple[str, tuple[str, ...], str, str]]:
    """Yield each device that sets something: its name, the keys, the PF of a VF, its number of VFs.

    ovn-chassis' file sets something as long as it has the section.
    """
    devices = list(_devices(document))
    for name, node in devices:
        values = dict(_entries(node))
        keys = tuple(key for key in KEYS if key in values)
        if keys or path == OVN_CHASSIS_FILE:
            yield name, keys, _text(values.get("link")), _text(values.get("virtual-function-count"))
    if (
        path == OVN_CHASSIS_FILE
        and not devices
        and any(_of(net, ETHERNETS) for net in _of(document, "network"))
    ):
        yield "", (), "", ""


def _ports(pfs: Collection[Pf], names: set[str], defined: Mapping[str, list[yaml.Node]]) -> frozenset[str]:
    """The PFs that a device of netplan stands for: by ``match`` and ``set-name``, or by its own name."""
    found: set[str] = set()
    for name in names:
        nodes = defined.get(name, [])
        matches = [dict(_entries(match)) for node in nodes for match in _of(node, "match")]
        called = {_text(value) for node in nodes for value in _of(node, "set-name")}
        for pf in pfs:
            same = any(_matches(pf, match) for match in matches) if matches else pf.netdev == name
            if same or (matches and pf.netdev in called):
                found.add(pf.bdf)
    return frozenset(found)


def _matches(pf: Pf, match: Mapping[str, yaml.Node]) -> bool:
    """Whether a port meets each condition; one that is not known counts as met."""
    actual = {
        "name": pf.netdev,
        "macaddress": pf.mac,
        "driver": pf.port.driver,
        "path": f"pci-{pf.bdf}",
    }
    return all(
        any(fnmatchcase((actual[key] or "").lower(), pattern.lower()) for pattern in _texts(node))
        for key, node in match.items()
        if key in actual
    )


def _text(node: yaml.Node | None) -> str:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else ""


def _texts(node: yaml.Node) -> list[str]:
    return [_text(each) for each in (node.value if isinstance(node, yaml.SequenceNode) else [node])]


def _paths(system: System, findings: list[Finding]) -> Iterator[str]:
    """The files that netplan reads now or at the next boot.

    For netplan, a file in /run hides one of the same name in /etc, and a file in /etc one in /lib. The next
    boot begins with an empty /run, so that here only a file in /etc hides one.
    """
    names: dict[str, list[str]] = {}
    for directory in (ETC, RUN, LIB):
        try:
            names[directory] = sorted(system.files.listdir(directory))
        except (FileNotFoundError, NotADirectoryError):
            names[directory] = []
        except OSError as error:
            names[directory] = []
            findings.append(unreadable(directory, error))
    for directory, found in names.items():
        for name in found:
            hidden = directory == LIB and name in names[ETC]
            if name.endswith(".yaml") and not name.startswith(".") and not hidden:  # as glob(3) finds them
                yield f"{directory}/{name}"


def _may_set(path: str, text: str) -> bool:
    """Whether the file is worth parsing, which takes some 2 ms for each KiB in every hook.

    Misses no file that sets something: YAML can hide a key only behind an escape, which has a backslash, or
    in UTF-16, which has NUL bytes.
    """
    words = (ETHERNETS,) if path == OVN_CHASSIS_FILE else KEYS
    return any(word in text for word in (*words, "\\", "\0"))


def _first_document(text: str) -> yaml.Node | None:
    """The document that netplan reads of a file; None when there is none.

    Raises ValueError if the file is not YAML; the message leaves out its text, which may hold passwords.
    """
    try:
        loader = yaml.SafeLoader(text.encode("utf-8", "surrogateescape"))
        return loader.get_node() if loader.check_node() else None
    except yaml.MarkedYAMLError as error:
        where = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ValueError(f"no valid YAML{where}") from None
    except (yaml.YAMLError, ValueError, OverflowError):  # characters, numbers in escapes
        raise ValueError("no valid YAML") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


def words(text: str, key: str) -> Iterator[str]:
    """Return the texts below a key of another YAML file's top level, or lists of their words.

    Raises ValueError as :func:`_first_document`.
    """
    for value in _of(_first_document(text), key):
        for each in value.value if isinstance(value, yaml.SequenceNode) else [value]:
            yield " ".join(_texts(each))


NETPLAN_FIX = "fix it (netplan get shows netplan's own error); do not run netplan apply"


def unreadable(path: str, error: OSError | ValueError) -> Finding:
    """The finding of a file that could set VFs."""
    why = cause(error)
    return Finding(
        Severity.BLOCKED,
        path,
        f"cannot be read ({why}), and may set VFs or eswitch modes too",
        NETPLAN_FIX,
    )


def _of(node: yaml.Node | None, key: str) -> list[yaml.Node]:
    return [value for name, value in _entries(node) if name == key]


def _entries(node: yaml.Node | None) -> Iterator[tuple[str, yaml.Node]]:
    """Keys and values of a mapping; nothing of another node. A merge key gives those of its mappings.

    An anchor may be named from within itself, and a mapping be merged from many places: each counts once.
    """
    todo, seen = [node], set[int]()
    while todo:
        here = todo.pop()
        if not isinstance(here, yaml.MappingNode) or id(here) in seen:
            continue
        seen.add(id(here))
        for key, value in here.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value == _MERGE:
                    todo += value.value if isinstance(value, yaml.SequenceNode) else [value]
                else:
                    yield key.value, value
