# SPDX-License-Identifier: Apache-2.0
"""The files that the charm installs on a host: the boot copy, units, udev rules, the desired state."""

import re

import desired
import record
from converge import Plan
from desired import Desired, WantedPort
from hostnic.boot import Installed, installed, off, sandbox, units
from hostnic.boot.bootcopy import BootCopy
from hostnic.boot.sandbox import Does
from hostnic.system import HostStep, System

from boot import bootfile, budget

_BOOT = (
    "boot",
    *(
        f"boot.{name}"
        for name in ("bootfile", "budget", "driver_reload", "files", "follow", "main", "phase", "restore")
    ),
)
_NIC = ("nic", "nic.back", "nic.chain", "nic.judge", "nic.places")
COPY = BootCopy("sriov-switchdev", (*_BOOT, *_NIC, "desired", "live", "observed", "record"))
"""The part of this charm that the units run: nothing that speaks to Juju or reads options."""

EARLY = "ovn-offload-sriov-early.service"
BIND = "ovn-offload-sriov-bind.service"
RESTORE = "ovn-offload-sriov-restore.service"
UNITS = (EARLY, BIND)
"""Enabled at boot; udev and hooks start the third."""
FOLLOW = "ovn-offload-sriov-follow.service"
"""Only with option `follow-uplink`."""

INSTANCES = (
    "libvirtd.service",
    "virtqemud.service",
    "libvirt-guests.service",
    "nova-compute.service",
    "snap.openstack-hypervisor.libvirtd.service",
    "snap.openstack-hypervisor.nova-compute.service",
)
"""The units that start instances: the distribution's, and those of Sunbeam's snap (its snapcraft.yaml)."""

DISPATCH = "ovn-offload-sriov-switchdev-dispatch.service"
"""Wakes the Juju unit (charmkit.dispatch)."""

RULE = "/etc/udev/rules.d/70-ovn-offload-sriov.rules"
"""Before 80-net-setup-link.rules, which leaves a name alone that is set already, and before the rules with
which sites (70-persistent-net.rules) and netplan (99-netplan-*.rules) name ports: a later one wins."""

_NAMING = """ENV{.OVN_OFFLOAD_NAME}=="", GOTO="ovn_offload_named"
IMPORT{builtin}="path_id"
IMPORT{builtin}="net_id"
IMPORT{builtin}="net_setup_link"
ENV{ID_NET_LINK_FILE}=="", NAME="$env{.OVN_OFFLOAD_NAME}"
ENV{ID_NET_LINK_FILE}=="/usr/lib/*|/lib/*", NAME="$env{.OVN_OFFLOAD_NAME}"
ENV{ID_NET_NAME}=="eth[0-9]*", NAME="$env{.OVN_OFFLOAD_NAME}"
LABEL="ovn_offload_named"
"""
"""Gives the kept name, unless a .link file of the site or of netplan (outside /usr/lib) gives another one.

80-net-setup-link.rules would import the same later: which file matches, and the name by it, which is the
kernel's own where the file has none, as netplan's with an MTU alone (ID_NET_LINK_FILE and ID_NET_NAME;
udev-builtin-net_setup_link.c and link_generate_new_name in link-config.c, systemd 249 and 255)."""

CHANGES = (Does.NETLINK, Does.PCI)
"""The work of the two units at boot."""

RESTORES = (*CHANGES, Does.SEES_PROCESSES, Does.STARTS_UNITS)
"""The work of the third unit and of the revert: one wakes the Juju unit, one stops its own timer.
Both look for processes that use VFs, such as DPDK's."""

_HEADER = "# Installed by the charm sriov-switchdev; local changes are overwritten.\n"


def early_unit(wanted: Desired) -> str:
    """The unit that prepares the NICs. What takes longer than its timeout is ended, and the fallback runs.

    systemd starts ExecStopPost when the process has ended, or TimeoutStopSec after it was told to.
    """
    return f"""{_HEADER}
[Unit]
Description=Create VFs and set switchdev mode before the network comes up
{off.CONDITION}
DefaultDependencies=no
Wants=network-pre.target systemd-udev-settle.service
After=local-fs.target systemd-udev-settle.service systemd-modules-load.service openibd.service
Before=network-pre.target shutdown.target
Conflicts=shutdown.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={COPY.command} early
ExecStopPost=/bin/sh -c 'test "$SERVICE_RESULT" = success || exec {COPY.command} fallback'
TimeoutStartSec={budget.early_start(wanted)}
TimeoutStopSec={budget.early_stop(wanted)}
{sandbox.text(*CHANGES)}

[Install]
WantedBy=multi-user.target
"""


def bind_unit(wanted: Desired) -> str:
    """The unit that binds the VFs."""
    return f"""{_HEADER}
[Unit]
Description=Bind VFs once the NIC bonds its ports, before instances start
{off.CONDITION}
After=network.target {EARLY}
Before={" ".join(INSTANCES)}

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={COPY.command} bind
TimeoutStartSec={budget.bind_start(wanted)}
{sandbox.text(*CHANGES)}

[Install]
WantedBy=multi-user.target
"""


def restore_unit(wanted: Desired) -> str:
    """The unit that restores ports whose driver was loaded anew.

    roce-qos' unit is ordered after it, and is started with it: a change of mode resets the traffic classes.
    """
    return f"""{_HEADER}
[Unit]
Description=Restore VFs and switchdev mode after the driver of a port was loaded anew
{off.CONDITION}
Wants=ovn-offload-roce-qos-again.service
After=network.target {EARLY} {BIND}
StartLimitIntervalSec=0

[Service]
Type=oneshot
ExecStart={COPY.command} restore
ExecStopPost=/bin/sh -c 'test "$SERVICE_RESULT" = success || exec {COPY.command} fallback'
TimeoutStartSec={budget.restore_start(wanted)}
TimeoutStopSec={budget.early_stop(wanted)}
{sandbox.text(*RESTORES)}
"""


def follow_unit() -> str:
    """The unit that takes the carrier from VFs while their bond has none (follow.py)."""
    return f"""{_HEADER}
[Unit]
Description=Take the carrier from VFs while no frame leaves the host
{off.CONDITION}
After=network.target {EARLY} {BIND}
StartLimitIntervalSec=0

[Service]
ExecStart={COPY.command} follow
Restart=always
RestartSec=1
# more is a fault: the service begins anew
MemoryMax=64M
{sandbox.text(Does.NETLINK)}

[Install]
WantedBy=multi-user.target
"""


_SAFE_NAME = re.compile(r"[A-Za-z0-9_.@-]{1,15}")


def rules(wanted: Desired) -> str:
    """The udev rules that keep each uplink's name, and that have systemd start :func:`restore_unit`.

    A name that this site gives otherwise is left alone: by a rule before this one, or by a .link file.

    Another card at the PCI address keeps the name that it has without them. A new netdev has its permanent
    MAC address (``addr_assign_type`` is 0, NET_ADDR_PERM of the kernel's netdevice.h); the one that a bond
    gives its members tells nothing. The unit leaves another card alone and says so.

    A PF's representors have the PF as parent too: the port name tells the uplink (``p0``, ``p1``), and it
    changes with the mode. udev renames netdevs: systemd gets the device with its final name in ``move``.
    """
    lines = [
        f'SUBSYSTEM=="net", ACTION=="add", NAME=="", KERNELS=="{port.bdf}", '
        f'ATTR{{phys_port_name}}=="p[0-9]*", {same}ENV{{.OVN_OFFLOAD_NAME}}="{port.netdev}"\n'
        for port in wanted.ports
        if _SAFE_NAME.fullmatch(port.netdev)
        for same in _same_card(port)
    ]
    lines += [_NAMING] if lines else []
    lines += [
        f'SUBSYSTEM=="net", ACTION=="add|move", KERNELS=="{port.bdf}", TEST=="{record.CONVERGED}", '
        f'ATTR{{phys_port_name}}!="*vf*|*sf*", TAG+="systemd", ENV{{SYSTEMD_WANTS}}+="{RESTORE}"\n'
        for port in wanted.ports
    ]
    return _HEADER + "".join(lines)


def _same_card(port: WantedPort) -> tuple[str, ...]:
    """Return conditions of a udev rule, one of which every netdev of the declared card meets."""
    if port.mac is None:
        return ("",)
    return f'ATTR{{address}}=="{port.mac}", ', 'ATTR{addr_assign_type}!="0", '


def wanted_files(wanted: Desired) -> dict[str, str]:
    """Path and text of every small file, in the order of installation.

    The desired state comes last: units without it do nothing.
    """
    follow = {units.path(FOLLOW): follow_unit()} if wanted.follow_uplink else {}
    return {
        units.path(EARLY): early_unit(wanted),
        units.path(BIND): bind_unit(wanted),
        units.path(RESTORE): restore_unit(wanted),
        **follow,
        RULE: rules(wanted),
        desired.PATH: wanted.to_json(),
    }


PATHS = (desired.PATH, RULE, units.path(RESTORE), units.path(EARLY), units.path(BIND))
"""Every small file that each host has, in the order of removal."""
MAY_BE = (*PATHS, units.path(FOLLOW))
"""Every small file that a host may have."""


def install_steps(wanted: Desired, found: Installed) -> list[HostStep]:
    """The steps that put on disk what the next boot needs; they disturb nothing that runs."""
    names = (*UNITS, FOLLOW) if wanted.follow_uplink else UNITS
    return installed.steps(found, COPY, wanted_files(wanted), names, desired.PATH, bootfile.from_json)


def has_follow(found: Installed) -> bool:
    """Whether a host has the service that follows uplinks, or a rest of it."""
    return FOLLOW in found.enabled or found.files.get(units.path(FOLLOW)) is not None


def removal(found: Installed, armed: bool) -> Plan[System]:
    """The steps that remove what the charm installed; the NIC stays as it is until the next boot.

    An armed timer keeps what it needs to restore the previous state.
    """
    directories = () if armed else (COPY.directory, record.DIRECTORY)
    return Plan(tuple(installed.removal(found, UNITS, PATHS, directories)))
