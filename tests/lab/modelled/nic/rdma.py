# SPDX-License-Identifier: Apache-2.0
"""The modelled RDMA devices' configfs, counters and congestion control.

Refusals as in drivers/infiniband/core/cma_configfs.c: a directory for a device that the connection manager
does not have is ENODEV, and so is reading and writing in one that was left from before; a ToS beyond one byte
is ERANGE, an unknown mode EINVAL. What was set is the device's: one that is added anew has defaults.
The device of an uplink in switchdev mode is for raw Ethernet alone (:func:`hostnic.devices.rdma.managed`).
"""

import errno
import os
import re
from typing import TYPE_CHECKING

from hostnic.devices.pci import DEVICES
from hostnic.devices.rdma import CLASS, CONFIGFS, MODES

from lab.modelled.files import missing

if TYPE_CHECKING:
    from lab.modelled.network import FakeNetwork
    from lab.modelled.nic.model import FakePort, FakeVf
    from lab.modelled.sysfs import Mounts, Tree

__all__ = ["CONFIGFS", "FakeRdma"]

DEBUGFS = "/sys/kernel/debug/mlx5"
LOCAL, MAPPED = "fe80:0000:0000:0000:0ac0:ebff:fe00:0001", "0000:0000:0000:0000:0000:ffff:c000:0211"
GIDS = tuple((mode, gid) for gid in (LOCAL, MAPPED) for mode in MODES.values())
"""As mlx5 shows a netdev's: its link-local address and an IPv4 address, each for both modes."""
VERBS = "/sys/class/infiniband_verbs"
NAMES = {
    **{"mlx5_core": "mlx5", "bnxt_en": "bnxt_re", "qede": "qedr"},
    **{"ice": "irdma", "i40e": "irdma", "hns3": "hns"},
}
"""The stem of the devices' names by the RDMA driver beside a network driver."""
WITHOUT_ROCE = ("i40e",)
"""Those whose devices do iWARP (drivers/infiniband/hw/irdma/i40iw_if.c)."""


def _by_function(port: "FakePort", infiniband: bool) -> str:
    """Return rdma-core's name (kernel-boot/rdma_rename.c): "rdma" for a device of raw Ethernet."""
    bus, slot, function = (int(number, 16) for number in re.split("[:.]", port.bdf)[1:])
    prefix = "ib" if infiniband else "rdma" if port.eswitch_mode == "switchdev" else "roce"
    return f"{prefix}p{bus}s{slot}f{function}"


class FakeRdma:
    """State behind the files.

    Attributes:
        module: rdma_cm is loaded, so that its directory in configfs exists.
        devices: name to the netdev of its GIDs; those of the cards come by themselves (FakeCard.rdma).
        made: directories in configfs.
        values: ``(device, attribute)`` to text.
        cc: congestion control parameters by ``(bdf, name)``; none means that debugfs has no such directory.
        counters: by name, the same for all devices.
        vports: firmware and kernel tell the RoCE counters of VFs (q_counter_other_vport).
        renamed: rdma-core has named the NICs' devices by function as they appeared.

    """

    def __init__(self) -> None:
        self.module = True
        self.renamed = False
        self.vports = True
        self.devices: dict[str, str] = {}
        self.made: set[str] = set()
        self.values: dict[tuple[str, str], str] = {}
        self.cc: dict[tuple[str, str], int] = {}
        self.counters: dict[str, int] = {"np_cnp_sent": 0, "rp_cnp_handled": 0, "out_of_sequence": 0}

    def power_on(self) -> None:
        """Nothing survives."""
        self.made.clear()
        self.values.clear()

    def re_add(self, device: str) -> None:
        """The device was removed and added again: configfs' directory stays, what was set is gone."""
        self.values = {key: value for key, value in self.values.items() if key[0] != device}

    def re_add_those_of(self, network: "FakeNetwork", bdf: str) -> None:
        """The function's driver started anew."""
        for name in [name for name, (owner, _) in self.names(network).items() if owner == bdf]:
            self.re_add(name)

    def names(self, network: "FakeNetwork") -> dict[str, tuple[str | None, str]]:
        """Device to its PCI address and the netdev of its GIDs."""
        found: dict[str, tuple[str | None, str]] = {}
        for card in network.cards:
            having = card.ports[:1] if card.one_fdb else card.ports
            for port in (port for port in having if port.rdma and (card.rdma or card.is_infiniband(port))):
                if port.gone or port.driver not in NAMES or port.rdma_netns:
                    continue
                bond = network.bond_of(port.netdev)
                stem = NAMES[port.driver]
                name = f"{stem}_bond_{len(found)}" if card.one_fdb else f"{stem}_{len(found)}"
                if self.renamed:
                    name = _by_function(port, card.is_infiniband(port))
                found[name] = (port.bdf, bond.name if bond and card.lag else port.netdev)
        return {**found, **{name: (None, netdev) for name, netdev in self.devices.items()}}

    def functions(self, network: "FakeNetwork", now: float) -> dict[str, str | None]:
        """Device to its PCI address, in the order of their character devices: the ports', then the VFs'."""
        found = {name: bdf for name, (bdf, _) in self.names(network).items()}
        ports = [port for card in network.cards if card.rdma for port in card.ports]
        vfs = [vf.bdf for port in ports for vf in port.present(now) if vf.driver == "mlx5_core"]
        return found | {f"mlx5_{number}": bdf for number, bdf in enumerate(vfs, len(found))}

    def links(self, network: "FakeNetwork", now: float) -> dict[tuple[str, int], str]:
        """Netdevs by device and port: the uplink's, and the representors of VFs in switchdev mode.

        A LAG with one FDB has the representors of both ports at its one device (hw/mlx5/ib_rep.c).
        """
        found: dict[tuple[str, int], str] = {}
        for name, vfs in self._vfs(network, now).items():
            found[name, 1] = self.names(network)[name][1]
            found |= {(name, number): netdev for number, (netdev, _) in enumerate(vfs, 2)}
        return found

    def _vfs(self, network: "FakeNetwork", now: float) -> "dict[str, list[tuple[str, FakeVf]]]":
        """By device, the representors that have a port at it."""
        having: dict[str, list[tuple[str, FakeVf]]] = {}
        for name, (bdf, _) in self.names(network).items():
            card = next((each for each in network.cards if bdf in [port.bdf for port in each.ports]), None)
            ports = [p for p in card.ports if card.one_fdb or p.bdf == bdf] if card else []
            own = {id(vf) for port in ports for vf in port.vfs}
            having[name] = [each for each in network.representors(now) if id(each[1]) in own]
        return having

    def managed(self, network: "FakeNetwork") -> set[str]:
        """The devices that the connection manager has."""
        raw = {port.bdf for port in network.ports() if port.eswitch_mode == "switchdev"}
        return {name for name, (bdf, _) in self.names(network).items() if bdf not in raw}

    def mounts(self, network: "FakeNetwork", now: float) -> "Mounts":
        """Return the files that show it."""
        seen: Mounts = {CLASS: lambda: self._class(network, now)}
        names = self.names(network)
        devices = self.functions(network, now)
        for name, bdf in devices.items():
            if bdf:
                owner = next((card for card in network.cards if bdf in [p.bdf for p in card.ports]), None)
                about: Tree = {"sys_image_guid": f"{owner.switch_id}\n"} if owner else {}
                seen[f"{DEVICES}/{bdf}/infiniband"] = lambda name=name, about=about: {name: about}
        for port in network.ports():  # sysfs shows a device to its own namespace, its directory to all
            if port.rdma_netns:
                seen[f"{DEVICES}/{port.bdf}/infiniband"] = lambda: {}
        verbs: Tree = {f"uverbs{index}": {"ibdev": f"{name}\n"} for index, name in enumerate(devices)}
        if verbs:
            seen[VERBS] = lambda: verbs
        if self.module:
            seen[CONFIGFS] = lambda: {name: self._directory(name) for name in self.made}
        # drivers/infiniband/hw/mlx5/cong.c makes them with the RDMA device of a port.
        owners = {bdf for bdf, _ in names.values()}
        for bdf in {bdf for bdf, _ in self.cc} & owners:
            seen[f"{DEBUGFS}/{bdf}/cc_params"] = lambda bdf=bdf: {
                name: f"{value}\n" for (owner, name), value in self.cc.items() if owner == bdf
            }
        return seen

    def _class(self, network: "FakeNetwork", now: float) -> "Tree":
        from lab.modelled.nic import counters as counters_of
        from lab.modelled.sysfs import SymLink

        vfs = self._vfs(network, now)
        tree: Tree = {}
        managed = self.managed(network)
        every = ((card, port) for card in network.cards for port in card.ports)
        links = {port.bdf: (port.link, port.lid) for card, port in every if card.is_infiniband(port)}
        for name, (bdf, netdev) in self.names(network).items():
            counters: Tree = {counter: f"{value}\n" for counter, value in self.counters.items()}
            entries = GIDS if name in managed else ()
            state, lid = links.get(bdf or "", ("4: ACTIVE", 0))
            port: Tree = {
                "gid_attrs": {
                    "ndevs": {str(index): f"{netdev}\n" for index in range(len(entries))},
                    "types": {str(index): f"{kind}\n" for index, (kind, _) in enumerate(entries)},
                },
                "gids": {str(index): f"{gid}\n" for index, (_, gid) in enumerate(entries)},
                "hw_counters": counters,
                "link_layer": "InfiniBand\n" if bdf in links else "Ethernet\n",
                "state": f"{state}\n",
                "lid": f"{lid:#x}\n",
            }
            if self.module and name in managed:
                port["cm_rx_msgs"] = {"req": "0\n"}
            ports: Tree = {"1": port}
            for number, (_, vf) in enumerate(vfs[name], 2):
                seen = {each: f"{int(vf.growth.get(each, 0) * now)}\n" for each in counters_of.VPORT}
                ports[str(number)] = {"hw_counters": {**seen} if self.vports else {}}
            iwarp = bdf in {port.bdf for port in network.ports() if port.driver in WITHOUT_ROCE}
            device: Tree = {"ports": ports, "node_type": "4: RNIC\n" if iwarp else "1: CA\n"}
            if bdf:
                device["device"] = SymLink(f"../../../{bdf}")
            tree[name] = device
        return tree

    def _directory(self, name: str) -> "Tree":
        mode = self.values.get((name, "default_roce_mode"), MODES["v2"])
        tos = self.values.get((name, "default_roce_tos"), "0")
        return {"ports": {"1": {"default_roce_mode": f"{mode}\n", "default_roce_tos": f"{tos}\n"}}}

    def mkdir(self, network: "FakeNetwork", path: str) -> None:
        """Ask configfs for a device."""
        parent, _, name = path.rpartition("/")
        if parent != CONFIGFS or not self.module:
            raise missing(path)
        self._need(network, name, path)
        self.made.add(name)

    def check(self, network: "FakeNetwork", path: str) -> None:
        """Read an attribute in configfs: the device must be the connection manager's."""
        name = path[len(CONFIGFS) + 1 :].partition("/")[0]
        if name in self.made:
            self._need(network, name, path)

    def write(self, network: "FakeNetwork", path: str, value: str) -> None:
        """Write an attribute in configfs."""
        name, _, rest = path[len(CONFIGFS) + 1 :].partition("/")
        attribute = rest.rpartition("/")[2]
        if name not in self.made:
            raise missing(path)
        self._need(network, name, path)
        if attribute == "default_roce_tos":
            if int(value, 0) > 255:
                raise OSError(errno.ERANGE, os.strerror(errno.ERANGE), path)
            value = str(int(value, 0))
        elif value not in MODES.values():
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        self.values[name, attribute] = value

    def _need(self, network: "FakeNetwork", name: str, path: str) -> None:
        if name not in self.managed(network):
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV), path)

    def write_attribute(self, path: str, value: str) -> None:
        """Write a congestion control parameter."""
        bdf, _, name = path.removeprefix(f"{DEBUGFS}/").partition("/cc_params/")
        if (bdf, name) not in self.cc:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES), path)
        self.cc[bdf, name] = int(value, 0)
