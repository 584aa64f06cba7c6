# SPDX-License-Identifier: Apache-2.0
"""The users of a VF or a netdev now: instances, vDPA, network namespaces, and this host's own network.

Files, links and addresses show them; no process is started. Destroying a VF that an instance uses kills
the instance's network, and taking a netdev away can cut the host's own, so doubt counts as use:

- A VF on vfio-pci is used (libvirt gives it back to mlx5_core when its guest stops), or on mlx5_vfio_pci,
  which libvirt prefers since 10.0 where the kernel has it (``virPCIDeviceFindBestVFIOVariant``). So is one
  whose driver made a netdev that is not in this network namespace.
- A VF with a vDPA device is used, whatever driver that device has: the kernel creates none by itself, and
  nothing creates it again after the VF is gone. With vhost_vdpa an instance uses it or can open it at any
  time; with virtio_vdpa it is a netdev of this host or of a container. Without a driver it may still be open:
  the link to the driver goes first, and vhost_vdpa then waits until the device is closed
  (``vhost_vdpa_remove`` in drivers/vhost/vdpa.c, ``__device_release_driver`` in drivers/base/dd.c).
- DPDK leaves a VF or port with mlx5_core, and its netdev as it was. Like an RDMA application, it uses the
  RDMA device.
- The kernel itself uses RDMA without opening a device, for storage above all
  (:mod:`hostnic.devices.kernelrdma`). What does not tell its port may use any.
- What cannot be read of a netdev counts as use by the host. IPv6's link-local addresses and routes do not
  count: the kernel gives them to each netdev that is up.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from converge import cause

from hostnic.devices import pci, vdpa
from hostnic.devices.model import Host, KernelUses, Users, Vf, users_in_words
from hostnic.devices.port import MLX5, Port
from hostnic.devices.vdpa import Vdpa
from hostnic.system import Link, System, if_told, list_names, read_text

if TYPE_CHECKING:
    from hostnic.devices.kernelrdma import KernelUser

LIBVIRT = ("/run/libvirt/qemu", "/var/snap/openstack-hypervisor/common/run/libvirt/qemu")
"""Status of the running domains, one XML file each (libvirt's qemu driver).

The first directory is that of the distribution's libvirt, the second that of Sunbeam's snap: libvirt has
`run` below its localstatedir (meson.build), which is /var/snap/openstack-hypervisor/common there
(snap/snapcraft.yaml of canonical/snap-openstack-hypervisor)."""

DATAPATH = "ovs-system"
"""The master of each port of Open vSwitch's datapath in the kernel."""

ON_EACH = ("ibacm",)
"""Services that are on every RDMA device, and follow when one goes."""

# Text: re compiles a pattern at its first use and keeps it, and an idle hook hardly uses one.
SOURCE = r"(?s)<source\b[^>/]*>(.*?)</source>"
ADDRESS = r"<address\b([^>]*)/>"
FIELD = r"(domain|bus|slot|function)=['\"]0x([0-9a-fA-F]+)['\"]"
NAME = r"<name>([^<]+)</name>"
NODE = r"<source\b[^>]*\bdev=['\"](/dev/vhost-vdpa-[0-9]+)['\"]"


def of_vf(
    system: System, bdf: str, driver: str | None, netdev: Link | None, vdpa_devices: Sequence[Vdpa] = ()
) -> Users:
    """The users of the VF at ``bdf``; for a netdev that looks free ask :func:`of_netdevs`, too.

    The VF is bound to ``driver``, and has ``netdev`` in this network namespace and ``vdpa_devices``, if any.
    """
    if given := _given_away(system, bdf, driver, vdpa_devices):
        return given
    if driver is None:
        return ()
    if netdev is None:
        return ("network namespace",)
    return (netdev.master,) if netdev.master else ()


def of_vfs(system: System, ports: Iterable[Port]) -> dict[str, str]:
    """Name the VFs of each port that have been given away, and to whom, by BDF; from sysfs alone.

    A VF is given away by a driver other than the NIC's own, such as vfio-pci for an instance, or by vDPA.
    Ports without such a VF are left out.
    """
    found = {port.bdf: _of_vfs(system, port.bdf) for port in ports if port.num_vfs}
    return {bdf: words for bdf, words in found.items() if words}


def of_netdevs(system: System, names: Iterable[str]) -> dict[str, Users]:
    """Name this host's own users of the netdevs ``names``; netdevs that are free are left out.

    They are devices on top, addresses and routes. Netlink tells the addresses: /proc/net/route has none
    without a subnet (/32).
    """
    from hostnic.network import routes  # the boot units ask no netdev, and the network waits for them

    leads = routes.through(system)
    found: dict[str, Users] = {}
    for name in names:
        addresses = (each for each in _addresses(system, name) if not each.startswith(routes.LINK_LOCAL))
        route = (f"the route to {leads[name]}",) if name in leads else ()
        if users := (*_uppers(system, name), *addresses) or route:
            found[name] = users
    return found


def with_own(system: System, host: Host, bdfs: Collection[str]) -> Host:
    """Add this host's own uses to the ports ``bdfs``, and to those VFs of theirs that nothing else uses."""
    ports = [pf for pf in host.pfs if pf.bdf in bdfs]
    free = [vf for pf in ports for vf in pf.vfs if vf.netdev and not vf.users]
    uses = of_netdevs(system, sorted({vf.netdev for vf in free if vf.netdev})) if free else {}
    unused = [vf.bdf for vf in free if vf.netdev not in uses]
    processes = of_rdma(system, [*(pf.bdf for pf in ports), *unused])
    kernel = of_kernel(system, [pf.port for pf in ports if pf.eswitch_mode != "switchdev"])

    def with_users(vf: Vf) -> Vf:
        return vf._replace(users=vf.users or uses.get(vf.netdev or "", processes.get(vf.bdf, ())))

    return host._replace(
        pfs=tuple(
            pf._replace(
                processes=processes.get(pf.bdf, ()),
                kernel=kernel.get(pf.bdf, KernelUses()),
                vfs=tuple(with_users(vf) for vf in pf.vfs),
            )
            for pf in host.pfs
        )
    )


def of_rdma(system: System, bdfs: Iterable[str]) -> dict[str, Users]:
    """The processes that have the RDMA device of each of these functions open: DPDK, RDMA applications."""
    from hostnic.devices import rdma  # as above

    devices = {bdf: list_names(system, pci.attribute(bdf, "infiniband")) for bdf in bdfs}
    opened = rdma.openers(system) if any(devices.values()) else {}
    found: dict[str, Users] = {}
    for bdf, names in devices.items():
        processes = (process for name in names for process in opened.get(name, ()))
        if using := tuple(each for each in processes if each.partition(" ")[0] not in ON_EACH):
            found[bdf] = using
    return found


def of_kernel(system: System, ports: Iterable[Port]) -> dict[str, KernelUses]:
    """Return the kernel's users of each port's RDMA, by BDF; ports without use are left out.

    ``ports`` are in legacy mode: in switchdev mode an uplink has no RDMA but for raw Ethernet. A port of a
    bond may be the one that its bond uses, whichever of its ports has the RDMA device.
    """
    from hostnic.devices import kernelrdma  # not on a host in order: hooks stay fast

    named = [port for port in ports if port.netdev and not port.infiniband]
    found = kernelrdma.users(system) if named else []
    if not found:
        return {}
    above = {port.bdf: stack(system, [port.netdev or ""]) for port in named}
    leads = {user: _netdev_to(system, user, above) for user in found}
    uses: dict[str, KernelUses] = {}
    for port in named:
        devices = list_names(system, pci.attribute(port.bdf, "infiniband"))
        sure = [user.words for user in found if user.device in devices or leads[user] in above[port.bdf]]
        perhaps = [user.words for user in found if not user.device and leads[user] is None]
        if sure or perhaps:
            uses[port.bdf] = KernelUses(tuple(sure), tuple(perhaps))
    return uses


def stand_on(system: System, netdev: str) -> frozenset[str]:
    """The netdev and all that stand on it: a bond, its VLANs, a bridge."""
    found = [netdev]
    for name in found:  # which grows
        entries = list_names(system, f"/sys/class/net/{name}")
        uppers = (entry.removeprefix("upper_") for entry in entries if entry.startswith("upper_"))
        found += (upper for upper in uppers if upper not in found)
    return frozenset(found)


def addresses_on(system: System, netdevs: Iterable[str]) -> dict[str, str]:
    """The addresses of these netdevs, each with its netdev; what does not tell its own is left out."""
    return {
        address.partition("/")[0]: name
        for name in sorted(netdevs)
        for address in if_told(lambda name=name: system.links.addresses(name)) or ()
    }


def stack(system: System, netdevs: Iterable[str]) -> frozenset[str]:
    """The netdevs and all that stand on them; for ports of Open vSwitch also what is in it.

    sysfs does not link its internal ports, and their VLANs, to the port through which they send.
    """
    found = frozenset[str]().union(*(stand_on(system, netdev) for netdev in netdevs))
    return found | on_datapath(system) if DATAPATH in found else found


def on_datapath(system: System) -> frozenset[str]:
    """Open vSwitch's internal ports, through which the host itself sends, and all that stand on them."""
    internal = (link.name for link in system.links.all() if link.kind == "openvswitch")
    return frozenset[str]().union(*(stand_on(system, name) for name in internal))


def _netdev_to(system: System, user: "KernelUser", above: Mapping[str, Collection[str]]) -> str | None:
    """The netdev that has one of the user's addresses, or that leads to it; None where that is not known."""
    from hostnic.network import routes  # as in of_netdevs

    own = addresses_on(system, {name for names in above.values() for name in names})
    for address in user.addresses:
        bare, _, scope = address.partition("%")
        if netdev := scope or own.get(bare) or routes.to(system, bare):
            return netdev
    return None


def of_ports(system: System, ports: Iterable[Port]) -> dict[str, str]:
    """Name this host's users of each port, by BDF; ports that are free are left out.

    That is the host's own network, or else a process with the port's RDMA device.
    """
    bdfs = {port.netdev: port.bdf for port in ports if port.netdev}
    used = of_netdevs(system, bdfs) if bdfs else {}
    netdevs = {bdf: netdev for netdev, bdf in bdfs.items() if netdev not in used}
    processes = {
        bdf: f"{netdevs[bdf]} is open in {' and '.join(users)}"
        for bdf, users in of_rdma(system, netdevs).items()
    }
    carrying = {bdfs[netdev]: f"{netdev} carries {' and '.join(users)}" for netdev, users in used.items()}
    return {**processes, **carrying}


def instances(system: System) -> Users:
    """Instances that run now, by libvirt's status files. Raises OSError if the directory cannot be read."""
    return tuple(path.rpartition("/")[2].removesuffix(".xml") for path in _status_files(system))


def domains(system: System, bdf: str, nodes: Collection[str] = ()) -> list[str]:
    """Names of libvirt's running domains that were given the function at ``bdf`` or one of ``nodes``.

    ``nodes`` are the character devices of its vDPA devices.
    """
    found: list[str] = []
    for path in if_told(lambda: _status_files(system)) or ():
        xml = read_text(system, path) or ""
        if bdf in pci_addresses(xml) or not vdpa_nodes(xml).isdisjoint(nodes):
            name = re.search(NAME, xml)
            found.append(name.group(1) if name else path.rpartition("/")[2].removesuffix(".xml"))
    return found


def pci_addresses(xml: str) -> set[str]:
    """PCI addresses of the host's functions that a domain's status names as the source of a device."""
    found: set[str] = set()
    for source in re.findall(SOURCE, xml):
        for attributes in re.findall(ADDRESS, source):
            parts = {name: int(value, 16) for name, value in re.findall(FIELD, attributes)}
            if len(parts) == 4:
                found.add("{domain:04x}:{bus:02x}:{slot:02x}.{function:x}".format(**parts))
    return found


def vdpa_nodes(xml: str) -> set[str]:
    """Character devices of vDPA that a domain's status names: ``<source dev='/dev/vhost-vdpa-0'/>``.

    An interface has them (type vdpa), and in later releases of libvirt a disk, too (type vhostvdpa).
    """
    return set(re.findall(NODE, xml))


def _of_vfs(system: System, bdf: str) -> str:
    try:
        by_function = vdpa.devices(system)
        vfs = pci.vf_addresses(system, bdf).values()
    except OSError as error:
        return f"perhaps ({cause(error)})"
    given = ((vf, _given_away(system, vf, pci.driver(system, vf), by_function.get(vf, ()))) for vf in vfs)
    return users_in_words(given)


def _given_away(system: System, bdf: str, driver: str | None, vdpa_devices: Sequence[Vdpa]) -> Users:
    """Name the holder of a VF through a driver other than the NIC's own, or through vDPA."""
    if vdpa_devices:
        unnamed = tuple(device.words for device in vdpa_devices)
    elif driver is None or driver == MLX5:
        return ()
    else:
        unnamed = (driver,)
    return tuple(domains(system, bdf, [device.node for device in vdpa_devices if device.node])) or unnamed


def _status_files(system: System) -> list[str]:
    """Their paths. Raises OSError if a directory that is there cannot be read."""
    return [
        f"{directory}/{name}"
        for directory in LIBVIRT
        if system.files.exists(directory)
        for name in sorted(system.files.listdir(directory))
        if name.endswith(".xml")
    ]


def _uppers(system: System, netdev: str) -> Iterator[str]:
    """VLANs, macvtaps, a bond or a bridge: ``upper_<name>`` in sysfs."""
    try:
        names = sorted(system.files.listdir(f"/sys/class/net/{netdev}"))
        yield from (name.removeprefix("upper_") for name in names if name.startswith("upper_"))
    except OSError as error:
        yield f"perhaps a device on top ({cause(error)})"


def _addresses(system: System, netdev: str) -> Iterator[str]:
    try:
        yield from system.links.addresses(netdev)
    except OSError as error:
        yield f"perhaps an address ({cause(error)})"
