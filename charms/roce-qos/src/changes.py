# SPDX-License-Identifier: Apache-2.0
"""Steps' operations that only this charm needs."""

from dataclasses import dataclass

from converge import StepError
from hostnic.ops import refusal
from hostnic.system import System
from observe import LLDPAD

ENCAP_TOS = "ovn-encap-tos"


@dataclass(frozen=True)
class StopLldpad:
    """Stop lldpad now, and at boot."""

    def run(self, system: System) -> None:
        """Disable and stop it; its socket, too, would start it again."""
        try:
            system.run(["systemctl", "disable", "--now", LLDPAD, "lldpad.socket"])
        except OSError as error:
            raise StepError(f"lldpad stays: {refusal.words(error)}", "remove the package lldpad") from error


@dataclass(frozen=True)
class SetEncapTos:
    """Set what OVN gives the outer header of its tunnels, in Open vSwitch's database."""

    value: str

    def run(self, system: System) -> None:
        """Set it; ovn-controller takes it over by itself."""
        try:
            system.run(["ovs-vsctl", "set", "Open_vSwitch", ".", f"external_ids:{ENCAP_TOS}={self.value}"])
        except OSError as error:
            raise StepError(f"{ENCAP_TOS} stays: {refusal.words(error)}") from error
