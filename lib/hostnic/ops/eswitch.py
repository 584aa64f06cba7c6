# SPDX-License-Identifier: Apache-2.0
"""The embedded switch of a PF: its modes, and the uplink's hw-tc-offload."""

import errno
from dataclasses import dataclass

from converge import StepError

from hostnic.devices import pci
from hostnic.devices.port import representors_of, uplink_of
from hostnic.ops import refusal, until
from hostnic.system import System

UNSUPPORTED = (errno.EINVAL, errno.ENODEV, errno.EOPNOTSUPP)


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
            system.devlink.set_param(self.bdf, "flow_steering_mode", self.mode)
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
        """Write it. The kernel has no cheap read-back before switchdev mode, so that its answer has to do."""
        try:
            system.devlink.set_inline_mode(self.bdf, self.mode)
        except OSError as error:
            raise refusal.of_device(self.bdf, error) from error


@dataclass(frozen=True)
class SetEswitchMode:
    """Change the eswitch of ``bdf`` to ``mode`` (``legacy`` or ``switchdev``).

    ``switchdev`` is complete when the uplink carries a switch id and each VF has its representor.
    """

    bdf: str
    mode: str
    deadline: float = 30.0

    def run(self, system: System) -> None:
        """Set it if it differs, read it back, and wait for the netdevs that it creates."""
        try:
            if system.devlink.eswitch_mode(self.bdf) != self.mode:
                system.devlink.set_eswitch_mode(self.bdf, self.mode)
            now = system.devlink.eswitch_mode(self.bdf)
        except OSError as error:
            raise refusal.of_eswitch_mode(self.bdf, self.mode, error) from error
        if now != self.mode:
            raise StepError(f"the eswitch of {self.bdf} reads {now} after {self.mode} was set")
        if self.mode == "switchdev" and not until(system, lambda: self._complete(system), self.deadline):
            raise StepError(
                f"{self.bdf} is in switchdev mode, but its uplink has no switch id or a VF has no "
                f"representor after {self.deadline:g} s",
                "the kernel log says which representor could not be created",
            )

    def _complete(self, system: System) -> bool:
        links = system.links.all()
        uplink = uplink_of(links, self.bdf)
        if uplink is None or uplink.switch_id is None:
            return False
        return len(representors_of(links, self.bdf)) >= pci.num_vfs(system, self.bdf)


@dataclass(frozen=True)
class SetHwTcOffload:
    """Turn ethtool feature hw-tc-offload of ``netdev`` on or off."""

    netdev: str
    on: bool

    def run(self, system: System) -> None:
        """Write it if it differs."""
        try:
            if system.ethtool.hw_tc_offload(self.netdev) == self.on:
                return
            system.ethtool.set_hw_tc_offload(self.netdev, self.on)
            now = system.ethtool.hw_tc_offload(self.netdev)
        except OSError as error:
            raise StepError(
                f"hw-tc-offload of {self.netdev} stays as it is: {refusal.words(error)}"
            ) from error
        if now != self.on:
            raise StepError(f"hw-tc-offload of {self.netdev} did not turn {'on' if self.on else 'off'}")
