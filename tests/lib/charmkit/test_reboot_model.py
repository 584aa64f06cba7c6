# SPDX-License-Identifier: Apache-2.0
"""The rolling reboot in a whole application, with everything going wrong in any order.

The rules are random; the invariants, and what each hook of the world asserts, are what operators count on.
"""

import random
from collections.abc import Callable
from dataclasses import replace

from charmkit.reboot.databag import encode
from charmkit.reboot.hook import with_first_grant
from charmkit.reboot.lock import GONE_FOR, approve_all, release
from charmkit.reboot.policy import RebootOptions
from charmkit.reboot.state import Cluster, UnitState
from charmkit.reboot.unit import NEVER_CAME, approve_one
from fuzz import NIGHTLY
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from lib.reboot_world import SETTLE, Node, World, by_later

FLAGS = ("stubborn", "sick", "deaf", "busy", "not_ready", "slow", "lacks")
PARALLEL = ("1", "1", "2", "3", "50%", "100%")
ZONES = ("", "zone-a", "zone-a", "zone-a", "zone-b")
REASONS = ("8 VFs at the next boot", "switchdev at the next boot", "iommu on the kernel command line")


class Application(World, RuleBasedStateMachine):
    refreshes = 0  # how often units change their revision, beside what else happens in a long history

    def pick(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.nodes)))

    # What may happen.

    @initialize(
        zones=st.lists(st.sampled_from(ZONES), min_size=1, max_size=4),
        mode=st.sampled_from(["manual", "when-idle", "always"]),
        parallel=st.sampled_from(PARALLEL),
    )
    def deploy(self, zones: list[str], mode: str, parallel: str) -> None:
        self.policy = RebootOptions(mode, SETTLE, parallel)
        for zone in zones:
            self.add_unit(zone, quorum=False)
        self.leader = min(self.nodes)

    @rule(zone=st.sampled_from(ZONES), quorum=st.booleans())
    @precondition(lambda self: len(self.nodes) < 5)
    def add_unit(self, zone: str, quorum: bool) -> None:
        self.nodes[f"sriov/{self.names}"] = Node(
            booted=self.now - 10_000,
            healthy_since=self.now - 9_000,
            sees_peers_at=self.now + 120,
            zone=zone,
            quorum=quorum,
            members=self.names % 2 == 0,
        )
        self.names += 1

    @rule(data=st.data())
    def gets_a_container(self, data: st.DataObject) -> None:
        """Also after the leader granted it the lock together with others."""
        node = self.nodes[self.pick(data)]
        node.quorum = node.quorum or not node.rolling

    @rule(parallel=st.sampled_from(PARALLEL))
    def reboot_parallel(self, parallel: str) -> None:
        """The operator changes the option, also while several hold the lock."""
        self.policy = replace(self.policy, reboot_parallel=parallel)

    @rule(data=st.data())
    def a_peer_changed(self, data: st.DataObject) -> None:
        name = self.pick(data)
        other = self.pick(data)
        self.hook(name, of=other if other != name else "")

    @rule()
    def everybody_hears_of_everybody(self) -> None:
        """All hooks that Juju would run for the changes in the relation."""
        for name in sorted(self.nodes):
            for of in ("", *sorted(self.nodes)):
                if name in self.nodes and of != name:
                    self.hook(name, of=of)

    @rule(data=st.data())
    def hook_that_began_before_the_leaders_write(self, data: st.DataObject) -> None:
        name = self.pick(data)
        if name != self.leader:
            self.hook(name, app_data=self.app_data_before)

    @rule(data=st.data())
    def refresh(self, data: st.DataObject) -> None:
        """One unit changes its revision: what it wrote in the later one cannot be read in this one."""
        name = self.pick(data)
        if not self.nodes[name].down:
            self.changes_revision(name)
            self.hook(name)

    @rule(data=st.data())
    @precondition(lambda self: len(self.nodes) > 1)
    def remove_unit(self, data: st.DataObject) -> None:
        name = self.pick(data)
        del self.nodes[name]
        self.juju.leaves(self.relation, name)
        if name == self.leader:
            self.leader = self.pick(data)

    @rule(data=st.data())
    def elect(self, data: st.DataObject) -> None:
        self.leader = self.pick(data)

    @rule()
    @precondition(lambda self: len(self.nodes) < 5)
    def elect_a_newcomer(self) -> None:
        """It sees none of its peers yet, and it needs a reboot itself."""
        self.leader = f"sriov/{self.names}"
        self.add_unit("zone-a", quorum=False)
        self.nodes[self.leader].reasons.add(REASONS[0])
        self.hook(self.leader)

    @rule(data=st.data())
    def any_hook(self, data: st.DataObject) -> None:
        self.hook(self.pick(data))

    @rule(data=st.data())
    def update_status(self, data: st.DataObject) -> None:
        self.hook(self.pick(data), periodic=True)

    @rule()
    def everybody_hooks(self) -> None:
        for name in list(self.nodes):
            self.hook(name)

    @rule()
    def everybody_but_the_leader_hooks(self) -> None:
        for name in sorted(set(self.nodes) - {self.leader}):
            self.hook(name)

    @rule(seconds=st.sampled_from([1, 60, SETTLE - 1, SETTLE, NEVER_CAME, 7200]))
    def wait(self, seconds: int) -> None:
        self.now += seconds

    @rule(data=st.data(), reason=st.sampled_from(REASONS))
    def need_arises(self, data: st.DataObject, reason: str) -> None:
        self.nodes[self.pick(data)].reasons.add(reason)

    @rule(reason=st.sampled_from(REASONS))
    def need_arises_everywhere(self, reason: str) -> None:
        for node in self.nodes.values():
            node.reasons.add(reason)

    @rule(data=st.data())
    def need_goes(self, data: st.DataObject) -> None:
        self.nodes[self.pick(data)].reasons.clear()

    @rule(
        data=st.data(),
        what=st.sampled_from(FLAGS),
        on=st.booleans(),
    )
    def becomes(self, data: st.DataObject, what: str, on: bool) -> None:
        setattr(self.nodes[self.pick(data)], what, on)

    @rule(data=st.data(), healthy=st.booleans())
    def health_changes(self, data: st.DataObject, healthy: bool) -> None:
        name = self.pick(data)
        node = self.nodes[name]
        if node.healthy != healthy:
            node.healthy, node.healthy_since = healthy, self.now
            self.hook(name)  # a glitch between two hooks is seen by nobody

    @rule(data=st.data())
    def reboots_by_itself(self, data: st.DataObject) -> None:
        """A crash, or the operator's own hand."""
        self.boot(self.nodes[self.pick(data)])

    @rule()
    def power_cut(self) -> None:
        for node in self.nodes.values():
            self.boot(node)

    @rule(data=st.data())
    def crashes(self, data: st.DataObject) -> None:
        self.nodes[self.pick(data)].down = True

    @rule(data=st.data())
    def comes_back(self, data: st.DataObject) -> None:
        node = self.nodes[self.pick(data)]
        if node.down:
            node.slow = False
            self.boot(node)

    @rule()
    def approve_on_the_leader(self) -> None:
        bags, peers = self.bags(self.leader)
        if self.nodes[self.leader].down or not isinstance(bags.cluster(), Cluster):
            return
        units, _ = bags.units()
        for name, state in units.items():
            self.approved(self.nodes[name], state)
            named = {*self.cluster().may_be_down, *self.cluster().held_up_by} & units.keys()
            self.nodes[name].despite = {each: (units[each].boot_id, units[each].settled) for each in named}
        own = approve_one(units[self.leader], self.now - self.nodes[self.leader].booted)
        self.nodes[self.leader].again = True
        units[self.leader] = own
        cluster = approve_all(units, self.cluster())
        if own.boot_id == self.boot_id(self.leader):
            cluster = with_first_grant(self.inputs(self.leader, bags), units, cluster)
        bags.publish(own, cluster)
        self.carry(self.leader, peers)

    @rule(data=st.data())
    def approve_on_one_unit(self, data: st.DataObject) -> None:
        name = self.pick(data)
        node = self.nodes[name]
        bags, peers = self.bags(name)
        own = self.own(name)
        if (
            not node.down and isinstance(bags.cluster(), Cluster) and own.boot_id == self.boot_id(name)
        ):  # the action refuses before the first hook of a boot
            self.approved(node, own)
            node.again = True
            bags.publish(approve_one(own, self.now - node.booted), self.cluster())
            self.carry(name, peers)

    def approved(self, node: Node, state: UnitState) -> None:
        """An approval counts in the boot that the unit spoke of when it was given, for what it said then."""
        if state.boot_id.endswith(f" {node.boot}"):
            node.approved_here |= {*state.asks_for}

    @rule()
    @precondition(lambda self: self.cluster().held)
    def release_the_lock(self) -> None:
        self.app_data_before = self.text()
        bags, peers = self.bags(self.leader)
        if not isinstance(bags.cluster(), Cluster):
            instead = bags.replace(bags.units()[0], self.now, at_once=True)
            assert instead
            bags.publish(self.own(self.leader), instead)
            self.carry(self.leader, peers)
            for name, node in self.nodes.items():
                node.excused = node.excused or name not in instead.held
            return
        for holder in self.cluster().held:
            if holder in self.nodes:
                self.nodes[holder].excused = True
            text = encode(release(self.cluster(), holder))
            self.write("sriov", by_later(text) if self.nodes[self.leader].later else text)

    # What operators count on.

    @invariant()
    def several_hosts_are_down_only_where_they_may_be(self) -> None:
        rolling = {name for name, node in self.nodes.items() if node.rolling and not node.excused}
        if len(rolling) > 1:
            assert self.together(rolling), rolling
            assert len(rolling) <= len(self.cluster().held)

    @invariant()
    def a_rolling_host_holds_the_lock(self) -> None:
        held = self.cluster().held
        for name, node in self.nodes.items():
            if node.rolling and not node.excused:
                assert name in held

    def teardown(self) -> None:
        """From whatever state: once the trouble ends and the operator says yes, all get their reboot."""
        if not self.nodes:
            return
        for node in self.nodes.values():
            node.stubborn = node.sick = node.deaf = node.busy = node.not_ready = node.slow = node.lacks = (
                False
            )
            if node.down:
                self.boot(node)
        for name in self.nodes:
            if self.nodes[name].later:
                self.changes_revision(name)
        for node in self.nodes.values():
            if not node.healthy:
                node.healthy, node.healthy_since = True, self.now
        self.everybody_hooks()  # who cannot read what the leader published notices
        self.now += GONE_FOR
        for name, node in self.nodes.items():
            self.hook(name)
            state = self.units()[name]
            if state.requested_at is not None:
                node.reasons.clear()  # rebooted by hand
                self.boot(node)
        for _ in range(8 * len(self.nodes) + 8):
            self.now += SETTLE
            self.approve_on_the_leader()
            self.everybody_hooks()
        for name in self.nodes:
            self.hook(name, periodic=True)
        units, cluster = self.units(), self.cluster()
        assert not cluster.held, (cluster, units)
        assert not set(cluster.taken) & set(units)
        for name, node in self.nodes.items():
            assert not node.reasons, (name, node)
            expected = UnitState(
                boot_id=self.boot_id(name),
                rebooted_for=units[name].rebooted_for,
                released=units[name].released,
                answered=units[name].answered,
                saw_lock_taken=units[name].saw_lock_taken,
                zone=node.zone,
                has_containers=node.quorum,
            )
            assert self.units()[name] == expected


WALKS = 400 if NIGHTLY else 40
"""How many long histories are walked."""

TestApplication = Application.TestCase
TestApplication.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)


@settings(max_examples=WALKS, phases=[Phase.reuse, Phase.generate], deadline=None)
@given(st.randoms(use_true_random=True))
def test_long_histories(chance: random.Random):
    """Random walks by the same rules, with many hooks between incidents: some faults need a long history."""
    walk(Application(), chance)


def walk(application: Application, chance: random.Random) -> None:
    application.pick = lambda data: chance.choice(sorted(application.nodes))
    zones = [chance.choice(ZONES) for _ in range(chance.randint(1, 4))]
    modes = ["manual", "when-idle", "always"]
    application.deploy(zones, chance.choice(modes), chance.choice(PARALLEL))
    application.refreshes = chance.choice([0, 3])
    for _ in range(60):
        move(application, chance)
        application.several_hosts_are_down_only_where_they_may_be()
        application.a_rolling_host_holds_the_lock()
    application.teardown()


def move(application: Application, chance: random.Random) -> None:
    moves: list[tuple[int, Callable[[], object]]] = [
        (30, lambda: application.any_hook(None)),
        (30, lambda: application.a_peer_changed(None)),
        (15, lambda: application.update_status(None)),
        (8, application.everybody_hooks),
        (8, application.everybody_hears_of_everybody),
        (4, lambda: application.hook_that_began_before_the_leaders_write(None)),
        (1, lambda: application.gets_a_container(None)),
        (1, lambda: application.reboot_parallel(chance.choice(PARALLEL))),
        (8, application.everybody_but_the_leader_hooks),
        (14, lambda: application.wait(chance.choice([1, 60, SETTLE - 1, SETTLE, NEVER_CAME, 7200]))),
        (10, lambda: application.need_arises(None, chance.choice(REASONS))),
        (3, lambda: application.need_arises_everywhere(chance.choice(REASONS))),
        (2, lambda: application.need_goes(None)),
        (5, lambda: application.becomes(None, chance.choice(FLAGS), chance.random() < 0.3)),
        (4, lambda: application.health_changes(None, chance.random() < 0.8)),
        (2, lambda: application.reboots_by_itself(None)),
        (2, lambda: application.crashes(None)),
        (4, lambda: application.comes_back(None)),
        (1, application.power_cut),
        (4, application.approve_on_the_leader),
        (2, lambda: application.approve_on_one_unit(None)),
        (2, lambda: application.elect(None)),
        (application.refreshes, lambda: application.refresh(None)),
    ]
    if len(application.nodes) < 5:
        moves += [
            (2, application.elect_a_newcomer),
            (1, lambda: application.add_unit(chance.choice(ZONES), chance.random() < 0.3)),
        ]
    if len(application.nodes) > 1:
        moves.append((1, lambda: application.remove_unit(None)))
    if application.cluster().held:
        moves.append((1, application.release_the_lock))
    chance.choices([what for _, what in moves], [weight for weight, _ in moves])[0]()
