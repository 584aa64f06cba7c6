# SPDX-License-Identifier: Apache-2.0
"""Vault's API, as far as a new Vault needs it: initialise, unseal, a token of short life for the charm.

Source: hashicorp/vault, website/content/api-docs/system/{init,unseal}.mdx and auth/token.mdx. The charm
serves the API over HTTP on its own address unless it is given a certificate (its option ssl-cert).
"""

import http.client
import json
import re
import ssl
from typing import Any, NamedTuple, TypeVar, cast

from converge import StepError, words
from converge.bounded import MIB, Connection
from operate import private

PORT = 8200
SHARES, THRESHOLD = 5, 3
"""How many unseal keys init makes, and how many of them unseal; another Vault may need any number."""
TOKEN_LIFE = "10m"  # noqa: S105
TIMEOUT, MOST = 60.0, MIB
"""Seconds for one answer, from connecting to its last byte, and its bytes; real ones have a few hundred."""
KEY = re.compile(r"^\s*Unseal Key \d+:\s*(\S+)", re.MULTILINE)
ROOT = re.compile(r"^\s*Initial Root Token:\s*(\S+)", re.MULTILINE)

T = TypeVar("T")


class RefusedError(StepError):
    """Vault refuses a request, with an HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Keys(NamedTuple):
    """The keys that initialising makes, once: whoever has these has the Vault."""

    unseal: tuple[str, ...]
    root: str

    def text(self) -> str:
        """Return the text as `vault operator init` prints it."""
        lines = [f"Unseal Key {number}: {key}" for number, key in enumerate(self.unseal, 1)]
        return "\n".join([*lines, "", f"Initial Root Token: {self.root}", ""])


def parse(text: str) -> Keys:
    """Keys as `text` or `vault operator init` writes them. Raises StepError if there is none."""
    keys, root = KEY.findall(text), ROOT.search(text)
    if not keys:
        wanted = 'lines "Unseal Key 1: …", and "Initial Root Token: …" to authorize'
        raise StepError("these are not the keys of a Vault", f"the text needs {wanted}, as init writes them")
    return Keys(tuple(map(private.keep, keys)), private.keep(root[1] if root else ""))


class Vault(NamedTuple):
    """One Vault: its address, and by what its certificate is checked; without that it is asked by HTTP."""

    address: str
    tls: ssl.SSLContext | None = None


def _ask(vault: Vault, path: str, body: dict[str, Any] | None = None, token: str = "") -> dict[str, Any]:
    """Return Vault's answer; a body makes it a POST. No refusal repeats the values of the request."""
    address = vault.address
    connection = Connection(address, PORT, TIMEOUT, most=MOST, context=vault.tls)
    headers = {"X-Vault-Token": token} if token else {}
    method, text = ("GET", None) if body is None else ("POST", json.dumps(body))
    try:
        connection.request(method, f"/v1/{path}", text, headers)
        answer = connection.getresponse()
        said: Any = json.loads(answer.read())
    except ssl.SSLCertVerificationError as error:
        remedy = "give the CA that signed it as --cacert FILE, and a name in it as --address HOST"
        why = f"has a certificate that is not trusted: {error.verify_message}"
        raise StepError(f"Vault at {address}:{PORT} {why}", remedy) from error
    except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
        remedy = "check the network to it, and what listens there"
        remedy += "" if vault.tls else "; if it has a certificate, add --https or --cacert FILE"
        raise StepError(f"Vault at {address}:{PORT} cannot be asked: {words(error)}", remedy) from error
    finally:
        connection.close()
    found = cast("dict[str, Any]", said) if isinstance(said, dict) else {}
    if answer.status != http.HTTPStatus.OK:
        errors = found.get("errors")
        reasons = cast("list[Any]", errors) if errors and isinstance(errors, list) else ["no reason"]
        why = private.without("; ".join(map(str, reasons)))
        raise RefusedError(f"Vault at {address} answers {answer.status} to {path}: {why}", answer.status)
    return found


def _told(vault: Vault, said: dict[str, Any], name: str, kind: type[T]) -> T:
    """A value of an answer."""
    value = said.get(name)
    if not isinstance(value, kind):
        raise StepError(f"Vault at {vault.address} answers without {name}")
    return value


def initialised(vault: Vault) -> bool:
    """Whether it has keys already."""
    return _told(vault, _ask(vault, "sys/init"), "initialized", bool)


def init(vault: Vault) -> Keys:
    """Initialise it; the keys are told this once: none is dropped because there is no root token."""
    made = _ask(vault, "sys/init", {"secret_shares": SHARES, "secret_threshold": THRESHOLD})
    keys = [private.keep(str(key)) for key in cast("list[Any]", _told(vault, made, "keys", list))]
    return Keys(tuple(keys), private.keep(str(made.get("root_token") or "")))


def unseal(vault: Vault, keys: Keys) -> None:
    """Give it keys until it is open; nothing happens to a Vault that is open.

    Raises StepError if it is still sealed. Keys that it has stay there for those that follow. Vault takes
    keys of another Vault, too: it finds out when it has as many as it needs, answers 500 and drops them all
    (tests/recorded/vault).
    """
    said: dict[str, Any] = {}
    for key in keys.unseal:
        try:
            said = _ask(vault, "sys/unseal", {"key": key})
        except RefusedError as error:
            if error.status != http.HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
            given = f"Vault at {vault.address} refuses the keys that it was given, of this file or before"
            raise StepError(
                f"{given}: at least one is of another Vault, and it has dropped them all ({error})",
                "run unseal again with keys of this Vault alone",
            ) from error
        if not _told(vault, said, "sealed", bool):
            return
    has = f"it has {said.get('progress')} of the {said.get('t')} keys that it needs"
    raise StepError(
        f"Vault at {vault.address} is still sealed: {has}", "run unseal again with a file of other keys"
    )


def token(vault: Vault, keys: Keys) -> str:
    """A token of short life, with which the charm makes what it needs."""
    if not keys.root:
        remedy = 'add a line "Initial Root Token: …" with a token that may create tokens'
        raise StepError("the keys have no root token", remedy)
    made = _ask(vault, "auth/token/create", {"ttl": TOKEN_LIFE}, keys.root)
    made = cast("dict[str, Any]", _told(vault, made, "auth", dict))
    return private.keep(_told(vault, made, "client_token", str))
