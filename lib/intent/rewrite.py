# SPDX-License-Identifier: Apache-2.0
"""Writes numbers of racks into the text of an intent, and ``members`` in place of hosts' ports. Pure.

Everything else stays as it is written, comments included, except those inside ``hosts: {…}``.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

import yaml
from yamlfile import reader

from intent.schema import HOLDS

Members = Mapping[str, Mapping[str, str | int]]
"""The entries of ``members``, by their keys."""
Node = Any
"""A node of PyYAML: its value, its style, and where it starts and ends in the text."""

REPLACED = ("ports", "names")


class Fixed(NamedTuple):
    """The changes to one rack's entry."""

    number: int | None = None  # of the rack; None leaves it as it is
    first_leaf: int | None = None  # the number of its first leaf, if that does not follow from the rack's
    members: Members | None = None  # in place of the ports that list its hosts; None leaves them


class _Edit(NamedTuple):
    """Text that comes in the place of what is between two places."""

    start: int
    end: int
    text: str


def with_numbers(text: str, racks: Mapping[int, Fixed]) -> str:
    """The text with these numbers and members for these racks.

    One that gets a number has none, and one that gets members lists its hosts by ports.
    """
    edits: dict[int, _Edit] = {}
    root: Node = cast("Any", yaml).compose(text, yaml.SafeLoader)
    top: dict[str, Node] = {key.value: value for key, value in root.value}
    declared = reader.read(text, "", lambda document: document, HOLDS)
    for entry, fixed in racks.items():
        rack = top["racks"].value[entry]
        if fixed.number is not None:
            keys = {"number": fixed.number, "first-leaf": fixed.first_leaf}
            edit = _numbered(text, rack, {key: value for key, value in keys.items() if value is not None})
            edits[edit.start] = edit
        if (members := fixed.members) is None:
            continue
        hosts = declared["racks"][entry]["hosts"]
        key, value = next(pair for pair in rack.value if pair[0].value == "hosts")
        others = {name: hosts[name] for name in hosts if name not in REPLACED} if _is_map(value) else {}
        for edit in _edits(text, rack, key, value, others, members):
            edits[edit.start] = edit  # two racks that share their hosts by an alias are one place
    for edit in sorted(edits.values(), key=lambda edit: -edit.start):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _is_map(node: Node) -> bool:
    return isinstance(node, yaml.MappingNode)


def _numbered(text: str, rack: Node, numbers: Mapping[str, int]) -> _Edit:
    """The numbers as the first keys of a rack."""
    start = rack.start_mark.index
    if not rack.flow_style:
        indent = " " * rack.start_mark.column
        return _Edit(start, start, "".join(f"{key}: {number}\n{indent}" for key, number in numbers.items()))
    start += 1  # behind the bracket
    quote = '"' if text[start:].lstrip().startswith('"') else ""  # JSON stays JSON
    given = ", ".join(f"{quote}{key}{quote}: {number}" for key, number in numbers.items())
    return _Edit(start, start, f"{given}{', ' if rack.value else ''}")


def _edits(
    text: str, rack: Node, key: Node, value: Node, others: Mapping[str, Any], members: Members
) -> Iterator[_Edit]:
    """Yield the changes for the hosts of one rack, in the style in which they are written."""
    start = value.start_mark.index
    if rack.flow_style:
        yield _Edit(start, _end(value), json.dumps({**others, "members": members}))
    elif not _is_map(value) or value.flow_style:
        indent = key.start_mark.column + 2
        lines = [f"{' ' * indent}{_plain(name)}: {json.dumps(other)}" for name, other in others.items()]
        yield _Edit(_end(key), _end(value), ":")
        yield _lines_after(text, _end(value), [*lines, *_block(members, indent)])
    else:
        for name, content in value.value:
            if name.value == "ports":
                head, *lines = _block(members, value.start_mark.column)
                yield _Edit(name.start_mark.index, _end(content), head.lstrip())
                yield _lines_after(text, _end(content), lines)
            elif name.value == "names":
                first = text.rfind("\n", 0, name.start_mark.index) + 1
                yield _Edit(first, _line_end(text, _end(content)) + 1, "")


def _end(node: Node) -> int:
    """Where the node's own text ends: PyYAML counts the lines up to the next node to a block."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        return node.end_mark.index
    last = node.value[-1]
    return _end(last[1] if _is_map(node) else last)


def _lines_after(text: str, place: int, lines: list[str]) -> _Edit:
    """These lines after the one with ``place``, behind its comment."""
    end = _line_end(text, place)
    return _Edit(end, end, "".join(f"\n{line}" for line in lines))


def _line_end(text: str, place: int) -> int:
    found = text.find("\n", place)
    return len(text) if found < 0 else found


def _block(members: Members, indent: int) -> list[str]:
    """``members`` as lines, one for each host."""
    lines = [" " * indent + "members:"]
    for name, entry in members.items():
        content = ", ".join(f"{key}: {value}" for key, value in entry.items())
        lines.append(" " * (indent + 2) + f"{_plain(name)}: {{{content}}}")
    return lines


def _plain(word: str) -> str:
    """A word as YAML's text: quoted if YAML would take it for something else."""
    return yaml.safe_dump(word).splitlines()[0]
