# SPDX-License-Identifier: Apache-2.0
"""The imports and uses of a Python file, read from its syntax tree; nothing is executed."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Module:
    """One source file, by the name under which others import it."""

    name: str
    path: Path

    @property
    def package(self) -> str:
        """The package that its relative imports start from."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


def modules(directory: Path) -> dict[str, Module]:
    """Every module below a directory that is on sys.path."""
    found: dict[str, Module] = {}
    for path in sorted(directory.rglob("*.py")):
        parts = path.relative_to(directory).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = Module(name, path)
    return found


COMMAND_LINE = "cli"
"""A charm's package that operators run from a clone: no artifact has it, so that it may import more."""


def packed(source: Path) -> dict[str, Module]:
    """The modules of a charm's ``src`` that its artifact has."""
    return {name: found for name, found in modules(source).items() if name.partition(".")[0] != COMMAND_LINE}


@dataclass(frozen=True)
class Import:
    """One imported name: ``converge.Plan`` for ``from converge import Plan``.

    Attributes:
        target: absolute and dotted; its first parts name a module, the last one may be a name inside it.
        line: in the importing file.
        at_start: the import runs when the module is loaded, not inside a function or for type checkers only.
        for_types: it is for type checkers only, and never runs.

    """

    target: str
    line: int
    at_start: bool
    for_types: bool = False

    @property
    def root(self) -> str:
        """The top-level package or module."""
        return self.target.partition(".")[0]


def imports(module: Module) -> list[Import]:
    """All imports of a module, also those inside functions and through importlib."""
    return list(_imports(module, ast.parse(module.path.read_text()), at_start=True))


def _imports(module: Module, node: ast.AST, *, at_start: bool, for_types: bool = False) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(alias.name, node.lineno, at_start, for_types)
    elif isinstance(node, ast.ImportFrom):
        above = module.package.split(".")[: -(node.level - 1) or None] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        for alias in node.names:
            target = base if alias.name == "*" else f"{base}.{alias.name}"
            yield Import(target, node.lineno, at_start, for_types)
    elif name := _import_module(node):
        yield Import(name, node.lineno, at_start)
    elif _for_type_checkers(node):
        at_start, for_types = False, True
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        at_start = False
    for child in ast.iter_child_nodes(node):
        yield from _imports(module, child, at_start=at_start, for_types=for_types)


def _import_module(node: ast.AST) -> str | None:
    """The module that ``importlib.import_module("…")`` names."""
    match node:
        case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name)), *_]):
            return name
        case _:
            return None


def _for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


@dataclass(frozen=True)
class Use:
    """A name that a file uses from outside: ``os.environ``, ``pathlib.Path``, ``open``."""

    name: str
    line: int


def uses(module: Module) -> list[Use]:
    """Attributes of imported modules, imported names, and ``open``, where the file mentions them."""
    tree = ast.parse(module.path.read_text())
    meaning: dict[str, str] = {"open": "open"}
    found: list[Use] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            meaning.update(
                {
                    (a.asname or a.name.partition(".")[0]): (a.name if a.asname else a.name.partition(".")[0])
                    for a in node.names
                }
            )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            meaning.update({(a.asname or a.name): f"{node.module}.{a.name}" for a in node.names})
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name) and (name := _dotted(node, meaning)):
            found.append(Use(name, node.lineno))
    return found


def _dotted(node: ast.expr, meaning: Mapping[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return meaning.get(node.id)
    if isinstance(node, ast.Attribute) and (base := _dotted(node.value, meaning)):
        return f"{base}.{node.attr}"
    return None


def resolve(target: str, known: Mapping[str, Module]) -> Module | None:
    """The module that an imported name lives in: the longest prefix that is one."""
    parts = target.split(".")
    for length in range(len(parts), 0, -1):
        if module := known.get(".".join(parts[:length])):
            return module
    return None


def reachable(start: Mapping[str, Module], known: Mapping[str, Module]) -> list[Module]:
    """These modules, and all those that their imports lead to when they run, also late ones."""
    seen: dict[str, Module] = {}
    todo = list(start.values())
    while todo:
        module = todo.pop()
        if module.name not in seen:
            seen[module.name] = module
            led_to = [resolve(item.target, known) for item in imports(module) if not item.for_types]
            todo += [found for found in led_to if found]
    return list(seen.values())


def cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """A closed walk through the graph, its first node repeated at the end; empty where there is none."""
    finished: set[str] = set()

    def visit(node: str, trail: list[str]) -> list[str]:
        if node in trail:
            return [*trail[trail.index(node) :], node]
        if node in finished:
            return []
        for following in sorted(graph.get(node, ())):
            if found := visit(following, [*trail, node]):
                return found
        finished.add(node)
        return []

    for start in sorted(graph):
        if found := visit(start, []):
            return found
    return []
