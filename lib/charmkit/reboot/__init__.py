# SPDX-License-Identifier: Apache-2.0
"""The hosts of one application reboot one after the other, or several of one zone at once.

Each unit publishes a :class:`~.state.UnitState`; the leader publishes the :class:`~.state.Cluster` with the
lock. :func:`.unit.decide` takes both and the state of this host, and returns what to publish and whether to
ask Juju for the reboot. Only :mod:`.rolling`, :mod:`.relation` and :mod:`.operate` import ops.

- Only the leader writes the lock. It grants it to one unit, which keeps it across its host's reboot and
  gives it back once the host has settled: the host verifies, its containers run, their OVN databases and
  RabbitMQ are members of their clusters again, and all of this has been true for ``reboot-settle`` seconds.
- With the option ``reboot-parallel`` the lock has several slots (:mod:`.slots`), for hosts of one
  availability zone on which no container starts. A host that is down takes a slot, too.
- In an application of N units every write costs N - 1 hooks. A unit publishes that it needs a reboot, and
  that its host has settled; the leader publishes each grant. What happens in between is published only if
  something goes wrong. :mod:`.turn` says which hooks look at the host; ``tests/bench/reboots.py`` counts
  them.
- The leader's own host goes last. A leader that has booted asks all units to repeat its boot id.
- A host in the grace period after a boot, whatever caused that boot, counts as down: its member of a quorum
  may not be back. Under ``when-idle`` nothing is granted meanwhile, and otherwise what may reboot together
  with it. There is one exception: a host that waits for the lock itself, and whose containers have run for
  ``reboot-settle`` seconds. Two such hosts, which only verify after a reboot, would otherwise wait for each
  other and never reboot. A host that came back broken, or whose reboot did not help, does not ask for the
  lock, and stops the rolling reboot until the operator approves after the status has named it.
- A host may be down while its databag still reads well. Before a grant, and only then, the leader looks at
  every peer (:mod:`.peers`). While one may be down nothing is granted, unless the operator approved after the
  status had named it: a host that is down counts as the one that reboots.
- Each reason is good for one reboot. If a reason remains in the boot that follows, that reboot did not
  help: no policy repeats it for the same reason, and each approval of the operator repeats it once. A host
  that converges in a later boot forgets which reasons it has rebooted for.
- Times that a host compares with its own are seconds of uptime, valid in one boot. Ages that operators
  read, and the leader's wait for a holder that disappeared, are seconds since the epoch.

The library charmlibs-rollingops does not fit: it depends on pydantic and cryptography, which are compiled,
while charms on hosts are pure Python; and it frees its lock when a callback returns, not when a rebooted
host has settled.
"""
