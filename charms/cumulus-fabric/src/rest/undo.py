# SPDX-License-Identifier: Apache-2.0
"""Takes back what a run did on one switch: refuses it, waits for the switch's own rollback, or undoes it."""

from tree import Tree, get_path, leaves
from tree.diff import inverse, same

from rest.client import Nvue, Progress
from rest.connection import SwitchError
from rest.transition import MAX_ATTEMPTS, Polling, reach

ROLLBACK_TIMEOUT_S = 30.0
"""Seconds that a switch may take for its own rollback if it does not name the revision for that."""


class Undo:
    """Brings one switch back to what it ran before a run.

    ``polling`` has the clock, how long to wait between two reads, and how long all of it may take.
    """

    def __init__(self, switch: Nvue, before: Tree, patch: Tree, polling: Polling) -> None:
        self._switch, self._before, self._patch = switch, before, patch
        self._clock, self._poll = polling.clock, polling.poll
        self._deadline = self._clock.monotonic() + polling.deadline
        self._revision = ""
        self._restores = False  # a revision of this run was applied, and this is taking it back
        self._refusals = MAX_ATTEMPTS
        self._failed_at: float | None = None

    def run(self, revision: str) -> bool:
        """Refuse ``revision`` or wait until it is rolled back, and undo it if it runs nevertheless.

        False if there was nothing to take back, since there is no revision or the switch has never begun to
        apply it: what differs from before is another's, such as a second apply's.

        Raises SwitchError if it is not known whether the switch runs what it ran before.
        """
        self._revision = revision
        while True:
            late, remedy = self._clock.monotonic() > self._deadline, ""
            try:
                seen = self._switch.progress(self._revision) if self._revision else None
                if seen is None or self._at_rest(seen):
                    if begun := bool(self._revision) or self._restores:
                        self._restore()
                    return begun
                reason = "; ".join((f"revision {self._revision} is still {seen.state}", *seen.issues))
                if seen.asks:
                    remedy = f"run nv config apply {self._revision} on it and answer no, "
                    remedy += "or apply the previous revision"
            except SwitchError as error:
                if error.kind not in ("unreachable", "certificate"):
                    raise
                reason = error.reason
            if late:
                raise SwitchError("unreachable", reason, remedy)
            self._clock.sleep(self._poll)

    def _restore(self) -> None:
        """Restore what the switch ran before, unless it runs that already."""
        self._restores = True
        if not self._remains():
            return
        revision = self._revision = self._switch.create()
        self._switch.patch(revision, inverse(self._before, self._patch))
        reach(
            self._switch,
            revision,
            lambda: self._switch.apply(revision),
            started=lambda seen: seen.state != "pending",
            reached=lambda seen: seen.applied,
            polling=Polling(self._clock, self._deadline - self._clock.monotonic(), self._poll),
        )
        if self._remains():
            raise SwitchError("refused", "it still has settings of this run", "check it with nv config diff")

    def _at_rest(self, seen: Progress) -> bool:
        """Whether the revision neither waits for its confirmation nor is being applied or rolled back."""
        if seen.state == "pending":
            self._switch.drop(self._revision)  # so that a request still in flight cannot apply it
            self._revision = ""
            return True
        if seen.state == "confirm" and self._refusals:
            self._refuse()
        if seen.failed and not seen.asks:
            return self._rolled_back(seen)
        return seen.applied

    def _refuse(self) -> None:
        """Refuse the confirmation; on a release that cannot, the switch's own timer ends the wait."""
        self._refusals -= 1
        try:
            self._switch.refuse(self._revision)
        except SwitchError as error:
            if error.kind != "refused":
                raise
            self._refusals = 0

    def _rolled_back(self, failed: Progress) -> bool:
        """Whether the rollback that follows a failure is over; it is a revision of its own."""
        if failed.rollback:
            try:
                seen = self._switch.progress(failed.rollback)
                return seen.applied or seen.failed
            except SwitchError as error:
                if error.kind != "refused":
                    raise
        now = self._clock.monotonic()
        if self._failed_at is None:
            self._failed_at = now
        return now - self._failed_at > ROLLBACK_TIMEOUT_S or not self._remains()

    def _remains(self) -> bool:
        """Whether the switch still has anything that the run has set or unset."""
        now = self._switch.applied()
        return any(
            not same(get_path(now, path), get_path(self._before, path)) for path, _ in leaves(self._patch)
        )
