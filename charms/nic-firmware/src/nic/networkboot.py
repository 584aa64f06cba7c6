# SPDX-License-Identifier: Apache-2.0
"""Whether a machine can boot from the network through its NICs, without which MAAS never sees it. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from converge import Finding, Severity
from hostnic.devices.port import Nic
from hostnic.firmware import mstconfig
from observed import FirmwareAnswer

UEFI = {"x86_64": "EXP_ROM_UEFI_x86_ENABLE", "aarch64": "EXP_ROM_UEFI_ARM_ENABLE"}
"""The parameter of the card's UEFI driver, by what uname calls the machine."""
FLEXBOOT, PROTOCOL = "EXP_ROM_PXE_ENABLE", "LEGACY_BOOT_PROTOCOL"
NAMES = (*UEFI.values(), FLEXBOOT, PROTOCOL)
PXE = (1, 2, 4)
"""Values of LEGACY_BOOT_PROTOCOL with which FlexBoot tries PXE: first, after iSCSI, alone."""
REMEDY = "add network-boot to profile; MAAS sees no machine that can boot only through this NIC"


def off(nics: Sequence[Nic], answers: Mapping[str, FirmwareAnswer], driver: str) -> Iterator[Finding]:
    """A warning for each NIC through none of whose ports its next boot can be from the network.

    ``answers`` has by BDF the firmware's values of NAMES, ``driver`` that of UEFI which this machine's BIOS
    loads; "" in legacy mode.
    """
    for nic in nics:
        told = [
            answer for port in nic.ports if not (answer := answers.get(port.bdf, FirmwareAnswer())).reason
        ]
        if told and not any(_on(answer, driver) for answer in told):
            shown = [
                f"{name} is {told[0].parameters[name].next_boot}"
                for name in ((driver,) if driver else (FLEXBOOT, PROTOCOL))
                if name in told[0].parameters
            ]
            mode = "UEFI" if driver else "legacy"
            why = ", ".join(shown) or "its firmware has no driver for it"
            what = f"no boot from the network in {mode} mode: {why}"
            yield Finding(Severity.WARNING, nic.slot, what, REMEDY)


def _on(answer: FirmwareAnswer, driver: str) -> bool:
    values = {name: mstconfig.number(found.next_boot) for name, found in answer.parameters.items()}
    if driver:
        return values.get(driver) == 1
    return values.get(FLEXBOOT) == 1 and values.get(PROTOCOL, 1) in PXE
