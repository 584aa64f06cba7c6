# SPDX-License-Identifier: Apache-2.0
"""A read that fails becomes a finding, never a traceback."""

from unit.failing_reads import FailingReads, unchecked
from unit.sriov_switchdev.node import Node


class TestSriovSwitchdev(FailingReads):
    def test_nor_by_the_boot_units_and_the_first_hook_after_them(self, node: Node) -> None:
        self.converge(node)
        found = unchecked(node, node.boot)
        assert found == set(), found
