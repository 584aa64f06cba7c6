# SPDX-License-Identifier: Apache-2.0
"""The messages of the code, read from its source: the fact and the remedy of each finding and each error."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from texts import OPEN, Function, Functions, Scope

MADE_BY = {
    "Finding": (2, 3),
    "BootFailure": (1, 2),
    "StepError": (0, 1),
    "Held": (1, 2),
    "Refused": (0, 1),
    "refuse": (0, 1),
}
"""Names that are called with a fact and its remedy, and the positions of the two among the arguments."""
NAMED = {"what": 0, "reason": 0, "remedy": 1, "release": 1}
"""The same arguments, where they are given by name."""


WITHOUT = {
    "INFO": "Nothing to do: it is for your information.",
    "WAITING": "Nothing to do: it ends by itself.",
    "StepError": "The next hook tries again; the kernel's log may say more.",
}
"""Why a message has no remedy, by its severity or the name that makes it."""
ITSELF = "The message itself says what has to change."
"""The same for any other."""


class Message(NamedTuple):
    """One fact that the code states, and its remedy; either may be open in part."""

    what: str
    remedy: str
    without: str = ""  # why there is no remedy; empty where there is one


def messages(root: Path) -> Iterator[Message]:
    """The messages of all modules below a folder."""
    seen: set[Message] = set()
    modules = [ast.parse(path.read_text()) for path in sorted(root.rglob("*.py"))]
    functions: dict[str, Function | None] = {}
    for function in (node for module in modules for node in module.body if isinstance(node, Function)):
        functions[function.name] = None if function.name in functions else function
    for message in (found for module in modules for found in _module(module, functions)):
        if message not in seen and message.what.strip(f"{OPEN} :;,"):
            seen.add(message)
            yield message


def _module(module: ast.Module, functions: Functions) -> Iterator[Message]:
    for function in (node for node in ast.walk(module) if isinstance(node, Function)):
        scope = Scope(function, module, functions)
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            yield from _of(call, scope)


def _of(call: ast.Call, scope: Scope) -> Iterator[Message]:
    positions = _positions(call, scope)
    if positions is None:
        return
    parts: list[ast.expr | None] = [None, None]
    for number, position in enumerate(positions):
        given = call.args[position] if position < len(call.args) else None
        if isinstance(given, ast.Starred):
            yield from (Message(*pair) for pair in scope.returned(given.value))
            return
        parts[number] = given
    for keyword in call.keywords:
        if keyword.arg in NAMED:
            parts[NAMED[keyword.arg]] = keyword.value
    if parts[0] is not None:
        for what, remedy in scope.pairs(parts[0], parts[1], call):
            yield Message(what, remedy, "" if remedy else _without(call))


def _without(call: ast.Call) -> str:
    match call.func, call.args:
        case _, [ast.Attribute(value=ast.Name(id="Severity"), attr=severity), *_]:
            return WITHOUT.get(severity, ITSELF)
        case ast.Name(id=name), _:
            return WITHOUT.get(name, ITSELF)
    return ITSELF


def _positions(call: ast.Call, scope: Scope) -> tuple[int, int] | None:
    """Where a call has the fact and the remedy, if it makes a message; of a partial, what it leaves open."""
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if name in MADE_BY:
        return MADE_BY[name]
    for value in scope.values(name, call) if isinstance(call.func, ast.Name) else ():
        match value:
            case ast.Call(func=ast.Name(id="partial"), args=[ast.Name(id=made), *bound]) if made in MADE_BY:
                first, second = MADE_BY[made]
                return first - len(bound), second - len(bound)
    return None
