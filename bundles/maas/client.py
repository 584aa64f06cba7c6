# SPDX-License-Identifier: Apache-2.0
"""The MAAS 2.0 API over HTTP, signed as MAAS wants it: OAuth 1.0 with method PLAINTEXT.

Facts (MAAS source, src/maasserver/api): parameters are form-encoded, an operation beyond REST goes in
the query as `?op=`, a refused value is 400 with {field: [message]}, a machine in the wrong state 409.
"""

import json
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import Any

from converge import StepError

TIMEOUT = 60
"""Seconds for one answer; MAAS takes its time with hundreds of machines."""
WORDS = 300
"""Characters of an answer that an error sentence quotes."""


class Maas:
    """One MAAS region and the key to it."""

    def __init__(self, address: str, key: str) -> None:
        parts = key.split(":")
        if len(parts) != 3:
            raise StepError("the API key has not three parts", "copy it whole from `maas apikey`")
        self._address = address.rstrip("/") + "/api/2.0/"
        self._consumer, self._token, self._secret = parts

    def get(self, path: str, **query: str) -> Any:
        """What a path holds."""
        return self._send("GET", path + (f"?{urllib.parse.urlencode(query)}" if query else ""), None)

    def write(self, method: str, path: str, values: dict[str, Any]) -> Any:
        """POST or PUT; values that are lists are sent one by one."""
        data = urllib.parse.urlencode({key: _word(value) for key, value in values.items()}, doseq=True)
        return self._send(method, path, data.encode())

    def _send(self, method: str, path: str, data: bytes | None) -> Any:
        request = urllib.request.Request(self._address + path, data, method=method)
        request.add_header("Authorization", self._signature())
        request.add_header("Accept", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            raise StepError(f"MAAS answers {error.code} to {method} {path}: {_said(error)}") from error
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            reason = getattr(error, "reason", error)
            raise StepError(f"MAAS at {self._address} cannot be reached: {reason}") from error
        except ValueError as error:
            raise StepError(f"MAAS answers {method} {path} with something that is no JSON") from error

    def _signature(self) -> str:
        fields = {
            "oauth_version": "1.0",
            "oauth_signature_method": "PLAINTEXT",
            "oauth_consumer_key": self._consumer,
            "oauth_token": self._token,
            "oauth_signature": f"&{self._secret}",
            "oauth_nonce": uuid.uuid4().hex,
            "oauth_timestamp": str(int(time.time())),
        }
        return "OAuth " + ", ".join(
            f'{key}="{urllib.parse.quote(value, safe="")}"' for key, value in fields.items()
        )


def _word(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


def _said(error: urllib.error.HTTPError) -> str:
    """MAAS' own words: {field: [message]} or text."""
    text = error.read().decode(errors="replace").strip()
    try:
        said = json.loads(text)
    except ValueError:
        return text[:WORDS]
    if isinstance(said, dict):
        return "; ".join(f"{key}: {' '.join(map(str, value))}" for key, value in said.items())[:WORDS]
    return str(said)[:WORDS]
