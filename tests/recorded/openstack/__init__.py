# SPDX-License-Identifier: Apache-2.0
"""Requests to an OpenStack that has nothing yet, one after the other, and what each release answers.

calls.yaml has the requests, and a file of each release its answers. `{network}` and such in a request is the
id of what the call with that `keep` made; in answers, other ids are `{id}`.
"""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

HERE = Path(__file__).parent
SECONDS = 120
PROJECT, MEMBER = "admin", "tester"
"""The project of all requests, and its user who is no administrator."""
_NAMED = re.compile(r"\{(\w+)\}")
_ID = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|\b[0-9a-f]{32}\b")
_TAG = re.compile(r"<[^>]+>")


class Call(NamedTuple):
    """A request.

    Attributes:
        call: its name.
        request: method, service and path below the service's version.
        data: sent as JSON.
        by: the user: `admin`, `member`, or `nobody` with a token that Keystone did not give.
        version: of Nova's API, as a microversion.
        keep: the name of what it makes, for later calls.

    """

    call: str
    request: str
    data: Mapping[str, Any] | None = None
    by: str = "admin"
    version: str = "2.61"
    keep: str = ""


def calls() -> list[Call]:
    """The requests in their order."""
    return [Call(**each) for each in yaml.safe_load((HERE / "calls.yaml").read_text())]


def answers(release: str) -> dict[str, str]:
    """A release's answers, by the calls' names: the status, and of a refusal its kind and words."""
    return yaml.safe_load((HERE / f"{release}.yaml").read_text())


class Life:
    """An OpenStack without objects, as it is asked.

    Args:
        services: the URL of each service with its version, and of `identity` also who logs in.
        passwords: of the administrator and of the member.
        domain: of the users and of the project.
        proxy: an HTTP proxy to the services; "" for none.

    """

    def __init__(
        self, services: Mapping[str, str], passwords: tuple[str, str], domain: str, proxy: str = ""
    ) -> None:
        self._services, self._domain = services, domain
        proxies = urllib.request.ProxyHandler({"http": proxy} if proxy else {})
        self._opener = urllib.request.build_opener(proxies)
        self._known: dict[str, str] = {}
        self._tokens = {"nobody": "0" * 32}
        for by, user, password in zip(("admin", "member"), ("admin", MEMBER), passwords, strict=True):
            self._tokens[by] = self._token(user, password)

    def answers(self, asked: list[Call]) -> Iterator[tuple[Call, str]]:
        """Each request with its answer, as a release's file has it."""
        for call in asked:
            method, service, path = re.fullmatch(r"(\w+) (\w+)(.*)", call.request).groups()  # type: ignore[union-attr]
            data = None if call.data is None else self._with(json.dumps(call.data))
            headers = {"X-Auth-Token": self._tokens[call.by]}
            if service == "compute":
                headers["OpenStack-API-Version"] = f"compute {call.version}"
            status, said = self._send(method, self._services[service] + self._with(path), data, headers)
            if call.keep and status < 300:
                made = said if "id" in said else next(iter(said.values()))
                self._known[call.keep] = made["id"]
            yield call, f"{status} {self._without(_words(said) if status >= 400 else '')}".strip()

    def _token(self, user: str, password: str) -> str:
        domain = {"name": self._domain}
        who = {"user": {"name": user, "domain": domain, "password": password}}
        scope = {"project": {"name": PROJECT, "domain": domain}}
        asked = {"auth": {"identity": {"methods": ["password"], "password": who}, "scope": scope}}
        request = self._request("POST", f"{self._services['identity']}/auth/tokens", json.dumps(asked), {})
        with self._opener.open(request, timeout=SECONDS) as answer:
            self._known.setdefault("project", json.loads(answer.read())["token"]["project"]["id"])
            return answer.headers["X-Subject-Token"]

    @staticmethod
    def _request(method: str, url: str, data: str | None, headers: Mapping[str, str]) -> Any:
        content = {"Content-Type": "application/json", "Accept": "application/json"}
        body = None if data is None else data.encode()
        return urllib.request.Request(url, body, {**content, **headers}, method=method)  # noqa: S310 - ours

    def _send(self, method: str, url: str, data: str | None, headers: Mapping[str, str]) -> tuple[int, Any]:
        try:
            with self._opener.open(self._request(method, url, data, headers), timeout=SECONDS) as answer:
                return answer.status, _read(answer.read())
        except urllib.error.HTTPError as refused:
            return refused.code, _read(refused.read())

    def _with(self, text: str) -> str:
        return _NAMED.sub(lambda found: self._known.get(found[1], found[0]), text)

    def _without(self, text: str) -> str:
        for name, number in self._known.items():
            text = text.replace(number, f"{{{name}}}")
        return _ID.sub("{id}", text)


def _read(body: bytes) -> Any:
    try:
        return json.loads(body or b"{}")
    except ValueError:
        return body.decode(errors="replace")


def _words(said: Any) -> str:
    """The kind and the message of a refusal, as each service writes it."""
    if isinstance(said, str):  # Glance's, as HTML
        return " ".join(_TAG.sub(" ", said).split())
    kind, told = next(iter(said.items()))
    if kind == "NeutronError":
        kind, told = told["type"], told["message"]
    elif isinstance(told, dict):
        kind, told = told.get("title", kind), told["message"]
    return " ".join(f"{kind}: {told}".split())
