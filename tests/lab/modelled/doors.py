# SPDX-License-Identifier: Apache-2.0
"""The modelled host's doors: what each method of :mod:`hostnic.system` does to its state."""

import errno
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hostnic.netlink.dcb import App, Coalescing, Dcb, Rings
from hostnic.netlink.measured import Health, Traffic
from hostnic.system import MODE_CHANGE_TIME, Channels, DeviceInfo, Link, Pause

from lab.modelled.nic import counters, mlx5, vflag
from lab.modelled.nic.dcb import Changed, FakeDcb

if TYPE_CHECKING:
    from lab.modelled.kernel import FakeKernel


COMMAND_TIME = 60.0
"""Seconds that mlx5 waits for its firmware (MLX5_CMD_TIMEOUT_MSEC of driver.h)."""

TRAINING = 1.0
"""Seconds until a link is back after its port was opened."""


class Door:
    """A door of the modelled host."""

    def __init__(self, kernel: "FakeKernel") -> None:
        self.kernel = kernel
        self.network = kernel.network

    def flap(self, link: str, **when: float) -> None:
        """The link of a port goes down for a moment; counts the bonds that carry nothing meanwhile."""
        network, now = self.network, self.kernel.clock
        network.flap(link, now, **when)
        begin, _ = network.flaps[link]
        self.kernel.blackouts += sum(
            network.carries(bond, now) and not network.carries(bond, begin)
            for bond in network.bonds.values()
            if link in bond.members
        )

    def close_and_open(self, link: str) -> None:
        """Its driver closes the netdev and opens it again within the call, and the link is trained anew."""
        if link not in self.network.down:
            self.flap(link, begins=0.01, time=TRAINING)

    def await_change(self, port: mlx5.FakePort, most: float) -> None:
        """Wait ``most`` seconds for the end of a change of mode: the kernel holds the device's lock."""
        if port.changing is None:
            return
        kernel, (end, mode) = self.kernel, port.changing
        if end - kernel.clock > most:
            kernel.sleep(most)
            raise TimeoutError("timed out")
        if end > kernel.clock:
            kernel.sleep(end - kernel.clock)
        port.changing = None
        mlx5.set_eswitch_mode(port, mode)
        port.netdevs_at = kernel.clock + port.netdevs_delay
        kernel.profile_changed(port)
        if port.netdev not in self.network.down:
            self.flap(port.netdev, begins=0.0)  # the driver closes and opens the netdev


class _NetdevDoor(Door):
    def need(self, name: str) -> None:
        if not any(link.name == name for link in self.network.links(self.kernel.clock)):
            raise mlx5.refuse(errno.ENODEV)


class LinkDoor(_NetdevDoor):
    """rtnetlink."""

    def all(self) -> list[Link]:
        return self.network.links(self.kernel.clock)

    def addresses(self, link: str) -> list[str]:
        self.need(link)
        return self.network.addresses_of(link)

    def traffic(self) -> Mapping[int, Traffic]:
        links = {link.name: link.ifindex for link in self.network.links(self.kernel.clock)}
        return {
            links[name]: counters.traffic(vf, self.kernel.clock)
            for name, vf in self.network.representors(self.kernel.clock)
        }

    def rdma(self) -> Mapping[tuple[str, int], str]:
        return self.kernel.rdma.links(self.network, self.kernel.clock)

    def set_master(self, link: str, master: str | None) -> None:
        self.need(link)
        self.network.set_master(link, master, self.kernel.clock)
        self.kernel.members_changed()

    def set_up(self, link: str, up: bool) -> None:
        self.need(link)
        self.network.set_up(link, up)

    def await_change(self) -> None:
        """Have happen what a test wants meanwhile, one thing per call; then systemd ends the service."""
        kernel = self.kernel
        if kernel.process not in kernel.watching:
            kernel.watching.add(kernel.process)
        elif kernel.meanwhile:
            kernel.meanwhile.pop(0)(kernel)
        else:
            raise SystemExit


class EthtoolDoor(_NetdevDoor):
    """ethtool netlink: a port of a NIC has all of it, other netdevs nothing."""

    def hw_tc_offload(self, link: str) -> bool | None:
        self.need(link)
        port = self.network.uplink(link)
        return port.hw_tc_offload if port else False

    def set_hw_tc_offload(self, link: str, on: bool) -> None:
        self._uplink(link).hw_tc_offload = on

    def pause(self, link: str) -> Pause | None:
        self.need(link)
        port = self.network.uplink(link)
        return Pause(port.pause, port.pause) if port else None

    def set_pause(self, link: str, rx: bool, tx: bool) -> None:
        port = self._uplink(link)
        changed, port.pause = port.pause != rx, rx
        if changed and port.dcb.closes(Changed({"pause"})):
            self.close_and_open(link)

    def channels(self, link: str) -> Channels | None:
        self.need(link)
        port = self.network.uplink(link)
        return Channels(port.channels, port.most_channels) if port else None

    def set_channels(self, link: str, combined: int) -> None:
        port = self._uplink(link)
        if not 0 < combined <= port.most_channels:
            raise mlx5.refuse(errno.EINVAL)
        port.channels = combined
        self._opened_anew(link)

    def rings(self, link: str) -> Rings | None:
        self.need(link)
        port = self.network.uplink(link)
        return port.rings if port else None

    def set_rings(self, link: str, rings: Rings) -> None:
        self._uplink(link).rings = rings
        self._opened_anew(link)

    def coalescing(self, link: str) -> Coalescing | None:
        self.need(link)
        port = self.network.uplink(link)
        return port.coalescing if port else None

    def set_coalescing(self, link: str, wanted: Coalescing) -> None:
        self._uplink(link).coalescing = wanted
        self._opened_anew(link)

    def statistics(self, link: str) -> Mapping[str, int]:
        self.need(link)
        if port := self.network.uplink(link):
            if port.silent:  # mlx5 shows what it has known before
                self.kernel.sleep(COMMAND_TIME)
            else:
                port.counted = self.kernel.clock
            return counters.shown(port, port.counted)
        (found,) = (each for each in self.network.links(self.kernel.clock) if each.name == link)
        is_vf = found.port_name and "vf" in found.port_name
        return dict.fromkeys(counters.representor(self.kernel.kernel) if is_vf else (), 0)

    def _opened_anew(self, link: str) -> None:
        """mlx5 opens all queues again, with the carrier off meanwhile (mlx5e_safe_switch_params)."""
        if link not in self.network.down:
            self.flap(link)

    def _uplink(self, link: str) -> mlx5.FakePort:
        self.need(link)
        port = self.network.uplink(link)
        if port is None:
            raise mlx5.refuse(errno.EOPNOTSUPP)
        return port


class DcbDoor(_NetdevDoor):
    """dcbnl."""

    def _of(self, link: str) -> FakeDcb:
        if link != "lo":  # which every kernel has
            self.need(link)
        port = self.network.uplink(link)
        if port is None:
            raise mlx5.refuse(errno.EOPNOTSUPP)
        return port.dcb

    def get(self, link: str) -> Dcb:
        return self._of(link).get()

    def set(self, link: str, wanted: Dcb) -> None:
        bridging = self._of(link)
        changed = bridging.set(wanted)
        if "pfc" in changed and bridging.quirks.toggles:
            self.flap(link)
        self._reopen(link, changed)

    def delete_apps(self, link: str, apps: Sequence[App]) -> None:
        self._reopen(link, self._of(link).delete_apps(apps))

    def set_dcbx(self, link: str, mode: int) -> None:
        self._reopen(link, self._of(link).set_dcbx(mode))

    def _reopen(self, link: str, changed: Changed) -> None:
        if self._of(link).closes(changed):
            self.close_and_open(link)


class DevlinkDoor(Door):
    """devlink, for ports whose driver is mlx5_core."""

    def _port(self, bdf: str) -> mlx5.FakePort:
        for port in self.network.ports():
            if port.bdf == bdf and not port.gone and port.driver == "mlx5_core":
                return port
        raise mlx5.refuse(errno.ENODEV)

    def _infiniband(self, port: mlx5.FakePort) -> bool:
        return self.kernel.card_of(port).is_infiniband(port)

    def eswitch_mode(self, bdf: str) -> str | None:
        port = self._port(bdf)
        self.await_change(port, MODE_CHANGE_TIME)
        return None if port.eswitch_mode == "none" or self._infiniband(port) else port.eswitch_mode

    def set_eswitch_mode(self, bdf: str, mode: str) -> None:
        port, kernel = self._port(bdf), self.kernel
        nic = kernel.card_of(port)
        if mode not in ("legacy", "switchdev"):
            raise mlx5.refuse(errno.EINVAL)
        if self._infiniband(port):  # eswitch_offloads.c: mlx5_devlink_eswitch_check
            raise mlx5.refuse(errno.EOPNOTSUPP)
        self.await_change(port, MODE_CHANGE_TIME)
        vflag.dissolve(nic, kernel.saying(nic))
        kernel.reconsider(nic)
        mlx5.try_lock(port, kernel.clock)
        if mode != port.eswitch_mode:
            mlx5.try_eswitch_mode(port, mode, kernel.clock, kernel.saying(nic))
            port.changing = (kernel.clock + port.mode_time, mode)
            self.await_change(port, MODE_CHANGE_TIME)

    def encap_mode(self, bdf: str) -> str | None:
        port = self._port(bdf)
        return None if port.eswitch_mode == "none" or self._infiniband(port) else port.encap_mode

    def set_inline_mode(self, bdf: str, mode: str) -> None:
        port = self._port(bdf)
        mlx5.set_inline_mode(self.kernel.card_of(port), port, mode)

    def param(self, bdf: str, name: str) -> str | bool | int | None:
        port = self._port(bdf)
        return mlx5.param(self.kernel.card_of(port), port, name)

    def set_param(self, bdf: str, name: str, value: str | bool | int) -> None:
        port = self._port(bdf)
        mlx5.set_param(self.kernel.card_of(port), port, name, value)

    def info(self, bdf: str) -> DeviceInfo:
        port = self._port(bdf)
        if port.silent:
            self.kernel.sleep(COMMAND_TIME)
            raise mlx5.refuse(errno.ETIMEDOUT)
        nic = self.kernel.card_of(port)
        return DeviceInfo(nic.version, nic.psid)

    def health(self, bdf: str, reporter: str) -> Health | None:
        return self._port(bdf).reporters.get(reporter)
