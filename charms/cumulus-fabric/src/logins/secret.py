# SPDX-License-Identifier: Apache-2.0
"""The logins in the content of a Juju secret. Pure.

The key ``switches`` has a line ``NAME user:password`` for each switch that has others than the keys ``user``
and ``password`` say. Names of switches cannot be keys: Juju allows no capital letters there.
"""

from collections.abc import Collection, Mapping
from functools import partial

from charmkit.reconcile import InputError
from converge import Finding, Severity
from rest.connection import Logins
from rest.identity import Identity, IdentityError
from yamlfile.logins import Login, of_switches
from yamlfile.logins import Logins as Read

from logins.paired import LoginError, paired

USER = "cumulus"
"""Who logs in if the secret has no user."""

BEFORE = "previous-"
"""How the keys with the earlier passwords begin."""

_wrong = partial(Finding, Severity.BLOCKED, "option credentials")


def unset(application: str) -> Finding:
    """The finding for an option that names no secret."""
    remedy = f"run: juju config {application} credentials=ID; ID is that of a secret with user and password"
    return _wrong("is not set", remedy)


def unreadable(application: str) -> Finding:
    """The finding for a secret that is gone, or not granted."""
    remedy = f"run: juju grant-secret NAME {application}; juju secrets shows whether it is there"
    return _wrong("the secret cannot be read", remedy)


def logins(content: Mapping[str, str], names: Collection[str]) -> Logins:
    """Who logs in to each of the switches with these names.

    Raises InputError for a secret that cannot be used.
    """
    user, before = content.get("user", USER), content.get(f"{BEFORE}password", "")
    try:
        found = Read((user, content.get("password", "")), _others(content, "switches"))
        earlier = Read((user, before), _others(content, f"{BEFORE}switches"))
        return paired(found, earlier, names)
    except LoginError as error:
        remedy = "give it the keys user and password; each is one line of text, the user without a colon"
        raise InputError(_wrong(f"the secret {error}", error.remedy or remedy)) from None


def identity(content: Mapping[str, str]) -> Identity | None:
    """The certificate and key that prove the charm to switches; None if the secret has none.

    Raises InputError for a pair that cannot be used.
    """
    pair = content.get("client-certificate", ""), content.get("client-key", "")
    if not any(pair):
        return None
    found = Identity(*pair)
    try:
        found.check()
    except IdentityError as error:
        remedy = "renew client-certificate and client-key in the secret"
        raise InputError(_wrong(f"the secret cannot be used: {error}", remedy)) from None
    return found


def _others(content: Mapping[str, str], key: str) -> dict[str, Login]:
    try:
        return of_switches(content.get(key, ""))
    except ValueError as error:
        remedy = f"give {key} a line NAME user:password for each switch that has others"
        raise LoginError(f"{error} in its key {key}", remedy=remedy) from None
