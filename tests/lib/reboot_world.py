# SPDX-License-Identifier: Apache-2.0
"""Juju as the charm of a whole application sees it, with hosts that reboot, for tests of the rolling reboot.

Hooks come at any time; there are databags, a leader that changes, units that come and go, and reboots that
happen, change nothing, or never come. What the hosts really do is kept beside what the units publish, so
that the two cannot agree by construction. Each hook asserts what operators count on.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from charmkit.reboot.databag import KEY, decode_cluster, decode_unit, encode
from charmkit.reboot.hook import Result, follow, run
from charmkit.reboot.policy import RebootOptions, slots
from charmkit.reboot.relation import Databags
from charmkit.reboot.state import Cluster, Need, UnitNow, UnitState
from charmkit.reboot.status import report
from charmkit.reboot.unit import NEVER_CAME
from converge.shape import InvalidValue
from lab.juju.model import Model
from lab.juju.peers import Given, Peers, databags, kept

SETTLE = 300
LACKS = "OVN misses a member"
ZONE_SETS = ({"zone-a"}, {"zone-b"})


def by_later(text: str) -> str:
    """A state as a later revision writes it: this one cannot read it."""
    return json.dumps({**json.loads(text), "version": 2, "window": "02:00"}) if text else ""


def by_this(text: str) -> str:
    """A state of either revision as this one writes it, which the later one can read, too."""
    if not text or '"version": 2' not in text:
        return text
    content = json.loads(text)
    del content["window"]
    decode = decode_cluster if {*content} - {*UnitState._fields, "version"} else decode_unit
    return encode(decode(json.dumps({**content, "version": 1})))


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
    memory: Any = field(default_factory=kept)
    zone: str = ""
    quorum: bool = False  # containers start with it
    members: bool = True  # Ceph or a Vault is on the host itself
    said: bool = False  # that they do, as its unit saw it last
    later: bool = False  # its unit runs a later revision
    forgot: bool = False  # its unit could not read its own state since its last request
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
        settles = SETTLE if self.carries else 0
        return not self.healthy or now - self.healthy_since < settles

    @property
    def carries(self) -> bool:
        """Whether it may carry a member of a cluster, so that it settles after a boot."""
        return self.quorum or self.members


class World:
    def __init__(self) -> None:
        super().__init__()  # of the state machine whose rules play in it
        self.now = 1_000_000
        self.nodes: dict[str, Node] = {}
        self.juju = Model()
        self.relation = self.juju.relate({"sriov": "reboot"})
        self.app_data_before = ""
        self.policy = RebootOptions("manual", SETTLE)
        self.names = 0
        self.hooks = self.asked_at_hook = self.granted_at_hook = 0

    def text(self, owner: str = "sriov") -> str:
        """Return the text in a databag, of the application or a unit."""
        return self.juju.databags[self.relation.id].get(owner, {}).get(KEY, "")

    def write(self, owner: str, text: str) -> bool:
        return text != self.text(owner) and self.juju.write(self.relation, owner, {KEY: text})

    @property
    def leader(self) -> str:
        return self.juju.leaders["sriov"]

    @leader.setter
    def leader(self, name: str) -> None:
        self.juju.leaders["sriov"] = name

    def units(self) -> dict[str, UnitState]:
        """Return the units' own states."""
        return {name: self.own(name) for name in self.nodes}

    def own(self, name: str) -> UnitState:
        """Return a unit's own state; see LOST."""
        return self.bags(name)[0].units(peers=False)[0][name]

    def said(self, name: str) -> UnitState:
        """Return the state that a unit published, in either revision."""
        return decode_unit(by_this(self.text(name)))

    def changes_revision(self, name: str) -> None:
        """The operator refreshes one unit, forth or back."""
        node, text = self.nodes[name], self.text(name)
        node.later = not node.later
        digest, _, kept = node.memory.state.partition(" ")
        if not node.later and kept and digest == _digest(by_this(text)):
            node.memory.state = f"{_digest(text)} {by_later(kept)}"
        elif node.later and kept and digest == _digest(text):
            node.memory.state = f"{_digest(by_this(text))} {by_this(kept)}"
        try:
            self.bags(name)[0].own()
        except InvalidValue:
            node.forgot = True

    def visible_to(self, name: str) -> list[str]:
        return sorted(self.nodes) if self.now >= self.nodes[name].sees_peers_at else [name]

    def cluster(self) -> Cluster:
        return decode_cluster(by_this(self.text()))

    def bags(self, name: str, app_data: str | None = None) -> tuple[Databags, Peers]:
        texts = {each: self.text(each) for each in (*self.nodes, "sriov")}
        texts |= {} if app_data is None else {"sriov": app_data}
        if self.nodes[name].later:
            texts = {each: by_this(text) for each, text in texts.items()}
        peers = Peers(name, self.visible_to(name), texts)
        return databags(name, peers, self.nodes[name].memory, leader=self.juju.leads(name)), peers

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
        inputs = self.inputs(name, bags)
        if of is not None and not follow(inputs, of):
            node.last_hook = self.hooks
            self.carry(name, peers)
            return
        node.last_hook, node.said = self.hooks, node.quorum
        before = self.own(name)
        result = run(inputs, self.policy, periodic=periodic)
        if not isinstance(result, Result):
            assert "is unusable" in result[-1].what
            assert not node.later
            return
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
            node.forgot = False
        if node.rolling and node.asked[-1][0] < node.boot and not node.in_grace(self.now):
            node.rolling = False
        if node.rolling and node.asked[-1][0] == node.boot and own.requested_at is None:
            # Without a need, or on an approval, a request that never came true lapses.
            elapsed = self.now - node.booted - (before.requested_at or 0)
            assert before.requested_at is None or elapsed >= NEVER_CAME or node.forgot
            node.rolling, node.again = False, True

    def inputs(self, name: str, bags: Databags) -> Given:
        """Return the inputs of a hook of a unit."""
        lacks = LACKS if self.nodes[name].lacks else ""
        return Given(bags, self.look(name), self.silent(name), lacks, self.parallel())

    def look(self, name: str) -> UnitNow:
        node = self.nodes[name]
        return UnitNow(
            unit=name,
            boot_id=self.boot_id(name),
            uptime=self.now - node.booted,
            now=self.now,
            leader=self.juju.leads(name),
            need=Need(
                tuple(sorted(node.reasons)),
                not_ready="boot files" if node.not_ready else "",
                unverified="" if node.healthy else "VF-LAG is not active",
            ),
            busy="2 instances" if node.busy else "",
            zone=node.zone,
            has_containers=node.quorum,
            has_members=node.members,
        )

    def boot_id(self, name: str) -> str:
        return f"{name} boot {self.nodes[name].boot}"

    def parallel(self) -> str:
        """The option as it is."""
        return self.policy.reboot_parallel

    def silent(self, name: str) -> tuple[str, ...]:
        return tuple(other for other in self.visible_to(name) if self.nodes[other].down)

    def carry(self, name: str, peers: Peers) -> None:
        """Carry the writes of a hook, and check the operators' guarantees if the leader granted."""
        before, node = self.cluster(), self.nodes[name]
        self.write(name, _carried(node, self.text(name), peers.text(name)))
        if name != self.leader:
            return
        before_it, text = self.text(), _carried(node, self.text(), peers.text("sriov"))
        if self.write("sriov", text):
            self.app_data_before = before_it
        after = self.cluster()
        assert decode_cluster(encode(after)) == after
        if after.probe.for_grant != before.probe.for_grant:
            self.asked_at_hook = self.hooks
        for holder, slot in after.held.items():
            if slot.grant > max(before.grant if after.lost == before.lost else 0, after.lost):
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
        uses = self.said(holder).boot_id == self.boot_id(holder)
        if away and uses:
            most = slots(self.parallel(), len(seen))
            assert len(away) + 1 <= most, "more than the slots"
            alone = any(self.nodes[name].said for name in (holder, *away))
            assert not alone, f"{holder} may reboot while {away} are down"
            assert self.one_zone({holder, *away}), f"{holder} may reboot while {away} are down"

    def unsettled(self, names: Iterable[str]) -> set[str]:
        """Those in their grace, as their units said last, without those that wait for the lock themselves."""
        said = {name: self.said(name) for name in names}
        waits = {name for name, state in said.items() if state.queues_unsettled and state.reasons}
        return {name for name, state in said.items() if not state.settled} - waits

    def excused(self, holder: str) -> set[str]:
        """Those without which the operator let it go, until a hook of theirs tells that they came back."""
        return {
            name
            for name, (boot, settled) in self.nodes[holder].despite.items()
            if name in self.nodes
            and (said := self.said(name)).boot_id == boot
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
            assert len(others) + 1 <= slots(self.parallel(), cluster.units), "more than the slots"
        assert own.reasons
        assert not node.not_ready
        assert not node.lacks or LACKS in node.approved_here
        assert set(own.reasons) <= node.reasons
        if node.asked and node.asked[-1][0] == node.boot:
            assert node.again or node.forgot, "asked twice for a reboot that has not come"
        if node.asked and node.asked[-1][0] == node.boot - 1 and node.prepared:
            before = node.asked[-1][1]
            new, repeated = set(own.reasons) - before, set(own.reasons) & before
            allowed = new or repeated <= node.approved_here or node.forgot
            assert allowed, "a reboot that changed nothing is repeated unasked"
        node.asked.append((node.boot, frozenset(own.reasons)))
        # A hook that began before the operator took the lock away reboots all the same.
        node.rolling, node.excused, node.again = True, name not in self.cluster().held, False
        if not node.deaf:
            self.boot(node)

    def boot(self, node: Node) -> None:
        (name,) = (name for name, each in self.nodes.items() if each is node)
        node.prepared = self.own(name).ready
        node.boot += 1
        node.approved_here, node.despite = frozenset(), {}
        self.now += 120
        node.booted, node.booted_at_hook, node.down = self.now, self.hooks, node.slow
        if not node.stubborn and not node.not_ready:
            node.reasons.clear()
        node.healthy, node.healthy_since = not (node.stubborn or node.sick), self.now


def _carried(node: Node, before: str, now: str) -> str:
    """Return a databag's text after a hook of this node's unit, which read ``before`` and leaves ``now``."""
    if not node.later:
        return now
    return before if now == by_this(before) else by_later(now)


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
