# SPDX-License-Identifier: Apache-2.0
"""Files other than netplan's that create VFs or set eswitch modes when a host boots, and for which ports.

Only files are read, in the places where an administrator or a former tool leaves such a thing. Of the files
that packages bring, those whose names speak of it are read, as there are hundreds. What names no port may
concern each one.
"""

import contextlib
import re
from collections.abc import Collection, Iterator

from converge import Finding
from hostnic.boot import units
from hostnic.devices.model import Pf
from hostnic.devices.port import MLX5
from hostnic.system import System, list_names
from observed import Judged, Setting, Writer

from writers import netplan
from writers.keyfiles import of_connections, of_links
from writers.rules import of_rules
from writers.services import of_units
from writers.texts import SPEAKING, files_in, in_force, of_text, plain, read, stanzas

IFUPDOWN = "/etc/network/interfaces"
"""Also of the directory beside it, interfaces.d."""

STATES = ("configuring", "configured", "off", "dormant", "no-carrier", "carrier", "degraded", "routable")
"""Of an interface, as networkd-dispatcher calls them."""

TMPFILES = tuple(f"{base}/tmpfiles.d" for base in ("/etc", "/run", "/usr/local/lib", "/usr/lib"))  # noqa: S108 - none in /tmp

SCRIPTS = (
    *("/etc/rc.local", "/etc/crontab", "/etc/cron.d", "/var/spool/cron/crontabs", "/etc/init.d"),
    *("/var/lib/cloud/scripts/per-boot", "/etc/modprobe.d"),
    *("/etc/sysfs.conf", "/etc/sysfs.d"),
    *(f"/etc/network/{name}" for name in ("interfaces", "interfaces.d", "if-pre-up.d", "if-up.d")),
    *(f"/etc/NetworkManager/dispatcher.d{under}" for under in ("", "/pre-up.d")),
    *(f"{base}/networkd-dispatcher/{each}.d" for base in ("/etc", "/usr/lib") for each in STATES),
    *("/etc/initramfs-tools/hooks", "/etc/dracut.conf.d", "/etc/libvirt/hooks"),
    *("/etc/mlnx_sriov", "/etc/mlnx-en.d", "/etc/infiniband", "/etc/mellanox"),
)
"""Files, and directories of files, that run or apply at boot; the last ones are of other tools for VFs."""

OPERATOR = "/etc/sriov-operator/pci"
"""A file for each port of a node of Kubernetes, with what sriov-network-operator has set there."""

OPERATORS_UNIT = "/etc/sriov-operator/sriov-interface-config.yaml"
"""What its unit sets when the host boots, if the operator has mode systemd: all ports in one file."""

EXTERNAL = re.compile(r'externallymanaged"?:\s*true\b', re.IGNORECASE)
"""The operator only checks number and mode of a port, and takes VFs that somebody else has created."""

INITRAMFS, DRACUT = "/etc/initramfs-tools/scripts", "/usr/lib/dracut/modules.d"
"""Directories of directories of scripts that the initramfs has; of dracut's, packages bring most."""

TUNED = ("/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned")
"""Where tuned looks for a profile (its consts.py; releases before 2.23 have no ``profiles``)."""

OVERRIDES = "/etc/driverctl.d"
"""A file for each PCI device, ``pci-0000:3b:00.2``, with the driver that driverctl binds it to at boot."""

USER_DATA = "/var/lib/cloud/instance/cloud-config.txt"
"""What cloud-init has merged of user and vendor data."""

CLOUD_INIT = (USER_DATA, "/etc/cloud", "/etc/cloud/cloud.cfg.d")
"""Of cloud-init's commands only bootcmd runs at each boot; runcmd and scripts in user data have run once for
this instance."""


def others(system: System, pfs: Collection[Pf]) -> Judged:
    """The files that set VFs or modes at boot."""
    findings: list[Finding] = []
    found = [*of_units(system, pfs, findings), *of_links(system, pfs), *of_connections(system, pfs)]
    found += [*of_rules(system, pfs), *_overrides(system, pfs)]
    for path, text in _profiles(system):
        found += of_text(system, path, plain(text), pfs, path, "tuned", ".+")
    under = [f"{INITRAMFS}/{name}" for name in list_names(system, INITRAMFS)]
    under += in_force(system, TMPFILES, ".conf")
    under += [f"{DRACUT}/{name}" for name in list_names(system, DRACUT) if SPEAKING.search(name)]
    for path in (path for place in (*SCRIPTS, *under) for path in files_in(system, place)):
        text = plain(read(system, path))
        for part in stanzas(text) if path.startswith(IFUPDOWN) else [text]:
            found += of_text(system, path, part, pfs, path, "a script or setting", ".+")
    interfaces = re.split(r"(?=- pciaddress:)", read(system, OPERATORS_UNIT).replace("numvfs", "numVfs"))
    of_operator = [(OPERATORS_UNIT, text) for text in interfaces]
    of_operator += [(path, read(system, path)) for path in files_in(system, OPERATOR)]
    for path, text in of_operator:
        of_port = of_text(system, path, text, pfs, path, "sriov-network-operator", ".+")
        found += (writer._replace(creates=not EXTERNAL.search(text)) for writer in of_port)
    for path in (path for place in CLOUD_INIT for path in files_in(system, place)):
        for text in _boot_commands(read(system, path)):
            found += of_text(system, path, text, pfs, "bootcmd", "cloud-init", ".+")
    return tuple(found), tuple(findings)


def _profiles(system: System) -> Iterator[tuple[str, str]]:
    """Path and text of the profiles that tuned applies at boot, if it runs then, with those they include."""
    chosen = ""
    if units.enabled(system, "tuned.service"):
        chosen = " ".join(
            read(system, f"/etc/tuned/{name}") for name in ("active_profile", "post_loaded_profile")
        )
    names = chosen.split()
    for name in names:  # which grows
        found = ((f"{place}/{name}", read(system, f"{place}/{name}/tuned.conf")) for place in TUNED)
        directory, text = next((each for each in found if each[1]), ("", ""))
        included = " ".join(re.findall(r"^\s*include\s*=(.+)", text, re.MULTILINE))
        names += [each for each in re.split(r"[\s,;]+-?", f" {included}") if each and each not in names]
        yield f"{directory}/tuned.conf", text.replace("${i:PROFILE_DIR}", directory)


def _overrides(system: System, pfs: Collection[Pf]) -> Iterator[Writer]:
    """Drivers that driverctl gives a port, or its VFs before their eswitch is in its mode."""
    for name in list_names(system, OVERRIDES):
        path, device = f"{OVERRIDES}/{name}", name.removeprefix("pci-")
        driver = " ".join(read(system, path).split()[:1])
        own = {device} if driver not in ("", MLX5) else set[str]()
        ports = frozenset(pf.bdf for pf in pfs if pf.bdf in own or any(vf.bdf == device for vf in pf.vfs))
        yield Writer(path, (Setting(device, (driver,), ports),), "driverctl")


def _boot_commands(user_data: str) -> Iterator[str]:
    """The commands of bootcmd; nothing of a file that is no YAML, which cloud-init does not read either."""
    if "bootcmd" in user_data:  # most have none, and YAML takes its time
        with contextlib.suppress(ValueError):
            yield "\n".join(netplan.words(user_data, "bootcmd"))
