# SPDX-License-Identifier: Apache-2.0
"""One switch's revisions: created, patched, applied, confirmed or rolled back, as NVUE does it.

Facts: Cumulus Linux user guide, "NVUE API" (5.5 to 5.15), and what REST clients of real switches rely on.
"""

import threading
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from itertools import count
from typing import Any

from lab.nvue import users
from lab.nvue.backend import Backend, Box
from lab.nvue.clock import Clock, RealTime
from lab.nvue.factory import HOSTNAME, factory, platform, told
from lab.nvue.images import SINCE as IMAGES_SINCE
from lab.nvue.images import Images
from lab.nvue.revision import BUSY, DONE, RefusedError, Revision
from lab.nvue.rules import Issue, Rules
from lab.nvue.trees import Path, Tree, diff, merge, nested
from lab.nvue.users import Hardening
from lab.nvue.warnings import FIRST_FILES, UNANSWERED, warnings

CONFIRMATIONS = ("confirm_yes", "confirm_no")
SURE = ("ays_yes", "ays_no")
STATES = ("apply", "save", *CONFIRMATIONS, *SURE)
"""The states that a client may ask for."""

PASSING = 1.0
"""Seconds, at most, that the state of a question takes where nothing is asked, or the answer is there."""

PATIENCE = 30.0
"""Seconds that it waits for an answer to its question; how many a real one does is not published."""

_SERIALS = count(1)


class Switch:
    """Revisions of one switch, safe for many threads; their trees are replaced, never changed.

    Attributes:
        prompts: questions to which it takes an answer in advance (``auto-prompt``).
        nested: whether a revision is shown below its own name: ``{"6": {"state": …}}``.
        declines: whether its release has ``confirm_no``.
        edited: files that somebody changed since NVUE wrote them, which it overwrites with the next apply.
        hardening: the passwords that it does not take.

    Args:
        hostname: its name at the start, where no ``tree`` says another; every switch comes as cumulus.
        release: of Cumulus Linux; from 5.15 on the tree has its new spelling.
        backend: what applies the tree.
        tree: the configuration applied at the start; the factory's when None.
        pace: seconds between two states of an apply.
        takes: seconds until the box runs a tree, or has failed to; ``pace`` when None.
        numbered: ids such as ``7`` instead of ``changeset/cumulus/…``.
        clock: what the states of an apply and the wait for its confirmation go by.
        waits: the state in which a change waits for its confirmation: ``confirm``, which ``confirm_yes`` ends
            (gpncfg, napalm-cumulus), or ``ays``, which a plain apply ends (nv-config-manager); empty for a
            switch that applies at once whatever it is asked.
        serial: its serial number; without one it gets a number that no other one has.

    """

    def __init__(
        self,
        hostname: str = HOSTNAME,
        release: str = "5.9.2",
        backend: Backend | None = None,
        tree: Tree | None = None,
        pace: float = 0.0,
        numbered: bool | None = None,
        clock: Clock | None = None,
        waits: str = "confirm",
        takes: float | None = None,
        serial: str = "",
    ) -> None:
        self.release = release
        self.version = tuple(int(part) for part in release.split(".")[:2])
        self.rules = Rules(self.version)
        self.backend: Backend = backend or Box()
        self.pace = pace
        self.takes = pace if takes is None else takes
        self.clock: Clock = clock or RealTime()
        self.waits = waits
        self.prompts = ("ays", "confirm", "ignore_fail")
        self.nested, self.declines = False, True
        self.numbered = self.rules.new if numbered is None else numbered
        self.rolled_back = 0
        self.serial = serial or f"MT2438X{next(_SERIALS):05}"
        self.lock = threading.RLock()
        self._serial = 0
        self._before = ""
        self._call_off: Callable[[], None] = lambda: None
        self._stopped = False
        self.hardening = Hardening(self.version)
        self.edited = list(FIRST_FILES) if tree is None else []
        start = factory(hostname, self.rules.new) if tree is None else tree
        # As on a real switch, what it booted with has an id of its own, the first one.
        self.applied_id = self.saved_id = self._next_id()
        self.revisions = {self.applied_id: Revision(deepcopy(start), "applied_and_saved")}
        self.images = Images(self)

    @property
    def applied(self) -> Tree:
        """The configuration that the switch runs."""
        return self.revisions[self.applied_id].tree

    def close(self) -> None:
        """Leave everything as it is; nothing waits for its confirmation any more."""
        with self.lock:
            self._stopped = True
            self._call_off()

    def become(self, release: str) -> None:
        """Run another release from now on."""
        self.release = release
        self.version = tuple(int(part) for part in release.split(".")[:2])
        self.rules = Rules(self.version)
        if hasattr(self.backend, "rules"):
            self.backend.rules = self.rules

    def restart(self, tree: Tree, fresh: bool) -> None:
        """Boot with this configuration; ``fresh`` without the revisions from before."""
        self._call_off()
        if fresh:
            self.applied_id = self.saved_id = self._next_id()
            self.revisions = {self.applied_id: Revision(tree, "applied_and_saved")}
        else:
            self.applied_id = self.saved_id
        self.backend.apply(deepcopy(tree))

    def cut_off(self) -> bool:
        """Whether the configuration that runs leaves the switch without management."""
        return "down" in self.applied.get("interface", {}).get("eth0", {}).get("link", {}).get("state", {})

    # -- revisions as a client sees them

    def create(self) -> Tree:
        """POST /revision."""
        with self.lock:
            name = self._next_id()
            self.revisions[name] = Revision(self.applied)
            return {name: self.revisions[name].as_json()}

    def _next_id(self) -> str:
        self._serial += 1
        if self.numbered:
            return str(self._serial)
        return f"changeset/cumulus/2026-01-01_00.00.00_{self._serial:04X}"

    def shown(self) -> Tree:
        """GET /revision: all of them; the applied and the saved one also under these names."""
        with self.lock:
            everything = {name: revision.as_json() for name, revision in self.revisions.items()}
            everything["applied"] = self.revisions[self.applied_id].as_json()
            everything["startup"] = self.revisions[self.saved_id].as_json()
            everything["empty"] = {"state": "inactive", "transition": {"issue": {}, "progress": ""}}
            return everything

    def show(self, name: str) -> Tree:
        """GET /revision/ID."""
        with self.lock:
            shown = self._get(name).as_json()
            return {name: shown} if self.nested else shown

    def drop(self, name: str) -> None:
        """DELETE /revision/ID."""
        with self.lock:
            self._pending(name)
            del self.revisions[name]

    def patch(self, name: str, path: tuple[str, ...], value: Any) -> None:
        """PATCH /PATH?rev=ID: merge, null unsets."""
        with self.lock:
            revision = self._pending(name)
            if not self.rules.known(path):
                raise RefusedError(404, f"The requested URL was not found: /{'/'.join(path)}")
            patch = nested(path, value)
            if wrong := self.rules.refuse(patch):
                raise RefusedError(400, wrong)
            revision.faults += self.hardening.faults(patch, self.applied)
            revision.tree = self.rules.prune(merge(revision.tree, users.kept(patch)))

    def clear(self, name: str, path: tuple[str, ...]) -> None:
        """DELETE /PATH?rev=ID."""
        with self.lock:
            revision = self._pending(name)
            if not path:
                revision.tree = {}
                return
            revision.tree = self.rules.prune(merge(revision.tree, nested(path, None)))

    def tree(self, name: str) -> Tree:
        """The configuration of a revision."""
        with self.lock:
            return {} if name == "empty" else self._get(name).tree

    def difference(self, target: str, base: str) -> Tree:
        """GET /?rev=TARGET&diff=BASE&filled=false."""
        return diff(self.tree(base), self.tree(target))

    def operational(self, path: Path = ()) -> Tree:
        """Return ``rev=operational``, the release included; at least what is at ``path``."""
        name = self.applied.get("system", {}).get("hostname", HOSTNAME)
        system: Tree = {"hostname": name, "uptime": 4711, "timezone": "Etc/UTC"}
        shown = {"system": system | told(self.release, self.version)}
        if self.version >= IMAGES_SINCE:
            shown["system"]["image"] = self.images.shown()
        made = self.backend.operational(path)
        box = made.get("platform", {}) | platform(self.serial, self.version)
        return made | shown | {"platform": box}

    # -- applying

    def request(self, name: str, body: Any) -> Tree:
        """PATCH /revision/ID: apply, confirm, or save."""
        if not isinstance(body, dict) or body.get("state") not in STATES:
            raise RefusedError(400, f"{body!r} is not a state transition")
        with self.lock:
            name, revision = self._named(name), self._get(name)
            if body["state"] == "save":
                self.saved_id = self.applied_id
                return revision.as_json()
            if revision.asks is not None and revision.state == "ays":
                return self._go_on(name, revision, body["state"])
            if body["state"] in SURE:
                raise RefusedError(409, f"revision {name} asks nothing")
            if revision.state == self.waits:
                return self._answer(name, revision, body)
            if body["state"] in CONFIRMATIONS:
                raise RefusedError(409, f"revision {name} does not wait for a confirmation")
            busy = [other for other, each in self.revisions.items() if each.state in BUSY and other != name]
            if busy:
                raise RefusedError(409, f"revision {busy[0]} is being applied")
            if revision.state in BUSY:
                return revision.as_json()
            if not diff(self.applied, revision.tree):
                # Nothing to do: NVUE leaves the revision as it is.
                return revision.as_json()
            prompts = body.get("auto-prompt", {}).items()
            revision.answers = {asked: answer for asked, answer in prompts if asked in self.prompts}
            confirm = self._confirm_seconds(revision, body)
            revision.state, revision.progress, revision.issues = "apply", "Executing", []
            self._later(self.pace, partial(self._check, name, confirm))
            return revision.as_json()

    def _confirm_seconds(self, revision: Revision, body: Tree) -> float | None:
        """How long the change waits for its confirmation; None when it does not."""
        seconds = body.get("state-controls", {}).get("confirm")
        if seconds is None:
            return None
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= 86400:
            raise RefusedError(400, f"{seconds!r} is not of type 'integer' - 'state-controls.confirm'")
        # An answer in advance is an answer: nothing is left to wait for.
        answered = revision.answers.get("confirm") == "confirm_yes"
        return seconds if self.waits and not answered else None

    def _answer(self, name: str, revision: Revision, body: Tree) -> Tree:
        """The confirmation that the change waits for."""
        if body["state"] == "confirm_no" and self.waits == "confirm":
            if not self.declines:
                raise RefusedError(400, "'confirm_no' is not one of the states of a revision")
            self._call_off()
            self._take_back(name, "the commit was refused; rolled back")
            return revision.as_json()
        confirms = "confirm_yes" if self.waits == "confirm" else "apply"
        if body["state"] != confirms or "confirm" in body.get("state-controls", {}):
            raise RefusedError(409, f"revision {name} waits for its confirmation")
        self._call_off()
        self._finish(name)
        return revision.as_json()

    def _finish(self, name: str) -> None:
        revision = self.revisions[name]
        # From 5.9 on what is applied is saved without being asked.
        saves = self.version >= (5, 9)
        revision.state, revision.progress = ("applied_and_saved" if saves else "applied"), ""
        if saves:
            self.saved_id = name

    def _later(self, seconds: float, work: Callable[[], None]) -> None:
        """Schedule the next event of the one revision that is being applied."""
        if not self._stopped:
            self._call_off = self.clock.later(seconds, work)

    def _check(self, name: str, confirm: float | None) -> None:
        revision = self.revisions[name]
        with self.lock:
            if issues := [*revision.faults, *self.rules.contradictions(revision.tree)]:
                self._step(revision, "invalid", "Invalid config", issues)
                return
            self._step(revision, "checking", "Checking config")
            asked = [] if "ays" in revision.answers else self._warnings(revision.tree)
            # Where `ays` is what waits for the confirmation, it does not pass beside that.
            following = self._work if self.waits == "ays" and not asked else self._sure
            self._later(self.pace, partial(following, name, confirm))

    def _warnings(self, tree: Tree) -> list[Issue]:
        return warnings(self.applied, tree, self.edited)

    def _sure(self, name: str, confirm: float | None) -> None:
        """The question whether to go on; where there is none, or the answer is there, its state passes."""
        revision = self.revisions[name]
        with self.lock:
            asked, answer = self._warnings(revision.tree), revision.answers.get("ays")
            work = partial(self._work, name, confirm)
            self._step(revision, "ays", "Are you sure?", asked)
            if not asked or answer == "ays_yes":
                self._later(min(self.pace, PASSING), work)
            elif answer == "ays_no":
                self._decline(revision)
            else:
                revision.asks = work
                self._later(PATIENCE, partial(self._unanswered, name))

    def _go_on(self, name: str, revision: Revision, answer: str) -> Tree:
        """The answer to the question whether to go on."""
        if answer not in SURE or revision.asks is None:
            raise RefusedError(409, f"revision {name} waits for an answer")
        self._call_off()
        if answer == "ays_no":
            self._decline(revision)
        else:
            self._later(min(self.pace, PASSING), revision.asks)
            revision.asks = None
        return revision.as_json()

    def _decline(self, revision: Revision) -> None:
        revision.asks = None
        self._step(revision, "ays_fail", "Declined apply after warnings")

    def _unanswered(self, name: str) -> None:
        with self.lock:
            self.revisions[name].asks = None
            self._step(self.revisions[name], "ays_fail", "Aborted apply after warnings", [UNANSWERED])

    def _work(self, name: str, confirm: float | None) -> None:
        """The box is being changed: files are written, services reload."""
        with self.lock:
            self._step(self.revisions[name], "apply", "Executing")
            self._later(self.takes, partial(self._execute, name, confirm))

    def _execute(self, name: str, confirm: float | None) -> None:
        revision = self.revisions[name]
        self._before = self.applied_id
        issue = self.backend.apply(deepcopy(revision.tree))
        with self.lock:
            if issue is not None:
                # A service that does not reload is a question; without an answer the switch stays as it is.
                if issue.code == "systemctl" and revision.answers.get("ignore_fail") != "ignore_fail_no":
                    self._step(revision, "ignore_fail", "Failure during apply. Ignore?", [issue])
                else:
                    self._step(revision, "apply_fail", "Failed to apply", [issue])
                return
            self.applied_id, self.edited = name, []
            if confirm is None:
                self._finish(name)
                return
            self._step(revision, self.waits, "Waiting for confirmation")
            self._later(confirm, partial(self._roll_back, name))

    @staticmethod
    def _step(revision: Revision, state: str, progress: str, issues: list[Issue] | None = None) -> None:
        revision.state, revision.progress, revision.issues = state, progress, issues or []

    def _roll_back(self, name: str) -> None:
        """Nobody confirmed in time: back to what ran before."""
        with self.lock:
            if self.revisions[name].state == self.waits and not self._stopped:
                self._take_back(name, "the commit was not confirmed in time; rolled back")

    def _take_back(self, name: str, said: str) -> None:
        """The change has failed; the rollback is a revision of its own, which takes its time."""
        revision = self.revisions[name]
        failed = "confirm_fail" if self.waits == "confirm" else "apply_fail"
        self._step(revision, failed, "Rolled back", [Issue("rollback", said)])
        revision.rollback_target = f"rev_{name}_apply_1/start"
        before = self.revisions[self._before].tree
        self.revisions[revision.rollback_target] = Revision(before, "apply", "Executing")
        self._later(self.pace, partial(self._taken_back, revision.rollback_target))

    def _taken_back(self, name: str) -> None:
        with self.lock:
            self.backend.apply(deepcopy(self.revisions[name].tree))
            self.applied_id = name
            self.rolled_back += 1
            self._finish(name)

    def _named(self, name: str) -> str:
        """The id of a revision that goes by another name."""
        return {"applied": self.applied_id, "startup": self.saved_id}.get(name, name)

    def _get(self, name: str) -> Revision:
        name = self._named(name)
        if name not in self.revisions:
            raise RefusedError(404, f"revision {name} does not exist")
        return self.revisions[name]

    def _pending(self, name: str) -> Revision:
        if name in ("applied", "startup", "operational", "empty"):
            raise RefusedError(403, f"revision {name} cannot be changed")
        revision = self._get(name)
        if revision.state in (*BUSY, *DONE):
            raise RefusedError(403, f"revision {name} is {revision.state} and cannot be changed")
        return revision
