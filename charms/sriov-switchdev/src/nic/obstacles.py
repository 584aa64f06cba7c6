# SPDX-License-Identifier: Apache-2.0
"""The obstacles of a NIC to its declaration that no step removes: found before any write. Pure."""

from collections.abc import Iterator
from functools import partial

from converge import Finding, Severity
from desired import WantedPort
from hostnic.devices.inventory import BLUEFIELD, CONNECTX3
from hostnic.devices.model import Pf
from hostnic.devices.pci import MAX_VFS_WITH_LAG
from hostnic.devices.port import MLX5
from observed import NextBoot

from nic.judge import Nic, PortNow, VfLag

NOT_THIS_ONE = "take it out of option devices"
MAY_LACK = (VfLag.MISSING, VfLag.APART, VfLag.UNKNOWN)
"""VF-LAG is not known to be active; where the firmware offers none, verify says so."""
DPU_HAS_IT = f"in DPU mode, where the DPU has it, {NOT_THIS_ONE}; in NIC mode, use kernel 5.19 or later"


def obstacles(nic: Nic) -> Iterator[Finding]:
    """Yield the obstacles to the declaration of one NIC that no step removes, with the remedy of each."""
    for other in nic.others:
        yield Finding(Severity.BLOCKED, other.port.bdf, other.what, other.remedy)
    for now in nic.ports:
        if unfit := _unfit(now.pf):
            yield Finding(Severity.BLOCKED, now.port.bdf, *unfit)
        else:
            yield from _of_vfs(now, nic.lag)
        if now.dark:
            what = f"{now.netdev} has no carrier"
            yield Finding(Severity.WARNING, now.port.bdf, what, "check cable and switch port")
    for each in nic.differences:
        if each.stops:
            yield Finding(Severity.BLOCKED, each.subject, each.words, each.remedy)


def _unfit(pf: Pf) -> tuple[str, str] | None:
    """Why a port cannot be in switchdev mode at all, and the remedy."""
    if pf.port.driver != MLX5:
        return _without_mlx5(pf)
    if pf.netdev is None:
        remedy = "see the kernel log; the port must be an Ethernet port (LINK_TYPE, charm nic-firmware)"
        return "the port has no netdev", remedy
    if pf.eswitch_mode is None:
        remedy = DPU_HAS_IT if pf.port.device in BLUEFIELD else NOT_THIS_ONE
        return "the port has no eswitch that the kernel can set", remedy
    return None


def _of_vfs(now: PortNow, lag: VfLag) -> Iterator[Finding]:
    port, pf, offered = now.port, now.pf, now.pf.port.total_vfs
    warning = partial(Finding, Severity.WARNING, port.bdf)
    if now.short:
        yield _too_few(now, now.next_boot or NextBoot(None))
    if now.changes and not now.lost:  # its VFs stay; the plan holds what waits for them
        yield from _destroyed(now)
        yield from _ended(pf)
    if port.lag and port.num_vfs > MAX_VFS_WITH_LAG:
        yield warning(
            f"{port.num_vfs} VFs: some firmware refuses VF-LAG above {MAX_VFS_WITH_LAG}",
            f"if it does not form, set num-vfs and NUM_OF_VFS to {MAX_VFS_WITH_LAG}; nic-firmware sets that",
        )
    elif port.lag and offered > MAX_VFS_WITH_LAG and lag in MAY_LACK and not now.changes:
        yield warning(
            f"the firmware offers {offered} VFs; some firmware refuses VF-LAG above {MAX_VFS_WITH_LAG}",
            f"set NUM_OF_VFS (charm nic-firmware) to {MAX_VFS_WITH_LAG} or less",
        )
    if not pf.iommu:
        yield warning(
            "no IOMMU group: instances cannot take VFs",
            "enable it in the BIOS; on x86 also boot with intel_iommu=on iommu=pt (MAAS: options of the tag)",
        )


def _destroyed(now: PortNow) -> Iterator[Finding]:
    """Name the VFs in use that a change of VFs or mode would destroy."""
    port, pf = now.port, now.pf
    if now.users:
        yield Finding(
            Severity.BLOCKED,
            port.bdf,
            f"{_change(port, pf)} would destroy VFs in use: {now.users}",
            "move the instances to another host first; take this host's own network, processes and vDPA "
            f"devices off the VFs, too; or leave {pf.port.num_vfs} VFs in mode {pf.eswitch_mode}",
        )
    if pf.subfunctions:
        what = f"{_change(port, pf)} would destroy subfunctions: {', '.join(pf.subfunctions)}"
        again = "once nothing uses them, delete them (devlink port del); make them again afterwards"
        yield Finding(Severity.BLOCKED, port.bdf, what, f"{again}; or {NOT_THIS_ONE}")


def _ended(pf: Pf) -> Iterator[Finding]:
    """Name the kernel's users of the port's RDMA, which an uplink in switchdev mode does not have."""
    ends = f"switchdev mode ends RDMA over {pf.netdev}, which is used by"
    if pf.kernel.sure:
        remedy = f"have it use TCP, or another NIC; or {NOT_THIS_ONE}"
        yield Finding(Severity.BLOCKED, pf.bdf, f"{ends} {' and '.join(pf.kernel.sure)}", remedy)
    if pf.kernel.perhaps:
        what = f"{ends} perhaps {' and '.join(pf.kernel.perhaps)}"
        remedy = "check that another NIC or TCP serves it; it does not tell over which port it works"
        yield Finding(Severity.WARNING, pf.bdf, what, remedy)


def _without_mlx5(pf: Pf) -> tuple[str, str]:
    if pf.port.device in CONNECTX3:
        return "a ConnectX-3 has no switchdev mode", NOT_THIS_ONE
    if pf.port.driver == "mlx4_core":
        return "its driver, mlx4_core, has no switchdev mode", NOT_THIS_ONE
    bind = "bind it to mlx5_core"
    if pf.port.driver:  # vfio-pci, for example: an instance or DPDK has the port
        bind = f"{NOT_THIS_ONE}; or, once nothing uses it, {bind}"
    return f"the port is bound to {pf.port.driver or 'no driver'}, not to mlx5_core", bind


def _change(port: WantedPort, pf: Pf) -> str:
    if pf.port.num_vfs != port.num_vfs:
        return f"going from {pf.port.num_vfs} to {port.num_vfs} VFs"
    return f"going from mode {pf.eswitch_mode} to switchdev"


def _too_few(now: PortNow, after: NextBoot) -> Finding:
    port, offered = now.port, now.pf.port.total_vfs
    what = f"the firmware offers {offered} VFs, {port.num_vfs} are asked for"
    raise_it = (
        f"set NUM_OF_VFS of nic-firmware to {port.num_vfs} or more, or lower num-vfs; "
        "the firmware also needs PF_NUM_OF_VF_VALID off and SRIOV_EN on"
    )
    if now.later is not None:
        what = f"{what}; from the next boot on it offers {now.later}"
        return Finding(Severity.PLANNED, port.bdf, what, "reboot this host")
    if after.vfs is None:
        why = f"; it cannot be asked about the next boot ({after.reason})" if after.reason else ""
        return Finding(Severity.BLOCKED, port.bdf, what + why, raise_it)
    if after.vfs < port.num_vfs:
        return Finding(Severity.BLOCKED, port.bdf, f"{what}, and {after.vfs} after the next boot", raise_it)
    what = (
        f"the firmware is set to {after.vfs} VFs, now and for the next boot, but the driver offers "
        f"{offered}, and {port.num_vfs} are asked for; a reboot changes nothing"
    )
    remedy = f"power-cycle the machine; if that does not help, lower num-vfs to {offered}, "
    return Finding(Severity.BLOCKED, port.bdf, what, f"{remedy}or update the firmware")
