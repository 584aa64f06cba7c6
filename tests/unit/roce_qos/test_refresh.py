# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

from unit.refreshed import FromRelease1
from unit.roce_qos.node import Node


class TestRoceQos(FromRelease1):
    folder = Path(__file__).parent

    def reach(self, node: Node, stage: str) -> None:
        assert node.deploy().name == "active"
        if stage == "converged":
            node.boot()
