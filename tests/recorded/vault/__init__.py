# SPDX-License-Identifier: Apache-2.0
"""One life of a Vault in requests, from before it has keys until a token is made, and what Vault answered.

Texts that Vault makes up have names in the requests and answers: `{key 1}` and so on are the unseal keys,
`{root}` is the root token, and `{made}` is any other one.
"""

import base64
import http.client
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ANSWERS = Path(__file__).parent / "answers.yaml"
SECONDS = 60
NAMED = re.compile(r"\{(key \d|root)\}")
MADE = {"accessor", "client_token", "cluster_id", "cluster_name", "entity_id", "nonce", "request_id"}
"""Fields whose texts Vault makes up at each call."""


class Call(NamedTuple):
    """A request, by its name, and its answer."""

    call: str
    request: str
    data: Mapping[str, Any] | None
    token: str
    status: int
    said: Mapping[str, Any]

    def plain(self) -> dict[str, Any]:
        """As the file has it: without what is empty."""
        return {name: value for name, value in self._asdict().items() if value not in (None, "")}


def calls() -> list[Call]:
    """The requests in their order, each with its recorded answer."""
    return [Call(**{"data": None, "token": "", **each}) for each in yaml.safe_load(ANSWERS.read_text())]


class Life:
    """A new Vault at `host` and `port`, and its keys by their names once it has made them."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._known: dict[str, str] = {}

    def answers(self, asked: list[Call]) -> Iterator[Call]:
        """The requests with what this Vault answers."""
        for call in asked:
            status, said = self._ask(call)
            if call.request.endswith(" sys/init") and "keys" in said:
                keys = {f"key {number}": key for number, key in enumerate(said["keys"], 1)}
                self._known = {**keys, "root": said["root_token"]}
            yield call._replace(status=status, said=self._without(said))

    def _ask(self, call: Call) -> tuple[int, dict[str, Any]]:
        method, path = call.request.split(" ")
        connection = http.client.HTTPConnection(self._host, self._port, timeout=SECONDS)
        headers = {"X-Vault-Token": self._with(call.token)} if call.token else {}
        body = None if call.data is None else self._with(json.dumps(call.data))
        try:
            connection.request(method, f"/v1/{path}", body, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or "{}")
        finally:
            connection.close()

    def _with(self, text: str) -> str:
        return NAMED.sub(lambda found: self._known.get(found[1], found[0]), text)

    def _without(self, said: Any, field: str = "") -> Any:
        """An answer with names in place of what Vault made up."""
        if isinstance(said, dict):
            return {name: self._without(value, name) for name, value in said.items()}
        if isinstance(said, list):
            return [self._without(value, field) for value in said]
        if field in MADE and said:
            return "{made}"
        plain = {value: f"{{{name}}}" for name, value in self._known.items()}
        plain |= {_base64(value): f"{{{name}}}" for name, value in self._known.items() if name != "root"}
        return plain.get(said, said) if isinstance(said, str) else said


def _base64(key: str) -> str:
    """A key as Vault's field keys_base64 has it; a simulator's keys may be no hexadecimal numbers."""
    try:
        return base64.b64encode(bytes.fromhex(key)).decode()
    except ValueError:
        return key


def differences(call: Call, recorded: Call) -> Iterator[str]:
    """Where an answer is not the recorded one, in sentences."""
    if call.status != recorded.status:
        yield f"status {call.status}, recorded {recorded.status}"
    for field in sorted({*call.said, *recorded.said}):
        has, had = call.said.get(field), recorded.said.get(field)
        if has != had:
            yield f"{field} is {has}, recorded {had}"
