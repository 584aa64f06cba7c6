# SPDX-License-Identifier: Apache-2.0
"""The system behind a switch's REST interface."""

from typing import Protocol

from lab.nvue.rules import Issue
from lab.nvue.trees import Path, Tree


class Backend(Protocol):
    """The system behind the REST interface: a model, or the real thing."""

    def apply(self, tree: Tree) -> Issue | None:
        """Make the box as ``tree`` says, and return None; or leave it as it was and say why.

        Called once at a time, by the clock; also with an earlier tree, for a rollback.
        """

    def operational(self, path: Path = ()) -> Tree:
        """Return ``rev=operational`` in NVUE's own layout (see README.md), at least what is at ``path``."""


class Box:
    """A backend without anything behind it: every tree applies, and nothing is to be seen."""

    def apply(self, tree: Tree) -> Issue | None:
        return None

    def operational(self, path: Path = ()) -> Tree:
        return {}
