# SPDX-License-Identifier: Apache-2.0
"""Which PCI ids are those of NICs in flash recovery, as pci.ids (2026.08.22) names them."""

import pytest
from hostnic.devices.port import FLASH_RECOVERY

NICS = {
    "01f6": "MT27500 Family [ConnectX-3 Flash Recovery]",
    "01f8": "MT27520 Family [ConnectX-3 Pro Flash Recovery]",
    "01ff": "MT27600 Family [Connect-IB Flash Recovery]",
    "0209": "MT27700 Family [ConnectX-4 Flash Recovery]",
    "020b": "MT27710 Family [ConnectX-4 Lx Flash Recovery]",
    "020d": "MT28800 Family [ConnectX-5 Flash Recovery]",
    "020f": "MT28908A0 Family [ConnectX-6 Flash Recovery]",
    "0210": "MT28908A0 Family [ConnectX-6 Secure Flash Recovery]",
    "0211": "MT416842 Family [BlueField SoC Flash Recovery]",
    "0212": "MT2892 Family [ConnectX-6 Dx Flash Recovery]",
    "0213": "MT2892 Family [ConnectX-6 Dx Secure Flash Recovery]",
    "0214": "MT42822 Family [BlueField-2 SoC Flash Recovery]",
    "0215": "MT42822 Family [BlueField-2 Secure Flash Recovery]",
    "0216": "MT2894 Family [ConnectX-6 Lx Flash Recovery]",
    "0217": "MT2894 Family [ConnectX-6 Lx Secure Flash Recovery]",
    "0218": "MT2910 Family [ConnectX-7 Flash Recovery]",
    "0219": "MT2910 Family [ConnectX-7 Secure Flash Recovery]",
    "021a": "MT43162 Family [BlueField-3 Lx SoC Flash Recovery]",
    "021b": "MT43162 Family [BlueField-3 Lx Secure Flash Recovery]",
    "021c": "MT43244 Family [BlueField-3 SoC Flash Recovery]",
    "021d": "MT43244 Family [BlueField-3 Secure Flash Recovery]",
    "021e": "CX8 Family [ConnectX-8 Flash Recovery]",
    "021f": "CX8 Family [ConnectX-8 Secure Flash Recovery]",
    "0220": "BF4 Family Flash Recovery [BlueField-4 SoC Flash Recovery]",
    "0221": "BF4 Family Secure Flash Recovery [BlueField-4 Secure Flash Recovery]",
    "0224": "CX9 Family [ConnectX-9 Flash Recovery]",
    "0225": "CX9 Family [ConnectX-9 Secure Flash Recovery-RMA]",
    "0226": "CX10 Family [ConnectX-10 Flash Recovery]",
    "0227": "CX10 Family [ConnectX-10 RMA]",
}
OTHERS = {
    "0191": "MT25408 [ConnectX IB Flash Recovery]",
    "0222": "CX8 PCIe Switch Family [ConnectX-8 PCIe Switch Flash Recovery]",
    "0229": "CX9 PCIe Switch Family [ConnectX-9 PCIe Switch Secure Flash Recovery-RMA]",
    "024e": "MT53100 [Spectrum-2, Flash recovery mode]",
    "0262": "MT27710 [ConnectX-4 Lx Programmable] EN",
    "101d": "MT2892 Family [ConnectX-6 Dx]",
}


def test_nics_in_flash_recovery_are_those_of_the_list() -> None:
    assert {f"15b3:{each}" for each in NICS} == FLASH_RECOVERY


@pytest.mark.parametrize("device", OTHERS)
def test_switches_and_older_nics_are_none_of_them(device: str) -> None:
    assert f"15b3:{device}" not in FLASH_RECOVERY
