# SPDX-License-Identifier: Apache-2.0
"""Which hooks of a unit look at the machine, and which do not, since another one has looked or will."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import ops
import pytest
from charmkit.output import Output
from charmkit.reconcile import Reconciler, Verbs
from converge import Finding, Plan, Severity
from ops import testing

META = {
    "name": "nic",
    "requires": {
        "fabric": {"interface": "host_fabric"},
        "reports": {"interface": "reports"},
    },
    "peers": {"reboot": {"interface": "rolling_reboot"}},
}
ACTIONS: dict[str, Any] = {"plan": {}, "verify": {}}
SETUP = ("install", "reboot created", "fabric created", "leader_elected", "config_changed", "start")


class World:
    """A unit, and what it finds; ``looked`` has the hooks in which it looked."""

    def __init__(self, *, leader: bool) -> None:
        self.findings: Sequence[Finding] = ()
        self.boot = "boot-1"
        self.fails = False
        self.looked: list[str] = []
        self._event = ""
        world = self

        class Charm(ops.CharmBase, Verbs[Output]):
            by_application = ("fabric",)

            def __init__(self, framework: ops.Framework) -> None:
                super().__init__(framework)
                self.reconciler = Reconciler(self, self)

            def converge(self) -> Sequence[Finding]:
                return world.converge()

            def preview(self, given: Output) -> Plan[Any]:
                return Plan()

            def verify(self) -> Sequence[Finding]:
                return ()

            def boot(self) -> str:
                return world.boot_id()

        self._context = testing.Context(Charm, meta=META, actions=ACTIONS, unit_id=0)
        self._state = testing.State(
            leader=leader,
            relations=[
                testing.PeerRelation("reboot", peers_data={1: {}}),
                testing.Relation("fabric", remote_app_name="cumulus-fabric"),
                testing.Relation("reports", remote_app_name="reporter"),
            ],
        )

    def boot_id(self) -> str:
        if not self.boot:
            raise OSError(5, "Input/output error", "/proc/sys/kernel/random/boot_id")
        return self.boot

    def converge(self) -> Sequence[Finding]:
        self.looked.append(self._event)
        if self.fails:
            raise RuntimeError("broken on purpose")
        return self.findings

    def run(self, *events: str) -> list[str]:
        """Run hooks, each in a charm of its own; those that looked. ``reboot changed`` is a relation's."""
        self.looked.clear()
        for self._event in events:
            endpoint, _, kind = self._event.partition(" ")
            on = self._context.on
            if not kind:
                event = getattr(on, endpoint)()
            else:
                relation = self._state.get_relations(endpoint)[0]
                of_a_peer = endpoint == "reboot" and kind in ("changed", "departed")
                remote = {"remote_unit": 1} if of_a_peer else {}
                event = getattr(on, f"relation_{kind}")(relation, **remote)
            self._state = self._context.run(event, self._state)
        return list(self.looked)

    def fail(self, event: str) -> None:
        """A hook that fails."""
        self.fails = True
        with pytest.raises(testing.errors.UncaughtCharmError):
            self.run(event)
        self.fails = False

    def tell(self, endpoint: str, where: str, data: Any) -> None:
        """Others write into a relation."""
        relation = replace(self._state.get_relations(endpoint)[0], **{where: data})
        others = [each for each in self._state.relations if each.id != relation.id]
        self._state = replace(self._state, relations=[*others, relation])

    def lead(self) -> None:
        self._state = replace(self._state, leader=True)

    @property
    def status(self) -> str:
        return self._state.unit_status.name


@pytest.fixture
def leader() -> World:
    return World(leader=True)


@pytest.fixture
def follower() -> World:
    found = World(leader=False)
    found.run("install", "config_changed", "start")
    return found


def test_a_new_unit_looks_once(leader: World) -> None:
    assert leader.run(*SETUP) == ["config_changed"]
    assert leader.status == "active"


def test_nothing_says_that_all_is_well_before_the_unit_has_looked(leader: World) -> None:
    leader.run("install", "reboot created", "fabric created", "leader_elected")
    assert leader.status == "unknown"


def test_after_that_every_event_is_looked_at(leader: World) -> None:
    leader.run(*SETUP)
    later = ("leader_elected", "fabric created", "config_changed", "start", "update_status", "upgrade_charm")
    assert leader.run(*later) == list(later)


def test_another_start_in_the_same_boot_looks(leader: World) -> None:
    assert leader.run(*SETUP, "start") == ["config_changed", "start"]


def test_start_looks_again_at_what_config_changed_left_unfinished(leader: World) -> None:
    leader.findings = (Finding(Severity.WAITING, "bond0", "has no carrier"),)
    assert leader.run(*SETUP) == ["config_changed", "start"]


def test_start_does_not_look_again_because_of_a_warning(leader: World) -> None:
    leader.findings = (Finding(Severity.WARNING, "bond0", "is slow"),)
    assert leader.run(*SETUP) == ["config_changed"]


@pytest.mark.parametrize("before", range(1, len(SETUP)))
def test_a_reboot_in_the_middle_loses_nothing(leader: World, before: int) -> None:
    first = leader.run(*SETUP[:before])
    leader.boot = "boot-2"
    after = leader.run(*SETUP[before:])
    assert "config_changed" in first + after
    assert after[-1:] == (["start"] if before == len(SETUP) - 1 else ["config_changed"])
    leader.boot = "boot-3"
    assert leader.run("start") == ["start"]


def test_a_boot_that_cannot_be_told_apart_is_looked_at(leader: World) -> None:
    leader.boot = ""
    assert leader.run(*SETUP) == ["config_changed", "start"]


def test_a_config_changed_that_fails_is_no_look(leader: World) -> None:
    leader.run("install")
    leader.fail("config_changed")
    assert leader.run("leader_elected", "config_changed", "start") == ["config_changed"]
    skipped = World(leader=True)
    skipped.run("install")
    skipped.fail("config_changed")
    assert skipped.run("start", "leader_elected") == ["start", "leader_elected"], "juju resolve --no-retry"


def test_a_refresh_before_config_changed_looks_and_so_does_all_that_follows(leader: World) -> None:
    assert leader.run("install", "upgrade_charm", "leader_elected", "config_changed", "start") == [
        "upgrade_charm",
        "leader_elected",
        "config_changed",
        "start",
    ]


def test_a_unit_whose_install_was_of_an_older_revision_looks_in_every_hook(leader: World) -> None:
    assert leader.run("fabric created", "leader_elected", "start") == [
        "fabric created",
        "leader_elected",
        "start",
    ]


def test_what_peers_tell_the_leader_is_not_for_the_others(follower: World) -> None:
    follower.tell("reboot", "peers_data", {1: {"reboot": "needs one"}})
    assert follower.run("reboot changed", "reboot departed") == []


def test_what_the_leader_tells_is(follower: World) -> None:
    follower.tell("reboot", "local_app_data", {"reboot": "nic/0 may"})
    assert follower.run("reboot changed", "reboot changed") == ["reboot changed"]


def test_what_a_failed_hook_has_seen_is_looked_at_again(follower: World) -> None:
    follower.tell("reboot", "local_app_data", {"reboot": "nic/0 may"})
    follower.fail("reboot changed")
    assert follower.run("reboot changed") == ["reboot changed"]


def test_a_leader_looks_at_each_change_of_its_peers(follower: World) -> None:
    follower.lead()
    assert follower.run("reboot changed", "leader_elected", "reboot changed") == [
        "reboot changed",
        "leader_elected",
        "reboot changed",
    ]


def test_of_a_relation_whose_units_tell_nothing_only_the_application_counts(follower: World) -> None:
    follower.tell("fabric", "remote_units_data", {0: {"any": "thing"}})
    assert follower.run("fabric changed") == []
    follower.tell("fabric", "remote_app_data", {"policy": "PFC on 3"})
    assert follower.run("fabric changed", "fabric changed") == ["fabric changed"]
    assert follower.run("fabric broken") == ["fabric broken"]


def test_of_any_other_relation_each_change_counts(follower: World) -> None:
    assert follower.run("reports changed", "reports changed") == ["reports changed", "reports changed"]
