# SPDX-License-Identifier: Apache-2.0
"""The databags of the peer relation: what is read from them, and what is written.

Each write of a unit, and each of the leader's for the application, starts a hook on every other unit. So a
unit publishes only what the others need (:func:`must_publish`), and keeps the rest for itself.
"""

import hashlib
from collections.abc import Mapping
from typing import Protocol

import ops
from converge import Finding
from converge.shape import InvalidValue

from charmkit.reboot import databag
from charmkit.reboot.lock import GONE_FOR, holds, replaced
from charmkit.reboot.state import ABOUT_NEED, LOST, PRIVATE, Cluster, UnitState
from charmkit.reboot.status import leader_unusable, unusable


class PrivateState(Protocol):
    """The values that a unit keeps from hook to hook, apart from those that it publishes."""

    # Its state, where it differs from what it published, with a digest of that. It counts only beside that
    # publication: a hook that fails may keep one and not the other.
    state: str
    digest_about: str  # what the leader's state said of this unit when it looked at its host last
    blocking_unit: str  # the unit because of which the leader granted nothing, though another one waits
    # Since when this unit cannot read what the leader publishes, in seconds since the epoch; empty if it can
    unreadable_since: str
    # A digest of the peers' names and of the leader's state, where this unit led and nobody needed anything
    # when it read all of its peers last; no hook has told of a peer since. Empty otherwise.
    at_rest: str


NOTHING_KEPT = dict.fromkeys(("state", "digest_about", "blocking_unit", "unreadable_since", "at_rest"), "")
"""The values of :class:`PrivateState` before a unit's first hook."""


class Databags:
    """The databags as one unit reads and writes them; each that is read costs a ``relation-get``."""

    def __init__(self, peers: ops.Relation, me: ops.Unit, private: PrivateState) -> None:
        self._peers = peers
        self._me = me
        self.private = private
        self.unit = me.name
        self.leader = me.is_leader()

    def keep(self, **values: str) -> None:
        """Change the private state where it differs: each field that is set is written to the disk."""
        for name, value in values.items():
            if getattr(self.private, name) != value:
                setattr(self.private, name, value)

    def own(self) -> UnitState:
        """Return this unit's own state. Raises InvalidValue if it cannot be read."""
        published = self._published()
        digest, _, state = self.private.state.partition(" ")
        return databag.decode_unit(state if digest == _digest(published) else published)

    def peer(self, name: str) -> UnitState:
        """Return the state that another unit publishes; an empty one if it is none of the peers.

        Raises InvalidValue if it cannot be read.
        """
        for unit in self._peers.units:
            if unit.name == name:
                return databag.decode_unit(self._peers.data[unit].get(databag.KEY))
        return UnitState()

    def units(self, *, peers: bool = True) -> tuple[dict[str, UnitState], list[Finding]]:
        """Return this unit's own state and, on the leader, those that its ``peers`` publish.

        A malformed databag is a finding and no candidate; see :data:`.state.LOST`.
        """
        units: dict[str, UnitState] = {}
        findings: list[Finding] = []
        others = self._peers.units if self.leader and peers else ()
        for name in sorted({self.unit, *(unit.name for unit in others)}):
            try:
                units[name] = self.own() if name == self.unit else self.peer(name)
            except InvalidValue as error:
                units[name] = LOST if name == self.unit else UnitState()
                findings.append(unusable(f"what {name} publishes", error))
        return units, findings

    def cluster(self) -> Cluster | Finding:
        """Return the state that the leader publishes, or the reason why it cannot be read."""
        try:
            return databag.decode_cluster(self._peers.data[self._me.app].get(databag.KEY))
        except InvalidValue as error:
            return leader_unusable(self.unit, error)

    def replace(self, units: Mapping[str, UnitState], now: int, *, at_once: bool = False) -> Cluster | None:
        """Return the state that replaces one which cannot be read; None before it is time to replace it.

        The time is :data:`.lock.GONE_FOR`, unless the operator asks for it: a unit of another revision that
        can read it may lead again by then, and this unit sees all of its peers.
        """
        since = int(self.private.unreadable_since or now)
        if not at_once:
            self.keep(unreadable_since=str(since if since <= now else now))
        if not self.leader or (now - since < GONE_FOR and not at_once):
            return None
        self.keep(unreadable_since="")
        text = self._peers.data[self._me.app].get(databag.KEY, "")
        return replaced(units, now, stopped=databag.says_stopped(text))

    def at_rest(self) -> bool:
        """Whether this unit leads, and no peer needed anything when it read them last.

        Each hook about a peer ends this. A new leader's leader-elected reads all; an update-status before it
        may miss what a peer has published meanwhile. Nothing is granted from what is kept, so that a reboot
        that is needed then waits for that hook.
        """
        return self.leader and bool(self.private.at_rest) and self.private.at_rest == self._resting()

    def rest(self, resting: bool) -> None:
        """Keep whether no peer needs anything, as :meth:`at_rest` tells it."""
        self.keep(at_rest=self._resting() if resting else "")

    def _resting(self) -> str:
        names = sorted(unit.name for unit in self._peers.units)
        return _digest(" ".join([*names, self._peers.data[self._me.app].get(databag.KEY, "")]))

    def count(self) -> int:
        """How many units there are, this one among them."""
        return len(self._peers.units) + 1

    def addresses(self) -> dict[str, str]:
        """The addresses of the peers, as Juju publishes them; empty where it does not."""
        return {unit.name: self._peers.data[unit].get("ingress-address", "") for unit in self._peers.units}

    def publish(self, own: UnitState, cluster: Cluster) -> None:
        """Write what the other units need of ``own`` and, on the leader, of ``cluster``; keep the rest.

        Raises InvalidValue, and writes nothing, if one of them could not be read again.
        """
        published, state = self._published(), databag.encode(own)
        text = databag.encode(cluster) if self.leader else ""
        if self._must_publish(published, own, cluster):
            self._peers.data[self._me][databag.KEY] = published = state
        self.keep(state="" if state == published else f"{_digest(published)} {state}")
        if self.leader and self._peers.data[self._me.app].get(databag.KEY) != text:
            self._peers.data[self._me.app][databag.KEY] = text

    def _must_publish(self, published: str, own: UnitState, cluster: Cluster) -> bool:
        try:
            before = databag.decode_unit(published)
        except InvalidValue:
            return True
        return not published or must_publish(self.unit, before, own, cluster, leads=self.leader)

    def _published(self) -> str:
        return self._peers.data[self._me].get(databag.KEY) or ""


def must_publish(
    unit: str, before: UnitState, own: UnitState, cluster: Cluster, *, leads: bool = False
) -> bool:
    """Whether the peers need ``own``, of which they know ``before``.

    They do not need what only ``unit`` compares with its own host. Nor do they need the boots of a unit that
    holds the lock, until it gives the lock back or needs something: until then its host counts as down. They
    do not need the leader's reasons for a reboot, which it publishes once another unit leads.
    """

    def with_fields(state: UnitState, names: tuple[str, ...], of: UnitState) -> UnitState:
        return state._replace(**{name: getattr(of, name) for name in names})

    if leads and own.settled and before.settled and own.boot_id == before.boot_id:
        own = with_fields(own, ABOUT_NEED, before)
    if holds(unit, own, cluster) and not own.settled and not own.needs:
        own = with_fields(before, ("answered", "contested", "saw_lock_taken", "approved_after"), own)
    probe = cluster.probe
    if not probe.mark or (probe.is_lazy and unit not in (*probe.unresponsive, *probe.with_containers)):
        own = own._replace(answered=before.answered)
    return with_fields(own, PRIVATE, before) != before


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
