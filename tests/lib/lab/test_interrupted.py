# SPDX-License-Identifier: Apache-2.0
"""Scenario machines' interrupted drain and roll, on a simulated Nova and Juju in place of the rack."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from acceptance.cloud import connect
from drain import steps
from lab.checks import Check
from lab.openstack.operator import world_in
from lab.rack import killed
from lab.rack.interrupted import OTHERS, Site, drained, rolled
from lab.rack.killed import Moment, Verbs
from operate.emptied import NODE1, NODE2, NODE3, Cloud


class Scene:
    """Two nodes that ask for a reboot; the instance `database` holds a VF of node1."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud, self.nodes, self.nova = cloud, cloud.nodes, cloud.nova
        for name in ("web", "spare"):
            del self.nova.servers[name]
        self.nova.moving.full.add(NODE3)  # as on a rack of two nodes
        self.nova.moving.looks = self.nodes.looks = 3
        self.nodes.needing = {NODE1, NODE2}
        self.connection: Any = connect("rdg")
        verbs = Verbs(self.connection, self.nodes, cloud.clock)
        self.site = Site(
            area="cloud", connection=self.connection, verbs=verbs, instance="database", boots=self.boots,
            away=self.away, heard=lambda node: f"{node}.maas" not in self.nova.down, until=self.until,
        )  # fmt: skip

    def boots(self, node: str) -> int:
        host = f"{node}.maas"
        return self.nodes.approved.count(host) - self.away(node)

    def away(self, node: str) -> bool:
        return f"{node}.maas" in self.nodes.away

    def until(self, what: Callable[[], bool]) -> bool:
        for _ in range(20):
            for each in self.nova.servers.values():
                self.nova.moving.advance(each)
            if what():
                return True
        return False


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with world_in(tmp_path, "2024.1") as world:
        found = Scene(Cloud(world))
        yield found
        found.connection.close()


def bad(found: list[Check]) -> list[str]:
    """The checks that do not hold, with what was found."""
    return [f"{check.subject}: {check.found}" for check in found if not check.holds]


def test_a_drain_that_is_killed_at_each_step_ends_as_one_that_is_not(scene: Scene) -> None:
    found = drained(scene.site, "node1", "node2")
    assert bad(found) == []
    assert [check.subject for check in found][::2] == [
        "drain node1, killed before its instance moves",
        "drain node1, killed while its instance moves",
        "drain node1, killed before the approval",
        "drain node1, killed while it reboots",
        "drain node1, killed before it is used again",
        "drain node1, led on",
    ]
    assert found[-1].found == "Nova's service enabled; the instance node2 ACTIVE; 1 boots"
    assert (scene.nodes.approved, scene.nodes.stopped, scene.nova.disabled) == ([NODE1], [], {})
    assert (scene.nova.moving.begun, scene.nova.moving.confirmed) == ([("database", "cold")], ["database"])


def test_a_roll_over_the_node_that_is_left_keeps_what_somebody_else_disabled(scene: Scene) -> None:
    drained(scene.site, "node1", "node2")
    found = rolled(scene.site, "node2", "node1")
    assert bad(found) == []
    assert scene.nova.disabled == {NODE2: OTHERS}
    assert (scene.nodes.approved, scene.nodes.stopped) == ([NODE1, NODE2], [])
    assert scene.cloud.where() == {"database": NODE1}
    scene.site.enable("node1", "node2")
    assert scene.nova.disabled == {}


def test_a_drain_that_approves_a_second_reboot_does_not_hold(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    rebooting = steps._rebooting

    def again(place: Any, found: Any, stop: Any) -> Any:
        return rebooting(place, found._replace(unit=found.unit._replace(needs=True)), stop=stop)

    monkeypatch.setattr(steps, "_rebooting", again)
    (wrong,) = bad(drained(scene.site, "node1", "node2"))
    assert wrong.startswith("drain node1, killed before it is used again")


def test_a_drain_that_enables_whatever_is_disabled_does_not_hold(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    drained(scene.site, "node1", "node2")

    def run(self: steps.Enable, clients: steps.Clients) -> None:
        (service,) = [each for each in clients.compute.services() if each.host == self.host]
        clients.compute.enable(service)

    monkeypatch.setattr(steps.Enable, "run", run)
    wrong = bad(rolled(scene.site, "node2", "node1"))
    assert [each.partition(":")[0] for each in wrong] == ["roll, node2 disabled meanwhile", "rolled"]


def test_an_instance_that_nova_leaves_where_it_was_ends_the_checks_with_its_words(scene: Scene) -> None:
    scene.nova.moving.full.add(NODE2)
    found = drained(scene.site, "node1", "node2")
    assert len(found) == 4, "the runs after it would say nothing"
    assert bad(found) == [
        "drain node1, killed while its instance moves: node1: "
        "Nova's service emptied; the instance node1 ACTIVE; 0 boots"
    ]


def test_a_run_that_hangs_is_killed_and_its_moment_has_not_come(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(killed, "LIMIT", 200.0)
    scene.nodes.looks = 10**9
    ran = scene.site.verbs.run("drain", "node1", "--wait", "600", at=Moment("enable"))
    assert (ran.status, ran.reached) == (None, False)
    assert 200 <= scene.cloud.clock.now < 260


def test_a_verb_that_refuses_says_why(scene: Scene) -> None:
    ran = scene.site.verbs.run("drain", "node9")
    assert (ran.status, ran.reached) == (2, False)
    assert ran.ended.startswith("exit status 2, node9 is no node with charms of this project")
