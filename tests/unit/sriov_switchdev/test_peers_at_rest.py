# SPDX-License-Identifier: Apache-2.0
"""The leader's readings of 255 peers that need nothing, counted: all of them only after one has changed."""

from collections.abc import Callable
from pathlib import Path

import charm
import pytest
from charmkit.reboot.databag import KEY, decode_cluster, decode_unit, encode
from lab.juju.hooktools import Controller, Ran
from unit.hostunit import CHARMS
from unit.sriov_switchdev.node import compute_node

NAME, HERE, LAST = "sriov-switchdev", "sriov-switchdev/0", "sriov-switchdev/255"


class Leader:
    """A unit that leads, with nothing to do, and its peers' databags."""

    def __init__(self, peers: int, directory: Path, patch: pytest.MonkeyPatch) -> None:
        self.host = compute_node()
        patch.setattr(charm.SriovSwitchdevCharm, "machine", staticmethod(lambda: self.host))
        self.controller = Controller(directory)
        options = {"num_vfs": 8, "reboot_policy": "always", "reboot_settle": 0}
        self.controller.deploy(CHARMS / NAME, charm.SriovSwitchdevCharm, **options)
        self.relation = self.controller.relate({NAME: "reboot"})
        for hook in ("install", "config-changed", "start"):
            self.emit(hook)
        self.host.reboot()
        self.emit("start")
        self.emit("update-status")
        assert self.controller.status[HERE] == ("active", ""), self.controller.status
        own = self.bags[HERE]
        for number in range(1, peers + 1):
            self.bags[f"{NAME}/{number}"] = {**own, "ingress-address": "192.0.2.7"}
        self.about(f"{NAME}/{peers}")
        self.emit("update-status")

    @property
    def bags(self) -> dict[str, dict[str, str]]:
        return self.controller.databags[self.relation.id]

    @property
    def held(self) -> list[str]:
        """The units that have the lock."""
        return sorted(decode_cluster(self.bags[NAME][KEY]).held)

    def emit(self, hook: str) -> Ran:
        return self.controller.run(HERE, hook)

    def about(self, unit: str, kind: str = "changed") -> Ran:
        return self.controller.run(HERE, f"relation-{kind}", self.relation, unit)

    def publish(self, unit: str, **fields: object) -> None:
        """Publish a peer's state; the leader's hook for it comes later."""
        self.bags[unit][KEY] = encode(decode_unit(self.bags[unit][KEY])._replace(**fields))

    def needs(self, unit: str) -> None:
        self.publish(unit, reasons=("8 VFs at the next boot",), since=1, ready=True, consent="always")


Made = Callable[[int], Leader]


@pytest.fixture
def leader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    def make(peers: int) -> Leader:
        directory = tmp_path / str(peers)
        directory.mkdir()
        return Leader(peers, directory, monkeypatch)

    return make


def test_update_status_starts_as_many_hook_tools_beside_255_peers_as_beside_one(leader: Made) -> None:
    few, many = leader(1).emit("update-status"), leader(255).emit("update-status")
    assert many.tools == few.tools
    assert many.tools["relation-get"] == 2  # its own and its application's
    assert many.changed == []


@pytest.mark.parametrize("kind", ["changed", "departed"])
def test_one_update_status_after_a_hook_about_a_peer_reads_all_peers_once_each(
    leader: Made, kind: str
) -> None:
    full = leader(255)
    if kind == "departed":
        del full.bags[LAST]
    full.about(LAST, kind)
    assert full.emit("update-status").tools["relation-get"] == len(full.bags)
    assert full.emit("update-status").tools["relation-get"] == 2


@pytest.mark.parametrize("hook", ["config-changed", "leader-elected", "upgrade-charm", "start"])
def test_other_hooks_that_look_read_all_peers_once_each(leader: Made, hook: str) -> None:
    full = leader(255)
    full.host.reboot()
    assert full.emit(hook).tools["relation-get"] == len(full.bags)


def test_a_peer_that_joined_is_read_before_the_hook_about_its_change(leader: Made) -> None:
    full = leader(3)
    full.bags[f"{NAME}/4"] = {"ingress-address": "192.0.2.7"}
    assert full.emit("update-status").tools["relation-get"] == len(full.bags)


def test_what_a_peer_needs_is_granted_by_its_hook_and_read_until_nobody_needs_anything(leader: Made) -> None:
    full = leader(3)
    full.publish(f"{NAME}/1", has_containers=False)
    full.about(f"{NAME}/1")
    full.needs(f"{NAME}/2")
    full.about(f"{NAME}/2")
    for _ in range(2):
        assert full.emit("update-status").tools["relation-get"] >= len(full.bags)


def test_a_unit_that_led_before_reads_all_peers_in_its_hook_of_the_election(leader: Made) -> None:
    full = leader(3)
    full.controller.leaders[NAME] = LAST
    full.needs(f"{NAME}/2")
    assert full.about(f"{NAME}/2").early
    full.controller.leaders[NAME] = HERE
    full.emit("update-status")
    assert full.held == []  # nothing is granted from what it has kept
    assert full.emit("leader-elected").tools["relation-get"] == len(full.bags)
    assert full.emit("update-status").tools["relation-get"] == len(full.bags)
