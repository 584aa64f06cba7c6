# SPDX-License-Identifier: Apache-2.0
"""The rolling reboot in a whole application, with everything going wrong in any order.

The world below is Juju as the charm sees it: hooks at any time, databags, a leader that changes, units that
come and go, reboots that happen, change nothing, or never come. The rules are random; the invariants are what
operators count on. What the hosts really do is kept beside what the units publish, so that the two cannot
agree by construction.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from charmkit.reboot.databag import decode_cluster, decode_unit, encode
from charmkit.reboot.lock import approve_all, release
from charmkit.reboot.state import Cluster, Need, RebootPolicy, UnitNow, UnitState
from charmkit.reboot.status import report
from charmkit.reboot.unit import NEVER_CAME, approve_one, decide
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

SETTLE = 300
FLAGS = ("stubborn", "sick", "deaf", "busy", "not_ready", "slow")
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
    down: bool = False
    sees_peers_at: int = 0  # until then its agent has not run the hooks of its peers' joining
    healthy: bool = True
    healthy_since: int = 0
    unit_data: str = ""
    # What really went on, for the invariants.
    rolling: bool = False  # asked for a reboot and not out of its grace yet
    excused: bool = False  # the operator took its lock away
    prepared: bool = True  # all was in place, as published, when it last went down
    again: bool = False  # the operator said to ask once more
    word: frozenset[str] = frozenset()  # reasons that the operator approved in this boot
    despite: frozenset[str] = (
        frozenset()
    )  # hosts that the operator saw named as missing, and approved without
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
        self.app_data = ""
        self.leader = ""
        self.policy = RebootPolicy("manual", SETTLE)
        self.names = 0
        self.hooks = 0

    # Juju's side.

    def units(self) -> dict[str, UnitState]:
        return {name: decode_unit(node.unit_data) for name, node in self.nodes.items()}

    def visible_to(self, name: str) -> dict[str, UnitState]:
        units = self.units()
        return units if self.now >= self.nodes[name].sees_peers_at else {name: units[name]}

    def cluster(self) -> Cluster:
        return decode_cluster(self.app_data)

    def hook(self, name: str) -> None:
        """One reconcile of one unit, and Juju's reboot after it."""
        node = self.nodes[name]
        if node.down:
            return
        self.hooks += 1
        node.last_hook = self.hooks
        uptime = self.now - node.booted
        units = self.visible_to(name)
        host = UnitNow(
            unit=name,
            boot_id=f"{name} boot {node.boot}",
            uptime=uptime,
            now=self.now,
            leader=name == self.leader,
            need=Need(
                tuple(sorted(node.reasons)),
                not_ready="boot files" if node.not_ready else "",
                unverified="" if node.healthy else "VF-LAG is not active",
            ),
            busy="2 instances" if node.busy else "",
            silent=tuple(other for other in units if self.nodes[other].down),
        )
        own = units.pop(name)
        before = self.cluster()
        decision = decide(host, self.policy, own, units, before)
        report(host, self.policy, decision.own, decision.cluster)
        if name != self.leader:
            assert decision.cluster == before, "only the leader writes the lock"
        if decision.cluster.grant > before.grant:
            self.grants(node, decision.cluster.holder, units)
        node.unit_data, self.app_data = encode(decision.own), encode(decision.cluster)
        assert decode_unit(node.unit_data) == decision.own
        assert decode_cluster(self.app_data) == decision.cluster
        if decision.reboot:
            self.asks(name, node, decision.own)
        if node.rolling and node.asked[-1][0] < node.boot and not node.in_grace(self.now):
            node.rolling = False
        if node.rolling and node.asked[-1][0] == node.boot and decision.own.requested_at is None:
            # Without a need, or on the operator's word, a request that never came true lapses.
            assert own.requested_at is None or uptime - own.requested_at >= NEVER_CAME
            node.rolling, node.again = False, True

    def grants(self, leader: Node, holder: str, peers: dict[str, UnitState]) -> None:
        """Every peer that the leader sees is up and has run a hook since the leader's boot."""
        others = {name: self.nodes[name] for name in peers if name != holder}
        down = {name for name, node in others.items() if node.down}
        unheard = {name for name, node in others.items() if node.last_hook <= leader.booted_at_hook}
        assert not self.nodes[holder].down, "the lock goes to a host that is down"
        unnamed = (down | unheard) - self.nodes[holder].despite
        assert not unnamed, f"{holder} may reboot while {unnamed} may be down"

    def asks(self, name: str, node: Node, own: UnitState) -> None:
        assert self.cluster().holder == name, "only the holder reboots"
        assert own.released < self.cluster().grant, "it gave the lock back already"
        others = [n for n, other in self.nodes.items() if n != name and other.rolling and not other.excused]
        assert not others, f"{name} reboots while {others} have not settled"
        assert own.reasons
        assert not node.not_ready
        assert set(own.reasons) <= node.reasons
        if node.asked and node.asked[-1][0] == node.boot:
            assert node.again, "asked twice for a reboot that has not come"
        if node.asked and node.asked[-1][0] == node.boot - 1 and node.prepared:
            before = node.asked[-1][1]
            new, repeated = set(own.reasons) - before, set(own.reasons) & before
            assert new or repeated <= node.word, "a reboot that changed nothing is repeated unasked"
        node.asked.append((node.boot, frozenset(own.reasons)))
        node.rolling, node.excused, node.again = True, False, False
        if not node.deaf:
            self.boot(node)

    def boot(self, node: Node) -> None:
        node.prepared = decode_unit(node.unit_data).ready
        node.boot += 1
        node.word = node.despite = frozenset()
        self.now += 120
        node.booted, node.booted_at_hook, node.down = self.now, self.hooks, node.slow
        if not node.stubborn and not node.not_ready:
            node.reasons.clear()
        node.healthy, node.healthy_since = not (node.stubborn or node.sick), self.now

    # What may happen.

    @initialize(count=st.integers(1, 4), mode=st.sampled_from(["manual", "when-idle", "always"]))
    def deploy(self, count: int, mode: str) -> None:
        self.policy = RebootPolicy(mode, SETTLE)
        for _ in range(count):
            self.add_unit()
        self.leader = min(self.nodes)

    @rule()
    @precondition(lambda self: len(self.nodes) < 5)
    def add_unit(self) -> None:
        self.nodes[f"sriov/{self.names}"] = Node(
            booted=self.now - 10_000, healthy_since=self.now - 9_000, sees_peers_at=self.now + 120
        )
        self.names += 1

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
        self.add_unit()
        self.nodes[self.leader].reasons.add(REASONS[0])
        self.hook(self.leader)

    @rule(data=st.data())
    def any_hook(self, data: st.DataObject) -> None:
        self.hook(self.pick(data))

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
        units = self.visible_to(self.leader)
        for name, state in units.items():
            self.approved(self.nodes[name], state)
            self.nodes[name].despite = frozenset(self.cluster().missing)
        own = approve_one(units[self.leader], self.now - self.nodes[self.leader].booted)
        self.nodes[self.leader].unit_data, self.nodes[self.leader].again = encode(own), True
        units[self.leader] = own
        self.app_data = encode(approve_all(units, self.cluster()))

    @rule(data=st.data())
    def approve_on_one_unit(self, data: st.DataObject) -> None:
        node = self.nodes[self.pick(data)]
        own = decode_unit(node.unit_data)
        if not node.down and own.boot_id.endswith(
            f" {node.boot}"
        ):  # the action refuses before the first hook of a boot
            self.approved(node, own)
            node.unit_data, node.again = encode(approve_one(own, self.now - node.booted)), True

    def approved(self, node: Node, state: UnitState) -> None:
        """The word counts in the boot that the unit spoke of when it was given, for what it said then."""
        if state.boot_id.endswith(f" {node.boot}"):
            node.word |= {*state.reasons, *state.still_needed}

    @rule()
    @precondition(lambda self: self.cluster().holder)
    def release_the_lock(self) -> None:
        holder = self.cluster().holder
        if holder in self.nodes:
            self.nodes[holder].excused = True
        self.app_data = encode(release(self.cluster()))

    def pick(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.nodes)))

    # What operators count on.

    @invariant()
    def at_most_one_host_is_down(self) -> None:
        rolling = [name for name, node in self.nodes.items() if node.rolling and not node.excused]
        assert len(rolling) <= 1, rolling

    @invariant()
    def a_rolling_host_holds_the_lock(self) -> None:
        holder = self.cluster().holder
        for name, node in self.nodes.items():
            if node.rolling and not node.excused:
                assert holder == name or name not in self.nodes

    def teardown(self) -> None:
        """From whatever state: once the trouble ends and the operator says yes, all get their reboot."""
        if not self.nodes:
            return
        for node in self.nodes.values():
            node.stubborn = node.sick = node.deaf = node.busy = node.not_ready = node.slow = False
            if node.down:
                self.boot(node)
            if not node.healthy:
                node.healthy, node.healthy_since = True, self.now
        for name, node in self.nodes.items():
            self.hook(name)
            state = decode_unit(node.unit_data)
            if state.requested_at is not None:
                node.reasons.clear()  # rebooted by hand
                self.boot(node)
        for _ in range(8 * len(self.nodes) + 8):
            self.now += SETTLE
            self.approve_on_the_leader()
            self.everybody_hooks()
        units, cluster = self.units(), self.cluster()
        assert not cluster.holder, (cluster, units)
        assert not set(cluster.forced) & set(units)
        for name, node in self.nodes.items():
            assert not node.reasons, (name, node)
            assert units[name]._replace(rebooted_for={}, released=0, answered="", heard=0) == UnitState(
                boot_id=units[name].boot_id
            ), name


TestApplication = Application.TestCase
TestApplication.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)


@settings(max_examples=150, phases=[Phase.reuse, Phase.generate], deadline=None)
@given(st.randoms(use_true_random=True))
def test_long_histories(chance: random.Random):
    """Random walks by the same rules, with many hooks between incidents: some faults need a long history."""
    walk(Application(), chance)


def walk(application: Application, chance: random.Random) -> None:
    application.pick = lambda data: chance.choice(sorted(application.nodes))
    application.deploy(count=chance.randint(1, 3), mode=chance.choice(["manual", "when-idle", "always"]))
    for _ in range(60):
        move(application, chance)
        application.at_most_one_host_is_down()
        application.a_rolling_host_holds_the_lock()
    application.teardown()


def move(application: Application, chance: random.Random) -> None:
    moves: list[tuple[int, Callable[[], object]]] = [
        (30, lambda: application.any_hook(None)),
        (8, application.everybody_hooks),
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
        moves += [(2, application.elect_a_newcomer), (1, application.add_unit)]
    if len(application.nodes) > 1:
        moves.append((1, lambda: application.remove_unit(None)))
    if application.cluster().holder:
        moves.append((1, application.release_the_lock))
    chance.choices([what for _, what in moves], [weight for weight, _ in moves])[0]()
