# SPDX-License-Identifier: Apache-2.0
"""The cost of 255 other hosts for the hooks of one: hook tools, counted on the charm's own code."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import charm
import pytest
from lab.juju.hooktools import Controller, Ran
from unit.hostunit import CHARMS
from unit.sriov_switchdev.node import compute_node

LEADER, OTHER, PEER = "sriov-switchdev/0", "sriov-switchdev/1", "sriov-switchdev/2"


class Model:
    """An application of so many units, of which the hooks of one run on a modelled host."""

    def __init__(self, directory: Path, units: int) -> None:
        self.controller = Controller(directory)
        self.controller.deploy(CHARMS / "sriov-switchdev", charm.SriovSwitchdevCharm)
        self.peers = self.controller.relate({"sriov-switchdev": "reboot"})
        self.principals = self.controller.relate(
            {"sriov-switchdev": "juju-info", "nova-compute": "juju-info"}
        )
        bags = self.controller.databags[self.peers.id]
        for unit in (LEADER, OTHER):
            bags[unit] = {}
            self.controller.run(unit, "config-changed")
        said = bags[OTHER]
        bags.update({f"sriov-switchdev/{number}": dict(said) for number in range(2, units)})
        for unit in (LEADER, OTHER):
            self.controller.run(unit, "update-status")

    def run(self, unit: str, hook: str, relation: Any = None, remote: str = "") -> Ran:
        return self.controller.run(unit, hook, relation, remote)


@pytest.fixture(scope="module", params=[16, 256])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    """Each host has VFs to make, and waits for the operator's approval to reboot."""
    host = compute_node()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charm.SriovSwitchdevCharm, "machine", staticmethod(lambda: host))
        yield Model(tmp_path_factory.mktemp("peers"), request.param)


@pytest.mark.parametrize("unit", [LEADER, OTHER])
def test_a_peer_that_joins_starts_no_process(model: Model, unit: str) -> None:
    assert model.run(unit, "relation-joined", model.peers, PEER).tools == {}


@pytest.mark.parametrize("unit", [LEADER, OTHER])
def test_the_principals_of_other_machines_start_no_process(model: Model, unit: str) -> None:
    for kind in ("joined", "changed", "departed"):
        assert model.run(unit, f"relation-{kind}", model.principals, "nova-compute/7").tools == {}


@pytest.mark.parametrize("kind", ["changed", "departed"])
def test_what_a_peer_tells_costs_a_unit_that_does_not_lead_one_hook_tool(model: Model, kind: str) -> None:
    ran = model.run(OTHER, f"relation-{kind}", model.peers, PEER)
    assert ran.early
    assert ran.tools == {"is-leader": 1}


def test_what_a_peer_tells_costs_the_leader_three_reads_unless_a_reboot_may_follow(model: Model) -> None:
    ran = model.run(LEADER, "relation-changed", model.peers, PEER)
    assert ran.tools == {"is-leader": 2, "relation-ids": 1, "relation-list": 1, "relation-get": 3}
    assert (ran.looked, ran.changed) == (False, [])


def test_what_the_leader_tells_costs_each_unit_two_reads_and_no_look(model: Model) -> None:
    ran = model.run(OTHER, "relation-changed", model.peers)
    assert ran.tools == {"is-leader": 1, "relation-ids": 1, "relation-list": 1, "relation-get": 2}
    assert (ran.looked, ran.changed) == (False, [])


@pytest.mark.parametrize("hook", ["update-status", "config-changed", "leader-elected"])
def test_a_look_at_the_host_reads_two_databags(model: Model, hook: str) -> None:
    ran = model.run(OTHER, hook)
    assert ran.tools["relation-get"] == 2
    assert sum(ran.tools.values()) == 13


def test_only_the_leaders_own_looks_read_every_peer_once(model: Model) -> None:
    ran = model.run(LEADER, "update-status")
    assert ran.tools["relation-get"] == len(model.controller.databags[model.peers.id])
    assert ran.tools["relation-list"] == 3


@pytest.mark.parametrize("unit", [LEADER, OTHER])
def test_a_hook_that_finds_nothing_new_writes_no_databag_and_so_wakes_no_unit(
    model: Model, unit: str
) -> None:
    for hook in ("update-status", "config-changed", "leader-elected"):
        assert model.run(unit, hook).changed == []
