# SPDX-License-Identifier: Apache-2.0
"""The files that the charm installs on a host: boot copy, units, udev rule, desired state."""

from collections.abc import Iterable

import record
from converge import Disruption, Plan, Step
from desired import Desired
from hostnic.boot import Installed, installed, off, sandbox, units
from hostnic.boot.bootcopy import BootCopy
from hostnic.boot.sandbox import Does
from hostnic.ops.files import RemoveFile
from hostnic.system import HostStep, System

from boot import bootfile

_BOOT = ("boot", "boot.bootfile", "boot.main", "observe", "record")
_PLAN = ("desired", "nic", "nic.before", "nic.judge", "observed", "plan")
_SHARED = ("charmkit", "charmkit.fabric")
COPY = BootCopy("roce-qos", (*_BOOT, *_PLAN, *_SHARED))
"""The part of this charm that the units run: nothing that speaks to Juju or reads options."""

BOOT = "ovn-offload-roce-qos.service"
AGAIN = "ovn-offload-roce-qos-again.service"
ENABLED = (BOOT,)

RULE = "/etc/udev/rules.d/71-ovn-offload-roce-qos.rules"

_HEADER = "# Installed by the charm roce-qos; local changes are overwritten.\n"

_SANDBOX = sandbox.text(Does.NETLINK, Does.PCI, Does.RDMA, Does.LLDP, Does.STARTS_UNITS)

# Two ports that roll wait up to 45 s each for LACP; the bond itself may take 90 s to form.
_TIMEOUT_S = 300

BOOT_UNIT = f"""{_HEADER}
[Unit]
Description=Lossless RoCE on the ports of this host
{off.CONDITION}
After=network.target ovn-offload-sriov-early.service ovn-offload-sriov-bind.service sys-kernel-config.mount
Before=libvirt-guests.service nova-compute.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={COPY.command} boot
TimeoutStartSec={_TIMEOUT_S}
{_SANDBOX}

[Install]
WantedBy=multi-user.target
"""

AGAIN_UNIT = f"""{_HEADER}
[Unit]
Description=Lossless RoCE again, after a port or an RDMA device was added anew
{off.CONDITION}
After={BOOT} ovn-offload-sriov-restore.service
StartLimitIntervalSec=0

[Service]
Type=oneshot
ExecStart={COPY.command} again
TimeoutStartSec={_TIMEOUT_S}
{_SANDBOX}
"""


def rule(wanted: Desired) -> str:
    """The udev rule that has systemd start the second unit for an uplink or RDMA device that appears.

    Devices that appear before the boot unit has begun are left to that unit.
    """
    lines: list[str] = []
    for bdf in wanted.ports:
        starts = f'TAG+="systemd", ENV{{SYSTEMD_WANTS}}+="{AGAIN}"'
        # udev renames netdevs: systemd gets the device with its final name in the event "move".
        own = f'ACTION=="add|move", KERNELS=="{bdf}", TEST=="{record.SERVED}"'
        # A PF's representors have the PF as parent too, and port names with "vf" or "sf" in them.
        lines.append(f'SUBSYSTEM=="net", {own}, ATTR{{phys_port_name}}!="*vf*|*sf*", {starts}\n')
        lines.append(f'SUBSYSTEM=="infiniband", {own}, {starts}\n')
    return _HEADER + "".join(lines)


PATHS = (bootfile.PATH, record.SERVED, RULE, units.path(AGAIN), units.path(BOOT))
"""Every small file, in the order of removal."""


def look(system: System) -> Installed:
    """Return the parts that are installed now."""
    return installed.look(system, COPY, PATHS, ENABLED)


def last_desired(found: Installed) -> Desired | None:
    """The desired state that the last hook left for boot; None if there is none or it is damaged."""
    try:
        return bootfile.from_json(found.files.get(bootfile.PATH) or "")
    except ValueError:
        return None


def install_steps(wanted: Desired, found: Installed) -> list[HostStep]:
    """Return the steps that put the files for the next boot on disk. These steps disrupt nothing.

    The desired state comes last: units without it do nothing.
    """
    texts = {
        units.path(BOOT): BOOT_UNIT,
        units.path(AGAIN): AGAIN_UNIT,
        RULE: rule(wanted),
        record.SERVED: "",
        bootfile.PATH: bootfile.to_json(wanted),
    }
    return installed.steps(found, COPY, texts, ENABLED, bootfile.PATH, bootfile.from_json)


def removal(drop_ins: Iterable[str], found: Installed) -> Plan[System]:
    """The steps that take away what the charm installed; the ports stay as they are until the next boot."""
    gone = installed.removal(found, ENABLED, PATHS, (COPY.directory, record.DIRECTORY))
    why = "the charm is removed"
    for path in drop_ins:
        gone.append(Step(path, f"remove {path}", why, Disruption.NONE, RemoveFile(path)))
    return Plan(tuple(gone))
