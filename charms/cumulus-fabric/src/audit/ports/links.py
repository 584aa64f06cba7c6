# SPDX-License-Identifier: Apache-2.0
"""Audits of links between switches that run with other addresses than the intent's. Pure."""

from collections.abc import Iterator

from converge import Finding, Severity
from intent.model import Switch
from tree import Tree, nodes
from tree.diff import IN_VRF
from tree.foreign import groups
from tree.seen import port_of


def readdressed(switch: Switch, applied: Tree, wanted: Tree, last: Tree) -> Iterator[Finding]:
    """Links in use whose sessions would get other addresses, or some, or none.

    A session ends when the first of its ends changes, and comes back with the second: a check after the first
    one would undo it. A link that the intent has shut has no session to lose.
    """
    running: dict[str, list[str]] = {}
    of = groups(wanted, last)
    for name, node in nodes(applied, *IN_VRF, "neighbor"):
        if str(node.get("peer-group")) in of:
            running.setdefault(port_of(applied, name), []).append(name)
    for link in switch.open_links:
        if others := [name for name in running.get(link.port, ()) if name != link.session]:
            have, want = (_said(each, link.port) for each in (others[0], link.session))
            what = f"the BGP session of {link.port} with {link.peer} {have}, the intent says that it {want}; "
            what += "the change of one end would cut it"
            remedy = "shut the link in the intent, apply, and open it again with the next apply; that is "
            remedy += f"switches.{switch.name}.port-settings: {{{link.port}: {{shut: true}}}}"
            yield Finding(Severity.BLOCKED, switch.name, what, remedy)


def _said(session: str, port: str) -> str:
    return "has no address" if session == port else f"is with {session}"
