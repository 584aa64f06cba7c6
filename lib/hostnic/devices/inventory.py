# SPDX-License-Identifier: Apache-2.0
"""The ports of a host's NICs: physical network functions on the PCI bus, and the netdev of each.

All charms share this inventory. What else a charm needs of a port it keeps beside its :class:`Port`
(:mod:`hostnic.devices.discover`: the eswitch; roce-qos: data centre bridging).
"""

from collections.abc import Callable, Iterable, Sequence

from converge import Finding, Severity, cause

from hostnic.devices import pci
from hostnic.devices.port import FLASH_RECOVERY, UPLINK_NAME, Nic, Port, uplink_of
from hostnic.system import Link, System, link_target, list_names, read_text

MELLANOX = "15b3:"
"""How the device id of a ConnectX or BlueField begins."""
BLUEFIELD = ("15b3:a2d2", "15b3:a2d6", "15b3:a2dc", "15b3:a2df")
"""BlueField 1 to 4 as the host sees them."""
CONNECTX3 = ("15b3:1003", "15b3:1007")
"""ConnectX-3 and -3 Pro: driver mlx4_core, no switchdev mode; mstflint 4.26 and later do not know them."""
GIVEN_VFS = (
    *("15b3:1002", "15b3:1004", "15b3:1014", "15b3:1016", "15b3:1018"),
    *("15b3:101a", "15b3:101c", "15b3:101e", "15b3:a2d3"),
)
"""VFs of ConnectX-2 to -8 and BlueField. In a virtual machine nothing else shows that a function is one."""
NETWORK_CLASS = "0x02"
MEMORY_CLASS = "0x05"
"""The PCI class of some NICs in flash recovery."""
INFINIBAND_CLASS = "0x0207"
ANY_LINK_CLASS = "0x0280"
"""The PCI class of ConnectX-3, whatever its links are."""
NET = "/sys/class/net"

Netdev = tuple[str | None, str | None, bool]
"""A port's netdev, the bond or bridge that it is in, and whether that is a bond."""


def read(
    system: System, netdev_of: Callable[[str], Netdev], among: Iterable[str] | None = None
) -> tuple[list[Port], list[Finding]]:
    """The ports by BDF, and one finding for each function that cannot be read.

    ``netdev_of`` gives the netdev of the function with a BDF, as :func:`of_links` tells it. ``among`` has the
    addresses of the functions to look at; None stands for all on the bus.

    Raises OSError if the PCI bus cannot be read.
    """
    found: list[Port] = []
    findings: list[Finding] = []
    for bdf in sorted(system.files.listdir(pci.DEVICES) if among is None else among):
        try:
            port = _port(system, bdf, *netdev_of(bdf)) if _is_port(system, bdf) else None
            if port and port.device not in GIVEN_VFS:
                found.append(port)
        except OSError as error:
            findings.append(unreadable(bdf, error))
    return found, findings


def of_links(links: Sequence[Link]) -> Callable[[str], Netdev]:
    """The netdev of each function, as rtnetlink reports it."""
    bonds = {link.name for link in links if link.kind == "bond"}

    def netdev_of(bdf: str) -> Netdev:
        own = uplink_of(links, bdf)
        return (own.name, own.master, own.master in bonds) if own else (None, None, False)

    return netdev_of


def find_nics(system: System) -> tuple[tuple[Nic, ...], tuple[Finding, ...]]:
    """ConnectX and BlueField NICs by slot, and what could not be read: for work on the firmware.

    From sysfs alone: it works without driver and netlink.
    """
    found, findings = read(system, lambda bdf: netdev_of(system, bdf))
    ports: dict[str, tuple[Port, ...]] = {}
    for port in found:
        if port.device.startswith(MELLANOX):
            ports[port.nic] = (*ports.get(port.nic, ()), port)
    return tuple(Nic(slot, of_nic) for slot, of_nic in ports.items()), tuple(findings)


def elsewhere(system: System, nics: Iterable[Nic]) -> dict[str, str]:
    """Name the other PCI slots of each port's card, by BDF: a reset restarts the whole card.

    mlx5's RDMA devices tell which card it is, by its system image GUID.
    """
    slots: dict[str, set[str]] = {}
    for port in (port for nic in nics for port in nic.ports):
        above = pci.attribute(port.bdf, "infiniband")
        for device in list_names(system, above):
            slots.setdefault(read_text(system, f"{above}/{device}/sys_image_guid") or "", set()).add(port.nic)
    return {
        port.bdf: f"its card is at {' and '.join(sorted(found))}, which a reset would restart, too"
        for guid, found in slots.items()
        for port in (port for nic in nics for port in nic.ports)
        if guid.strip("0:") and port.nic in found and len(found) > 1
    }


def netdev_of(system: System, bdf: str) -> Netdev:
    """A function's first netdev that is not a representor."""
    for name in list_names(system, pci.attribute(bdf, "net")):  # without a driver it has none
        port_name = read_text(system, f"{NET}/{name}/phys_port_name")  # some drivers have none
        if not port_name or UPLINK_NAME.fullmatch(port_name):
            master = link_target(system, f"{NET}/{name}/master")
            return name, master, master is not None and system.files.exists(f"{NET}/{master}/bonding")
    return None, None, False


def unreadable(bdf: str, error: OSError) -> Finding:
    """The finding of a device that does not answer."""
    remedy = "see the kernel log for this device; the other NICs are not affected"
    return Finding(Severity.WARNING, bdf, f"cannot be read: {cause(error)}", remedy)


def _is_port(system: System, bdf: str) -> bool:
    """Whether it is a network function and no VF. There may be hundreds of VFs, so that is checked first."""
    if system.files.exists(pci.attribute(bdf, "physfn")):
        return False
    kind = system.files.read(pci.attribute(bdf, "class"))
    memory = kind.startswith(MEMORY_CLASS) and _device(system, bdf) in FLASH_RECOVERY
    return kind.startswith(NETWORK_CLASS) or memory


def _device(system: System, bdf: str) -> str:
    """The PCI vendor and device id."""
    return ":".join(system.files.read(pci.attribute(bdf, name)).strip()[2:] for name in ("vendor", "device"))


def _port(system: System, bdf: str, netdev: str | None, master: str | None, bonded: bool) -> Port:
    device = _device(system, bdf)
    return Port(
        bdf=bdf,
        device=device,
        driver=pci.driver(system, bdf),
        netdev=netdev,
        bond=master if bonded else None,
        bridge=None if bonded else master,
        total_vfs=pci.total_vfs(system, bdf),
        num_vfs=pci.num_vfs(system, bdf),
        infiniband=device not in FLASH_RECOVERY and _is_infiniband(system, bdf),
    )


def _is_infiniband(system: System, bdf: str) -> bool:
    """Whether the function's link is InfiniBand, or one of its links: mlx5 shows it in the PCI class."""
    kind = system.files.read(pci.attribute(bdf, "class"))
    if not kind.startswith(ANY_LINK_CLASS):
        return kind.startswith(INFINIBAND_CLASS)
    above = pci.attribute(bdf, "infiniband")
    try:
        links = [
            system.files.read(f"{above}/{device}/ports/{number}/link_layer").strip()
            for device in system.files.listdir(above)
            for number in system.files.listdir(f"{above}/{device}/ports")
        ]
    except OSError:
        return False  # its RDMA driver is not loaded
    return "InfiniBand" in links
