# SPDX-License-Identifier: Apache-2.0
"""NVUE's REST interface of one switch: requests, revisions, and errors with their remedies.

Facts: Cumulus Linux user guide, "NVUE API".
"""

import http.client
import json
import math
import re
import ssl
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from urllib.parse import quote, urlencode

from converge.bounded import LongError
from tree import Tree, automatic, expand_ranges, get_tree, leaves, merged, nested, numbered

from rest.answers import RETRIED_STATUSES, read
from rest.connection import (
    Access,
    Connection,
    Credentials,
    SwitchError,
    connect,
    fingerprint,
    place,
    refused,
    unreachable,
)

PORT = 8765
IDLE_TIMEOUT_S = 20.0
"""Seconds after which an idle connection is replaced, because the switch's web server closes it."""

NEVER_IGNORE = {"ignore_fail": "ignore_fail_no"}
"""The answer given in advance to NVUE's question ``Failure during apply. Ignore?``."""

ANSWERS = {"ays": "ays_yes", **NEVER_IGNORE}
"""The same, with that to ``Are you sure?``, where nothing is lost that has not been asked for before."""

APPLIED_STATES = ("applied", "applied_and_saved", "saved", "previous")
"""States of a revision that runs or ran; some releases call them ``previous`` or ``saved``."""

CONFIRMED_BY = {"confirm": "confirm_yes", "ays": "apply"}
"""States in which a change waits for its confirmation, and the state to request to confirm it.

gpncfg and napalm-cumulus, clients of real switches, use ``confirm``; nv-config-manager uses ``ays``.
"""

REFUSED_BY = "confirm_no"
"""The state to request to refuse a change that is in state ``confirm``; ``nv config apply --confirm-no``."""

SLOW = "check its load and the network to it"
"""The remedy for a switch that answers too slowly."""

NOT_NVUE = "check what listens there: no answer of NVUE is as long"
"""The remedy for an answer that is larger than any switch's."""

FEWER_NAMES = "if that many ports have as many VLANs, give them vlan all; else check what listens there"
"""The remedy for ranges that multiply beyond what this charm compares."""

USERS = ("system", "aaa", "user")
"""Where NVUE has the users of a switch."""

ALIASES = ("applied", "startup", "empty", "pending")
"""Names in NVUE's list that are not ids: the running, the boot, the empty and the pending configuration."""

Connect = Callable[[str, str, int, Access], Connection]
"""Opens a connection to a switch, by its name, address and port."""


@dataclass(frozen=True)
class Progress:
    """The state of a revision, what NVUE says about it, and the revision that rolls it back, if named."""

    state: str
    issues: tuple[str, ...] = ()
    rollback: str = ""

    @property
    def failed(self) -> bool:
        """Whether NVUE has given up. An unknown state counts as in progress.

        The states are those that gpncfg lists: ``ays_fail``, ``confirm_fail``, ``ready_error`` and so on.
        """
        return self.state == "invalid" or self.state.endswith(("_fail", "_error"))

    @property
    def asks(self) -> bool:
        """Whether the switch asks to ignore that FRR or switchd did not reload; it has not rolled back."""
        return self.state == "ignore_fail"

    @property
    def warns(self) -> bool:
        """Whether the switch asks whether to apply it, because of what its issues say."""
        return self.state == "ays" and bool(self.issues)

    @property
    def applied(self) -> bool:
        """Whether it runs and waits for nothing."""
        return self.state in ("applied", "applied_and_saved", "saved")


class Nvue:
    """One switch, used by one thread at a time; keeps its connection between requests."""

    def __init__(
        self, name: str, address: str, access: Access, port: int = PORT, connect: Connect = connect
    ) -> None:
        self.name, self.address, self.port = name, address, port
        self._access, self._connect = access, connect
        self._connection: Connection | None = None
        self._used = 0.0
        self._expands = True
        self._end = math.inf
        self.login = access.others.get(name, access.credentials)
        self._headers = self.login.headers

    def entered_with(self, credentials: Credentials) -> "Nvue":
        """The same switch for this login alone, by a connection of its own."""
        access = replace(self._access, credentials=credentials, others={})
        return Nvue(self.name, self.address, access, self.port, self._connect)

    # -- what NVUE offers

    def get(self, path: str, revision: str = "operational", include: Sequence[str] = ()) -> Tree:
        """A part of the tree; empty if the switch has nothing there."""
        query = [("rev", revision), *(("include", pattern) for pattern in include)]
        try:
            if revision == "operational":
                return self.request("GET", path, query)
            return numbered(self._configured(path, query))
        except SwitchError as error:
            if error.status == http.client.NOT_FOUND:
                return {}
            raise

    def account(self, revision: str = "operational") -> Tree:
        """The user that logs in, if it is one of the switch's own."""
        return self.get("/" + "/".join(quote(part, safe="") for part in (*USERS, self.login.user)), revision)

    def applied(self) -> Tree:
        """The running configuration, without defaults."""
        return self.get("/", "applied")

    def _configured(self, path: str, query: Sequence[tuple[str, str]]) -> Tree:
        """A part of a configuration, without defaults and with ranges expanded.

        The guide has the parameter ``expand`` from 5.15 on; without it that release folds names into ranges.
        If a release refuses the parameter, it is not sent again. Ranges are expanded here in any case.
        """
        query, parent = [*query, ("filled", "false")], path.rpartition("/")[2]
        try:
            return expand_ranges(self._folded(path, query), parent)
        except ValueError as error:
            what = f"the answer to GET {path} cannot be read: {error}"
            raise SwitchError("unreachable", what, FEWER_NAMES) from None

    def _folded(self, path: str, query: Sequence[tuple[str, str]]) -> Tree:
        if self._expands:
            try:
                return self.request("GET", path, [*query, ("expand", "true")])
            except SwitchError as error:
                if error.status != http.client.BAD_REQUEST:
                    raise
                self._expands = False
        return self.request("GET", path, query)

    def create(self) -> str:
        """Create a revision from the running configuration; its id."""
        name = next(iter(self.request("POST", "/revision")), "")
        if not name:
            raise SwitchError(
                "refused",
                "it created a revision, but did not return its id",
                "check it with nv config history",
            )
        return name

    def patch(self, revision: str, tree: Tree) -> None:
        """Merge ``tree`` into a revision; null unsets, also a VNI that is ``auto`` there by its number."""
        gone = [path for path, value in leaves(get_tree(tree, "bridge")) if value is None]
        if any("vni" in path for path in gone):
            bridge = self._configured("/bridge", [("rev", revision)])
            for path, number in automatic({"bridge": bridge}):
                if get_tree(tree, *path).get(number, number) is None:
                    tree = merged(tree, nested((*path, "auto"), None))
        self.request("PATCH", "/", [("rev", revision)], tree)

    def difference(self, revision: str) -> Tree:
        """Return the changes that a revision would make. NVUE refuses to apply one that changes nothing."""
        return self._configured("/", [("rev", revision), ("diff", "applied")])

    def apply(self, revision: str, confirm: int | None = None, *, ask: bool = False) -> None:
        """Start to apply; with ``confirm`` the switch rolls back by itself after so many seconds.

        With ``ask``, what the switch warns of is not accepted in advance; see :meth:`go_on`.

        Raises SwitchError if the switch may have started nevertheless; see :meth:`progress`.
        """
        # No answer to `confirm` in advance: it would confirm at once.
        body: Tree = {"state": "apply", "auto-prompt": NEVER_IGNORE if ask else ANSWERS}
        if confirm is not None:
            body["state-controls"] = {"confirm": confirm}
        # Sent once: a second request could reach a revision that waits for its confirmation.
        self.request("PATCH", _revision(revision), body=body, pauses=())

    def go_on(self, revision: str, yes: bool) -> None:
        """Answer what a switch asks that warns of what an apply does; after a no it applies nothing.

        Raises SwitchError if the switch may have got the answer nevertheless; see :meth:`progress`.
        """
        body: Tree = {"state": "ays_yes" if yes else "ays_no"}
        self.request("PATCH", _revision(revision), body=body, pauses=())

    def confirm(self, revision: str) -> None:
        """Confirm a change that waits for it; otherwise do nothing.

        Raises SwitchError if the switch may have confirmed it nevertheless; see :meth:`progress`.
        """
        if state := CONFIRMED_BY.get(self.progress(revision).state):
            body: Tree = {"state": state, "auto-prompt": ANSWERS}
            self.request("PATCH", _revision(revision), body=body, pauses=())

    def refuse(self, revision: str) -> None:
        """Refuse a change that waits for its confirmation in state ``confirm``: the switch rolls it back.

        Raises SwitchError of kind ``refused`` if the release does not have this (``--confirm-no``).
        """
        self.request(
            "PATCH", _revision(revision), body={"state": REFUSED_BY, "auto-prompt": ANSWERS}, pauses=()
        )

    def save(self) -> None:
        """Save the running configuration for the next boot; releases from 5.9 on do so by themselves."""
        self.request("PATCH", "/revision/applied", body={"state": "save", "auto-prompt": ANSWERS})

    def progress(self, revision: str) -> Progress:
        """The state of a revision."""
        answer = self.request("GET", _revision(revision))
        # {"state": …}, or, as the guide prints a failed apply, {"6": {"state": …}}.
        answer = answer if "state" in answer else get_tree(answer, revision)
        issues = get_tree(answer, "transition", "issue").values()
        rollback = answer.get("rollback_target") or get_tree(answer, "transition").get("rollback_target")
        said = tuple(dict.fromkeys(_said(get_tree(issue)) for issue in issues))
        return Progress(str(answer.get("state", "")), said, str(rollback or ""))

    def drop(self, revision: str) -> None:
        """Delete a revision that was not applied."""
        self.request("DELETE", _revision(revision), body={})

    def revisions(self) -> list[str]:
        """The ids of the revisions that run or ran, the newest first."""
        return sorted(self.in_states(APPLIED_STATES), key=_age, reverse=True)

    def in_states(self, states: Collection[str]) -> list[str]:
        """The ids of the revisions that are in one of these states."""
        ids = {key: get_tree(each) for key, each in self.request("GET", "/revision").items()}
        return [key for key in ids if key not in ALIASES and str(ids[key].get("state")) in states]

    # -- HTTP

    def request(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        body: Tree | None = None,
        pauses: Sequence[float] | None = None,
    ) -> Tree:
        """Send one request; it is retried only after HTTP 500, 502, 503 and 504.

        Raises SwitchError with the remedy if it failed.
        """
        target = f"/nvue_v1{path}" + (f"?{urlencode(query)}" if query else "")
        self._in_time()
        status, content = self._send(method, target, body)
        if status == http.client.UNAUTHORIZED and len(self._headers) > 1:
            # While passwords are being changed, some switches have the earlier one, until any moment.
            self._headers = self._headers[::-1]
            status, content = self._send(method, target, body)
        for pause in self._access.pauses if pauses is None else pauses:
            if status not in RETRIED_STATUSES:
                break
            self._access.clock.sleep(pause)
            self._in_time()
            status, content = self._send(method, target, body)
        where = place(self.address, self.port)
        return read(self.login.user, where, f"{method} {path}", status, content)

    @contextmanager
    def looked_at(self) -> Generator[None, None, None]:
        """Begin no request once the look takes too long, so that many slow answers do not add up."""
        self._end = self._access.clock.monotonic() + self._access.look
        try:
            yield
        finally:
            self._end = math.inf

    def _in_time(self) -> None:
        if self._access.clock.monotonic() > self._end:
            what = f"it cannot be read within {self._access.look:g} s"
            raise SwitchError("unreachable", what, SLOW)

    def fingerprint(self) -> str:
        """The SHA-256 of the certificate that it presents, which nothing has checked; sends no request.

        Raises SwitchError if it cannot be reached.
        """
        return fingerprint(self.address, self.port, self._access)

    def close(self) -> None:
        """Close the connection; the next request opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(self, method: str, target: str, body: Tree | None) -> tuple[int, bytes]:
        headers = {"Authorization": self._headers[0], "Accept": "application/json"}
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        now = self._access.clock.monotonic()
        if now - self._used > IDLE_TIMEOUT_S:
            self.close()
        self._used = now
        try:
            if self._connection is None:
                self._connection = self._connect(self.name, self.address, self.port, self._access)
            self._connection.request(method, target, content, headers)
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except ssl.SSLCertVerificationError as error:
            self.close()
            raise refused(self.address, error.verify_message) from None
        except TimeoutError as error:
            self.close()
            begun = getattr(error, "received", 0)
            said = f"no {'complete ' if begun else ''}answer within {self._access.timeout:g} s"
            longer = "if it is only slow, set a longer request-timeout"
            remedy = f"{SLOW}; {longer}" if begun else ""
            raise SwitchError("unreachable", f"{said} to {method} {_short(target)}", remedy) from None
        except LongError as error:
            self.close()
            said = f"{error} in answer to {method} {_short(target)}"
            raise SwitchError("unreachable", said, NOT_NVUE) from None
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise unreachable(self.address, self.port, error) from None


def _revision(name: str) -> str:
    """The path of a revision; an id such as ``changeset/cumulus/…`` is one segment of it."""
    return f"/revision/{quote(name, safe='')}"


def _short(target: str) -> str:
    return target.partition("?")[0].removeprefix("/nvue_v1")


def _said(issue: Tree) -> str:
    location = get_tree(issue, "data").get("location")
    message = str(issue.get("message") or issue.get("code") or "no reason given")
    return f"{location}: {message}" if location else message


def _age(name: str) -> tuple[int, str]:
    """Ids sort by age: ``changeset/<user>/<time>`` of older releases before the numbers of later ones.

    ``rev_6_apply_1/start`` is what ran when revision 6 was applied; the switch rolls back to it.
    """
    if start := re.fullmatch(r"rev_(.+)_apply_\d+/start", name):
        name = start[1]
    if re.fullmatch(r"[0-9]+", name):  # Python reads at most 4,300 digits as a number
        number = name.lstrip("0")
        return (1 + len(number), number)
    return (0, name.rpartition("/")[2])
