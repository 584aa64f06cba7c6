# SPDX-License-Identifier: Apache-2.0
"""What the code can say, read from its source: the fact and the remedy of each finding and each error.

Texts are followed through the variables of the function that makes the finding; what is only known when the
code runs stands as `…`.
"""

import ast
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import NamedTuple

MADE_BY = {
    "Finding": (2, 3),
    "Trouble": (1, 2),
    "StepError": (0, 1),
    "Held": (1, 2),
    "Refused": (0, 1),
    "refuse": (0, 1),
}
"""Names that are called with a fact and its remedy, and the positions of the two among the arguments."""
NAMED = {"what": 0, "reason": 0, "remedy": 1, "release": 1}
"""The same arguments, where they are given by name."""
OPEN = "…"
MOST = 8
"""Variants of one text; what has more is shown as open."""


class Message(NamedTuple):
    """One fact that the code states, and its remedy; either may be open in part."""

    what: str
    remedy: str


Scope = Mapping[str, list[ast.expr]]


def messages(root: Path) -> Iterator[Message]:
    """The messages of all modules below a folder."""
    seen: set[Message] = set()
    for path in sorted(root.rglob("*.py")):
        tree = ast.parse(path.read_text())
        constants = _assigned(tree.body)
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            scope = {**constants, **_assigned(list(ast.walk(function)))}
            for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
                for message in _of(call, scope):
                    if message not in seen and message.what.strip(f"{OPEN} :;,"):
                        seen.add(message)
                        yield message


def _assigned(nodes: list[ast.stmt] | list[ast.AST]) -> dict[str, list[ast.expr]]:
    """By name, what is assigned to it; of pairs, each part."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Name):
                found.setdefault(target.id, []).append(node.value)
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                for name, value in zip(target.elts, node.value.elts, strict=False):
                    if isinstance(name, ast.Name):
                        found.setdefault(name.id, []).append(value)
    return found


def _of(call: ast.Call, scope: Scope) -> Iterator[Message]:
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if name not in MADE_BY:
        return
    parts: list[ast.expr | None] = [None, None]
    for number, position in enumerate(MADE_BY[name]):
        if position < len(call.args) and not any(isinstance(arg, ast.Starred) for arg in call.args):
            parts[number] = call.args[position]
    for keyword in call.keywords:
        if keyword.arg in NAMED:
            parts[NAMED[keyword.arg]] = keyword.value
    if parts[0] is not None:
        whats = _texts(parts[0], scope)
        remedies = _texts(parts[1], scope) if parts[1] is not None else [""]
        yield from (Message(what, remedy) for what, remedy in product(whats, remedies))


def _texts(node: ast.expr, scope: Scope, depth: int = 0) -> list[str]:
    """The texts that an expression may have."""
    found = _variants(node, scope, depth) if depth < MOST else [OPEN]
    return list(dict.fromkeys(found)) if len(found) <= MOST else [OPEN]


def _variants(node: ast.expr, scope: Scope, depth: int) -> list[str]:
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=values):
            return _joined(values, scope, depth)
        case ast.FormattedValue(value=ast.Name() as value):
            return _texts(value, scope, depth + 1)
        case ast.IfExp(body=body, orelse=other):
            return [*_texts(body, scope, depth + 1), *_texts(other, scope, depth + 1)]
        case ast.BoolOp(values=values):
            return [text for value in values for text in _texts(value, scope, depth + 1)]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _joined([left, right], scope, depth)
        case ast.Name(id=name) if name in scope:
            return [text for value in scope[name] for text in _texts(value, scope, depth + 1)]
        case _:
            return [OPEN]


def _joined(parts: list[ast.expr], scope: Scope, depth: int) -> list[str]:
    choices = [_texts(part, scope, depth + 1) for part in parts]
    size = 1
    for choice in choices:
        size *= len(choice)
    if size > MOST:
        choices = [choice if len(choice) == 1 else [OPEN] for choice in choices]
    return ["".join(chosen) for chosen in product(*choices)]
