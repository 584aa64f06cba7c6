# SPDX-License-Identifier: Apache-2.0
"""`juju upgrade-machine`: the hooks of a unit whose machine goes to the next release of Ubuntu.

`prepare` runs pre-series-upgrade and then nothing, also not after the machine's reboot, until `complete` runs
post-series-upgrade. Then comes the start hook of the reboot (juju/juju 3.6, internal/worker/uniter:
upgradeseries/resolver.go, reboot/resolver.go), and later the refresh to the artifact of the new base. An
operator may also complete without having upgraded anything. Juju 4.0 has neither hook.
"""

from typing import Any

import pytest
from unit.refreshed import OWN

PREPARE, COMPLETE = "pre_series_upgrade", "post_series_upgrade"


@pytest.mark.filterwarnings("ignore:.*-series-upgrade events:DeprecationWarning")
class UpgradesMachine:
    """A charm's test class derives from it, and has a fixture ``node``."""

    def converge(self, node: Any) -> None:
        """A unit that is active, after a boot of its host."""
        node.deploy()
        node.boot()
        assert node.emit("update_status").name == "active", node.log

    def run(self, node: Any, *events: str) -> list[str]:
        """The writes of these hooks, none of which changes the unit's status or asks for a reboot."""
        before, asked = node.state.unit_status, node.reboots_asked
        writes: list[str] = []
        for event in events:
            assert node.emit(event) == before, event
            writes += node.writes
        assert node.reboots_asked == asked
        return writes

    def test_the_two_hooks_write_nothing_also_without_a_reboot_in_between(self, node: Any) -> None:
        self.converge(node)
        assert self.run(node, PREPARE, COMPLETE, "update_status") == []

    def test_the_boot_in_between_needs_no_hook_and_those_after_it_write_nothing_to_the_nic(
        self, node: Any
    ) -> None:
        self.converge(node)
        self.run(node, PREPARE)
        node.host.reboot()
        own = [line for line in self.run(node, COMPLETE, "start") if not line.startswith(OWN)]
        assert own == []
        assert node.action("verify")["verified"] == "true"

    def test_the_refresh_to_the_new_base_changes_only_what_the_charm_owns(self, node: Any) -> None:
        self.converge(node)
        self.run(node, PREPARE)
        node.host.reboot()
        self.run(node, COMPLETE, "start")
        writes = self.run(node, "upgrade_charm", "config_changed")
        assert [line for line in writes if not line.startswith(OWN)] == []
        assert self.run(node, "update_status") == []


class RebootsAndUpgradesMachine(UpgradesMachine):
    """The same of a charm that needs a reboot to converge."""

    def converge(self, node: Any) -> None:
        node.configure(reboot_policy="always", reboot_settle=0)
        super().converge(node)

    def test_a_unit_that_waits_for_its_reboot_takes_the_upgrades_for_it(self, node: Any) -> None:
        """Nobody approves it between the two, and nothing asks for a second one."""
        node.deploy(reboot_policy="manual", reboot_settle=0)
        assert self.run(node, PREPARE) == []
        node.host.reboot()
        node.emit(COMPLETE)
        node.emit("start")
        assert node.emit("update_status").name == "active"
        assert node.reboots_asked == 0
