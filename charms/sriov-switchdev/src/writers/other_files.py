# SPDX-License-Identifier: Apache-2.0
"""Files other than netplan's that set VFs or modes when a host boots: a word before the first reboot.

A line that sets them and names a port is surely about that port. What may come to any port is told as such;
what names other ports only, or other makers' NICs, is not told. No program is understood: what is not found
here shows once it has written (unseen.py).
"""

import contextlib
import re
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase

from hostnic.boot import units
from hostnic.devices.model import Pf
from hostnic.system import System, list_names, read_text
from observed import Setting, Writer

from writers import netplan

SETS = re.compile(
    r"(?<![\w-])sriov_numvfs\b(?![.-])|mlx5_num_vfs|\bd(?:ev?)?\s+e(?:s(?:w\w*)?)?\s+s(?:et?)?\b|\bnum_?vfs\b"
    r"|compat/devlink/mode|SR-IOVVirtualFunctions|\[(?:sriov|SR-IOV)\]|sriov-num-vfs",
    re.IGNORECASE,
)
"""MLNX_OFED's, Kubernetes' and sriov-netplan-shim's words, too; devlink takes its words cut short."""
READS = re.compile(
    r"(?:\b(?:cat|grep)\s(?:[^\n;|&>]*\s)?|\[+\s+-\w\s+|<\s*)[^\s;|&>]*?(?:sriov_numvfs|compat/devlink/mode)"
    r"|\bopen\([^\n]*?sriov_numvfs[\"'](?:\.format\([^)]*\))?\)+(?=\.read|\s+as\b)"
    r"|sriov_numvfs[\"']\)*(?=\.read_text)|sriov_numvfs\}\s*[=!]=|\s#\s[^\"'`]*$"
)
"""Where a line only reads or compares them, or has a comment."""
PROGRAM = re.compile(
    r"/(?:usr/local|opt|etc|root|home|srv|var(?!/log)|(?:usr/)?lib/udev)/[^\s\"';&|,)\]]+"
    r"|/(?:usr/)?s?bin/[^\s\"';&|]*(?:sriov|vfs|switchdev|eswitch)[^\s\"';&|]*"
)
EXPLICIT = re.compile(
    r"\b(?:en[ops]|eth)(?=[\d$*{])|\benx[0-9a-f]{12}|[0-9a-f]{2}:[01][0-9a-f]\.|(?:\w\w[:-]){5}"
)
OURS = re.compile(r"15b3|mlx|mellanox|connectx", re.IGNORECASE)
MAKERS = re.compile(r"\b(?:igb|ixgbe|i40e|ice|bnxt_en|qede|cxgb4|sfc|nfp|ionic|(?:0x)?8086|Intel|Broadcom)\b")
TARGET = re.compile(r"/sys/(?:class/net|bus/pci/devices)/([\w:.]*[$*{%]?)")
NEGATES = re.compile(r"except:|=!|!=")
SEARCHES = re.compile(r"(?<![\w.])\*|lspci|\bfind\b|bonding/slaves|[$`(]\s*ls\b|except:|=!")
VARIES = re.compile(rf"[*$%{{]|{NEGATES.pattern}")
SECTION = re.compile(r"^(?=\[device|[ \t]*(?:iface|auto|allow-\w+)[ \t]+(?!\$))", re.MULTILINE)
CHOOSES = re.compile(
    r"(?:KERNELS?|NAME|DRIVERS?|\{(?:address|(?:device/)?(?:vendor|device)|INTERFACE)\}"
    r"|\{(?:PCI_ID|PCI_SLOT_NAME|ID_PATH|ID_NET_DRIVER|ID_VENDOR_ID|ID_MODEL_ID)\})"
    r'\s*==\s*"([^"]*)"'
)
CONDITION = re.compile(r"\b(?!ACTION|SUBSYSTEM)[A-Z]+(?:\{[^}]*\})?\s*[=!]=")
"""The conditions of a udev rule that choose a port, and all of its conditions."""
EXTERNAL = re.compile(r'externallymanaged"?:\s*true\b', re.IGNORECASE)
"""sriov-network-operator only checks number and mode of a port, and takes VFs that others have created."""
Bdfs = frozenset[str]
BACKUP = re.compile(r"~$|\.dpkg-\w+$")

BASES = ("/etc", "/run", "/usr/local/lib")
# Files, and directories of files: of the first each line stands for itself
LINES = (
    *("/etc/rc.local", "/etc/crontab", "/etc/cron.d", "/var/spool/cron/crontabs", "/etc/init.d"),
    *("/var/lib/cloud/scripts/per-boot", "/etc/modprobe.d", "/etc/sysfs.conf", "/etc/sysfs.d"),
    *("/etc/network/if-pre-up.d", "/etc/network/if-up.d"),
    *(f"/etc/NetworkManager/dispatcher.d{under}" for under in ("", "/pre-up.d")),
    *("/etc/initramfs-tools/hooks", "/etc/dracut.conf.d", "/etc/libvirt/hooks"),
    *("/etc/mlnx_sriov", "/etc/mlnx-en.d", "/etc/infiniband", "/etc/mellanox"),
    *(f"{base}/{name}" for base in BASES for name in ("tmpfiles.d", "udev/rules.d")),
)
BELOW = ("/etc/networkd-dispatcher", "/etc/initramfs-tools/scripts")  # directories of such directories
WHOLE = (  # of these, each section says which port it is about
    *("/etc/network/interfaces", "/etc/network/interfaces.d"),
    *(f"{base}/systemd/network" for base in BASES),
    *(f"{base}/NetworkManager/{name}" for base in BASES[:2] for name in ("system-connections", "conf.d")),
    *("/etc/NetworkManager/NetworkManager.conf", "/etc/sriov-operator/pci"),
)
SHIM, OTHER = "sriov-netplan-shim", "a script or setting"
USER_DATA = "/var/lib/cloud/instance/cloud-config.txt"
CLOUD_INIT = (USER_DATA, "/etc/cloud", "/etc/cloud/cloud.cfg.d")


def others(system: System, pfs: Collection[Pf]) -> Iterator[Writer]:
    """The files that set VFs or modes at boot, or may."""
    yield from _units(system, pfs)
    below = [f"{place}/{name}" for place in BELOW for name in list_names(system, place)]
    for path in (path for place in (*LINES, *below) for path in _files(system, place)):
        yield from _of(system, path, read_text(system, path), pfs, path)
    for path in (path for place in WHOLE for path in _files(system, place)):
        tool = "sriov-network-operator" if "operator" in path else OTHER
        for part in SECTION.split(read_text(system, path) or ""):
            for writer in _of(system, path, " ".join(_plain(part)), pfs, path, tool):
                yield writer._replace(creates=not EXTERNAL.search(part))
    for path in (path for place in CLOUD_INIT for path in _files(system, place)):
        if "bootcmd" in (text := (read_text(system, path) or "")):  # most have none, and YAML takes its time
            with contextlib.suppress(ValueError):  # cloud-init does not read it either, nor runcmd again
                yield from _of(system, path, "\n".join(netplan.words(text, "bootcmd")), pfs, "bootcmd")


def _units(system: System, pfs: Collection[Pf]) -> Iterator[Writer]:
    """Enabled units of the administrator's, and drop-ins: what they say, and what they start."""
    entries = [name for name in list_names(system, units.DIRECTORY) if name.endswith((".wants", ".requires"))]
    names = {name for entry in entries for name in list_names(system, f"{units.DIRECTORY}/{entry}")}
    for name in sorted(names | {re.sub(r"\.(timer|path)$", ".service", name) for name in names}):
        stem, at, instance = name.removesuffix(".service").partition("@")
        path = f"{units.DIRECTORY}/{stem}@.service" if at else f"{units.DIRECTORY}/{name}"
        if name.startswith(SHIM):
            path = f"/etc/{SHIM}/interfaces.yaml"
            yield from _of(system, path, " ".join(_plain(read_text(system, path))), pfs, name, SHIM)
        elif name == "tuned.service":
            for profile in (read_text(system, "/etc/tuned/active_profile") or "").split():
                path = f"/etc/tuned/{profile}/tuned.conf"
                yield from _of(system, path, read_text(system, path), pfs, path, "tuned")
        elif not name.startswith(("ovn-offload-", "netplan-")):
            text = (read_text(system, path) or "").replace("%I", "%i").replace("%i", instance)
            yield from _of(system, path, text, pfs, name, "a unit")
    for place in (name for name in list_names(system, units.DIRECTORY) if name.endswith(".service.d")):
        for path in _files(system, f"{units.DIRECTORY}/{place}"):
            yield from _of(system, path, read_text(system, path), pfs, path)


def _of(
    system: System, path: str, text: str | None, pfs: Collection[Pf], name: str, tool: str = OTHER
) -> Iterator[Writer]:
    """Yield the settings of a text and of the programs that it names; those may get their ports from it."""
    lines = _plain(text)
    programs = {each: _plain(read_text(system, each)) for each in PROGRAM.findall("\n".join(lines))}
    for where, own in {path: lines, **programs}.items():
        writes, context = [line for line in own if SETS.search(line)], "\n".join((*lines, *own))
        starts = (_ports(line, pfs, line) for line in lines if where in line)
        told = Bdfs().union(*(each or () for each in starts))
        keys = dict.fromkeys(" ".join(key.split()) for line in writes for key in SETS.findall(line))
        remove = (f"the lines with {' and '.join(keys)}",)
        ports = dict.fromkeys(_ports(line, pfs, context, told) for line in writes)
        if settings := tuple(Setting(name, remove, each) for each in ports):
            yield Writer(where, settings, tool)


def _ports(line: str, pfs: Collection[Pf], context: str, told: Bdfs = frozenset()) -> Bdfs | None:
    """The ports that a line names, or its program is ``told``; None for any, as far as ``context`` tells."""
    asked = CHOOSES.findall(line)
    pfs = [pf for pf in pfs if all(_has(pf, value) for value in asked)]
    sure = asked and len(asked) == len(CONDITION.findall(line)) and "GOTO" not in context
    if (paths := " ".join(re.findall(r"/sys/[^\s;]+", line))) and not VARIES.search(paths):
        line = paths  # beside it, ports are there for something else
    if (named := _named(line, pfs)) or not pfs or (EXPLICIT.search(line) and not VARIES.search(line)):
        return None if named and NEGATES.search(line) else named
    if sure:
        return frozenset(pf.bdf for pf in pfs)
    if MAKERS.search(context) and not OURS.search(context):
        return frozenset()
    if told and not SEARCHES.search(context):
        return told
    begins = tuple(re.findall(r"([\w:.]{3,})(?=[$*{%])", line))
    led = frozenset(pf.bdf for pf in pfs if any(name.startswith(begins) for name in _names(pf)))
    if all(map(EXPLICIT.search, TARGET.findall(line) or "-")):
        return led
    if led or _named(context, pfs) or SEARCHES.search(context) or OURS.search(context):
        return None
    return frozenset() if EXPLICIT.search(context) else None


def _has(pf: Pf, value: str) -> bool:
    """Whether a condition of a udev rule is about a port; the kernel calls it ethN first."""
    kind = (pf.port.device, *(f"0x{part}" for part in pf.port.device.split(":")), pf.port.driver or "")
    words = (*_names(pf), *kind, f"pci-{pf.bdf}", "eth0")
    return any(fnmatchcase(word, one) for one in value.lower().split("|") for word in words)


def _names(pf: Pf) -> Iterator[str]:
    mac = pf.mac or ""
    named = (pf.netdev, *pf.altnames, pf.bdf, pf.bdf.removeprefix("0000:"), mac, mac.replace(":", "-"))
    return (name.lower() for name in named if name)


def _named(text: str, pfs: Collection[Pf]) -> Bdfs:
    """The ports that a text names by netdev, PCI or MAC address."""
    said, word = text.replace("\\:", ":").lower(), r"(?<![\w.-])(?<!\d:){}(?![\w.-])"
    return frozenset(p.bdf for p in pfs for x in _names(p) if re.search(word.format(re.escape(x)), said))


def _plain(text: str | None) -> list[str]:
    """Its lines, without comments and without what only reads; nothing of a compiled program."""
    joined = "" if text is None or "\0" in text else text.replace("\\\n", " ")
    return [READS.sub("", line) for line in joined.splitlines() if not line.lstrip().startswith(("#", ";"))]


def _files(system: System, place: str) -> list[str]:
    """The file at ``place``, or the files in the directory there, without editors' and dpkg's copies."""
    names = list_names(system, place)
    return [f"{place}/{name}" for name in names if not BACKUP.search(name)] if names else [place]
