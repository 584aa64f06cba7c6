# SPDX-License-Identifier: Apache-2.0
"""Writes ``members`` into the text of an intent, in place of the ports that list a rack's hosts. Pure.

Everything else stays as it is written, comments included, except those inside ``hosts: {…}``.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from intent import document
from intent.document import Written

Members = Mapping[str, Mapping[str, str | int]]
"""The entries of ``members``, by their keys."""

REPLACED = ("ports", "names")


@dataclass(frozen=True)
class _Edit:
    """Text that comes in the place of what is between two places."""

    start: int
    end: int
    text: str


def with_members(text: str, racks: Mapping[int, Members]) -> str:
    """The text with these members for the hosts of these racks, each of which lists its hosts by ports."""
    edits: dict[int, _Edit] = {}
    top = {key.word: value for key, value in document.written(text).pairs}
    data = cast("dict[str, Any]", document.read(text))
    for number, members in racks.items():
        rack = top["racks"].items[number]
        key, value = next(pair for pair in rack.pairs if pair[0].word == "hosts")
        hosts: Any = data["racks"][number]["hosts"]
        others = {name: hosts[name] for name in hosts if name not in REPLACED} if value.pairs else {}
        for edit in _edits(text, rack, key, value, others, members):
            edits[edit.start] = edit  # two racks that share their hosts by an alias are one place
    for edit in sorted(edits.values(), key=lambda edit: -edit.start):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _edits(
    text: str, rack: Written, key: Written, value: Written, others: Mapping[str, Any], members: Members
) -> Iterator[_Edit]:
    """What to change for the hosts of one rack: in the style in which they are written."""
    if rack.flow:
        yield _Edit(value.start, value.end, json.dumps({**others, "members": members}))
    elif value.flow or not value.pairs:
        indent = key.column + 2
        lines = [f"{' ' * indent}{_plain(name)}: {json.dumps(other)}" for name, other in others.items()]
        yield _Edit(key.end, value.end, ":")
        yield _lines_after(text, value.end, [*lines, *_block(members, indent)])
    else:
        for name, content in value.pairs:
            if name.word == "ports":
                head, *lines = _block(members, value.column)
                yield _Edit(name.start, content.end, head.lstrip())
                yield _lines_after(text, content.end, lines)
            elif name.word == "names":
                yield _Edit(text.rfind("\n", 0, name.start) + 1, _line_end(text, content.end) + 1, "")


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
    return word if document.read(word) == word else json.dumps(word)
