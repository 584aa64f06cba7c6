# SPDX-License-Identifier: Apache-2.0
"""A refresh from 1.0: what its charm left on a host, read by this revision.

``release_1_0.json`` beside a charm's tests has the text of each file that the charm of 08ac094
left on the modelled host, before its reboot (`prepared`) and after it (`converged`). BOOT-ID stands for the
running boot's. Databags are as this revision writes them.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

PLACES = (
    "/etc/ovn-offload/",
    "/etc/systemd/system/ovn-offload-",
    "/etc/udev/rules.d/70-ovn-offload-",
    "/run/ovn-offload/",
    "/usr/lib/ovn-offload/",
    "/var/lib/ovn-offload/",
)
OWN = ("install ", "remove ", "run systemctl ")
STAGES = ("prepared", "converged")


def go_back_to_1_0(node: Any, folder: Path, stage: str) -> None:
    """Exchange everything that the charm left for what 1.0 left in the same place."""
    left = json.loads((folder / "release_1_0.json").read_text())[stage]
    disk, boot = node.host.disk, node.host.boot_id
    for path in [path for path in disk.content if path.startswith(PLACES)]:
        disk.remove(path)
    for path, text in left["files"].items():
        disk.install(path, text.replace("BOOT-ID", boot).encode(), 0o600)
    bags = {owner: {"reboot": text.replace("BOOT-ID", boot)} for owner, text in left["databags"].items()}
    if bags:
        peer = node.state.get_relation(node.peer.id)
        peer = replace(peer, local_unit_data=bags["unit"], local_app_data=bags["app"])
        others = {relation for relation in node.state.relations if relation.id != peer.id}
        node.state = replace(node.state, relations={*others, peer})


class FromRelease1:
    """A charm's test class derives from it, and has a fixture ``node``."""

    folder: ClassVar[Path]

    def reach(self, node: Any, stage: str) -> None:
        """The way of a charm that needs a reboot; others have their own."""
        node.deploy(reboot_policy="always", reboot_settle=0)
        if stage == "converged":
            node.boot()
            assert node.emit("update_status").name == "active"

    @pytest.mark.parametrize("stage", STAGES)
    def test_the_refresh_changes_only_what_the_charm_owns(self, node: Any, stage: str) -> None:
        self.reach(node, stage)
        before = node.state.unit_status
        go_back_to_1_0(node, self.folder, stage)
        writes = list[str]()
        for event in ("upgrade_charm", "config_changed"):
            status = node.emit(event)
            writes += [line for line in node.writes if not line.startswith(OWN)]
        assert writes == []
        assert status == before
        assert node.emit("update_status") == before
        assert node.writes == []

    @pytest.mark.parametrize("stage", STAGES)
    def test_no_file_of_1_0_is_left_that_this_revision_does_not_have(self, node: Any, stage: str) -> None:
        self.reach(node, stage)
        ours = {path for path in node.host.disk.content if path.startswith(PLACES)}
        go_back_to_1_0(node, self.folder, stage)
        for event in ("upgrade_charm", "config_changed"):
            node.emit(event)
        now = {path for path in node.host.disk.content if path.startswith(PLACES)}
        assert now - ours == set()

    @pytest.mark.parametrize("stage", STAGES)
    def test_the_next_boot_ends_converged_with_one_reboot_at_most(self, node: Any, stage: str) -> None:
        self.reach(node, stage)
        go_back_to_1_0(node, self.folder, stage)
        for event in ("upgrade_charm", "config_changed"):
            node.emit(event)
        asked = getattr(node, "reboots_asked", 0)
        assert node.boot().name == "active"
        assert node.action("verify")["verified"] == "true"
        assert getattr(node, "reboots_asked", 0) == asked
