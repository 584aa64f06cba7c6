# SPDX-License-Identifier: Apache-2.0
"""The embedded switch of a PF: its modes, and what the uplink needs after a change of mode."""

import errno
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from converge import StepError, cause
from converge.finding import few

from hostnic.devices import pci
from hostnic.devices.port import representors_of, uplink_of
from hostnic.ops import refusal, until
from hostnic.ops.refusal import BUSY, BUSY_TIME, when_free
from hostnic.ops.vf import CreateVfs, DestroyVfs, SetAutoprobe
from hostnic.system import MODE_CHANGE_TIME, System, if_told

UNSUPPORTED = (errno.EINVAL, errno.ENODEV, errno.EOPNOTSUPP)
NO_OFFLOADS = "Failed setting eswitch to offloads"
"""mlx5's words when the firmware makes no switch for offloads (eswitch_offloads.c)."""
STANDING = {
    "Socket Direct": "take it out of option devices; "
    "the driver makes one netdev of all PCI functions of this card",
    "IPsec": "stop what offloads IPsec to this port, such as strongSwan; see ip xfrm policy",
    "net namespace": "move the port's netdev back into the host's network namespace",
    "traps": "set the action of its traps to drop (devlink trap show)",
}
"""The action that has to come first, by a word of mlx5's own text for it; its errno is any of four."""
NETDEVS_TIME = 30.0
"""Seconds in which a change of mode is followed by the netdevs of the new mode."""
MOST_NAMED = 4
"""VFs named in one sentence."""
TUNNELS = ("geneve", "gre", "gretap", "ip6gre", "ip6gretap", "vxlan")
"""Kinds of netdevs whose rules run in the NIC that their packets arrive at."""
IN_HW = re.compile(r"^\s*in_hw\b", re.MULTILINE)
"""The start of a line in tc's output for a rule that a driver has taken; others have ``not_in_hw``."""

Setting = TypeVar("Setting")


@dataclass(frozen=True)
class SetSteeringMode:
    """Prefer flow steering ``mode`` (``smfs`` or ``dmfs``); only works in eswitch mode legacy.

    If the NIC or the kernel lacks this parameter, that is no failure: the NIC then uses its default.
    """

    bdf: str
    mode: str

    def run(self, system: System) -> None:
        """Write it if it differs; return without an error if it is not supported."""
        try:
            if system.devlink.param(self.bdf, "flow_steering_mode") == self.mode:
                return
            when_free(system, lambda: system.devlink.set_param(self.bdf, "flow_steering_mode", self.mode))
            now = system.devlink.param(self.bdf, "flow_steering_mode")
        except OSError as error:
            if error.errno in UNSUPPORTED:
                return
            raise refusal.of_device(self.bdf, error) from error
        if now != self.mode:
            raise StepError(f"flow_steering_mode of {self.bdf} reads {now} after {self.mode} was set")


@dataclass(frozen=True)
class SetInlineMode:
    """Set the eswitch's inline mode; ConnectX-4 and -4 Lx need ``transport`` before switchdev."""

    bdf: str
    mode: str

    def run(self, system: System) -> None:
        """Write it. Before switchdev mode the kernel has no cheap way to read it back."""
        try:
            when_free(system, lambda: system.devlink.set_inline_mode(self.bdf, self.mode))
        except OSError as error:
            raise refusal.of_device(self.bdf, error) from error


@dataclass(frozen=True)
class SetEswitchMode:
    """Change the eswitch of ``bdf`` to ``mode`` (``legacy`` or ``switchdev``).

    ``switchdev`` is complete when the uplink carries a switch id and each VF has its representor.

    While the eswitch is busy, it asks again for :data:`hostnic.ops.refusal.BUSY_TIME`.

    Some firmware (26.42.1000 of ConnectX-6 Lx) refuses ``switchdev`` while the port has VFs, even unbound
    ones. Where it does, they are destroyed, and created again in switchdev mode, unbound; bound VFs stay.

    mlx5 gives the uplink the defaults of its new profile (mlx5e_netdev_change_profile in en_main.c). Ring
    sizes and interrupt moderation can be read before, and are put back; :class:`SetQueues` sets the queues.
    """

    bdf: str
    mode: str

    def run(self, system: System) -> None:
        """Set it if it differs, read it back, wait for its netdevs, and put back what it has reset."""
        put_back: list[Callable[[], None]] = []
        try:
            now, created = self._set(system, put_back)
        except TimeoutError as error:
            raise StepError(
                f"the kernel has not finished a change of mode of {self.bdf} within {MODE_CHANGE_TIME:g} s",
                "see the kernel log; the change may still end",
            ) from error
        except OSError as error:
            raise _explain(system, self.bdf, self.mode, error) from error
        if now != self.mode:
            raise StepError(f"the eswitch of {self.bdf} reads {now} after {self.mode} was set")
        if created:
            SetAutoprobe(self.bdf, False).run(system)
            CreateVfs(self.bdf, created).run(system)
        if self.mode == "switchdev" and not until(system, lambda: self._complete(system), NETDEVS_TIME):
            raise StepError(
                f"{self.bdf} is in switchdev mode, but its uplink has no switch id or a VF has no "
                f"representor after {NETDEVS_TIME:g} s",
                "the kernel log says which representor could not be created",
            )
        for put in put_back:
            put()

    def _set(self, system: System, put_back: list[Callable[[], None]]) -> tuple[str | None, int]:
        """The mode that is read back, and how many VFs were destroyed for it and are to be created again."""

        def change() -> str | None:
            if system.devlink.eswitch_mode(self.bdf) != self.mode:
                put_back[:] = put_back or self._settings(system)
                system.devlink.set_eswitch_mode(self.bdf, self.mode)
            return system.devlink.eswitch_mode(self.bdf)

        try:
            return when_free(system, change), 0
        except OSError as error:
            count = self._refused_for_vfs(system, error)
            if not count:
                raise
        DestroyVfs(self.bdf).run(system)
        return when_free(system, change), count

    def _refused_for_vfs(self, system: System, error: OSError) -> int:
        """How many VFs may be why the firmware refused; 0 if one is bound, since that is the reason then."""
        if self.mode != "switchdev" or NO_OFFLOADS not in cause(error):
            return 0
        bound = any(pci.driver(system, vf) for vf in pci.vf_addresses(system, self.bdf).values())
        return 0 if bound else pci.num_vfs(system, self.bdf)

    def _settings(self, system: System) -> list[Callable[[], None]]:
        """The operations that put back the uplink's settings, as far as they can be read now."""
        uplink, door = uplink_of(system.links.all(), self.bdf), system.ethtool
        if uplink is None:
            return []
        return [
            *_putting_back(uplink.name, "ring sizes", door.rings, door.set_rings),
            *_putting_back(uplink.name, "interrupt moderation", door.coalescing, door.set_coalescing),
        ]

    def _complete(self, system: System) -> bool:
        links = system.links.all()
        uplink = uplink_of(links, self.bdf)
        if uplink is None or uplink.switch_id is None:
            return False
        return len(representors_of(links, self.bdf)) >= pci.num_vfs(system, self.bdf)


def _putting_back(
    netdev: str, what: str, read: Callable[[str], Setting | None], write: Callable[[str, Setting], None]
) -> list[Callable[[], None]]:
    """Return the calls that restore a setting as ``netdev`` has it; none where its driver does not tell."""
    before = if_told(lambda: read(netdev))
    if before is None:
        return []

    def put() -> None:
        try:
            if read(netdev) != before:
                write(netdev, before)
        except OSError as error:
            if error.errno not in UNSUPPORTED:  # a driver may refuse in one mode what it takes in the other
                raise StepError(f"{what} of {netdev} cannot be put back: {cause(error)}") from error

    return [put]


@dataclass(frozen=True)
class SetQueues:
    """Give ``netdev`` ``count`` combined queues, or as many as its driver takes.

    On a port that is up this interrupts the link: mlx5 opens all queues anew (mlx5e_safe_switch_params).
    """

    netdev: str
    count: int

    def run(self, system: System) -> None:
        """Write it if it differs; a driver without combined queues has nothing to set."""
        remedy = "the kernel log says why; ethtool -l shows what the port has"
        with refusal.explained(f"{self.netdev} does not take {self.count} queues", remedy):
            now = system.ethtool.channels(self.netdev)
            wanted = min(self.count, now.most) if now else 0
            if now is None or now.combined == wanted:
                return
            system.ethtool.set_channels(self.netdev, wanted)
            now = system.ethtool.channels(self.netdev)
        if now is None or now.combined != wanted:
            has = now.combined if now else "none"
            raise StepError(f"{self.netdev} has {has} queues after {wanted} were set")


@dataclass(frozen=True)
class SetHwTcOffload:
    """Turn ethtool feature hw-tc-offload of ``netdev`` on or off."""

    netdev: str
    on: bool

    def run(self, system: System) -> None:
        with refusal.explained(f"hw-tc-offload of {self.netdev} stays as it is"):
            if system.ethtool.hw_tc_offload(self.netdev) == self.on:
                return
            system.ethtool.set_hw_tc_offload(self.netdev, self.on)
            now = system.ethtool.hw_tc_offload(self.netdev)
        if now != self.on:
            raise StepError(f"hw-tc-offload of {self.netdev} did not turn {'on' if self.on else 'off'}")


def _explain(system: System, bdf: str, mode: str, error: OSError) -> StepError:
    """Why the eswitch of ``bdf`` did not change to ``mode``, and what stands in the way now.

    mlx5's extended-ack text decides, as it uses one errno for different reasons (mlx5_esw_try_lock in
    eswitch.c, esw_offloads_start in eswitch_offloads.c; Linux 5.15 to 6.12).
    """
    said = cause(error)
    if error.errno == errno.EAGAIN or (BUSY in said and error.errno == errno.EINVAL):
        return StepError(
            f"another operation holds the eswitch of {bdf}, and mode {mode} was not set within "
            f"{BUSY_TIME:g} s: {said}",
            "see devlink monitor and the kernel log for what changes this NIC; nothing has to be freed",
        )
    if BUSY in said:
        return _of_rules(system, bdf, mode, said)
    own = error.errno in (errno.EBUSY, errno.EPERM) and said != os.strerror(error.errno)
    log = "see the kernel log for what the NIC is doing" if own else ""
    if first := next((remedy for word, remedy in STANDING.items() if word in said), log):
        return StepError(f"mlx5 does not change {bdf} to mode {mode}: {said}", first)
    if error.errno == errno.EINVAL:
        return _of_firmware(system, bdf, mode, said)
    if error.errno in (errno.EOPNOTSUPP, errno.ENOENT):
        return StepError(
            f"{bdf} has no eswitch that changes to mode {mode}: {said}", "remove it from devices"
        )
    return refusal.of_device(bdf, error)


def _of_rules(system: System, bdf: str, mode: str, said: str) -> StepError:
    """Offloaded rules use the eswitch; from 6.8 on an operation in progress gives the same refusal."""
    rules = _rules(system, bdf)
    if not rules:
        return StepError(
            f"the eswitch of {bdf} is in use, and mode {mode} was not set within {BUSY_TIME:g} s: {said}",
            "see devlink monitor and the kernel log for an operation that runs; tc shows no offloaded rule",
        )
    listed = ", ".join(f"{count} of {netdev}" for netdev, count in rules.items())
    return StepError(
        f"offloaded rules keep {bdf} from changing to mode {mode} ({listed}): {said}",
        "remove them (tc filter del dev NETDEV ingress); Open vSwitch makes its own again, but at boot the "
        "charm sets the mode before Open vSwitch starts",
    )


def _of_firmware(system: System, bdf: str, mode: str, said: str) -> StepError:
    """The firmware makes no switch for offloads while a driver uses VFs (kernel commit a3888f33)."""
    bound = _bound_vfs(system, bdf) if NO_OFFLOADS in said else ""
    if bound:
        return StepError(
            f"the firmware of {bdf} refused eswitch mode {mode}, since VFs are bound: {bound}: {said}",
            "move instances away and unbind the VFs; run echo VF > /sys/bus/pci/drivers/DRIVER/unbind, and "
            "stop what binds them (sriov_drivers_autoprobe, driverctl, libvirt)",
        )
    return StepError(
        f"the firmware of {bdf} refused eswitch mode {mode}: {said}",
        "the kernel log has the syndrome",
    )


def _bound_vfs(system: System, bdf: str) -> str:
    """The VFs of a port that have a driver, each with its driver, in words."""
    vfs = if_told(lambda: pci.vf_addresses(system, bdf)) or {}
    bound = [f"{vf} ({driver})" for vf in vfs.values() if (driver := pci.driver(system, vf))]
    return few(bound, MOST_NAMED)


def _rules(system: System, bdf: str) -> dict[str, int]:
    """How many offloaded rules may use a port's eswitch, by netdev; netdevs without one are left out.

    They are at the ingress of the uplink, of its bond, of representors and of tunnels.
    """
    links = if_told(system.links.all) or ()
    uplink = uplink_of(links, bdf)
    own = [link.name for link in (uplink, *representors_of(links, bdf)) if link]
    bond = [link.name for link in links if uplink and link.name == uplink.master and link.kind == "bond"]
    tunnels = [link.name for link in links if link.kind in TUNNELS]
    found = {netdev: _in_hardware(system, netdev) for netdev in (*own, *bond, *tunnels)}
    return {netdev: rules for netdev, rules in found.items() if rules}


def _in_hardware(system: System, netdev: str) -> int:
    """Rules at the ingress of ``netdev`` that run in hardware; 0 if tc cannot tell."""
    shown = if_told(lambda: system.query(["tc", "filter", "show", "dev", netdev, "ingress"]))
    return len(IN_HW.findall(shown or ""))
