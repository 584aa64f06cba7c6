# SPDX-License-Identifier: Apache-2.0
"""The rights of a service that the charms install: the least that it needs for the work that it names.

Each unit file, and each unit that systemd-run makes, gets its lines from here, with the reason above each.
All of them are known to systemd 249. Not used, because they could keep a node from its network:

- PrivateTmp: systemd makes a directory in /var/tmp first, and a full disk would fail the unit. Nothing of
  ours uses /tmp, and it is out of reach instead.
- PrivateNetwork and User: the ports are in this network namespace, and only root may write their attributes.
  The exporters, which write nothing, have a user of their own (exporter.install).

These limits contain faults. They do not hold back whoever runs code in a unit that may speak to systemd:
root may have systemd start a service without limits.
"""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple


class Need(NamedTuple):
    """The rights that one kind of work needs."""

    why: str  # in words, for the unit's comments
    capabilities: tuple[str, ...] = ()  # of CapabilityBoundingSet
    families: tuple[str, ...] = ()  # of RestrictAddressFamilies
    calls: tuple[str, ...] = ()  # of SystemCallFilter
    writes: tuple[str, ...] = ()  # the paths that are written, beside those of all units
    without: tuple[str, ...] = ()  # the settings of `ALL` that it cannot have


_OF_SYS = ("block", "bus", "class", "devices", "firmware", "fs", "kernel", "module", "power")
_READ_ONLY = ("/run", *(f"-/sys/{name}" for name in _OF_SYS))
"""Not /sys itself: ProtectKernelTunables has an entry for it, which wins."""

_CALLS = ("@system-service",), "what ordinary services call"
_PCI = ("/sys/bus/pci", "/sys/devices")


class Does(Enum):
    """The kinds of work that units do."""

    NETLINK = Need("devlink, rtnetlink, ethtool and dcbnl", ("CAP_NET_ADMIN",), ("AF_NETLINK",))
    PCI = Need("attributes of PCI functions, their drivers and netdevs", writes=_PCI)
    RDMA = Need(
        "modprobe rdma_cm; defaults of connections in configfs, congestion control in debugfs",
        ("CAP_SYS_MODULE",),
        calls=("@module",),
        writes=("-/sys/kernel/config", "-/sys/kernel/debug"),
        without=("ProtectKernelModules",),
    )
    LLDP = Need("networkd's drop-ins", writes=("-/etc/systemd/network",))
    FIRMWARE = Need(
        "mstflint's tools and setpci: PCI configuration space beyond the header; mstflint's locks in /tmp",
        ("CAP_SYS_ADMIN",),
        writes=(*_PCI, "-/tmp"),
        # A kernel module of NVIDIA's tools has devices in /dev; other releases of the tools are not ours.
        without=("InaccessiblePaths", "PrivateDevices", "ProtectClock", "MemoryDenyWriteExecute"),
    )
    SEES_PROCESSES = Need("reads what other processes have open in /proc", ("CAP_SYS_PTRACE",))
    STARTS_UNITS = Need("systemctl and networkctl: systemd's sockets", families=("AF_UNIX",))
    WAKES_JUJU = Need(
        "juju-exec cannot do without the socket of the unit's agent, which runs the hook elsewhere",
        families=("AF_UNIX",),
        without=("MemoryDenyWriteExecute",),  # not tried with each agent of Juju's, whose program it is
    )
    SERVES = Need(
        "HTTP for Prometheus",
        families=("AF_INET", "AF_INET6"),
        # DynamicUser would own the directory in /run, and has its own /tmp.
        without=("RuntimeDirectory", "RuntimeDirectoryPreserve", "InaccessiblePaths", "IPAddressDeny"),
    )
    REMOVES_UNITS = Need(
        "what wakes a unit that Juju has removed", writes=("/etc/systemd/system", "/usr/lib/ovn-offload")
    )


ALL = (
    ("NoNewPrivileges", "yes", "no program that is started gets more rights than this one"),
    ("ProtectSystem", "strict", "files are read-only but for the paths below, /dev, /proc and /sys"),
    ("ProtectKernelTunables", "yes", "/proc and /sys are, too"),
    ("ProtectHome", "yes", "users' files"),
    ("InaccessiblePaths", "-/tmp -/var/tmp", "other programs' temporary files"),
    (
        "RuntimeDirectory",
        "ovn-offload",
        "made if it is missing, and written: records, hand-over files, the lock",
    ),
    ("RuntimeDirectoryPreserve", "yes", "other units use it, too"),
    ("UMask", "0077", "new files are root's alone; what others read gets its mode explicitly"),
    ("PrivateDevices", "yes", "no disks, no memory"),
    ("ProtectClock", "yes", "the clock"),
    ("ProtectHostname", "yes", "the host's name"),
    ("ProtectKernelLogs", "yes", "the kernel's log; journalctl reads files"),
    ("ProtectKernelModules", "yes", "the kernel loads what it needs by itself"),
    ("ProtectControlGroups", "yes", "other services' limits"),
    ("RestrictNamespaces", "yes", "no namespaces, with which filters are evaded"),
    ("RestrictRealtime", "yes", "nothing waits in real time"),
    ("RestrictSUIDSGID", "yes", "no file that gives others root's rights"),
    ("LockPersonality", "yes", "only this kernel's own ABI"),
    ("MemoryDenyWriteExecute", "yes", "no code is made at run time"),
    ("SystemCallArchitectures", "native", "no second ABI beside the filter"),
    ("SystemCallErrorNumber", "EPERM", "a call that is not allowed fails, and the program says what failed"),
    ("IPAddressDeny", "any", "no IP packet: netlink and local sockets have none"),
)
"""Setting, value and reason of what every unit has."""


def lines(*does: Does) -> list[str]:
    """The lines of a unit's section [Service], with their reasons as comments."""
    return [line for setting, value, why in _settings(does) for line in (f"# {why}", f"{setting}={value}")]


def text(*does: Does) -> str:
    """:func:`lines` as a part of a unit's text."""
    return "\n".join(lines(*does))


def properties(*does: Does) -> list[str]:
    """The same as arguments of systemd-run."""
    return [f"--property={setting}={value}" for setting, value, _ in _settings(does)]


def _settings(does: tuple[Does, ...]) -> Iterator[tuple[str, str, str]]:
    needs = [each.value for each in does]
    without = {name for need in needs for name in need.without}
    yield from (setting for setting in ALL if setting[0] not in without)
    capabilities = [(need.capabilities, need.why) for need in needs]
    yield "CapabilityBoundingSet", *_joined(capabilities, "", "none: root's own files are enough")
    families = [(need.families, need.why) for need in needs]
    yield "RestrictAddressFamilies", *_joined(families, "AF_NETLINK", "no other: systemd-run takes no 'none'")
    written = {path for need in needs for path in need.writes}
    kept = " ".join(path for path in _READ_ONLY if path.removeprefix("-") not in written)
    yield "ReadOnlyPaths", kept, "systemd 257 leaves them writable beside ProtectKernelTunables"
    if written:
        yield "ReadWritePaths", *_joined([(need.writes, need.why) for need in needs], "", "")
    calls = [_CALLS, *((need.calls, need.why) for need in needs)]
    yield "SystemCallFilter", *_joined(calls, "", "")


def _joined(parts: list[tuple[tuple[str, ...], str]], nothing: str, why_nothing: str) -> tuple[str, str]:
    """The words of a setting, and the reasons of each."""
    whys: dict[tuple[str, ...], list[str]] = {}
    for words, why in parts:
        if words:
            whys.setdefault(words, []).append(why)
    reasons = "; ".join(f"{' '.join(words)}: {', and '.join(each)}" for words, each in whys.items())
    words = dict.fromkeys(word for each in whys for word in each)
    return " ".join(words) or nothing, reasons or why_nothing
