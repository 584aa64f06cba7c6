# SPDX-License-Identifier: Apache-2.0
"""The new password on many switches: the plan, and one switch after the other until one fails."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from converge import Finding, Severity
from observe import failures
from plan import approval, digest
from rest.client import Nvue
from rest.connection import SwitchError
from rest.fleet import Fleet

from logins.roles import barred
from logins.rotate import AGAIN, Has, has, rotate

VERB = "rotate-password"


class Proposal(NamedTuple):
    """The plan of a rotation."""

    states: Mapping[str, Has]  # by switch, in their order
    blocked: tuple[Finding, ...]  # why nothing is sent
    digest: str  # the same before and after an interruption

    @property
    def names(self) -> Sequence[str]:
        """The switches that do not have the new password for good yet."""
        return [name for name, state in self.states.items() if state is not Has.NEW]

    @property
    def shown(self) -> tuple[Finding, ...]:
        """All findings, with the digest where there is something to approve."""
        rows = [Finding(Severity.INFO, name, state.value) for name, state in self.states.items()]
        last = [approval(VERB, self.digest, "do")] if self.names and not self.blocked else []
        return (*self.blocked, *rows, *last)


class Outcome(NamedTuple):
    """The outcome of a rotation."""

    done: Sequence[str] = ()  # the switches to which this run has given the new password
    left: Sequence[str] = ()  # those that do not have it yet
    reasons: tuple[Finding, ...] = ()  # why it ended before them

    @property
    def verdict(self) -> str:
        """One sentence."""
        if self.left:
            done = f"{', '.join(self.done)} changed; " if self.done else ""
            return f"{done}not yet changed: {', '.join(self.left)}; {AGAIN} when the reason is mended"
        done = f"{', '.join(self.done)} changed" if self.done else "nothing to do"
        return f"{done}: every switch has the new password, and refuses the earlier one"


@dataclass(frozen=True)
class Rotation:
    """The change of the passwords of these switches, in their order."""

    fleet: Fleet
    names: Sequence[str]
    announce: Callable[[str], None]

    def plan(self) -> Proposal:
        """Find which password each switch has; writes nothing."""
        users = [f"{name} {self.fleet.switches[name].login.user}" for name in self.names]
        found, failed = self.fleet.each(self.names, _look)
        ordered = {name: found[name] for name in self.names if name in found}
        todo = [name for name, state in ordered.items() if state is not Has.NEW]
        stopped = (*failures(failed), *barred(self.fleet, todo))
        # Not of what is left to do: the same digest leads on a run that was interrupted.
        return Proposal(ordered, stopped, digest({}, {VERB: users}))

    def ended(self, found: Proposal) -> Outcome | None:
        """The outcome of a plan that there is nothing to do for, or that a finding stops; else None."""
        if found.names and not found.blocked:
            return None
        return Outcome(left=[*found.names, *(each.subject for each in found.blocked)], reasons=found.blocked)

    def run(self, approved: str) -> Outcome:
        """Change one switch after the other, if the plan has the digest that was ``approved``."""
        found = self.plan()
        if ended := self.ended(found):
            return ended
        if found.digest != approved:
            what = f"what would be done now is not the plan with the digest {approved}"
            remedy = f"run {VERB} without plan, and with the digest that it then shows"
            return Outcome(left=found.names, reasons=(Finding(Severity.BLOCKED, "plan", what, remedy),))
        done: list[str] = []
        for name in found.names:
            try:
                rotate(self.fleet.switches[name], self.fleet.clock, self.announce)
            except SwitchError as error:
                left = [each for each in found.names if each not in done]
                return Outcome(done, left, failures({name: error}, AGAIN))
            done.append(name)
        return Outcome(done)


def _look(switch: Nvue) -> Has:
    if not switch.login.previous:
        what = f"has no earlier password of user {switch.login.user}"
        raise SwitchError("credentials", what, "give the passwords that the switches have now")
    if switch.login.previous == switch.login.password:
        what = f"has the same password of user {switch.login.user} as the new and as the earlier one"
        raise SwitchError("credentials", what, "give another new password")
    return has(switch)
