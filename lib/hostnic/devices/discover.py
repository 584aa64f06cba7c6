# SPDX-License-Identifier: Apache-2.0
"""Reading a host's offload-capable NICs into :mod:`hostnic.devices.model`; never writes.

A device that cannot be read becomes one finding, and the others are still read. If the kernel lacks a
file or a parameter, the field is None.
"""

import errno
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from hostnic.devices import inventory, lag, pci, users, vdpa
from hostnic.devices.lag import Lag, release
from hostnic.devices.model import Bond, EswitchMode, Host, Pf, Vf
from hostnic.devices.port import MLX5, Port
from hostnic.devices.vdpa import Vdpa
from hostnic.system import Link, System, Value, if_told

VdpaByFunction = Callable[[], Mapping[str, Sequence[Vdpa]]]
"""vDPA devices by their function's PCI address; read once, and only if there are VFs."""

NOT_TOLD = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOENT)
"""The kernel's errors if a driver or release lacks a parameter."""

MODE_WITHOUT_VFS = (5, 19)
"""The first kernel whose mlx5 reports an eswitch mode even without VFs. Older ones answer EOPNOTSUPP until
the first VF exists (eswitch_offloads.c: eswitch_devlink_esw_mode_check), as for a NIC without an eswitch."""


def observe(system: System) -> Host:
    """Read all physical functions of NICs that have, or could have, VFs.

    Mellanox PFs count even if their firmware hides SR-IOV (``total_vfs`` is 0 then), so that the operator
    is told.

    Raises OSError if the kernel's own basics (/proc, the PCI bus, rtnetlink) cannot be read.
    """
    kernel = system.files.read(lag.OSRELEASE).strip()
    links = system.links.all()
    log = lru_cache(maxsize=1)(lambda: lag.kernel_log(system))
    vdpa_by_function = lru_cache(maxsize=1)(lambda: vdpa.devices(system))
    ports, findings = inventory.read(system, inventory.of_links(links))
    found: list[Pf] = []
    for port in ports:
        try:
            if port.device.startswith(inventory.MELLANOX) or pci.has_sriov(system, port.bdf):
                found.append(_pf(system, port, links, log, vdpa_by_function, release(kernel)))
        except OSError as error:
            findings.append(inventory.unreadable(port.bdf, error))
    return Host(
        pfs=tuple(found),
        bonds=tuple(
            _bond(link, links) for link in sorted(links, key=lambda link: link.name) if link.kind == "bond"
        ),
        kernel=kernel,
        findings=tuple(findings),
    )


def _pf(
    system: System,
    port: Port,
    links: list[Link],
    log: Callable[[], str],
    vdpa_by_function: VdpaByFunction,
    kernel: tuple[int, int],
) -> Pf:
    bdf = port.bdf
    uplink = next((link for link in links if link.name == port.netdev), None)
    mlx5 = port.driver == MLX5
    mode = _eswitch_mode(system, port, kernel) if mlx5 else None
    info = _if_known(lambda: system.devlink.info(bdf)) if mlx5 else None
    return Pf(
        port=port,
        mac=uplink.permanent_mac if uplink else None,
        carrier=uplink.carrier if uplink else None,
        numa_node=pci.number(system, bdf, "numa_node", default=-1),
        firmware=info.firmware if info else None,
        psid=info.psid if info else None,
        autoprobe=pci.number(system, bdf, "sriov_drivers_autoprobe", default=1) == 1,
        vfs=tuple(_vfs(system, bdf, links, vdpa_by_function)),
        eswitch_mode=mode,
        steering_mode=_param(system, bdf, "flow_steering_mode", str) if mlx5 else None,
        esw_multiport=_param(system, bdf, "esw_multiport", bool) if mlx5 else None,
        hw_tc_offload=_if_known(lambda: system.ethtool.hw_tc_offload(uplink.name)) if uplink else None,
        lag=lag.read(system, bdf, log) if mlx5 else Lag(active=None),
        iommu=system.files.exists(pci.attribute(bdf, "iommu_group")),
        switch_id=uplink.switch_id if uplink else None,
        encap_mode=_if_known(lambda: system.devlink.encap_mode(bdf)) if mode == "switchdev" else None,
        altnames=uplink.altnames if uplink else (),
        subfunctions=tuple(
            name for link in links if link.pci == bdf and "sf" in (name := link.port_name or "")
        ),
    )


def _vfs(system: System, bdf: str, links: list[Link], vdpa_by_function: VdpaByFunction) -> list[Vf]:
    found: list[Vf] = []
    by_function = {link.pci: link for link in reversed(links)}  # the first of several
    for address in pci.vf_addresses(system, bdf).values():
        driver = pci.driver(system, address)
        netdev = by_function.get(address)
        used = users.of_vf(system, address, driver, netdev, vdpa_by_function().get(address, ()))
        found.append(Vf(address, driver, netdev.name if netdev else None, used))
    return found


def _if_known(read: Callable[[], Value]) -> Value | None:
    return if_told(read, NOT_TOLD)


def _param(system: System, bdf: str, name: str, kind: type[Value]) -> Value | None:
    value = _if_known(lambda: system.devlink.param(bdf, name))
    return value if isinstance(value, kind) else None


def _eswitch_mode(system: System, port: Port, kernel: tuple[int, int]) -> EswitchMode | None:
    """The mode; ``legacy`` for a port whose kernel reports none before the first VF.

    On a BlueField in DPU mode, the host's ports have VFs but no eswitch: their mode stays unknown.
    """
    mode = _if_known(lambda: system.devlink.eswitch_mode(port.bdf))
    if mode is None and kernel < MODE_WITHOUT_VFS and port.device not in inventory.BLUEFIELD:
        return "legacy" if port.total_vfs and not port.num_vfs else None
    return mode if mode in ("legacy", "switchdev", "switchdev_inactive") else None


def _bond(link: Link, links: list[Link]) -> Bond:
    return Bond(
        name=link.name,
        mode=link.bond_mode or "unknown",
        members=tuple(sorted(other.name for other in links if other.master == link.name)),
    )
