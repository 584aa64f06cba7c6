# SPDX-License-Identifier: Apache-2.0
from unit.refreshed import FromRelease
from unit.roce_qos.node import Node


class TestRoceQos(FromRelease):
    charm = "roce-qos"

    def prepare(self, node: Node) -> None:
        assert node.deploy().name == "active"
