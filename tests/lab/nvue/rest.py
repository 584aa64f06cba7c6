# SPDX-License-Identifier: Apache-2.0
"""NVUE's REST interface of a :class:`Switch`: what it answers to each request, and the faults that hit it."""

import base64
import hmac
import json
import threading
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from lab.nvue import users
from lab.nvue.faults import AFTER, ENDLESS, Fault
from lab.nvue.revision import TITLES, RefusedError
from lab.nvue.switch import Switch
from lab.nvue.trees import Tree, at, folded, included, merge, nested

ROOT = "/nvue_v1"
FACTORY_PASSWORD = "cumulus"
NO_CONTENT = (5, 10)
"""The release from which on a DELETE is answered with 204 instead of an empty object."""


WORDS = {"save": "save", "confirm_no": "refuse", "ays_yes": "go on", "ays_no": "decline"}
"""The states that a client asks a revision to get, and the call's name."""


@dataclass(frozen=True)
class Call:
    """One request as the switch saw it."""

    method: str
    path: str
    query: dict[str, list[str]] = field(default_factory=dict)
    body: Any = None

    @property
    def name(self) -> str:
        """The purpose of the call, in one word or two."""
        if self.path == "/revision" or self.path.startswith("/revision/"):
            if self.method == "PATCH":
                if word := WORDS.get((self.body or {}).get("state")):
                    return word
                return "apply" if "state-controls" in (self.body or {}) else "confirm"
            read = "list" if self.path == "/revision" else "poll"
            return {"POST": "create", "DELETE": "drop"}.get(self.method, read)
        if self.path.startswith("/action/"):
            return "action"
        if self.method == "POST" and isinstance(self.body, dict):
            return " ".join(self.body).lstrip("@")
        if self.method == "GET":
            if "diff" in self.query:
                return "diff"
            return "read " + self.query.get("rev", ["operational"])[0].replace("/", "-")
        return self.method.lower()


@dataclass(frozen=True)
class Reply:
    """The reply to the client.

    Attributes:
        status: of HTTP.
        content: the body.
        trouble: ``hang``, ``reset``, ``partial`` or one of ENDLESS where the client does not get all of it.

    """

    status: int = 0
    content: bytes = b""
    trouble: str = ""


class Rest:
    """The REST interface of one switch, without a way to it: see :class:`Server` and :class:`Wire`.

    Attributes:
        calls: every request, in order.
        faults: what goes wrong; see :meth:`inject`.
        latency: seconds before each answer.
        role: whether the user has one that lets it use NVUE.
        reads_only: whether that is nvue-monitor, which lets it read alone.
        named: the role's name, if it is one that the site has made.
        local: whether the user is the switch's own, and not one of TACACS+, RADIUS or LDAP.
        strict: whether a query parameter that this release does not have is refused. NVIDIA does not say what
            real ones do; what answers them, connexion, can do either.

    """

    def __init__(
        self, switch: Switch, *, user: str = "cumulus", password: str = "CumulusLinux!", latency: float = 0.0
    ) -> None:
        self.switch = switch
        self.user, self.password = user, password
        self.role = True
        self.reads_only = False
        self.named = ""
        self.local = True
        self.strict = False
        self.latency = latency
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self._count = 0
        self._strange = 0
        self._lock = threading.Lock()

    def inject(self, *faults: Fault) -> None:
        """Let these faults hit the calls that follow, and forget the earlier ones."""
        with self._lock:
            self.faults, self._count, self._strange = list(faults), 0, 0

    def exchange(self) -> None:
        """Let the next connection see another certificate."""
        with self._lock:
            self._strange += 1

    def exchanged(self) -> bool:
        """Whether the connection that is being opened sees another certificate."""
        with self._lock:
            strange, self._strange = self._strange > 0, max(0, self._strange - 1)
        return strange

    def serve(self, method: str, target: str, authorization: str, raw: bytes) -> Reply:
        """Answer one request."""
        if self.switch.images.down:
            return Reply(trouble="reset")
        if self.switch.cut_off():
            return Reply(trouble="hang")
        if reply := self._stranger(authorization, method):
            return reply
        url = urlsplit(target)
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            return _refusal(400, "Failed to decode JSON object")
        if not url.path.startswith(ROOT):
            return _refusal(404, url.path)
        call = Call(method, url.path[len(ROOT) :] or "/", parse_qs(url.query), body)
        self.calls.append(call)
        kind = self._fault(call)
        if self.latency:
            self.switch.clock.sleep(self.latency)
        busy = _refusal(500, "nvued is busy")
        if kind and kind not in AFTER:
            if kind == "certificate":
                self.exchange()
            if kind in ("302", "500"):
                return Reply(302, b"{}") if kind == "302" else busy
            return Reply(trouble="hang" if kind == "hang" else "reset")
        reply = self._answer(call)
        if kind == "500-after":
            return busy
        trouble = "reset" if kind == "reset-after" else kind if kind in ("partial", *ENDLESS) else ""
        return Reply(reply.status, reply.content, trouble)

    def _fault(self, call: Call) -> str:
        """The fault that hits this call, if one does."""
        with self._lock:
            number, self._count = self._count, self._count + 1
            return next((fault.kind for fault in self.faults if fault.hits(number, call.name)), "")

    def _stranger(self, authorization: str, method: str) -> Reply | None:
        """Return the reply to somebody who may not use the interface."""
        user, password = _basic(authorization)
        if user != self.user or not self.opens(password):
            return _refusal(401, "Authentication required")
        if password == FACTORY_PASSWORD:
            # From 4.2 on: the password of the factory opens nothing but the dialogue that changes it.
            return _refusal(403, "Password change required")
        if not self.role or (self.reads_only and method != "GET"):
            return _refusal(403, "You don't have the permission to access the requested resource.")
        return None

    def opens(self, password: str) -> bool:
        """Whether this is the user's password: the configured one, or else the one that was set otherwise."""
        configured = users.opens(self.switch.applied, self.user, password)
        if configured is None:
            return hmac.compare_digest(password.encode(), self.password.encode())
        return configured

    def _answer(self, call: Call) -> Reply:
        try:
            content = self._route(call)
        except RefusedError as refused:
            return _refusal(refused.status, refused.detail)
        if call.method == "DELETE" and self.switch.version >= NO_CONTENT:
            return Reply(204)
        return Reply(200, json.dumps(content).encode())

    def _route(self, call: Call) -> Any:
        path = tuple(unquote(part) for part in call.path.split("/") if part)
        if path[:1] == ("revision",):
            return self._revision(call, path[1:])
        if path[:1] == ("action",):
            return self.switch.images.job("".join(path[1:]))
        if call.method == "POST":
            with self.switch.lock:
                return self.switch.images.post(path, call.body)
        revision = call.query.get("rev", ["operational"])[0]
        if call.method == "GET":
            return self._read(call, path, revision)
        if call.method == "PATCH":
            self.switch.patch(revision, path, call.body)
            return self.switch.tree(revision)
        if call.method == "DELETE":
            self.switch.clear(revision, path)
            return {}
        raise RefusedError(400, f"{call.method} is not allowed here")

    def _revision(self, call: Call, path: tuple[str, ...]) -> Any:
        if not path:
            return self.switch.create() if call.method == "POST" else self.switch.shown()
        # An id with slashes arrives whole when its slashes are encoded; otherwise it names no revision.
        (name, *rest) = path
        if rest:
            raise RefusedError(404, f"The requested URL was not found: {call.path}")
        if call.method == "PATCH":
            return self.switch.request(name, call.body)
        if call.method == "DELETE":
            self.switch.drop(name)
            return {}
        return self.switch.show(name)

    def _account(self) -> Tree:
        """The user as ``rev=operational`` shows it, if it is one of the switch's own."""
        role = self.named or ("nvue-monitor" if self.reads_only else "system-admin")
        return nested(("system", "aaa", "user"), {self.user: {"role": role}} if self.local else {})

    def _read(self, call: Call, path: tuple[str, ...], revision: str) -> Any:
        has_expand = self.switch.version >= (5, 15)
        if self.strict and "expand" in call.query and not has_expand:
            raise RefusedError(400, "Extra query parameter(s) expand not in spec")
        folds = not (has_expand and call.query.get("expand", ["false"])[0] == "true")
        if "diff" in call.query:
            changed = self.switch.difference(revision, call.query["diff"][0])
            return folded(changed) if folds else changed
        if revision == "operational":
            tree, folds = merge(self.switch.operational(path), self._account()), False
        else:
            tree = self.switch.tree(revision)
            if call.query.get("filled", ["true"])[0] != "false":
                tree = _filled(tree)
        try:
            node = at(tree, path)
        except KeyError:
            if not self.switch.rules.known(path) and revision != "operational":
                raise RefusedError(404, f"The requested URL was not found: {call.path}") from None
            raise RefusedError(404, f"The requested item does not exist: {call.path}") from None
        patterns = [tuple(part for part in item.split("/") if part) for item in call.query.get("include", [])]
        node = included(node, patterns) if patterns else node
        return folded(node, path[-1] if path else "") if folds and isinstance(node, dict) else node


def _basic(authorization: str) -> tuple[str, str]:
    """User and password of a header, or nothing."""
    try:
        said = base64.b64decode(authorization.removeprefix("Basic "), validate=True).decode()
    except ValueError:
        return "", ""
    user, _, password = said.partition(":")
    return user, password


def _refusal(status: int, detail: str) -> Reply:
    said = {"detail": detail, "status": status, "title": TITLES[status], "type": "about:blank"}
    return Reply(status, json.dumps(said).encode())


def _filled(tree: Tree) -> Tree:
    """Add the defaults of all that is configured, as a read without ``filled=false`` does."""
    filled = {
        "interface": {name: {"link": {"mtu": 9216}} for name in tree.get("interface", {}) if name != "eth0"}
    }
    return merge(filled, tree)
