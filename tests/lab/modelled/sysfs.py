# SPDX-License-Identifier: Apache-2.0
"""The modelled host's /sys, /proc and debugfs, generated from its NICs at each look."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os.path import normpath

from hostnic.devices import vdpa
from hostnic.devices.pci import DEVICES, DRIVERS
from hostnic.devices.port import FLASH_RECOVERY

from lab.modelled.network import FakeNetwork
from lab.modelled.nic.model import FakeCard, FakePort, FakeVf
from lab.modelled.nic.pcispace import FakeBridge, FakeGpu, nic_config, nic_vpd


@dataclass(frozen=True)
class SymLink:
    """A symbolic link's target."""

    target: str


LOCKED, UNLOCKED = "none [integrity] confidentiality", "[none] integrity confidentiality"

DEBUGFS = "/sys/kernel/debug"

ROOT_PORT = "/sys/devices/pci0000:3a/0000:3a:00.0"
"""The bridge that all functions lie behind."""

Node = str | SymLink
Tree = dict[str, "Node | Tree"]
"""A directory: names to texts, links, or directories."""


def pci_devices(
    cards: list[FakeCard], iommu: bool, now: float, others: Mapping[str, FakeBridge | FakeGpu] | None = None
) -> Tree:
    """``/sys/bus/pci/devices``, with a disk controller that has nothing to do with us."""
    tree: Tree = {"0000:00:17.0": {"class": "0x010601\n", "vendor": "0x8086\n", "device": "0xa182\n"}}
    for bdf, other in (others or {}).items():
        tree[bdf] = {**other.files}
    for card in cards:
        for port in card.ports:
            if not port.gone:
                tree[port.bdf] = _pf(card, port, iommu, now)
                tree.update({vf.bdf: _vf(card, port, vf, iommu) for vf in port.present(now)})
    return tree


def _function(card: FakeCard, device: str, driver: str | None, iommu: bool) -> Tree:
    vendor, _, model = device.partition(":")
    tree: Tree = {
        "class": "0x020000\n",
        "vendor": f"0x{vendor}\n",
        "device": f"0x{model}\n",
        "numa_node": f"{card.numa_node}\n",
    }
    if driver:
        tree["driver"] = SymLink(f"../../../../bus/pci/drivers/{driver}")
    if iommu:
        tree["iommu_group"] = SymLink("../../../../kernel/iommu_groups/42")
    return tree


def _pf(card: FakeCard, port: FakePort, iommu: bool, now: float) -> Tree:
    tree = _function(card, card.device, port.driver, iommu)
    if card.is_infiniband(port):
        tree["class"] = "0x020700\n"
    if card.device in FLASH_RECOVERY:
        tree["class"] = card.recovery_class
    if port.driver == "mlx4_core":
        tree["class"] = "0x028000\n"
    if port.driver == "mlx5_core" and card.has_netdev(port):
        tree["net"] = {port.netdev: {}}
    tree["config"] = nic_config(port.mrrs, port.semaphore)
    if card.serial:
        tree["vpd"] = nic_vpd(card.serial)
    if port.temperature is not None:
        now_milli, most = f"{port.temperature * 1000:.0f}\n", "75000\n" if port.temperature else "0\n"
        asic: Tree = {"temp1_label": "asic\n", "temp1_input": "55000\n"}
        module: Tree = {"temp2_label": "Module0\n", "temp2_input": now_milli, "temp2_crit": most}
        tree["hwmon"] = {"hwmon3": {**asic, **module}}
    if port.total_vfs:
        tree["sriov_totalvfs"] = f"{port.total_vfs}\n"
        tree["sriov_numvfs"] = f"{len(port.present(now))}\n"
        tree["sriov_drivers_autoprobe"] = f"{int(port.autoprobe)}\n"
    for vf in port.present(now):
        tree[f"virtfn{vf.index}"] = SymLink(f"../{vf.bdf}")
    return tree


def _vf(card: FakeCard, port: FakePort, vf: FakeVf, iommu: bool) -> Tree:
    tree = _function(card, "15b3:101e", vf.driver, iommu)
    tree["physfn"] = SymLink(f"../{port.bdf}")
    if vf.vdpa:
        below: Tree = {}
        if vf.vdpa.driver:
            below["driver"] = SymLink(f"../../../../../bus/vdpa/drivers/{vf.vdpa.driver}")
        if vf.vdpa.driver == "vhost_vdpa":
            below[f"vhost-vdpa-{vf.vdpa.minor}"] = {"dev": f"511:{vf.vdpa.minor}\n"}
        tree[vf.vdpa.name] = below
    return tree


def vdpa_bus(cards: list[FakeCard], now: float) -> Tree:
    """``/sys/bus/vdpa/devices``: links to the devices below their VFs; empty where there is none."""
    vfs = [vf for card in cards for port in card.ports for vf in port.present(now)]
    above = "../../.." + ROOT_PORT.removeprefix("/sys")
    return {vf.vdpa.name: SymLink(f"{above}/{vf.bdf}/{vf.vdpa.name}") for vf in vfs if vf.vdpa}


def lag_debugfs(cards: list[FakeCard], with_lag: bool) -> Tree:
    """``/sys/kernel/debug/mlx5``; ``lag`` from kernel 5.19 on, of cards that have a LAG object."""
    tree: Tree = {}
    for card in cards:
        for port in card.ports:
            if port.driver == "mlx5_core" and not port.gone:
                told: Tree = {"lag": _lag(card)} if with_lag and card.offers_lag else {}
                if port.connections is not None and port.eswitch_mode == "switchdev":
                    told["ct"] = {"offloaded": f"{port.connections}\n", "rx_dropped": "0\n"}
                tree[port.bdf] = told
    return tree


def _lag(card: FakeCard) -> Tree:
    if card.lag is None:
        return {"state": "disabled\n"}
    shared = card.multiport or (card.lag == "switchdev" and card.shared_fdb)
    return {
        "state": "active\n",
        "type": f"{card.lag}\n",
        "port_sel_mode": "mpesw\n" if card.multiport else "hash\n" if card.lag_hash else "queue_affinity\n",
        "flags": f"shared_fdb:{'on' if shared else 'off'}\n",
        "members": "".join(f"{port.bdf}\n" for port in card.ports),
    }


def net_class(network: FakeNetwork, now: float) -> Tree:
    """``/sys/class/net``: what stands on each netdev; bonds, and what they say of their members."""
    above: dict[str, Tree] = {
        link.name: {f"upper_{name}": SymLink(f"../{name}") for name in network.standing_on(link.name)}
        for link in network.links(now)
    }
    for name, changes in network.carrier_changes.items():
        if name in above:
            above[name]["carrier_changes"] = f"{changes}\n"
    tree: Tree = {**above}
    for bond in network.bonds.values():
        lacp = bond.mode == "802.3ad"
        own: Tree = {"bonding": {"mode": bond.mode, "ad_aggregator": "1\n" if lacp else "\n"}}
        tree[bond.name] = {**above.get(bond.name, {}), **own}
        for member in bond.members:
            live = network.has_carrier(member, now)
            joined = network.joined(bond, member, now)
            states = {
                "ad_aggregator_id": "1\n" if live else "2\n",  # before the partner is heard
                "ad_actor_oper_port_state": "63\n" if live and joined else "7\n",
                "ad_partner_oper_port_state": "63\n" if live and joined else "1\n",
            }
            tree[member] = {
                **above.get(member, {}),
                "master": SymLink(f"../{bond.name}"),
                "bonding_slave": {
                    "mii_status": "up\n" if live else "down\n",
                    **(states if lacp else dict.fromkeys(states, "N/A\n")),
                },
            }
    return tree


Mounts = dict[str, Callable[[], Tree]]
"""Directories by absolute path, each built when something in it is looked at."""


def mounts(
    network: FakeNetwork,
    iommu: bool,
    with_lag: bool,
    now: float,
    kernel: str,
    boot_id: str,
    locked_down: bool = False,
    others: Mapping[str, FakeBridge | FakeGpu] | None = None,
) -> Mounts:
    """Everything that the kernel shows as files."""
    cards = network.cards
    bus = vdpa_bus(cards, now)
    return {
        **({vdpa.DEVICES: lambda: bus} if bus else {}),  # without vDPA the kernel has not loaded its bus
        ROOT_PORT: lambda: pci_devices(cards, iommu, now, others),
        "/sys/class/net": lambda: net_class(network, now),
        DEVICES: lambda: pci_devices(cards, iommu, now, others),
        DRIVERS: lambda: {"mlx5_core": {}, "vfio-pci": {}},
        "/sys/kernel/debug/mlx5": lambda: lag_debugfs(cards, with_lag),
        "/sys/kernel/security": lambda: {"lockdown": f"{LOCKED if locked_down else UNLOCKED}\n"},
        "/proc/sys/kernel": lambda: {"osrelease": f"{kernel}\n", "random": {"boot_id": f"{boot_id}\n"}},
    }


def look(root: Mounts, path: str, follow: bool = False) -> "Node | Tree | None":
    """The node at ``path``; links on the way to it are followed, and with ``follow`` one at its end, too."""
    for mount, node in root.items():
        if path == mount:
            return node()
        if path.startswith(mount + "/"):
            here: Node | Tree | None = node()
            directory, left = mount, path[len(mount) + 1 :].split("/")
            while left:
                name = left.pop(0)
                here = here.get(name) if isinstance(here, dict) else None
                if isinstance(here, SymLink) and (left or follow):
                    return look(root, normpath("/".join([directory, here.target, *left])), follow)
                directory += f"/{name}"
            return here
    return None
