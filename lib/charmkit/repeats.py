# SPDX-License-Identifier: Apache-2.0
"""Tells hooks that have nothing to look at, since a later hook will look or the last one has looked.

A new unit has ``install``, ``relation-created`` for each relation, ``leader-elected`` if it leads, its first
``config-changed``, and right behind that ``start``. Juju keeps to this order if a hook fails or the machine
reboots in between (worker/uniter: resolver.go, relation/resolver.go, operation/runhook.go). So:

- Up to the first config-changed nothing is looked at: config-changed looks at everything. A refresh in
  between has ``upgrade-charm``, which looks at everything, too, and so does each hook from then on.
- Start looks at nothing if config-changed left nothing unfinished and the machine has not rebooted since.

Of a peer relation only the leader reads what units publish. The other units follow what the leader publishes
in the application's databag, so an event of a peer concerns them only if that databag has changed. A unit
that becomes the leader later has ``leader-elected``. The same holds for relations of which a charm says that
it reads nothing but the application's databag.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Sequence

import ops
from converge import Finding, unfinished

CONFIG_CHANGED = "config-changed"


class Repeats(ops.Object):
    """The memory by which a unit tells a hook that repeats another one; it is kept from hook to hook.

    A hook that fails keeps nothing. A unit of which nothing is kept looks in every hook.

    Args:
        charm: the unit's charm.
        boot: the id of the machine's boot; empty if the charm does not depend on it: start always looks then.
        by_application: relations of which the charm reads nothing but the remote application's databag.

    """

    _kept = ops.StoredState()

    def __init__(
        self, charm: ops.CharmBase, boot: Callable[[], str], by_application: Collection[str]
    ) -> None:
        super().__init__(charm, "repeats")
        self._charm = charm
        self._boot = boot
        self._by_application = by_application
        # `covers`: the hook up to which the next ones repeat; `databags`: a digest of what was read last.
        self._kept.set_default(covers="", databags="")
        self.framework.observe(charm.on.install, self._on_install)

    def is_repeat(self, event: ops.EventBase) -> bool:
        """Whether this event's hook has nothing to look at."""
        if isinstance(event, ops.RelationCreatedEvent | ops.LeaderElectedEvent):
            return self._kept.covers == CONFIG_CHANGED
        if isinstance(event, ops.StartEvent):
            covered, known = self._kept.covers, self._start() if self._kept.covers else ""
            self._keep("covers", "")  # of one start, the one right behind config-changed
            return bool(known) and covered == known
        if isinstance(event, ops.RelationChangedEvent | ops.RelationDepartedEvent):
            return self._follows_application(event.relation) and self._kept.databags == self._databags()
        return False

    def remember(self, event: ops.EventBase, findings: Sequence[Finding]) -> None:
        """Keep what the hooks that follow this one, which looked at everything, may repeat."""
        first = isinstance(event, ops.ConfigChangedEvent) and self._kept.covers == CONFIG_CHANGED
        self._keep("covers", self._start() if first and not unfinished(findings) else "")
        self._keep("databags", self._databags())

    def _on_install(self, _: ops.InstallEvent) -> None:
        self._keep("covers", CONFIG_CHANGED)

    def _start(self) -> str:
        """Return a mark of a start in this boot of the machine; empty if the boot is not known."""
        try:
            boot = self._boot()
        except OSError:
            return ""
        return f"start in {boot}" if boot else ""

    def _follows_application(self, relation: ops.Relation) -> bool:
        """Whether only the application's databag of this relation can tell this unit something."""
        if self._charm.meta.relations[relation.name].role is ops.RelationRole.peer:
            return not self._charm.unit.is_leader()
        return relation.name in self._by_application

    def _databags(self) -> str:
        """A digest of the applications' databags of all such relations; empty where there are none."""
        read = {
            f"{relation.name}:{relation.id}": dict(relation.data[relation.app])
            for name in self._charm.meta.relations
            for relation in self.model.relations[name]
            if self._follows_application(relation)
        }
        return hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest() if read else ""

    def _keep(self, name: str, value: str) -> None:
        if getattr(self._kept, name) != value:  # each that is set is written to the disk
            setattr(self._kept, name, value)
