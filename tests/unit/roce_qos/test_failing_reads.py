# SPDX-License-Identifier: Apache-2.0
"""A read that fails becomes a finding, never a traceback."""

from typing import Any

from boot import main
from unit.failing_reads import FailingBoot
from unit.roce_qos.node import Node


class TestRoceQos(FailingBoot):
    def converge(self, node: Node) -> None:
        node.deploy()

    def boot(self, node: Node) -> Any:
        return main.converge(node.host, main.DEADLINE)
