# SPDX-License-Identifier: Apache-2.0
"""Files other than netplan's that create VFs or set eswitch modes when a host boots, and for which ports.

Only files are read, in the places where an administrator or a former tool leaves such a thing. Of the files
that packages bring, those whose names speak of it are read, as there are hundreds. What names no port may
concern each one.
"""

import contextlib
import re
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase

from converge import Finding
from hostnic.boot import units
from hostnic.devices.model import Pf
from hostnic.devices.port import MLX5
from hostnic.system import System, list_names
from observed import Setting, Writer

from writers import netplan

SHIM = "/etc/sriov-netplan-shim/interfaces.yaml"
"""Of the tool that charms used before netplan had its keys (openstack-charmers/sriov-netplan-shim)."""

SETS = re.compile(r"sriov_numvfs|dev\s+eswitch\s+set|compat/devlink/mode|\bnumVfs\b")
"""The last two are of MLNX_OFED's drivers, and of sriov-network-operator's files."""
READS = re.compile(
    r"(?:\b(?:cat|grep)\s(?:[^\n;|&>]*\s)?|\[+\s+-\w\s+|<\s*)[^\s;|&>]*?(?:sriov_numvfs|compat/devlink/mode)"
)
SCRIPTS = (
    *("/etc/rc.local", "/etc/crontab", "/etc/cron.d", "/var/spool/cron/crontabs", "/etc/init.d"),
    *("/var/lib/cloud/scripts/per-boot", "/etc/cloud", "/etc/cloud/cloud.cfg.d", "/etc/modprobe.d"),
    *("/etc/sysfs.conf", "/etc/sysfs.d", "/etc/tmpfiles.d", "/run/tmpfiles.d"),
    *(f"/etc/network/{name}" for name in ("interfaces", "interfaces.d", "if-pre-up.d", "if-up.d")),
    *(f"/etc/NetworkManager/dispatcher.d{under}" for under in ("", "/pre-up.d")),
    *(f"/etc/networkd-dispatcher/{state}.d" for state in ("configured", "carrier", "degraded", "routable")),
    *("/etc/initramfs-tools/hooks", "/etc/dracut.conf.d", "/etc/libvirt/hooks"),
    *("/etc/mlnx_sriov", "/etc/mlnx-en.d", "/etc/infiniband", "/etc/mellanox", "/etc/sriov-operator/pci"),
)
"""Files, and directories of files, that run or apply at boot; the last ones are of other tools for VFs."""

INITRAMFS, DRACUT = "/etc/initramfs-tools/scripts", "/usr/lib/dracut/modules.d"
"""Directories of directories of scripts that the initramfs has; of dracut's, packages bring most."""

TUNED = ("/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned")
"""Where tuned looks for a profile (its consts.py; releases before 2.23 have no ``profiles``)."""

OVERRIDES = "/etc/driverctl.d"
"""A file for each PCI device, ``pci-0000:3b:00.2``, with the driver that driverctl binds it to at boot."""

USER_DATA = "/var/lib/cloud/instance/cloud-config.txt"
"""What cloud-init has merged of user and vendor data. Of its commands only bootcmd runs at each boot; runcmd
and scripts in user data have run once for this instance."""

UNITS = (units.DIRECTORY, "/run/systemd/system", "/usr/local/lib/systemd/system")
PACKAGED_UNITS = ("/usr/lib/systemd/system", "/lib/systemd/system")
RULES = ("/etc/udev/rules.d", "/run/udev/rules.d", "/usr/local/lib/udev/rules.d")
PACKAGED_RULES = ("/usr/lib/udev/rules.d", "/lib/udev/rules.d")
LINKS = tuple(f"{base}/systemd/network" for base in ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"))
CONNECTIONS = tuple(f"{base}/NetworkManager/system-connections" for base in ("/etc", "/run", "/usr/lib"))
SETTINGS = (
    "/etc/NetworkManager/NetworkManager.conf",
    "/etc/NetworkManager/conf.d",
    "/run/NetworkManager/conf.d",
)
SRIOV = re.compile(r"^\s*\[sriov\]", re.MULTILINE)
SPEAKING = re.compile(r"sriov|vfs?\b|mlx|mlnx|switchdev|eswitch|openibd", re.IGNORECASE)
OWN = ("ovn-offload-", "netplan-")
"""Units of these charms, and those that netplan makes of the files that netplan.py reads."""
STARTED = r"^\s*(?:Exec\w+|Environment(?:File)?)\s*=.*$"
PROGRAM = re.compile(
    r"/(?:usr/local|opt|etc|root|home|srv|var(?!/log)|(?:usr/)?lib/(?:udev|tuned))/[^\s\"';&|,)\]]+"
    r"|/(?:usr/)?s?bin/[^\s\"';&|]*(?:sriov|vfs|switchdev|eswitch)[^\s\"';&|]*"
)
WORD = r"(?<![\w.:-]){}(?![\w.-])"
DEVICE = re.compile(
    r"/sys/class/net/([^/\s\"']+)/|(?:devices/(?:\S*/)?|pci/)([0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7])"
)
EXPLICIT = re.compile(
    r"\b(?:en[ops][0-9]|enx[0-9a-f]{12}|eth[0-9])|[0-9a-f]{2}:[01][0-9a-f]\.[0-7]|(?:[0-9a-f]{2}:){5}"
)
"""A text that names a port, whichever it is."""
OPEN = re.compile(r"\*|15b3|mlx5|lspci|\bfind\b|[$`(]\s*ls\b")
"""A text that looks for its ports."""


def others(system: System, pfs: Collection[Pf]) -> tuple[tuple[Writer, ...], tuple[Finding, ...]]:
    """The files that set VFs or modes at boot, and findings about such that cannot be read."""
    findings: list[Finding] = []
    found = [*_units(system, pfs, findings), *_links(system, pfs), *_connections(system, pfs)]
    found += [*_rules(system, pfs), *_overrides(system, pfs)]
    for path, text in _profiles(system):
        found += _started(system, path, _plain(text), pfs, path, "tuned", ".+")
    under = [f"{INITRAMFS}/{name}" for name in list_names(system, INITRAMFS)]
    under += [f"{DRACUT}/{name}" for name in list_names(system, DRACUT) if SPEAKING.search(name)]
    for path in (path for place in (*SCRIPTS, *under) for path in _in(system, place)):
        text = _plain(_read(system, path))
        found += _started(system, path, text, pfs, path, "a script or setting", ".+")
    for text in _boot_commands(_read(system, USER_DATA)):
        found += _started(system, USER_DATA, text, pfs, "bootcmd", "cloud-init's user data", ".+")
    return tuple(found), tuple(findings)


def _profiles(system: System) -> Iterator[tuple[str, str]]:
    """Path and text of the profiles that tuned applies at boot, if it runs then, with those they include."""
    chosen = ""
    if units.enabled(system, "tuned.service"):
        chosen = " ".join(
            _read(system, f"/etc/tuned/{name}") for name in ("active_profile", "post_loaded_profile")
        )
    names = chosen.split()
    for name in names:  # which grows
        found = ((f"{place}/{name}", _read(system, f"{place}/{name}/tuned.conf")) for place in TUNED)
        directory, text = next((each for each in found if each[1]), ("", ""))
        included = " ".join(re.findall(r"^\s*include\s*=(.+)", text, re.MULTILINE))
        names += [each for each in re.split(r"[\s,;]+-?", f" {included}") if each and each not in names]
        yield f"{directory}/tuned.conf", text.replace("${i:PROFILE_DIR}", directory)


def _overrides(system: System, pfs: Collection[Pf]) -> Iterator[Writer]:
    """Drivers that driverctl gives a port, or its VFs before their eswitch is in its mode."""
    for name in list_names(system, OVERRIDES):
        path, device = f"{OVERRIDES}/{name}", name.removeprefix("pci-")
        driver = _read(system, path).strip()
        own = {device} if driver not in ("", MLX5) else set[str]()
        ports = frozenset(pf.bdf for pf in pfs if pf.bdf in own or any(vf.bdf == device for vf in pf.vfs))
        yield Writer(path, (Setting(device, (driver,), ports),), "driverctl")


def _boot_commands(user_data: str) -> Iterator[str]:
    """The commands of bootcmd; nothing of a file that is no YAML, which cloud-init does not read either."""
    if "bootcmd" in user_data:  # most have none, and YAML takes its time
        with contextlib.suppress(ValueError):
            yield "\n".join(netplan.words(user_data, "bootcmd"))


def _units(system: System, pfs: Collection[Pf], findings: list[Finding]) -> Iterator[Writer]:
    """Enabled units that do it themselves, or whose program does."""
    for name in sorted(_enabled(system)):
        if name.startswith(OWN):
            continue
        path, text = _unit(system, name)
        if "sriov-netplan-shim" in text or name.startswith("sriov-netplan-shim"):
            yield from _shim(system, name, pfs, findings)
            continue
        yield from _started(system, path, text, pfs, name, "a unit")
    for place in (f"{directory}/{name}" for directory in UNITS for name in list_names(system, directory)):
        for path in _in(system, place) if place.endswith(".d") else ():
            yield from _started(system, path, _read(system, path), pfs, path, "a drop-in of a unit")


def _started(
    system: System, path: str, text: str, pfs: Collection[Pf], name: str, tool: str, says: str = STARTED
) -> Iterator[Writer]:
    """What a text says and starts: ports may be named by any of these files."""
    started = "\n".join(re.findall(says, text, re.MULTILINE))
    programs = _programs(system, started)
    programs |= _programs(system, "\n".join(programs.values()))
    ports = _named("\n".join((started, *programs.values())), pfs)
    for where, content in {path: _plain(text), **programs}.items():
        if SETS.search(content):
            yield Writer(where, (Setting(name, _lines(content), ports),), tool)


def _programs(system: System, text: str) -> dict[str, str]:
    """Programs and files that a text names and no package brings, by their paths: without comments."""
    return {path: _plain(_read(system, path)) for path in PROGRAM.findall(text)}


def _enabled(system: System) -> set[str]:
    """Units that something wants or requires at boot; for a timer or path unit, its service."""
    found: set[str] = set()
    for directory in (units.DIRECTORY, *PACKAGED_UNITS[:1]):
        for entry in list_names(system, directory):
            if entry.endswith((".wants", ".requires")):
                names = list_names(system, f"{directory}/{entry}")
                found.update(n for n in names if directory == units.DIRECTORY or SPEAKING.search(n))
    return {re.sub(r"\.(timer|path)$", ".service", name) for name in found if "." in name}


def _unit(system: System, name: str) -> tuple[str, str]:
    """Where a unit is and what it says, with its instance put in; empty for one that does not count."""
    stem, at, rest = name.partition("@")
    instance = rest.rpartition(".")[0]
    template = f"{stem}@.{rest.rpartition('.')[2]}" if at else name
    for directory in (*UNITS, *(PACKAGED_UNITS if SPEAKING.search(name) else ())):
        for path in dict.fromkeys((f"{directory}/{name}", f"{directory}/{template}")):
            if text := _read(system, path):
                return path, re.sub(r"%[iI]", lambda _: instance, text)
    return name, ""


def _shim(system: System, unit: str, pfs: Collection[Pf], findings: list[Finding]) -> Iterator[Writer]:
    """sriov-netplan-shim's file: a mapping ``interfaces`` of names, each with ``num_vfs``."""
    try:
        settings = tuple(
            Setting(name, (unit,), _named(f"{name} {' '.join(told)}", pfs))
            for name, told in netplan.interfaces(system.files.read(SHIM))
        )
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        findings.append(netplan.unreadable(SHIM, error, f"fix it, or systemctl disable {unit}"))
        return
    yield Writer(SHIM, settings, "sriov-netplan-shim")


def _links(system: System, pfs: Collection[Pf]) -> Iterator[Writer]:
    """systemd.link(5): the option, or a section for a VF, from which udev takes how many there are."""
    for directory in LINKS:
        for name in list_names(system, directory):
            if not name.endswith(".link"):
                continue
            path = f"{directory}/{name}"
            drop_ins = [_read(system, each) for each in _in(system, f"{path}.d") if each.endswith(".conf")]
            sections = _sections("\n".join((_read(system, path), *drop_ins)))
            there = {
                "SR-IOVVirtualFunctions": any(k == "SR-IOVVirtualFunctions" and v for _, k, v in sections),
                "[SR-IOV]": any(section == "SR-IOV" for section, _, _ in sections),
            }
            keys = tuple(key for key, given in there.items() if given)
            match = [(key, value) for section, key, value in sections if section == "Match" and value]
            if keys and match:
                ports = frozenset(pf.bdf for pf in pfs if all(_meets(pf, *each) for each in match))
                yield Writer(path, (Setting(name, keys, ports),), "udev's .link file")


def _connections(system: System, pfs: Collection[Pf]) -> Iterator[Writer]:
    """NetworkManager's keyfiles with a section ``sriov`` (nm-settings-keyfile(5)).

    It sets the number of VFs whenever it activates the connection, to 0 where the section names none.
    """
    names = {
        "interface-name": "OriginalName",
        "mac-address": "MACAddress",
        "path": "Path",
        "driver": "Driver",
    }
    for path in (path for directory in CONNECTIONS for path in _in(system, directory)):
        text = _read(system, path)
        if SRIOV.search(text):
            given = [(key, value) for _, key, value in _sections(text) if value and key in names]
            match = [(names[key], value.replace(";", " ")) for key, value in given]
            ports = frozenset(pf.bdf for pf in pfs if all(_meets(pf, *each) for each in match))
            yield Writer(path, (Setting(path.rpartition("/")[2], ("[sriov]",), ports),), "NetworkManager")
    for path in (path for place in SETTINGS for path in _in(system, place)):
        if "sriov-num-vfs" in (text := _plain(_read(system, path))):  # NetworkManager.conf(5)
            matched = re.sub(r"\b(?:interface-name|mac):=?", " ", text)
            named = _named(matched, pfs) if "match-device" in text else None
            yield Writer(path, (Setting(path, ("sriov-num-vfs",), named),), "NetworkManager")


def _sections(text: str) -> list[tuple[str, str, str]]:
    section, found = "", list[tuple[str, str, str]]()
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line.strip("[]")
        elif "=" in line and not line.startswith(("#", ";")):
            key, _, value = line.partition("=")
            found.append((section, key.strip(), value.strip()))
    return found


def _meets(pf: Pf, key: str, value: str) -> bool:
    """Whether a port meets one condition of ``[Match]``; those about anything else count as met."""
    if key in ("MACAddress", "PermanentMACAddress"):
        return _digits(pf.mac or "-") in {_digits(each) for each in value.split()}
    if key == "Property":
        name, _, wanted = value.partition("=")
        return _allows(pf, "ENV", name, "==", wanted)
    actual = {
        "OriginalName": (pf.netdev or "", "eth0"),  # udev asks by the kernel's first name
        "Path": (f"pci-{pf.bdf}",),
        "Driver": (pf.port.driver or "",),
        "Type": ("ether",),
    }.get(key)
    if actual is None:
        return True
    patterns = value.removeprefix("!").split()
    return any(fnmatchcase(each, pattern) for each in actual for pattern in patterns) != value.startswith("!")


def _digits(mac: str) -> str:
    return re.sub("[^0-9a-f]", "", mac.lower())


CONDITION = re.compile(r'(\w+)(?:\{([^}]*)\})?\s*(==|!=)\s*"([^"]*)"')
ASSIGNED = re.compile(r'ATTR\{[^}]*sriov_numvfs\}\s*[+:]?=(?!=)\s*"')
RUNS = re.compile(r'(?:RUN|PROGRAM|IMPORT|ENV\{SYSTEMD_WANTS\})(?:\{\w+\})?\s*[+:]?={1,2}\s*"([^"]*)"')


def _rules(system: System, pfs: Collection[Pf]) -> Iterator[Writer]:
    """Rules of udev that assign the attribute, or run something that sets it."""
    for directory in (*RULES, *PACKAGED_RULES):
        for name in list_names(system, directory):
            if not name.endswith(".rules") or (directory in PACKAGED_RULES and not SPEAKING.search(name)):
                continue
            path, settings = f"{directory}/{name}", list[Setting]()
            for line in _plain(_read(system, path)).replace("\\\n", " ").splitlines():
                run = " ".join(RUNS.findall(line))
                run = "\n".join((run, *(_unit(system, x)[1] for x in run.split() if x.endswith(".service"))))
                run = "\n".join((run, *_programs(system, run).values()))
                if ASSIGNED.search(line) or SETS.search(run):
                    settings.append(Setting(name, ("the rule with sriov_numvfs",), _of_rule(line, run, pfs)))
            if settings:
                yield Writer(path, tuple(settings), "a udev rule")


def _of_rule(line: str, run: str, pfs: Collection[Pf]) -> frozenset[str]:
    """The ports that meet a rule's conditions, and that its program names, if it names any device."""
    explicit = [a or b for a, b in DEVICE.findall(run) if not re.search(r"[$%*]", a or b)]
    named = _named(run, pfs) if explicit else None
    return frozenset(
        pf.bdf
        for pf in pfs
        if all(_allows(pf, *each) for each in CONDITION.findall(line)) and (named is None or pf.bdf in named)
    )


def _allows(pf: Pf, key: str, attribute: str, operator: str, value: str) -> bool:
    vendor, _, device = pf.port.device.partition(":")
    actual: tuple[str, ...] | None = {
        "KERNEL": (pf.netdev or "", pf.bdf, "eth0"),
        "NAME": (pf.netdev or "",),
        "KERNELS": (pf.bdf,),
        "DRIVER": (pf.port.driver or "",),
        "DRIVERS": (pf.port.driver or "",),
    }.get(key)
    if key in ("ATTR", "ATTRS"):
        actual = {
            "address": (pf.mac or "",),
            "vendor": (f"0x{vendor}",),
            "device": (f"0x{device}",),
            "device/vendor": (f"0x{vendor}",),
            "device/device": (f"0x{device}",),
        }.get(attribute)
    elif key == "ENV":
        actual = {
            "INTERFACE": (pf.netdev or "", "eth0"),
            "PCI_SLOT_NAME": (pf.bdf,),
            "ID_PATH": (f"pci-{pf.bdf}",),
            "ID_NET_DRIVER": (pf.port.driver or "",),
        }.get(attribute)
    if actual is None or (operator == "!=" and key in ("KERNEL", "ENV")):
        return True
    same = any(fnmatchcase(each, pattern) for each in actual for pattern in value.split("|"))
    return same == (operator == "==")


def _named(text: str, pfs: Collection[Pf]) -> frozenset[str] | None:
    """The ports that a text names by netdev, PCI or MAC address; None if it looks for its ports itself."""
    found: set[str] = set()
    for pf in pfs:
        names = (pf.netdev, *pf.altnames, pf.bdf, pf.bdf.removeprefix("0000:"), pf.mac)
        if any(re.search(WORD.format(re.escape(name)), text, re.IGNORECASE) for name in names if name):
            found.add(pf.bdf)
    devices = {a or b for a, b in DEVICE.findall(text)}
    patterns = [device for device in devices if re.search(r"[*?\[]", device) and not device.startswith("*")]
    found.update(pf.bdf for pf in pfs if any(fnmatchcase(pf.netdev or "", each) for each in patterns))
    fixed = devices and not any(re.search(r"[$%{]|^\*", device) for device in devices)
    if found or fixed:
        return frozenset(found)
    return None if OPEN.search(text) or (devices and not EXPLICIT.search(text)) else frozenset()


def _lines(text: str) -> tuple[str, ...]:
    """What to remove, in words."""
    if "numVfs" in text:
        return ("the port from the policies of sriov-network-operator, and then numVfs",)
    found = (re.sub(r"\s+", " ", each) for each in SETS.findall(text))
    return (f"the lines with {' and '.join(dict.fromkeys(found))}",)


def _plain(text: str) -> str:
    """Without lines that are comments, and without what only reads."""
    return READS.sub("", "\n".join(x for x in text.splitlines() if not x.lstrip().startswith(("#", ";"))))


def _in(system: System, place: str) -> list[str]:
    """The file at ``place``, or the files in the directory there."""
    try:
        return [f"{place}/{name}" for name in sorted(system.files.listdir(place))]
    except NotADirectoryError:
        return [place]
    except OSError:
        return []


def _read(system: System, path: str) -> str:
    """A file's text; nothing where there is none, or where it cannot be read."""
    try:
        return system.files.read(path)
    except OSError:
        return ""
