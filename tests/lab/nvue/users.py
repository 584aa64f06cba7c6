# SPDX-License-Identifier: Apache-2.0
"""The users of a switch: what NVUE keeps of a password that it is given, and whether one opens the switch.

Facts: Cumulus Linux user guide, "User Accounts": ``password`` is taken in clear, and becomes
``hashed-password``. From 5.18 on ``current-password`` may be required, and is not kept (OpenAPI).
"""

import hashlib
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from lab.nvue.rules import Issue
from lab.nvue.trees import Tree

ASKS_CURRENT = (5, 18)
"""The first release that has ``current-password``."""

TRANSIENT = ("password", "current-password")
"""Keys that a patch may have, and no configuration."""


def hashed(password: str) -> str:
    """The hash of a password, in the form of ``crypt``."""
    return f"$6$lab${hashlib.sha256(password.encode()).hexdigest()}"


def users(tree: Any) -> dict[str, Tree]:
    """The users in a configuration or a patch."""
    for key in ("system", "aaa", "user"):
        tree = tree.get(key) if isinstance(tree, dict) else None
    return {name: user for name, user in (tree or {}).items() if isinstance(user, dict)}


def kept(patch: Tree) -> Tree:
    """A patch as NVUE keeps it: of each password only its hash."""
    patch = deepcopy(patch)
    for user in users(patch).values():
        given = {key: user.pop(key) for key in TRANSIENT if key in user}
        if "password" in given:
            user["hashed-password"] = hashed(given["password"])
    return patch


def opens(tree: Tree, user: str, password: str) -> bool | None:
    """Whether this password is the configured one of a user; None if none is configured."""
    has = users(tree).get(user, {}).get("hashed-password")
    return None if has is None else has == hashed(password)


@dataclass
class Hardening:
    """The rules for new passwords (``system security password-hardening``), which an apply looks at.

    Attributes:
        release: such as (5, 9).
        dictionary: passwords that are refused, in a sentence that repeats them.
        compares: whether a user has to give the current password to get another one.

    """

    release: tuple[int, ...]
    dictionary: tuple[str, ...] = ()
    compares: bool = False

    def faults(self, patch: Tree, applied: Tree) -> list[Issue]:
        """The faults that an apply finds with the passwords in a patch."""
        found: list[Issue] = []
        for name, user in users(patch).items():
            where, given = f"system.aaa.user.{name}.password", user.get("password")
            if given in self.dictionary:
                found.append(Issue("config_invalid", f"{given!r} is based on a dictionary word", where))
            if given and self.compares and self.release >= ASKS_CURRENT:
                current = user.get("current-password")
                if current is None or opens(applied, name, current) is False:
                    found.append(Issue("config_invalid", "current-password is required", where))
        return found
