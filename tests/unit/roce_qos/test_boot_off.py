# SPDX-License-Identifier: Apache-2.0
"""A boot with the kernel argument ovn-offload=off."""

import pytest
from boot import files


@pytest.mark.parametrize("text", [files.BOOT_UNIT, files.AGAIN_UNIT], ids=[files.BOOT, files.AGAIN])
def test_every_unit_has_the_condition(text: str) -> None:
    head = text.partition("[Service]")[0].partition("[Unit]")[2]
    assert "ConditionKernelCommandLine=!ovn-offload=off" in head.splitlines()
