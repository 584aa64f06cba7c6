# SPDX-License-Identifier: Apache-2.0
"""Why a host cannot be converged, or only in part: found before anything is written. Pure."""

from collections.abc import Collection, Iterable, Iterator
from functools import partial

from converge import Finding, Severity
from desired import Port
from hostnic.devices.inventory import BLUEFIELD, CONNECTX3
from hostnic.devices.model import Pf, users_in_words
from hostnic.devices.pci import MAX_VFS_WITH_LAG
from hostnic.devices.port import MLX5
from nic.judge import Nic, PortNow, VfLag
from observed import NextBoot, Observed, Writer

NOT_THIS_ONE = "take it out of option devices"
MAY_LACK = (VfLag.MISSING, VfLag.APART, VfLag.UNKNOWN)
"""VF-LAG is not known to be active; where the firmware offers none, verify says so."""
DPU_HAS_IT = f"in DPU mode, where the DPU has it, {NOT_THIS_ONE}; in NIC mode, use kernel 5.19 or later"


def preflight(nics: Iterable[Nic], observed: Observed) -> tuple[Finding, ...]:
    """Everything that stands in the way of what is declared of ``nics``, each with its remedy."""
    nics = tuple(nics)
    managed = {port.bdf for nic in nics for port in nic.declared}
    findings = list[Finding]()
    for writer in observed.vf_writers:
        findings += (_second_writer if writer.creates else _user_of_vfs)(writer, managed)
    for nic in nics:
        for other in nic.others:
            findings.append(Finding(Severity.BLOCKED, other.port.bdf, other.what, other.remedy))
        for now in nic.ports:
            findings += _port(now, nic.lag, observed)
    return tuple(dict.fromkeys(findings))  # a file may set several ports


def _user_of_vfs(writer: Writer, managed: Collection[str]) -> Iterator[Finding]:
    """Who uses VFs of ports of this charm as it creates them."""
    if any(setting.concerns(managed) for setting in writer.settings):
        what = f"{writer.tool} uses VFs of this port that others create (externallyManaged)"
        remedy = "its policies may ask for num-vfs VFs at most, with eSwitchMode switchdev"
        yield Finding(Severity.INFO, writer.path, what, remedy)


def _second_writer(writer: Writer, managed: Collection[str]) -> Iterator[Finding]:
    """What of a file concerns ports of this charm. VFs of other NICs are not this charm's business."""
    ours = [setting for setting in writer.settings if setting.concerns(managed)]
    if not ours:
        return
    others = [setting for setting in writer.settings if setting not in ours]
    keys = " and ".join(dict.fromkeys(key for setting in ours for key in setting.keys))
    names = " and ".join(dict.fromkeys(setting.name for setting in ours))
    what = f"{writer.tool} sets VFs or eswitch modes too"
    remedy = f"remove {keys} from this file; existing VFs stay"
    if writer.tool == "netplan":
        remedy = (
            f"edit this file, without netplan apply; remove {keys} from the ethernets of this file ({names})"
        )
    elif writer.tool == "ovn-chassis":
        what = "ovn-chassis sets VFs too"
        left = " ".join(f"{setting.name}:{setting.vfs}" for setting in others if setting.vfs)
        left = f'"{left}"' if left else "none:0"
        remedy = f"run: juju config ovn-chassis sriov-numvfs={left}; existing VFs stay "
        remedy += "(if this host's ovn-chassis has another name in the model, use that one)"
    elif writer.tool == "sriov-netplan-shim":
        disable = (
            f"systemctl disable {keys}, without --now" if not others else f"remove {names} from this file"
        )
        remedy = f"{disable}; existing VFs stay, so do not start it again"
    elif writer.tool == "driverctl":
        what = f"driverctl binds {names} to {keys} when the host boots"
        remedy = "remove this file, but not with driverctl unset-override; that unbinds the device at once"
    elif writer.tool == "tuned":
        remedy = f"do not restart tuned, but {remedy} until tuned is stopped, restarted or given another "
        remedy += "profile: it writes back what was there, so leave it alone until the next boot"
    elif "initramfs" in writer.path or "dracut" in writer.path:
        remedy = f"remove {keys} from this file, and make the initramfs anew; existing VFs stay; "
        remedy += "run update-initramfs -u -k all, or with dracut: dracut --force --regenerate-all"
    elif writer.tool == "a unit":
        others_too = any(setting.ports is None for setting in ours)
        leave = "leave this charm's ports out there; if it serves no other NIC, " if others_too else ""
        remedy = f"{leave}systemctl disable {names}, without --now; or {remedy}"
    yield Finding(Severity.BLOCKED, writer.path, what, remedy)


def _port(now: PortNow, lag: VfLag, observed: Observed) -> Iterator[Finding]:
    port, pf = now.port, now.pf
    blocked = partial(Finding, Severity.BLOCKED, port.bdf)
    warning = partial(Finding, Severity.WARNING, port.bdf)
    if pf.port.driver != MLX5:
        yield blocked(*_without_mlx5(pf))
        return
    if pf.netdev is None:
        remedy = "see the kernel log; the port must be an Ethernet port (LINK_TYPE, charm nic-firmware)"
        yield blocked("the port has no netdev", remedy)
        return
    if pf.eswitch_mode is None:
        remedy = DPU_HAS_IT if pf.port.device in BLUEFIELD else NOT_THIS_ONE
        yield blocked("the port has no eswitch that the kernel can set", remedy)
        return
    offered = pf.port.total_vfs
    if offered < port.num_vfs:
        yield _too_few(port, pf, observed.next_boot.get(port.bdf, NextBoot(None)))
    if now.changes and not now.lost:  # its VFs stay; the plan holds what waits for them
        yield from _destroyed(port, pf)
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
    if pf.carrier is False:
        yield warning(f"{pf.netdev} has no carrier", "check cable and switch port")


def _destroyed(port: Port, pf: Pf) -> Iterator[Finding]:
    """What is in use and would go with a change of VFs or mode."""
    if used := users_in_words((vf.bdf, vf.users) for vf in pf.vfs):
        yield Finding(
            Severity.BLOCKED,
            port.bdf,
            f"{_change(port, pf)} would destroy VFs in use: {used}",
            "move the instances to another host first; take this host's own network, processes and vDPA "
            f"devices off the VFs, too; or leave {pf.port.num_vfs} VFs in mode {pf.eswitch_mode}",
        )
    if pf.subfunctions:
        what = f"{_change(port, pf)} would destroy subfunctions: {', '.join(pf.subfunctions)}"
        again = "once nothing uses them, delete them (devlink port del); make them again afterwards"
        yield Finding(Severity.BLOCKED, port.bdf, what, f"{again}; or {NOT_THIS_ONE}")


def _ended(pf: Pf) -> Iterator[Finding]:
    """What of the kernel uses the port's RDMA, which an uplink in switchdev mode does not have."""
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


def _change(port: Port, pf: Pf) -> str:
    if pf.port.num_vfs != port.num_vfs:
        return f"going from {pf.port.num_vfs} to {port.num_vfs} VFs"
    return f"going from mode {pf.eswitch_mode} to switchdev"


def _too_few(port: Port, pf: Pf, after: NextBoot) -> Finding:
    now = f"the firmware offers {pf.port.total_vfs} VFs, {port.num_vfs} are asked for"
    raise_it = (
        f"set NUM_OF_VFS of nic-firmware to {port.num_vfs} or more, or lower num-vfs; "
        "the firmware also needs PF_NUM_OF_VF_VALID off and SRIOV_EN on"
    )
    if after.vfs is None:
        why = f"; it cannot be asked about the next boot ({after.reason})" if after.reason else ""
        return Finding(Severity.BLOCKED, port.bdf, now + why, raise_it)
    if after.vfs < port.num_vfs:
        return Finding(Severity.BLOCKED, port.bdf, f"{now}, and {after.vfs} after the next boot", raise_it)
    if not after.changes:
        what = (
            f"the firmware is set to {after.vfs} VFs, now and for the next boot, but the driver offers "
            f"{pf.port.total_vfs}, and {port.num_vfs} are asked for; a reboot changes nothing"
        )
        remedy = (
            f"power-cycle the machine; if that does not help, lower num-vfs to {pf.port.total_vfs}, "
            "or update the firmware"
        )
        return Finding(Severity.BLOCKED, port.bdf, what, remedy)
    return Finding(
        Severity.PLANNED, port.bdf, f"{now}; from the next boot on it offers {after.vfs}", "reboot this host"
    )
