# SPDX-License-Identifier: Apache-2.0
"""One configuration of a switch as it is kept, without what is secret. Pure.

A file is ``{"version": 1, "switch": "Leaf0-1", "release": "5.9.2", "at": 1796034840, "when": "before",
"trees": "eNq..."}``: ``trees`` has the whole configuration and the part of it that is this charm's, as JSON,
compressed (zlib), as base64.

NVUE shows hashes of passwords and keys in what it answers; some releases show ``*`` in their place. A copy
with ``*`` is of no use, and one with a hash must not lie around: neither is kept.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple

from converge.document import read_json, readable
from converge.shape import AnyText, Integer, JsonRecord, OneOf
from intent.model import Dialect
from tree import Tree, as_tree, get_path, leaves
from tree.diff import patch_between
from tree.record import Packed, packed
from tree.spelled import spelled

VERSION = 1
BEFORE, AFTER = "before", "after"
"""When a configuration was read: before or after a run that changed switches."""

MAX_CHARS = 8 * 1024 * 1024
"""Characters of one file. A leaf with 64 ports takes 3,000, and with all 4,094 VLANs on each port 200,000."""

SECRET = ("aaa", "snmp-server", "security", "readonly-community", "readonly-community-v6")
"""Nodes that are left out as a whole: their names may be secret, too, such as an SNMP community."""

SECRET_WORD = re.compile(
    r"(?:^|-)(?:passwords?|userpassword|secret|passphrase|psk|token|credentials?|key|md5|sha|aes|des)(?:$|-)"
)
"""Keys whose values are left out: ``hashed-password``, ``shared-secret``, ``message-digest-key``, ``md5``."""


class Kept(NamedTuple):
    """A configuration of one switch."""

    switch: str
    release: str  # of Cumulus Linux, as in `5.9.2`
    at: int  # seconds since the epoch
    when: str  # `BEFORE` or `AFTER` a run
    trees: Mapping[str, Tree]  # `all` that it ran, and the part that was `ours`

    @property
    def tree(self) -> Tree:
        """All that the switch ran, without secrets."""
        return self.trees.get("all", {})

    @property
    def ours(self) -> Tree:
        """The part of it that this charm had made."""
        return self.trees.get("ours", {})

    @property
    def time(self) -> str:
        """When it was read, in UTC."""
        return datetime.fromtimestamp(self.at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    def in_dialect(self, release: str) -> "Kept":
        """The same as a switch with this ``release`` has it."""
        dialect = Dialect.of_release(release)
        if Dialect.of_release(self.release) is dialect:
            return self
        return self._replace(trees={name: spelled(tree, dialect) for name, tree in self.trees.items()})

    def same(self, other: "Kept") -> bool:
        """Whether nothing differs but the time."""
        return self._replace(at=0, when="") == other._replace(at=0, when="")


def without_secrets(tree: Tree) -> Tree:
    """A configuration without passwords, their hashes, keys, users and SNMP."""
    left: Tree = {}
    for key, value in tree.items():
        if key in SECRET or SECRET_WORD.search(key):
            continue
        below = as_tree(value)
        left[key] = value if below is None else without_secrets(below)
    return left


_SHAPE = JsonRecord(
    Kept,
    {
        "switch": AnyText(),
        "release": AnyText(),
        "at": Integer(0, 1 << 37),  # in the year 6325, which datetime can still tell
        "when": OneOf((BEFORE, AFTER)),
        "trees": Packed(),
    },
)


def written(kept: Kept) -> str:
    """The text of a file. Raises InvalidValue if it is too long to be read."""
    content: dict[str, Any] = {**kept._asdict(), "version": VERSION, "trees": packed(kept.trees)}
    return readable(json.dumps(content, sort_keys=True), read)


def read(text: str) -> Kept:
    """The configuration in a file. Raises InvalidValue if the text is none."""
    found = read_json(text, VERSION, _SHAPE, longest=MAX_CHARS)
    Dialect.of_release(found.release)
    return found


def compared(old: Tree, new: Tree) -> Sequence[str]:
    """The lines that lead from one configuration to another, as ``nv`` has them, with the earlier value."""
    lines: list[str] = []
    for path, value in sorted(leaves(patch_between(old, new)), key=lambda each: each[0]):
        had, said = get_path(old, path), " ".join(path)
        before = f"    # was {had}" if isinstance(had, str | int) else ""
        whole = "" if value is None or isinstance(value, dict) else f" {value}"
        lines.append(f"{'unset' if value is None else 'set'} {said}{whole}{before}")
    return lines
