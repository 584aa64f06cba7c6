# SPDX-License-Identifier: Apache-2.0
"""Interprets a switch's answer: the content, or an error with its remedy. Pure."""

import json
from http import HTTPStatus
from typing import Any, cast

from rest.connection import SwitchError

RETRIED_STATUSES = (500, 502, 503, 504)
"""Statuses after which the same request may succeed: nvued restarts or is busy."""

MAX_DEPTH = 64
"""Levels of an answer; NVUE's tree has some twenty."""

MAX_NUMBER = 2**64
"""Counters have 64 bits. Infinity and what is no number are refused, too."""

MAX_VALUES = 2**21
"""Values of an answer, which take more memory than the answer itself. The largest switch has a million."""

CLIENTS = b"SSL certificate"
"""The answer of nginx to a client without a certificate: ``No required SSL certificate was sent``."""

LEAST = "nvue-admin"
"""The least role that may change a switch (user guide, "User Accounts")."""

IDENTITY = "put client-certificate and client-key into the secret"
"""The remedy for that."""

ITS_RESULT = "juju operations lists it, and juju show-task N has its result"
"""The place of an earlier or another action, by its task's number."""

BUSY = f"if another change of it is under way, wait for its end, and apply again; {ITS_RESULT}"
"""The remedy where the switch is at another change."""

REASONS = {status.value: status.phrase for status in HTTPStatus}


def promotion(user: str) -> str:
    """The remedy for a user who may only read."""
    return f"run nv set system aaa user {user} role {LEAST} on it; then nv config apply"


def read(user: str, place: str, what: str, status: int, content: bytes) -> dict[str, Any]:
    """The JSON object of an answer; an action answers with its number alone, which becomes ``number``.

    ``what`` is the request's method and path, ``place`` the address and port that answered. Only a ``status``
    of 2xx means success.

    Raises SwitchError if the request failed, or the answer cannot be read.
    """
    try:
        if sum(map(content.count, (b",", b"[", b"{"))) > MAX_VALUES:
            raise ValueError("too many values")
        answer: object = json.loads(content) if content.strip() else {}
    except (ValueError, RecursionError):
        answer = None
    if not _is_tame(answer):
        answer = None
    done = HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES
    if done and isinstance(answer, dict):
        return cast("dict[str, Any]", answer)
    if done and isinstance(answer, int | str) and what.startswith("POST ") and what != "POST /revision":
        return {"number": answer}
    if done:
        raise SwitchError("unreachable", f"the answer to {what} cannot be read", status=status)
    if status == HTTPStatus.BAD_REQUEST and CLIENTS in content:
        raise SwitchError("certificate", "it wants a client's certificate that it knows", IDENTITY, status)
    if status == HTTPStatus.UNAUTHORIZED:
        said = f"the switch refused user {user}"
        remedy = (
            "correct the user or password in the secret; a switch with its factory password "
            "also refuses requests until someone logs in to it and changes that password"
        )
        raise SwitchError("credentials", said, remedy, status)
    if status == HTTPStatus.FORBIDDEN and what == "POST /revision":
        said = f"user {user} may not change it: its role is read-only, such as nvue-monitor"
        remedy = f"{promotion(user)}, or put another user into the secret"
        raise SwitchError("credentials", said, remedy, status)
    if status == HTTPStatus.FORBIDDEN and what.startswith("GET "):
        raise _forbidden(user, content)
    detail = cast("dict[str, Any]", answer).get("detail") if isinstance(answer, dict) else None
    said = str(detail or REASONS.get(status, "no reason given"))
    reason = f"the switch answers {status} to {what}: {said}"
    if status < HTTPStatus.BAD_REQUEST:
        # NVUE sends no redirects. Following one would send the password to another place.
        remedy = f"check what listens at {place}; NVUE sends no redirects, and the charm follows none"
        raise SwitchError("unreachable", reason, remedy, status)
    kind = "unreachable" if status in RETRIED_STATUSES else "refused"
    raise SwitchError(kind, reason, BUSY if status == HTTPStatus.CONFLICT else "", status)


def _is_tame(answer: object) -> bool:
    """Whether no part of an answer is nested deeper, or a larger number, than NVUE has."""
    level: list[object] = [answer]
    for _ in range(MAX_DEPTH):
        below = list[object]()
        for value in level:
            if isinstance(value, dict):
                below += cast("dict[str, object]", value).values()
            elif isinstance(value, list):
                below += cast("list[object]", value)
            elif isinstance(value, int | float) and not abs(value) <= MAX_NUMBER:
                return False
        if not below:
            return True
        level = below
    return False


def _forbidden(user: str, content: bytes) -> SwitchError:
    """Why read access is denied. NVIDIA does not document the answer before the first login."""
    said, remedy = "the default password has not been changed", "log in to the switch once and change it"
    if b"password" not in content.lower():
        said = f"user {user} has no read access: no role grants it, or {said}"
        remedy = f"give it the role nvue-admin, or {remedy}"
    remedy += ", and put the new one into the secret"
    return SwitchError("credentials", said, remedy, HTTPStatus.FORBIDDEN)
