# SPDX-License-Identifier: Apache-2.0
"""Writing the PCI registers that GPUDirect needs."""

from dataclasses import dataclass

from converge import StepError

from hostnic.firmware import msterrors
from hostnic.firmware.gpudirect import ATC_REGISTER, Difference, of_bridge, of_nic
from hostnic.system import System


@dataclass(frozen=True)
class SetRegister:
    """Write one register, and read it back."""

    difference: Difference

    def run(self, system: System) -> None:
        """Only peer-to-peer transfers notice the change."""
        wrong = self.difference
        commands = {
            "ACS": ["setpci", "-s", wrong.bdf, f"ECAP_ACS+0x6.w={wrong.wanted:04x}"],
            "MRRS": ["setpci", "-s", wrong.bdf, f"CAP_EXP+08.w={wrong.wanted << 12:04x}:f000"],
            "ATC": ["mstmcra", wrong.bdf, ATC_REGISTER, str(wrong.wanted)],
        }
        msterrors.run(system, system.run, commands[wrong.register])
        left = (of_bridge if wrong.register == "ACS" else of_nic)(system, wrong.bdf)
        if any(still.register == wrong.register for still in left):
            what = f"{wrong.register} of {wrong.bdf} does not take {wrong.wanted:#x}"
            raise StepError(what, "enable ACS in the BIOS, which may own it; Secure Boot prevents the write")
