# SPDX-License-Identifier: Apache-2.0
"""The rolling reboot in a whole application, with everything going wrong in any order.

The world below is Juju as the charm sees it: hooks at any time, databags, a leader that changes, units that
come and go, reboots that happen, change nothing, or never come. The rules are random; the invariants are what
operators count on. What the hosts really do is kept beside what the units publish, so that the two cannot
agree by construction.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from charmkit.reboot.databag import decode_cluster, decode_unit, encode
from charmkit.reboot.hook import Result, follow, run, with_first_grant
from charmkit.reboot.lock import approve_all, release
from charmkit.reboot.policy import RebootPolicy, slots
from charmkit.reboot.relation import Databags
from charmkit.reboot.state import Cluster, Need, UnitNow, UnitState
from charmkit.reboot.status import report
from charmkit.reboot.unit import NEVER_CAME, approve_one
from fuzz import NIGHTLY
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from lab.peers import Peers, databags, kept

SETTLE = 300
FLAGS = ("stubborn", "sick", "deaf", "busy", "not_ready", "slow", "lacks")
LACKS = "OVN misses a member"
PARALLEL = ("1", "1", "2", "3", "50%", "100%")
ZONE_SETS = ({"zone-a"}, {"zone-b"})
ZONES = ("", "zone-a", "zone-a", "zone-a", "zone-b")
REASONS = ("8 VFs at the next boot", "switchdev at the next boot", "iommu on the kernel command line")


@dataclass
class Node:
    """A host and its unit. Times are the world's."""

    boot: int = 1
    booted: int = 0
    reasons: set[str] = field(default_factory=set)
    stubborn: bool = False  # its reboots change nothing
    sick: bool = False  # it comes up, but does not verify
    deaf: bool = False  # Juju does not reboot it (4.0.11)
    busy: bool = False
    not_ready: bool = False
    slow: bool = False  # it does not come up by itself after a reboot
    lacks: bool = False  # a cluster in its containers misses a member
    down: bool = False
    sees_peers_at: int = 0  # until then its agent has not run the hooks of its peers' joining
    healthy: bool = True
    healthy_since: int = 0
    unit_data: str = ""
    memory: Any = field(default_factory=kept)
    zone: str = ""
    quorum: bool = False  # containers start with it
    said: bool = False  # that they do, as its unit saw it last
    parallel: str = "1"  # the option, as its unit saw it last
    # What really went on, for the invariants.
    rolling: bool = False  # asked for a reboot and not out of its grace yet
    excused: bool = False  # the operator took its lock away
    prepared: bool = True  # all was in place, as published, when it last went down
    again: bool = False  # the operator said to ask once more
    approved_here: frozenset[str] = frozenset()  # reasons that the operator approved in this boot
    # Hosts named as missing without which the operator approved: their boots, and whether they had settled.
    despite: dict[str, tuple[str, bool]] = field(default_factory=dict)
    booted_at_hook: int = 0  # how many hooks of the whole application had run then
    last_hook: int = 0
    asked: list[tuple[int, frozenset[str]]] = field(default_factory=list)

    def in_grace(self, now: int) -> bool:
        return not self.healthy or now - self.healthy_since < SETTLE


class Application(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_000
        self.nodes: dict[str, Node] = {}
        self.app_data = self.app_data_before = ""
        self.leader = ""
        self.policy = RebootPolicy("manual", SETTLE)
        self.names = 0
        self.hooks = self.asked_at_hook = self.granted_at_hook = 0

    # Juju's side.

    def units(self) -> dict[str, UnitState]:
        """What the units know of themselves."""
        return {name: self.bags(name)[0].own() for name in self.nodes}

    def visible_to(self, name: str) -> list[str]:
        return sorted(self.nodes) if self.now >= self.nodes[name].sees_peers_at else [name]

    def cluster(self) -> Cluster:
        return decode_cluster(self.app_data)

    def bags(self, name: str, app_data: str | None = None) -> tuple[Databags, Peers]:
        texts = {each: node.unit_data for each, node in self.nodes.items()}
        texts["sriov"] = self.app_data if app_data is None else app_data
        peers = Peers(name, self.visible_to(name), texts)
        return databags(name, peers, self.nodes[name].memory, leader=name == self.leader), peers

    def hook(
        self, name: str, *, of: str | None = None, app_data: str | None = None, periodic: bool = False
    ) -> None:
        """One hook of one unit, and Juju's reboot after it.

        ``of`` is the peer whose change it is about, or empty for the leader's state; None is another hook.
        ``app_data`` is what it sees of the leader, if it began before the leader's last write.
        ``periodic`` is an update-status, in which the leader may read no peer; a hook about one that has
        changed may not have come yet.
        """
        node = self.nodes[name]
        if node.down:
            return
        self.hooks += 1
        bags, peers = self.bags(name, app_data)
        if of is not None and not follow(bags, self.boot_id(name), self.now, of, lambda: self.silent(name)):
            node.last_hook = self.hooks
            self.carry(name, peers)
            return
        node.last_hook, node.said, node.parallel = self.hooks, node.quorum, self.policy.parallel
        before = bags.own()
        result = run(
            bags,
            self.policy,
            lambda own: self.look(name),
            lambda: self.silent(name),
            lambda: LACKS if node.lacks else "",
            periodic=periodic,
        )
        assert isinstance(result, Result)
        if not result.read:
            granted = result.decision.cluster.grant > self.cluster().grant
            assert not granted or len(self.visible_to(name)) == 1, "a grant without a look at the peers"
        own, cluster, reboot = result.decision
        report(result.host, self.policy, own, cluster)
        self.carry(name, peers)
        if name != self.leader and app_data is None:
            assert cluster == self.cluster(), "only the leader writes the lock"
        assert bags.own() == own
        if reboot:
            self.asks(name, node, own, cluster)
        if node.rolling and node.asked[-1][0] < node.boot and not node.in_grace(self.now):
            node.rolling = False
        if node.rolling and node.asked[-1][0] == node.boot and own.requested_at is None:
            # Without a need, or on an approval, a request that never came true lapses.
            elapsed = self.now - node.booted - (before.requested_at or 0)
            assert before.requested_at is None or elapsed >= NEVER_CAME
            node.rolling, node.again = False, True

    def look(self, name: str) -> UnitNow:
        node = self.nodes[name]
        return UnitNow(
            unit=name,
            boot_id=self.boot_id(name),
            uptime=self.now - node.booted,
            now=self.now,
            leader=name == self.leader,
            need=Need(
                tuple(sorted(node.reasons)),
                not_ready="boot files" if node.not_ready else "",
                unverified="" if node.healthy else "VF-LAG is not active",
            ),
            busy="2 instances" if node.busy else "",
            zone=node.zone,
            has_containers=node.quorum,
        )

    def boot_id(self, name: str) -> str:
        return f"{name} boot {self.nodes[name].boot}"

    def silent(self, name: str) -> tuple[str, ...]:
        return tuple(other for other in self.visible_to(name) if self.nodes[other].down)

    def carry(self, name: str, peers: Peers) -> None:
        """What a hook wrote, and what operators count on if the leader granted."""
        before = self.cluster()
        self.nodes[name].unit_data = peers.text(name)
        if name != self.leader:
            return
        if peers.text("sriov") != self.app_data:
            self.app_data, self.app_data_before = peers.text("sriov"), self.app_data
        after = self.cluster()
        assert decode_cluster(encode(after)) == after
        if after.probe.for_grant != before.probe.for_grant:
            self.asked_at_hook = self.hooks
        for holder, slot in after.held.items():
            if slot.grant > before.grant:
                self.grants(name, holder, after)

    def grants(self, leader: str, holder: str, cluster: Cluster) -> None:
        """Every peer that the leader sees is up and has run a hook since the leader's boot.

        One that is down takes a slot, if it may be down together with the holder.
        """
        seen = self.visible_to(leader)
        others = {name: self.nodes[name] for name in seen if name not in (leader, holder)}
        down = {name for name, node in others.items() if node.down and name not in cluster.held}
        down |= self.unsettled(name for name in seen if name not in cluster.held)
        booted = self.nodes[leader].booted_at_hook
        unheard = {name for name, node in others.items() if node.last_hook <= booted}
        excused = self.excused(holder)
        if self.nodes[holder].said:
            # Without a hook in its present boot since the leader asked for this grant, it may be starting.
            asked = self.asked_at_hook
            assert asked > self.granted_at_hook or not any(node.said for node in others.values())
            stale = {name for name, node in others.items() if node.said and node.last_hook < asked}
            assert not stale - excused - {*cluster.held}, f"{holder} may reboot while {stale} may be starting"
        self.granted_at_hook = self.hooks
        assert not self.nodes[holder].down, "the lock goes to a host that is down"
        assert not unheard - excused, f"{holder} may reboot while {unheard} may be down"
        away = {*cluster.held, *(down - excused)} - {holder}
        # A host that booted by itself meanwhile does not use the lock for what was approved in its last boot.
        uses = decode_unit(self.nodes[holder].unit_data).boot_id == self.boot_id(holder)
        if away and uses:
            most = slots(self.nodes[leader].parallel, len(seen))
            assert len(away) + 1 <= most, "more than the slots"
            alone = any(self.nodes[name].said for name in (holder, *away))
            assert not alone, f"{holder} may reboot while {away} are down"
            assert self.one_zone({holder, *away}), f"{holder} may reboot while {away} are down"

    def unsettled(self, names: Iterable[str]) -> set[str]:
        """Those in their grace, as their units said last, without those that wait for the lock themselves."""
        said = {name: decode_unit(self.nodes[name].unit_data) for name in names}
        waits = {name for name, state in said.items() if state.queues_unsettled and state.reasons}
        return {name for name, state in said.items() if not state.settled} - waits

    def excused(self, holder: str) -> set[str]:
        """Those without which the operator let it go, until a hook of theirs tells that they came back."""
        return {
            name
            for name, (boot, settled) in self.nodes[holder].despite.items()
            if name in self.nodes
            and (said := decode_unit(self.nodes[name].unit_data)).boot_id == boot
            and (settled or not said.settled)
        }

    def one_zone(self, names: set[str]) -> bool:
        return {self.nodes[name].zone for name in names} in ZONE_SETS

    def together(self, names: set[str]) -> bool:
        """Whether hosts may be down at once."""
        return self.one_zone(names) and not any(self.nodes[name].quorum for name in names)

    def asks(self, name: str, node: Node, own: UnitState, cluster: Cluster) -> None:
        assert name in cluster.held, "only a holder reboots"
        assert own.released < cluster.held[name].grant, "it gave the lock back already"
        others = {n for n, other in self.nodes.items() if n != name and other.rolling and not other.excused}
        if others:
            assert self.together({name, *others}), f"{name} reboots while {others} have not settled"
        assert own.reasons
        assert not node.not_ready
        assert not node.lacks or LACKS in node.approved_here
        assert set(own.reasons) <= node.reasons
        if node.asked and node.asked[-1][0] == node.boot:
            assert node.again, "asked twice for a reboot that has not come"
        if node.asked and node.asked[-1][0] == node.boot - 1 and node.prepared:
            before = node.asked[-1][1]
            new, repeated = set(own.reasons) - before, set(own.reasons) & before
            assert new or repeated <= node.approved_here, "a reboot that changed nothing is repeated unasked"
        node.asked.append((node.boot, frozenset(own.reasons)))
        # A hook that began before the operator took the lock away reboots all the same.
        node.rolling, node.excused, node.again = True, name not in self.cluster().held, False
        if not node.deaf:
            self.boot(node)

    def boot(self, node: Node) -> None:
        (name,) = (name for name, each in self.nodes.items() if each is node)
        node.prepared = self.bags(name)[0].own().ready
        node.boot += 1
        node.approved_here, node.despite = frozenset(), {}
        self.now += 120
        node.booted, node.booted_at_hook, node.down = self.now, self.hooks, node.slow
        if not node.stubborn and not node.not_ready:
            node.reasons.clear()
        node.healthy, node.healthy_since = not (node.stubborn or node.sick), self.now

    # What may happen.

    @initialize(
        zones=st.lists(st.sampled_from(ZONES), min_size=1, max_size=4),
        mode=st.sampled_from(["manual", "when-idle", "always"]),
        parallel=st.sampled_from(PARALLEL),
    )
    def deploy(self, zones: list[str], mode: str, parallel: str) -> None:
        self.policy = RebootPolicy(mode, SETTLE, parallel)
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
        )
        self.names += 1

    @rule(data=st.data())
    def gets_a_container(self, data: st.DataObject) -> None:
        """Also after the leader granted it the lock together with others."""
        node = self.nodes[self.pick(data)]
        node.quorum = node.quorum or not node.rolling

    @rule(parallel=st.sampled_from(PARALLEL))
    def reboot_parallel(self, parallel: str) -> None:
        """The operator changes the option; units hear of it in hooks of their own."""
        if not self.cluster().held:
            self.policy = self.policy._replace(parallel=parallel)

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
    @precondition(lambda self: len(self.nodes) > 1)
    def remove_unit(self, data: st.DataObject) -> None:
        name = self.pick(data)
        del self.nodes[name]
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
        if self.nodes[self.leader].down:
            return
        bags, peers = self.bags(self.leader)
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
            cluster = with_first_grant(bags, units, cluster, self.now, lambda: self.silent(self.leader))
        bags.publish(own, cluster)
        self.carry(self.leader, peers)

    @rule(data=st.data())
    def approve_on_one_unit(self, data: st.DataObject) -> None:
        name = self.pick(data)
        node = self.nodes[name]
        bags, peers = self.bags(name)
        own = bags.own()
        if not node.down and own.boot_id == self.boot_id(
            name
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
        self.app_data_before = self.app_data
        for holder in self.cluster().held:
            if holder in self.nodes:
                self.nodes[holder].excused = True
            self.app_data = encode(release(self.cluster(), holder))

    def pick(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.nodes)))

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
            if not node.healthy:
                node.healthy, node.healthy_since = True, self.now
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
