# SPDX-License-Identifier: Apache-2.0
"""The modelled host's files: sysfs, procfs and configfs from its state, others from its disk."""

import errno

from hostnic.devices import pci
from hostnic.system import FileStat

from lab.modelled import sysfs
from lab.modelled.doors import Door
from lab.modelled.files import missing
from lab.modelled.nic import mlx5, rdma


class FileDoor(Door):
    """sysfs, procfs and configfs from the model's state; other files from its disk."""

    def _look(self, path: str, follow: bool = False) -> "sysfs.Node | sysfs.Tree | None":
        kernel = self.kernel
        root = sysfs.mounts(
            self.network,
            kernel.iommu,
            kernel.lag_debugfs,
            kernel.clock,
            kernel.kernel,
            kernel.boot_id,
            kernel.locked_down,
            {**kernel.bridges, **kernel.gpus},
        )
        root = {**kernel.rdma.mounts(self.network, kernel.clock), **root}
        if not kernel.debugfs:
            root = {mount: node for mount, node in root.items() if not mount.startswith(sysfs.DEBUGFS)}
        return sysfs.look(root, path, follow)

    def read(self, path: str) -> str:
        node = self._look(path)
        if path.startswith(f"{rdma.CONFIGFS}/"):
            self.kernel.rdma.check(self.network, path)
        return node if isinstance(node, str) else self.kernel.disk.read(path)

    def listdir(self, path: str) -> list[str]:
        node = self._look(path, follow=True)
        return sorted(node) if isinstance(node, dict) else self.kernel.disk.listdir(path)

    def readlink(self, path: str) -> str:
        node = self._look(path)
        return node.target if isinstance(node, sysfs.SymLink) else self.kernel.disk.readlink(path)

    def stat(self, path: str) -> FileStat:
        node = self._look(path)
        if isinstance(node, str) and path.startswith(pci.DEVICES):
            vfs = (vf for port in self.network.ports() for vf in port.vfs if f"/{vf.bdf}/" in path)
            return FileStat(len(node), 0, next((vf.inode for vf in vfs), 0))
        return self.kernel.disk.stat(path)

    def exists(self, path: str) -> bool:
        return self._look(path) is not None or self.kernel.disk.exists(path)

    def write(self, path: str, value: str) -> None:
        if path.startswith(pci.DRIVERS):
            driver, _, action = path[len(pci.DRIVERS) + 1 :].partition("/")
            self._bind(driver, action, value)
        elif path.startswith(pci.DEVICES):
            bdf, _, name = path[len(pci.DEVICES) + 1 :].partition("/")
            self._set_attribute(bdf, name, value)
        elif path.startswith(rdma.CONFIGFS):
            self.kernel.rdma.write(self.network, path, value)
        elif self._look(path) is not None:
            self.kernel.rdma.write_attribute(path, value)
        else:
            raise missing(path)

    def _set_attribute(self, bdf: str, name: str, value: str) -> None:
        port = next((p for p in self.network.ports() if p.bdf == bdf and not p.gone), None)
        if port is None or not port.total_vfs:
            raise missing(pci.attribute(bdf, name))
        if name == "sriov_numvfs":
            self.await_change(port, float("inf"))  # a write to sysfs waits without end
            had, mode = bool(port.vfs), port.eswitch_mode
            nic = self.kernel.card_of(port)
            mlx5.set_num_vfs(nic, port, value, self.kernel.clock, self.kernel.saying(nic))
            if mode == "switchdev" != port.eswitch_mode:
                self.kernel.profile_changed(port)
            if bool(port.vfs) != had and port.eswitch_mode == ("legacy" if port.vfs else "none"):
                self.kernel.reconsider(nic)
        elif name == "sriov_drivers_autoprobe":
            port.autoprobe = value == "1"
        else:
            raise missing(pci.attribute(bdf, name))

    def _bind(self, driver: str, action: str, bdf: str) -> None:
        now = self.kernel.clock
        found = [(p, vf) for p in self.network.ports() for vf in p.present(now) if vf.bdf == bdf]
        if not found or (action == "unbind" and found[0][1].driver != driver):
            raise mlx5.refuse(errno.ENODEV)
        port, vf = found[0]
        if action == "unbind":
            vf.driver, vf.netns, vf.vdpa, vf.probed_at = None, False, None, None
        elif action == "bind":
            mlx5.bind(port, vf, driver, now)
        else:
            raise missing(f"{pci.DRIVERS}/{driver}/{action}")

    def check_own(self, path: str) -> None:
        if self._look(path) is None:
            self.kernel.disk.check_own(path)

    def install(self, path: str, content: bytes, mode: int = 0o644) -> None:
        self.kernel.disk.check_directory(path.rpartition("/")[0])
        self.kernel.disk.install(path, content, mode)

    def remove(self, path: str) -> None:
        self.kernel.disk.check_directory(path.rpartition("/")[0])
        self.kernel.disk.remove(path)

    def lock(self, path: str) -> bool:
        self.kernel.disk.check_directory(path.rpartition("/")[0])
        return self.kernel.locks.setdefault(path, self.kernel.process) == self.kernel.process

    def unlock(self, path: str) -> None:
        if self.kernel.locks.get(path) == self.kernel.process:
            del self.kernel.locks[path]

    def mkdir(self, path: str) -> None:
        self.kernel.rdma.mkdir(self.network, path)
