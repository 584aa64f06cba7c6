# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

from unit.nic_firmware.node import Node
from unit.refreshed import FromRelease1


class TestNicFirmware(FromRelease1):
    folder = Path(__file__).parent

    def reach(self, node: Node, stage: str) -> None:
        node.deploy(reboot_policy="always", reboot_settle=0)
        if stage == "converged":
            node.boot()
            assert node.emit("update_status").name == "active"
