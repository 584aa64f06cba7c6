# SPDX-License-Identifier: Apache-2.0
"""A read that fails becomes a finding, never a traceback."""

from typing import Any

from boot import main
from unit.failing_reads import FailingBoot
from unit.nic_firmware.node import Node


class TestNicFirmware(FailingBoot):
    def converge(self, node: Node) -> None:
        node.converge(profile="ovn-offload,gpudirect")

    def boot(self, node: Node) -> Any:
        return main.gpudirect_at_boot(node.host)
