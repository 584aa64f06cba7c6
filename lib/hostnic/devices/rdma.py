# SPDX-License-Identifier: Apache-2.0
"""The RDMA device that a port has now, its defaults for new connections, and its counters.

The name changes with the machine's state (``mlx5_0``, ``mlx5_bond_0`` for one that began under LAG; rdma-core
makes it ``rocep59s0f0``, or ``rdmap59s0f0`` in switchdev mode), so it is looked up each time. Sources:
Documentation/ABI/stable/sysfs-class-infiniband and Documentation/ABI/testing/configfs-rdma_cm in the kernel.
"""

from collections.abc import Iterator
from ipaddress import AddressValueError, IPv6Address
from typing import NamedTuple

from converge import cause

from hostnic.system import System, link_target, list_names, read_text

CLASS = "/sys/class/infiniband"
CONFIGFS = "/sys/kernel/config/rdma_cm"
OPENED_AS = ("/sys/class/infiniband_verbs", "/sys/class/infiniband_mad")
"""The character devices below /dev/infiniband, each with the name of its RDMA device in ``ibdev``."""
MODES = {"v1": "IB/RoCE v1", "v2": "RoCE v2"}
"""Default RoCE mode by the option's word, as configfs spells it."""


class RdmaPort(NamedTuple):
    """One port of an RDMA device, and the netdevs of its GIDs; rdma_rxe and siw have no PCI function."""

    device: str
    number: int
    pci: str | None
    netdevs: frozenset[str]
    roce: bool = True  # it can do RoCE; devices of iWARP cannot

    @property
    def directory(self) -> str:
        """Its directory in configfs; exists once the device's was made."""
        return f"{CONFIGFS}/{self.device}/ports/{self.number}"


class Defaults(NamedTuple):
    """The defaults for new connections of the RDMA connection manager."""

    mode: str  # as configfs spells it, one of `MODES`' values
    tos: int  # type of service, 0 to 255: DSCP times four, plus the two ECN bits

    @property
    def words(self) -> str:
        """``106, RoCE v2``."""
        return f"{self.tos}, {self.mode}"


def ports(system: System) -> tuple[RdmaPort, ...]:
    """All ports of all RDMA devices, by name."""
    found: list[RdmaPort] = []
    for device in list_names(system, CLASS):
        function = link_target(system, f"{CLASS}/{device}/device")
        directory = f"{CLASS}/{device}/ports"
        # include/rdma/ib_verbs.h: RDMA_NODE_RNIC; core/sysfs.c: node_type_show
        iwarp = (read_text(system, f"{CLASS}/{device}/node_type") or "").startswith("4:")
        for number in sorted(int(name) for name in list_names(system, directory) if name.isdigit()):
            netdevs = _netdevs(system, f"{directory}/{number}/gid_attrs/ndevs")
            found.append(RdmaPort(device, number, function, netdevs, not iwarp))
    return tuple(found)


def of_port(found: tuple[RdmaPort, ...], bdf: str, netdev: str | None, bond: str | None) -> RdmaPort | None:
    """The one that carries RoCE for the port at ``bdf`` now, or None.

    Under LAG only the first port has a device. The second port finds it by the bond's netdev, or else by the
    NIC's first function: VFs may have devices, too, but their functions follow those of the ports.
    """
    own = [port for port in found if port.pci == bdf]
    names = {name for name in (netdev, bond) if name}
    sharing = [port for port in found if port.netdevs & names]
    slot = bdf.rpartition(".")[0]
    first = [port for port in found if bond and bdf != port.pci == f"{slot}.0"]
    return next(iter((*own, *sharing, *first)), None)


def managed(system: System, port: RdmaPort) -> bool | None:
    """Whether the RDMA connection manager handles ``port``; None while its module is not loaded.

    It ignores ports without the capability "IB CM" (drivers/infiniband/core/cma.c: cma_supported), which
    mlx5's device of an uplink in switchdev mode lacks: that one is for raw Ethernet alone (hw/mlx5/ib_rep.c;
    main.c: mlx5_port_rep_immutable), as is any whose RoCE is off (devlink's enable_roce). The module ib_cm,
    which comes with rdma_cm, gives a port its counters by the same test (core/cm.c: cm_add_one). GIDs do
    not show it, since a backup port of a bond has none either (core/roce_gid_mgmt.c). The eswitch mode alone
    does not show it either.
    """
    if system.files.exists(f"{CLASS}/{port.device}/ports/{port.number}/cm_rx_msgs"):
        return True
    return False if system.files.exists(CONFIGFS) else None


def defaults(system: System, port: RdmaPort) -> Defaults | None:
    """The defaults now, or None while the device has no directory in configfs.

    Raises OSError if the device is gone, or the ToS is not a number.
    """
    if not system.files.exists(port.directory):
        return None
    mode = system.files.read(f"{port.directory}/default_roce_mode").strip()
    text = system.files.read(f"{port.directory}/default_roce_tos").strip()
    try:
        return Defaults(mode, int(text, 0))
    except ValueError:
        raise OSError(f"{port.directory}/default_roce_tos holds {text!r}, not a number") from None


def counters(system: System, port: RdmaPort) -> dict[str, int]:
    """The driver's own counters; what cannot be read is left out."""
    directory = f"{CLASS}/{port.device}/ports/{port.number}/hw_counters"
    found: dict[str, int] = {}
    for name in list_names(system, directory):
        try:
            found[name] = int(system.files.read(f"{directory}/{name}").strip())
        except (OSError, ValueError):
            continue  # "lifespan" of some kernels, or a counter that the firmware lacks
    return found


def openers(system: System) -> dict[str, list[str]]:
    """List the processes that have an RDMA device open, by device: ``qemu-system-x86 (4242)``.

    Where it cannot be read what a process has open, that process may have any device.
    """
    devices: dict[str, str] = {}
    for directory in OPENED_AS:
        for name in list_names(system, directory):
            if device := read_text(system, f"{directory}/{name}/ibdev"):  # abi_version has none
                devices[f"/dev/infiniband/{name}"] = device
    found: dict[str, list[str]] = {}
    hidden = ""
    for process in filter(str.isdigit, list_names(system, "/proc") if devices else ()):
        try:
            opened = sorted({devices[path] for path in _open(system, process) if path in devices})
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
        except OSError as error:
            hidden, opened = f"perhaps a process ({cause(error)})", []
        for device in opened:
            command = read_text(system, f"/proc/{process}/comm") or "a process"
            found.setdefault(device, []).append(f"{command} ({process})")
    for device in sorted({*devices.values()}) if hidden else ():
        found.setdefault(device, []).append(hidden)
    return found


def gids(system: System, port: RdmaPort) -> dict[int, str]:
    """The addresses of its GIDs of RoCE v2, by the index that tools ask for; an empty entry has no type."""
    directory = f"{CLASS}/{port.device}/ports/{port.number}"
    names = list_names(system, f"{directory}/gid_attrs/types")
    found: dict[int, str] = {}
    for index in sorted(int(name) for name in names if name.isdigit()):
        if read_text(system, f"{directory}/gid_attrs/types/{index}") == MODES["v2"]:
            try:
                gid = IPv6Address(read_text(system, f"{directory}/gids/{index}") or "")
            except AddressValueError:
                continue
            found[index] = str(gid.ipv4_mapped or gid)
    return found


def _netdevs(system: System, directory: str) -> frozenset[str]:
    """Return the netdevs of all GID entries; an empty entry answers EINVAL."""
    texts = (read_text(system, f"{directory}/{index}") for index in list_names(system, directory))
    return frozenset(filter(None, texts))


def _open(system: System, process: str) -> Iterator[str]:
    directory = f"/proc/{process}/fd"
    for descriptor in system.files.listdir(directory):
        try:
            yield system.files.readlink(f"{directory}/{descriptor}")
        except (FileNotFoundError, ProcessLookupError):
            continue  # closed meanwhile
