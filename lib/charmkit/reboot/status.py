# SPDX-License-Identifier: Apache-2.0
"""The reasons why the rolling reboot waits, in the operator's words. Does not import ops."""

from collections.abc import Iterable, Mapping

from converge import Finding, Severity, words
from converge.finding import DIGEST
from hostnic import handover

from charmkit.reboot.lock import approved
from charmkit.reboot.peers import UNSETTLED
from charmkit.reboot.policy import RebootOptions
from charmkit.reboot.state import Cluster, Need, UnitNow, UnitState
from charmkit.reboot.unit import NEVER_CAME, next_look_in

STUCK = 30 * 60
"""Seconds beyond ``reboot-settle`` after which a holder is called stuck: twice a slow server's boot."""

SUBJECT = "reboot"
PREPARED = "see what it stops, then run approve-reboot"
"""Comes before the command where the operator has to see to something first (`UnitState.prepare`)."""
BY_ITSELF = "it goes on by itself"
"""The remedy where the operator may wait: what a reboot waits for is about to end."""
_SHOWN = 3


def report(host: UnitNow, policy: RebootOptions, own: UnitState, cluster: Cluster) -> tuple[Finding, ...]:
    """The findings of one unit, after :func:`charmkit.reboot.unit.decide`."""
    findings = [_still_needed(host, own)] if own.still_needed else []
    if own.requested_at is not None:
        findings.append(_requested(host, own, own.requested_at))
    elif own.reasons:
        findings.append(_needed(host, policy, own, cluster))
    if not own.settled and not own.still_needed:
        findings.append(_settling(host, policy, own))
    if host.leader:
        stuck = STUCK + policy.reboot_settle
        findings += [
            _stuck(host, cluster, unit)
            for unit in cluster.held
            if unit != host.unit and _age(host, cluster, unit) >= stuck
        ]
    return tuple(findings)


def handed_over(need: Need, owner: str) -> tuple[Finding, ...]:
    """Name the charm that a charm waits for which does not own this machine's reboots."""
    if not need.reasons:
        return ()
    return (Finding(Severity.WAITING, SUBJECT, f"{owner} asks for it; {needed_for(need.reasons)}"),)


def needed_for(reasons: Iterable[str]) -> str:
    """Why a reboot is needed, as an end of a sentence; without digests."""
    return f"needed for {_shown(reasons)}"


def _shown(reasons: Iterable[str]) -> str:
    return "; ".join(reason.partition(DIGEST)[0] for reason in reasons)


def unusable(what: str, error: ValueError) -> Finding:
    """A unit's databag that cannot be read; the unit's next hook replaces it."""
    what = f"{what} is unusable: {error}"
    return Finding(Severity.WARNING, SUBJECT, what, "refresh all units to one revision")


def leader_unusable(unit: str, error: ValueError) -> Finding:
    """The leader's databag cannot be read."""
    what = (
        "no reboot is granted, since what the leader published is unusable; once all units are of one "
        f"revision, the leader replaces it within 10 minutes: {error}"
    )
    return Finding(Severity.BLOCKED, SUBJECT, what, _run_release(unit))


def unwoken(error: OSError) -> Finding:
    """Return the finding for the operator when this unit cannot have a hook run soon."""
    what = f"this unit cannot wake itself: {words(error)}"
    return Finding(Severity.WARNING, SUBJECT, what, "it goes on at the next update-status")


def unwritten(error: ValueError) -> Finding:
    """A decision that could not be read again if it was published, so that it was not."""
    what = f"no reboot is asked for or granted: what this unit would publish is unusable: {error}"
    return Finding(Severity.BLOCKED, SUBJECT, what, "refresh all units to a later revision")


def duration(seconds: int) -> str:
    """A time span for people: ``45 s``, ``12 min``, ``3 h 5 min``, ``4 d 2 h``."""
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 1:
        return f"{max(seconds, 0)} s"
    if hours < 1:
        return f"{minutes} min"
    if days < 1:
        return f"{hours} h {minutes % 60} min"
    return f"{days} d {hours % 24} h"


def _still_needed(host: UnitNow, own: UnitState) -> Finding:
    what = f"rebooted, and still needs a reboot for {_shown(own.still_needed)}"
    remedy = f"fix what verify reports; then {_approve(host)}, since no policy repeats the reboot"
    return Finding(Severity.BLOCKED, SUBJECT, what, remedy)


def _approve(host: UnitNow) -> str:
    return handover.approve(host.unit.partition("/")[0])


def _requested(host: UnitNow, own: UnitState, requested_at: int) -> Finding:
    elapsed = host.uptime - requested_at
    if elapsed < NEVER_CAME:
        why = f"; {needed_for(own.reasons)}" if own.reasons else ", but not needed any more"
        return Finding(Severity.WAITING, SUBJECT, f"requested {duration(elapsed)} ago{why}")
    return Finding(
        Severity.BLOCKED,
        SUBJECT,
        f"requested {duration(elapsed)} ago, but the host is still in the same boot",
        f"run: juju ssh {host.unit} sudo systemctl reboot",
    )


def _needed(host: UnitNow, policy: RebootOptions, own: UnitState, cluster: Cluster) -> Finding:
    """Whom or what it waits for comes before the reasons: a status that is too long is cut at its end."""
    needed = needed_for(own.reasons) + (f"; {own.prepare}" if own.prepare else "")
    if host.need.not_ready:
        return Finding(Severity.WAITING, SUBJECT, f"waits for {host.need.not_ready}; {needed}")
    approve = _approve(host)
    prepared = f"{PREPARED}; {approve}" if own.prepare else approve
    despite = f"to reboot all the same, {approve}"
    if own.missing_members:
        what = f"waits, since a cluster misses a member ({own.missing_members}); {needed}"
        return Finding(Severity.HELD, SUBJECT, what, f"bring the member back; {despite}")
    if not own.consent and not approved(host.unit, own, cluster):
        if policy.reboot_policy == "when-idle":
            what = f"waits until the host is idle ({host.busy}); {needed}"
            return Finding(Severity.WAITING, SUBJECT, what, f"{BY_ITSELF}; {despite}")
        return Finding(Severity.HELD, SUBJECT, needed, prepared)
    if cluster.stopped and not approved(host.unit, own, cluster):
        return Finding(Severity.HELD, SUBJECT, f"stopped by cancel-reboots; {needed}", prepared)
    others = ", ".join(unit for unit in cluster.held_up_by if unit != host.unit)
    if others:
        what = f"waits for {others} to settle; {needed}"
        return Finding(Severity.WAITING, SUBJECT, what, f"{BY_ITSELF}; {despite}")
    found = cluster.may_be_down.items()
    missing = {unit: what for unit, what in found if (unit, what) != (host.unit, UNSETTLED)}
    if missing:
        # A host in its grace period settles without the operator, or its own status says what he has to do.
        by_itself = set(missing.values()) == {UNSETTLED}
        stays = policy.reboot_policy == "manual" and not by_itself
        return Finding(
            Severity.HELD if stays else Severity.WAITING,
            SUBJECT,
            f"waits, since {_missing(missing)}; {needed}",
            f"{BY_ITSELF if by_itself else 'look at those units'}; {despite}",
        )
    if not cluster.held or host.unit in cluster.held:
        return Finding(Severity.WAITING, SUBJECT, f"waits for the leader to grant it; {needed}")
    holder, age = cluster.holder, _age(host, cluster, cluster.holder)
    what = f"waits for {holder}, whose turn began {duration(age)} ago; {needed}"
    # The leader says it in a finding of its own.
    stuck = age >= STUCK + policy.reboot_settle and not host.leader
    return Finding(Severity.WAITING, SUBJECT, what, _release(host, cluster, holder) if stuck else "")


def _missing(missing: Mapping[str, str]) -> str:
    named = [f"{unit} {why}" for unit, why in sorted(missing.items())]
    more = f"; and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    return "; ".join(named[:_SHOWN]) + more


def _settling(host: UnitNow, policy: RebootOptions, own: UnitState) -> Finding:
    if host.need.unverified:
        return Finding(
            Severity.WAITING, SUBJECT, f"rebooted; settles once the host verifies: {host.need.unverified}"
        )
    if host.not_back:
        return Finding(Severity.WAITING, SUBJECT, f"rebooted; settles once all is back: {host.not_back}")
    left = duration(next_look_in(host, policy, own) or 0)
    return Finding(Severity.WAITING, SUBJECT, f"rebooted; the host settles for another {left}")


def _stuck(host: UnitNow, cluster: Cluster, unit: str) -> Finding:
    what = f"{unit} has held the lock for {duration(_age(host, cluster, unit))}"
    return Finding(Severity.HELD, SUBJECT, what, _release(host, cluster, unit))


def _release(host: UnitNow, cluster: Cluster, unit: str) -> str:
    which = f" unit={unit}" if len(cluster.held) > 1 else ""
    return f"look at that host; or {_run_release(host.unit)}{which}"


def _run_release(unit: str) -> str:
    return f"run: juju run {unit.partition('/')[0]}/leader release-reboot-lock"


def _age(host: UnitNow, cluster: Cluster, unit: str) -> int:
    return max(host.now - cluster.held[unit].since, 0)
