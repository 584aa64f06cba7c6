# SPDX-License-Identifier: Apache-2.0
"""NVUE's warnings before it applies a revision, in its own words, with its question whether to go on.

Facts: the user guide's "NVUE API" has the states and the issue of a question that nobody answered ("such as
the first push with NVUE or if you change a file manually"), published transcripts of ``nv config apply``
have the words. How the issues of an open question are coded is not published.
"""

from collections.abc import Sequence

from lab.nvue.rules import Issue
from lab.nvue.trees import Tree

FIRST_FILES = (
    "/etc/nsswitch.conf",
    "/etc/default/lldpd",
    "/etc/network/interfaces",
    "/etc/frr/frr.conf",
    "/etc/frr/daemons",
    "/etc/hosts",
    "/etc/hostname",
    "/etc/cumulus/switchd.conf",
    "/etc/cumulus/ports.conf",
)
"""Files of the image, which the first apply replaces."""

UNANSWERED = Issue("client_timeout", "Timeout while waiting for client response")


def warnings(before: Tree, after: Tree, edited: Sequence[str]) -> list[Issue]:
    """Return the questions before a switch that runs one tree gets another; files were edited by hand."""
    said: list[str] = []
    if edited:
        files = "".join(f"\n\t- {path}" for path in edited)
        said.append(
            f"The following files have been changed since the last save, and they WILL be overwritten.{files}"
        )
    if _routes(before) != _routes(after):
        said.append(
            "The frr service will need to be restarted because the list of router services has changed.  "
            "This will disrupt traffic for any existing routing protocols."
        )
    old, new = (tree.get("system", {}).get("hostname") for tree in (before, after))
    if new and old != new:
        said.append(f"current hostname `{old}` will be replaced with `{new}`")
    return [Issue("warning", each, severity="warning") for each in said]


def _routes(tree: Tree) -> tuple[bool, bool]:
    """Whether FRR has its daemons for BGP and BFD: a change of either restarts it.

    BFD is FRR's from 5.15 on (user guide of 5.15, "Bidirectional Forwarding Detection").
    """
    router = tree.get("router", {})
    bgp = router.get("bgp", {})
    is_on = bgp.get("enable") == "on" or bgp.get("state") == "enabled"
    return is_on, router.get("bfd", {}).get("state") == "enabled"
