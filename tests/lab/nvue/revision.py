# SPDX-License-Identifier: Apache-2.0
"""One revision as a client sees it, and a refusal.

The states are those that gpncfg, a client of real switches, lists.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from lab.nvue.rules import Issue
from lab.nvue.trees import Tree

DONE = ("applied", "applied_and_saved", "saved", "previous")
BUSY = ("apply", "checking", "ays", "confirm", "ignore_fail")
TITLES = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    409: "Conflict",
    500: "Internal Server Error",
}


@dataclass
class Revision:
    """A candidate configuration, how far it has come, and the answers given to what is asked on its way.

    ``rollback_target`` is the revision by which the switch takes it back, ``asks`` what goes on with it once
    its question is answered. ``faults`` are what its patches had that an apply refuses.
    """

    tree: Tree
    state: str = "pending"
    progress: str = ""
    issues: list[Issue] = field(default_factory=list)
    faults: list[Issue] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    rollback_target: str = ""
    asks: Callable[[], None] | None = None

    def as_json(self) -> Tree:
        issues = {f"{number:05}": issue.as_json() for number, issue in enumerate(self.issues)}
        shown = {"state": self.state, "transition": {"issue": issues, "progress": self.progress}}
        return shown | ({"rollback_target": self.rollback_target} if self.rollback_target else {})


class RefusedError(Exception):
    """An answer with an HTTP status of 400 and above."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
