# SPDX-License-Identifier: Apache-2.0
"""Audit of hosts that would get another number because their place in a list has changed. Pure.

A host's local-id is part of its Ethernet segment, and its bond has the number in its name. With another one
the host's port moves to another bond, on one leaf after the other: the host loses its network.
"""

from collections.abc import Iterator

from converge import Finding, Severity
from converge.finding import few
from intent import ports
from intent.model import Switch
from tree import Tree, get_path, get_tree, nodes

SEGMENT = ("evpn", "multihoming", "segment", "local-id")


def renumbered(switch: Switch, applied: Tree) -> Iterator[Finding]:
    """Ports whose bond on the switch, which runs ``applied``, has another number than in the intent.

    Hosts under ``members`` have the numbers that somebody wrote there, and may get others.
    """
    now: dict[str, tuple[str, int]] = {}
    for name, node in nodes(applied, "interface"):
        number = get_path(node, SEGMENT)
        if isinstance(number, int):
            now |= dict.fromkeys(get_tree(node, "bond", "member"), (name, number))
    kept: dict[str, int] = {}
    moved: list[str] = []
    for bond in switch.bonds:
        for port in bond.members if bond.counted else ():
            name, number = now.get(port, (bond.name, bond.segment.local_id))
            if name != bond.name and number != bond.segment.local_id:
                kept[port] = number
                moved.append(f"{port} from {name} (local-id {number}) to {bond.name}")
    if moved:
        keep = ",".join(f"{port}={kept[port]}" for port in sorted(kept, key=ports.natural))
        what = f"hosts would get other numbers, by which the leaves tell them apart: {few(moved)}"
        command = f"fix-numbers --intent FILE --keep {switch.name}:{keep}"
        remedy = f"fix the numbers in the intent; run pipx run tox -qq -e fabric -- {command} > NEW-FILE"
        yield Finding(Severity.BLOCKED, switch.name, what, remedy)
