# SPDX-License-Identifier: Apache-2.0
"""The mutants of a Python file: each is its text with one small fault, such as ``<`` where ``<=`` was.

What only words a message is left alone: strings with spaces, f-strings, errors that are raised, and what goes
to a log. So are annotations, decorators and ``if TYPE_CHECKING``, where no test could see a fault.
"""

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

COMPARISONS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.FloorDiv: "*", ast.BitOr: "&", ast.BitAnd: "|"}
CALLS = {"any": "all", "all": "any", "min": "max", "max": "min"}
UNSEEN = ("annotation", "returns", "decorator_list", "bases", "exc")
Change = tuple[ast.AST, str]
"""The node to replace, and the new text."""


class Mutant(NamedTuple):
    """One fault in one file.

    Attributes:
        path: the file, relative to the project.
        scope: the function or class that holds the fault, such as ``Burn.run``; empty for the module.
        old: the replaced text, in one line.
        new: what stands there instead.
        number: tells it from equal ones of the same scope.
        lines: those of the statement around it, without the statements below that; 1 is the file's first.
        imported: it runs when the file is imported, not when a test calls something.
        text: the whole file with the fault.

    """

    path: str
    scope: str
    old: str
    new: str
    number: int
    lines: range
    imported: bool
    text: bytes

    @property
    def key(self) -> str:
        """The mutant's name; it stays as long as the function has the replaced text, wherever that moves."""
        number = f" #{self.number}" if self.number else ""
        return f"{self.path} {self.scope or '(module)'}: {self.old} -> {self.new}{number}"

    def rank(self, seed: int) -> str:
        """Its place in the sample of ``seed``: changes elsewhere do not move it."""
        return hashlib.sha256(f"{seed} {self.key}".encode()).hexdigest()


def mutants(path: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a file: its path, relative to the project, and its text."""
    encoded = source.encode()
    starts = list(accumulate(map(len, encoded.splitlines(keepends=True)), initial=0))
    seen: Counter[tuple[str, ...]] = Counter()
    for node, scope, lines, imported in _nodes(ast.parse(source), "", range(0), imported=True):
        for replaced, new in (*_logic(node), *_values(node), *_statements(node)):
            begin = starts[replaced.lineno - 1] + replaced.col_offset
            end = starts[replaced.end_lineno - 1] + replaced.end_col_offset
            words = (scope, " ".join(encoded[begin:end].decode().split()), new)
            text = encoded[:begin] + new.encode() + encoded[end:]
            yield Mutant(path, *words, seen[words], lines, imported, text)
            seen[words] += 1


def _nodes(
    node: ast.AST, scope: str, lines: range, *, imported: bool
) -> Iterator[tuple[ast.AST, str, range, bool]]:
    """The nodes in which a fault can be seen; scope, lines and imported as a :class:`Mutant` has them."""
    match node:
        case (
            ast.JoinedStr()
            | ast.Expr(value=ast.Constant())
            | ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="logger"))))
            | ast.Call(func=ast.Name(id="cast" | "TypeVar"))
            | ast.If(test=ast.Name(id="TYPE_CHECKING"))
            | ast.Assign(targets=[ast.Name(id="__all__")])
        ):
            return
        case ast.FunctionDef() | ast.ClassDef():
            scope = f"{scope}.{node.name}".lstrip(".")
    if isinstance(node, ast.stmt | ast.ExceptHandler):
        below: list[ast.stmt] = getattr(node, "body", [])
        lines = range(node.lineno, max(below[0].lineno if below else node.end_lineno + 1, node.lineno + 1))
    yield node, scope, lines, imported
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and name not in UNSEEN:
                inside = isinstance(node, ast.FunctionDef) and name == "body"
                yield from _nodes(child, scope, lines, imported=imported and not inside)


def _logic(node: ast.AST) -> Iterator[Change]:
    """Other comparisons and conditions. Of ``and`` and ``or`` each operand is left out once."""
    match node:
        case ast.Compare():
            sides = [ast.unparse(side) for side in (node.left, *node.comparators)]
            for place in range(len(node.ops)):
                words = [COMPARISONS[type(op)][number == place] for number, op in enumerate(node.ops)]
                yield node, sides[0] + "".join(f" {word} {side}" for word, side in zip(words, sides[1:]))
        case ast.BoolOp():
            word = " and " if isinstance(node.op, ast.And) else " or "
            for dropped in node.values:
                rest = [f"({ast.unparse(value)})" for value in node.values if value is not dropped]
                yield node, f"({word.join(rest)})"
        case ast.UnaryOp(op=ast.Not()):
            yield node, f"bool({ast.unparse(node.operand)})"
        case ast.If(test=test) | ast.IfExp(test=test):
            if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp):
                yield test, f"(not ({ast.unparse(test)}))"
        case ast.comprehension():
            yield from ((condition, "True") for condition in node.ifs)


def _values(node: ast.AST) -> Iterator[Change]:
    """Other constants, operators and functions; an exception that nobody catches."""
    match node:
        case ast.Constant(value=bool(value)):
            yield node, str(not value)
        case ast.Constant(value=int(value)):
            yield node, str(value + 1)
        case ast.Constant(value=str(value)) if not any(character.isspace() for character in value):
            yield node, repr(f"{value}x")
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            if not isinstance(left, ast.JoinedStr) and not isinstance(right, ast.JoinedStr):
                yield node, f"(({ast.unparse(left)}) {ARITHMETIC[type(op)]} ({ast.unparse(right)}))"
        case ast.Call(func=ast.Name(id=name)) if name in CALLS:
            yield node.func, CALLS[name]
        case ast.ExceptHandler(type=ast.AST()):
            yield node.type, "()"


def _statements(node: ast.AST) -> Iterator[Change]:
    """Statements that are left out; a function that yields stays one."""
    match node:
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            yield node, "yield from ()"
        case (
            ast.Expr(value=ast.Call())
            | ast.Assign(targets=[ast.Attribute() | ast.Subscript()])
            | ast.Raise()
            | ast.AugAssign()
            | ast.Break()
        ):
            yield node, "pass"
        case ast.Continue():
            yield node, "break"
