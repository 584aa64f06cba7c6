# SPDX-License-Identifier: Apache-2.0
"""netplan's files that set VFs or eswitch modes, as the charm itself does: a second writer.

``netplan apply`` and netplan's boot service replace all VFs where their number differs, even VFs in use.

The files are read with PyYAML, which ops has loaded already, in whatever style they are written: no process,
so that a hook on a host in order starts none, and each finding names its file. Boot never reads them.
"""

import re
from collections.abc import Iterator

import yaml
from converge import Finding, Severity
from hostnic.system import System
from observed import Writer

OVN_CHASSIS_FILE = "/etc/netplan/150-charm-ovn.yaml"
KEYS = ("virtual-function-count", "embedded-switch-mode", "delay-virtual-functions-rebind", "link")
"""Keys of an ethernet device. ``link`` makes it a VF of the device that it names, and netplan creates as many
VFs as there are such devices (netplan_cli/cli/sriov.py)."""

ETHERNETS = "ethernets"
ETC, RUN, LIB = "/etc/netplan", "/run/netplan", "/lib/netplan"
_MERGE = "<<"


def second_writers(system: System) -> tuple[tuple[Writer, ...], tuple[Finding, ...]]:
    """The files that set VFs or eswitch modes, and a finding for each that could but cannot be read."""
    writers: list[Writer] = []
    findings: list[Finding] = []
    for path in _paths(system, findings):
        try:
            text = system.files.read(path)
            document = _first_document(text) if _may_set(path, text) else None
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            findings.append(_unreadable(path, error))
            continue
        devices = [devices for network in _of(document, "network") for devices in _of(network, ETHERNETS)]
        settings = [settings for each in devices for _, settings in _entries(each)]
        found = {key for each in settings for key, _ in _entries(each)}
        if found.intersection(KEYS) or (path == OVN_CHASSIS_FILE and devices):
            writers.append(Writer(path, tuple(key for key in KEYS if key in found)))
    return tuple(writers), tuple(findings)


def reduced(text: str) -> str:
    """A file that sets the same, or has the same mistake, without anything else that stands in ``text``."""
    try:
        document = _first_document(text)
    except ValueError as error:
        line = re.search(r"[0-9]+$", str(error))
        if line:
            return "\n" * (int(line[0]) - 1) + "\t\\"  # a tab begins no token
        return "[" * 10_000 + "\\" if "deep" in str(error) else "\1\\"
    devices = [devices for network in _of(document, "network") for devices in _of(network, ETHERNETS)]
    settings = [settings for each in devices for _, settings in _entries(each)]
    keys = [key for key in KEYS if key in {name for each in settings for name, _ in _entries(each)}]
    inner = ", ".join(f"{key}: 0" for key in keys)
    return f"network: {{{ETHERNETS}: {{port: {{{inner}}}}}}}\n" if devices else "{}\n"


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
            findings.append(_unreadable(directory, error))
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

    Raises:
        ValueError: the file is not YAML; the message leaves out its text, which may hold passwords.

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


def _unreadable(path: str, error: OSError | ValueError) -> Finding:
    why = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return Finding(
        Severity.BLOCKED,
        path,
        f"cannot be read ({why}), and may set VFs or eswitch modes too",
        "fix it (netplan get shows netplan's own error); do not run netplan apply",
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
