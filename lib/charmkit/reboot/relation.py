# SPDX-License-Identifier: Apache-2.0
"""The databags of the peer relation: what is read from them, and what is written.

Each write of a unit, and each of the leader's for the application, starts a hook on every other unit. So a
unit publishes only what the others need (:func:`charmkit.reboot.unit.tells`), and keeps the rest for itself.
"""

import hashlib
from typing import Protocol

import ops
from converge import Finding, Severity
from converge.shape import InvalidValue

from charmkit.reboot import databag
from charmkit.reboot.state import Cluster, UnitState
from charmkit.reboot.status import unusable
from charmkit.reboot.unit import tells


class Kept(Protocol):
    """What a unit keeps from hook to hook, apart from what it publishes.

    Attributes:
        state: its state, where it differs from what it published, with a digest of that. Without this state,
            as after a change of the charm's revision and back, it goes on with what it published.
        concern: what the leader's state said of this unit when it looked at its host last.
        parallel: the option ``reboot-parallel`` at that time.
        witness: the unit because of which the leader granted nothing, though another one waits.

    """

    state: str
    concern: str
    parallel: str
    witness: str


class Databags:
    """The databags as one unit reads and writes them; each that is read costs a ``relation-get``."""

    def __init__(self, peers: ops.Relation, me: ops.Unit, kept: Kept) -> None:
        self._peers = peers
        self._me = me
        self.kept = kept
        self.unit = me.name
        self.leader = me.is_leader()

    def own(self) -> UnitState:
        """What this unit knows of itself.

        Raises:
            InvalidValue: it cannot be read.

        """
        published = self._published()
        digest, _, state = self.kept.state.partition(" ")
        return databag.decode_unit(state if digest == _digest(published) else published)

    def peer(self, name: str) -> UnitState:
        """What another unit publishes; nothing if it is none of the peers.

        Raises:
            InvalidValue: it cannot be read.

        """
        for unit in self._peers.units:
            if unit.name == name:
                return databag.decode_unit(self._peers.data[unit].get(databag.KEY))
        return UnitState()

    def units(self) -> tuple[dict[str, UnitState], list[Finding]]:
        """What this unit knows of itself and, on the leader, what its peers publish.

        A malformed databag is a finding and no candidate.
        """
        units: dict[str, UnitState] = {}
        findings: list[Finding] = []
        for name in sorted({self.unit, *(unit.name for unit in self._peers.units if self.leader)}):
            try:
                units[name] = self.own() if name == self.unit else self.peer(name)
            except InvalidValue as error:
                units[name] = UnitState()
                findings.append(unusable(Severity.WARNING, f"what {name} publishes", error))
        return units, findings

    def cluster(self) -> Cluster | Finding:
        """What the leader publishes, or why it cannot be read."""
        try:
            return databag.decode_cluster(self._peers.data[self._me.app].get(databag.KEY))
        except InvalidValue as error:
            return unusable(Severity.BLOCKED, "no reboot is granted: what the leader publishes", error)

    def count(self) -> int:
        """How many units there are, this one among them."""
        return len(self._peers.units) + 1

    def addresses(self) -> dict[str, str]:
        """The addresses of the peers, as Juju publishes them; empty where it does not."""
        return {unit.name: self._peers.data[unit].get("ingress-address", "") for unit in self._peers.units}

    def publish(self, own: UnitState, cluster: Cluster) -> None:
        """Write what the other units need of ``own`` and, on the leader, of ``cluster``; keep the rest."""
        published, state = self._published(), databag.encode(own)
        if self._tells(published, own, cluster):
            self._peers.data[self._me][databag.KEY] = published = state
        keep = "" if state == published else f"{_digest(published)} {state}"
        if self.kept.state != keep:  # each that is set is written to the disk
            self.kept.state = keep
        if self.leader:
            text = databag.encode(cluster)
            if self._peers.data[self._me.app].get(databag.KEY) != text:
                self._peers.data[self._me.app][databag.KEY] = text

    def _tells(self, published: str, own: UnitState, cluster: Cluster) -> bool:
        try:
            return not published or tells(
                self.unit, databag.decode_unit(published), own, cluster, leads=self.leader
            )
        except InvalidValue:
            return True

    def _published(self) -> str:
        return self._peers.data[self._me].get(databag.KEY) or ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
