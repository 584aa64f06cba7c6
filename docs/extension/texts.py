# SPDX-License-Identifier: Apache-2.0
"""The texts that an expression in the code may have, followed through variables and functions.

A name has the values that were assigned to it before, in the same function: the last one, and those of
branches since then. What is only known when the code runs stands as ``…``.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple

OPEN = "…"
MOST = 8
"""Variants of one text, and depth of variables in variables; what has more is shown as open."""

Function = ast.FunctionDef
Functions = Mapping[str, Function | None]
"""Functions by name; None for a name that several have."""


class Choice(NamedTuple):
    """One assignment among those that a name may have its value from."""

    name: str  # the variable
    statement: ast.stmt  # the assignment
    number: int = 0  # which of the called function's returns, where the value is what a function returns


class Text(NamedTuple):
    """A text, and the assignments through which it came about."""

    text: str
    choices: frozenset[Choice] = frozenset()


class Scope:
    """The assignments of a function, and where each stands among its branches."""

    def __init__(self, function: Function, module: ast.Module, functions: Functions) -> None:
        self._functions = functions
        self._module = module
        self._parents: dict[ast.AST, ast.AST] = {}
        self._defined: dict[str, list[ast.stmt]] = {}
        for tree in (function, *(node for node in module.body if isinstance(node, ast.Assign))):
            for node in ast.walk(tree):
                self._parents |= dict.fromkeys(ast.iter_child_nodes(node), node)
                for name in _targets(node):
                    self._defined.setdefault(name, []).append(node)

    def pairs(self, first: ast.expr, second: ast.expr | None, at: ast.AST) -> Iterator[tuple[str, str]]:
        """The texts of two expressions at a place, together as they occur together."""
        seconds = self.texts(second, at) if second is not None else [Text("")]
        for one, other in product(self.texts(first, at), seconds):
            if self._fit(one.choices | other.choices):
                yield one.text, other.text

    def returned(self, call: ast.expr) -> Iterator[tuple[str, str]]:
        """The pairs of texts that a called function returns."""
        for scope, place in self._returns(call):
            if isinstance(place.value, ast.Tuple) and len(place.value.elts) == 2:
                yield from scope.pairs(*place.value.elts, place)

    def values(self, name: str, at: ast.AST) -> list[ast.expr]:
        """List the expressions that may be assigned to a name, before a place."""
        return [found.value for found in self._reaching(name, at) if isinstance(found, ast.Assign)]

    def texts(self, node: ast.expr, at: ast.AST, depth: int = 0) -> list[Text]:
        """The texts of an expression at a place."""
        found = list(dict.fromkeys(self._variants(node, at, depth))) if depth < MOST else []
        return found if 0 < len({each.text for each in found}) <= MOST else [Text(OPEN)]

    def _variants(self, node: ast.expr, at: ast.AST, depth: int) -> Iterator[Text]:
        match node:
            case ast.Constant(value=str(text)):
                yield Text(text)
            case ast.JoinedStr(values=parts):
                yield from self._joined(parts, at, depth)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                yield from self._joined([left, right], at, depth)
            case ast.FormattedValue(value=(ast.Name() | ast.Call()) as value):
                yield from self.texts(value, at, depth + 1)
            case ast.IfExp(body=body, orelse=other):
                yield from (*self.texts(body, at, depth + 1), *self.texts(other, at, depth + 1))
            case ast.BoolOp(values=values):
                yield from (text for value in values for text in self.texts(value, at, depth + 1))
            case ast.Name(id=name) if name in self._defined:
                yield from self._named(name, at, depth)
            case ast.Call():
                yield from self._called(node, depth)
            case _:
                yield Text(OPEN)

    def _named(self, name: str, at: ast.AST, depth: int) -> Iterator[Text]:
        for statement in self._reaching(name, at):
            for number, value, scope, place in self._assigned(name, statement):
                for text, choices in scope.texts(value, place, depth + 1):
                    own = choices if scope is self else frozenset[Choice]()
                    yield Text(text, own | {Choice(name, statement, number)})

    def _assigned(self, name: str, statement: ast.stmt) -> Iterator[tuple[int, ast.expr, "Scope", ast.stmt]]:
        """Yield the expressions that a statement assigns to a name, each with its scope and its place."""
        if isinstance(statement, ast.AugAssign):
            yield 0, ast.BinOp(statement.target, statement.op, statement.value), self, statement
        if not isinstance(statement, ast.Assign):
            return
        for target in statement.targets:
            if isinstance(target, ast.Name):
                yield 0, statement.value, self, statement
                continue
            names = [each.id if isinstance(each, ast.Name) else "" for each in getattr(target, "elts", ())]
            if name in names and isinstance(statement.value, ast.Tuple):
                yield 0, statement.value.elts[names.index(name)], self, statement
            elif name in names:
                for number, (scope, place) in enumerate(self._returns(statement.value)):
                    if isinstance(place.value, ast.Tuple) and len(place.value.elts) == len(names):
                        yield number, place.value.elts[names.index(name)], scope, place

    def _called(self, call: ast.Call, depth: int) -> Iterator[Text]:
        """Yield the texts that a function returns, if they are known; its choices are its own."""
        found = [
            text
            for scope, place in self._returns(call)
            if place.value is not None
            for text in scope.texts(place.value, place, depth + 1)
        ]
        known = found and all(OPEN not in each.text for each in found)
        yield from (Text(each.text) for each in found) if known else [Text(OPEN)]

    def _returns(self, call: ast.expr) -> list[tuple["Scope", ast.Return]]:
        name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
        function = self._functions.get(name)
        if function is None:
            return []
        scope = Scope(function, self._module, self._functions)
        return [(scope, node) for node in ast.walk(function) if isinstance(node, ast.Return)]

    def _joined(self, parts: Sequence[ast.expr], at: ast.AST, depth: int) -> Iterator[Text]:
        choices = [self.texts(part, at, depth + 1) for part in parts]
        size = 1
        for choice in choices:
            size *= len(choice)
        if size > MOST:
            choices = [choice if len(choice) == 1 else [Text(OPEN)] for choice in choices]
        for chosen in product(*choices):
            made = frozenset[Choice]().union(*(each.choices for each in chosen))
            if self._fit(made):
                yield Text("".join(each.text for each in chosen), made)

    def _reaching(self, name: str, at: ast.AST) -> list[ast.stmt]:
        """The assignments whose value a name may have at a place."""
        branches, blocks = self._branches(at), self._blocks(at)
        found: list[ast.stmt] = []
        known = self._defined.get(name, ())
        before = [each for each in known if each.lineno < at.lineno or each not in self._parents]
        for statement in sorted(before, key=lambda each: each.lineno, reverse=True):
            if _exclude(branches, self._branches(statement)):
                continue
            found.append(statement)
            if self._block(statement) in blocks:
                break
        return found

    def _fit(self, choices: Iterable[Choice]) -> bool:
        """Whether one run of the function can make all of these choices."""
        return all(self._together(one, other) for one, other in combinations(choices, 2))

    def _together(self, one: Choice, other: Choice) -> bool:
        if one.statement is other.statement:
            return one.number == other.number
        if _exclude(self._branches(one.statement), self._branches(other.statement)):
            return False
        if one.name == other.name or self._block(one.statement) == self._block(other.statement):
            return True
        return not (self._shadowed(one, other) or self._shadowed(other, one))

    def _shadowed(self, one: Choice, other: Choice) -> bool:
        """Whether the branch of one choice also assigns the other's name: another value counts there."""
        block = self._block(one.statement)
        inside = self._blocks(other.statement)
        return block not in inside and any(self._block(each) == block for each in self._defined[other.name])

    def _block(self, statement: ast.AST) -> tuple[int, str]:
        """The list of statements in which one stands."""
        parent = self._parents.get(statement)
        field = next((name for name in ("body", "orelse") if statement in getattr(parent, name, ())), "")
        return id(parent), field

    def _blocks(self, node: ast.AST) -> set[tuple[int, str]]:
        found: set[tuple[int, str]] = set()
        while node in self._parents:
            if isinstance(node, ast.stmt):
                found.add(self._block(node))
            node = self._parents[node]
        return found

    def _branches(self, node: ast.AST) -> dict[int, object]:
        """For each ``if`` and ``match`` around a node, which of its branches it is in."""
        found: dict[int, object] = {}
        while node in self._parents:
            parent = self._parents[node]
            if isinstance(parent, ast.If) and isinstance(node, ast.stmt):
                found[id(parent)] = self._block(node)
            elif isinstance(parent, ast.Match):
                found[id(parent)] = id(node)
            node = parent
        return found


def _targets(node: ast.AST) -> Iterator[str]:
    """The names that a statement assigns."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AugAssign):
        targets = [node.target]
    for target in targets:
        for each in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(each, ast.Name):
                yield each.id


def _exclude(one: Mapping[int, object], other: Mapping[int, object]) -> bool:
    return any(other.get(key, branch) != branch for key, branch in one.items())
