# SPDX-License-Identifier: Apache-2.0
"""Which hosts of the application may be down although their databags read well. Pure functions.

Before a grant the leader requires that each peer's host answers at a TCP port now, and that its unit has
repeated a mark of the leader (:class:`.state.Probe`): databags have no time of their own. A host that did not
answer and answers again may have booted, so that its unit has to repeat a new mark. Each mark wakes all
units, and a unit whose host does not answer may run hooks all the same, such as behind a firewall that drops
port 22: so there is a new one at most every few minutes, and one for each grant.
"""

from collections.abc import Collection, Mapping

from charmkit.reboot.state import Cluster, UnitState

PORT = 22
"""The port at which the leader looks: sshd's, which ``juju ssh`` needs. A reset is an answer, too."""

SINCE = "@"
"""Between the boot id and the time in a mark of the leader."""

TIMEOUT = 2.0
"""Seconds for each peer."""

REPORTS_IN = 5 * 60
"""Seconds that the peers have for an answer before the status names them: each of them runs a hook, and
naming them at once would wake all units each time one of them has answered."""

PROBES_APART = 5 * 60
"""Seconds between two marks because of hosts that did not answer."""

FRESH = 10 * 60
"""Seconds for which a peer with containers counts as up after it was asked."""

SILENT = "does not answer at port 22"
UNREAD = "has not read yet that its lock was released"
UNREPORTED = "has not run a hook since the leader's host booted"
UNSETTLED = "has booted and has not settled yet"
UNPROVEN = "has not run a hook since its host did not answer"
UNANSWERED = "has containers, and has not run a hook since the leader asked it"


def probe_boot(
    leader: str, units: Mapping[str, UnitState], cluster: Cluster, now: int, *, at_once: bool
) -> Cluster:
    """Ask the peers to repeat the leader's boot id: with what they publish next, or ``at_once``.

    Each answer wakes all units. A unit that needs a reboot publishes that anyway, and answers with it. While
    a unit holds the lock nothing is asked in advance: it is asked with the write that frees the lock.
    """
    probe, boot_id = cluster.probe, _boot_id(leader, units)
    asked = _boot(probe.mark) == boot_id and not (at_once and probe.is_lazy)
    if asked or (cluster.held and not at_once) or not _unreported(leader, units):
        return cluster
    probe = probe._replace(mark=boot_id, at=now, is_lazy=not at_once, to_probe_again=())
    return cluster._replace(probe=probe)


def probe_unresponsive(
    leader: str, units: Mapping[str, UnitState], cluster: Cluster, now: int, silent: Collection[str]
) -> Cluster:
    """Ask units whose hosts did not answer just now, and those asked before, for a hook that runs after this.

    A host that holds the lock is not asked: what it publishes counts only once it gives the lock back.
    """
    probe = cluster.probe
    asked = _unproven(units, cluster)
    also = [unit for unit in silent if unit in units and unit not in (*asked, *cluster.held)]
    unresponsive = tuple(sorted((*asked, *also)))
    again = tuple(unit for unit in unresponsive if units[unit].answered == probe.mark)
    probe = probe._replace(unresponsive=unresponsive, to_probe_again=again)
    lately = SINCE in probe.mark and 0 <= now - probe.at < PROBES_APART
    if again and not lately:
        mark = f"{_boot_id(leader, units)}{SINCE}{now}"
        lazy = not _unreported(leader, units)
        probe = probe._replace(mark=mark, at=now, is_lazy=lazy, to_probe_again=())
    return cluster._replace(probe=probe)


def probe_containers(leader: str, units: Mapping[str, UnitState], cluster: Cluster, now: int) -> Cluster:
    """Ask the other hosts with containers for one more hook before a host with containers goes down.

    Once for each grant, and again after :data:`FRESH` seconds.
    """
    others = {unit for unit, state in units.items() if state.has_containers and unit != leader}
    asked = tuple(sorted(others - cluster.held.keys()))
    probe = cluster.probe
    number = cluster.grant + 1
    fresh = probe.for_grant == number and 0 <= now - probe.at < FRESH
    if not asked or (fresh and {*asked} <= {*probe.with_containers}):
        return cluster
    mark = f"{_boot_id(leader, units)}{SINCE}{now}.{number}"
    lazy = not _unreported(leader, units)
    probe = probe._replace(
        mark=mark, at=now, is_lazy=lazy, with_containers=asked, for_grant=number, to_probe_again=()
    )
    return cluster._replace(probe=probe)


def unanswered(units: Mapping[str, UnitState], cluster: Cluster) -> dict[str, str]:
    """Name the hosts with containers that were asked and have not run a hook since."""
    asked = (unit for unit in cluster.probe.with_containers if unit in units)
    return {unit: UNANSWERED for unit in asked if units[unit].answered != cluster.probe.mark}


def may_be_down(
    leader: str, units: Mapping[str, UnitState], cluster: Cluster, silent: Collection[str]
) -> dict[str, str]:
    """The units whose hosts may be down, or may go down without this lock, and why.

    A unit whose lock the operator took away may be in a hook that began before: that hook still reboots.

    ``silent`` has the peers whose hosts did not answer just now. The leader's own host is up.
    """
    again = cluster.probe.to_probe_again
    return {
        **{unit: SILENT if unit in again else UNPROVEN for unit in _unproven(units, cluster)},
        **unknown(leader, units, cluster),
        **dict.fromkeys(silent, SILENT),
    }


def unknown(leader: str, units: Mapping[str, UnitState], cluster: Cluster) -> dict[str, str]:
    """Name the units whose hosts' containers are not known, and why."""
    taken = cluster.taken.items()
    unread = [unit for unit, grant in taken if unit in units and units[unit].saw_lock_taken < grant]
    return {
        **{unit: state.contested for unit, state in units.items() if state.contested},
        **dict.fromkeys(_unreported(leader, units), UNREPORTED),
        **dict.fromkeys(unread, UNREAD),
    }


def to_name(found: Mapping[str, str], cluster: Cluster, now: int) -> dict[str, str]:
    """The units of ``found`` that the status names now: all except those that were asked only lately."""
    lately = 0 <= now - cluster.probe.at < REPORTS_IN
    return {
        unit: why for unit, why in sorted(found.items()) if not (lately and why in (UNREPORTED, UNANSWERED))
    }


def _unproven(units: Mapping[str, UnitState], cluster: Cluster) -> list[str]:
    """The unresponsive units that have not run a hook since, or whose hosts were silent after it."""
    probe = cluster.probe
    asked = [unit for unit in probe.unresponsive if unit in units]
    return [unit for unit in asked if unit in probe.to_probe_again or units[unit].answered != probe.mark]


def _unreported(leader: str, units: Mapping[str, UnitState]) -> list[str]:
    boot_id = _boot_id(leader, units)
    return [unit for unit, state in units.items() if unit != leader and _boot(state.answered) != boot_id]


def _boot(mark: str) -> str:
    return mark.partition(SINCE)[0]


def _boot_id(leader: str, units: Mapping[str, UnitState]) -> str:
    return units[leader].boot_id if leader in units else ""
