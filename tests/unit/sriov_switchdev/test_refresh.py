# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

from unit.refreshed import FromRelease1
from unit.sriov_switchdev.node import Node


class TestSriovSwitchdev(FromRelease1):
    folder = Path(__file__).parent

    def reach(self, node: Node, stage: str) -> None:
        node.deploy(reboot_policy="always", reboot_settle=0)
        if stage == "converged":
            node.boot()
            assert node.emit("update_status").name == "active"
