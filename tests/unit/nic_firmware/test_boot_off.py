# SPDX-License-Identifier: Apache-2.0
"""A boot with the kernel argument ovn-offload=off."""

from boot import files


def test_the_unit_has_the_condition() -> None:
    head = files.UNIT_TEXT.partition("[Service]")[0].partition("[Unit]")[2]
    assert "ConditionKernelCommandLine=!ovn-offload=off" in head.splitlines()
