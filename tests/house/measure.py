# SPDX-License-Identifier: Apache-2.0
"""The sizes of the project's code: folders, files, and what a charm's plan imports."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from import_graph import Module, imports, modules, resolve

NODES = ("lib/**/*.py", "charms/*/src/**/*.py")
ROOFS = {"charms and lib": NODES, "tools": ("tools/**/*.py",), "tests/lab": ("tests/lab/**/*.py",)}
"""Whose code it is: the nodes', the operators' workstation's, the lab's."""

Subject = tuple[str, str]
"""The kind of a size, and its subject: ``("file", "lib/converge/plan.py")``."""


def measure(root: Path) -> dict[Subject, int]:
    """Every size, by subject.

    - ``modules``: Python files directly in a folder.
    - ``file``: lines of one file.
    - ``imported-files``, ``imported-lines``: of a charm's plan with all code of the project that it leads to,
      also by imports inside functions and by the ``__init__.py`` of packages. An ``__init__.py`` that only
      says what its package is for is nothing to read.
    """
    shipped = [*_python(root, NODES), *_python(root, ROOFS["tools"])]
    files = {path.relative_to(root).as_posix(): _lines(path) for path in shipped}
    found = {("file", name): count for name, count in files.items()}
    for name in files:
        folder = ("modules", name.rpartition("/")[0])
        found[folder] = found.get(folder, 0) + 1
    lib = modules(root / "lib")
    for charm in sorted(path.parent for path in root.glob("charms/*/charmcraft.yaml")):
        known = {**lib, **modules(charm / "src")}
        led_to = [module for module in closure(known["plan"], known) if _has_code(module)]
        found["imported-files", f"{charm.name}/plan"] = len(led_to)
        found["imported-lines", f"{charm.name}/plan"] = sum(_lines(each.path) for each in led_to)
    return found


def roofs(root: Path) -> dict[str, tuple[int, int]]:
    """Files and lines under each roof. They have no limit: a reader feels what a way leads through."""
    found = {roof: [_lines(path) for path in _python(root, patterns)] for roof, patterns in ROOFS.items()}
    return {roof: (len(lines), sum(lines)) for roof, lines in found.items()}


def closure(start: Module, known: Mapping[str, Module]) -> list[Module]:
    """The module and all that it loads, packages' ``__init__.py`` included; types alone load nothing."""
    seen: dict[str, Module] = {}
    todo = [start]
    while todo:
        module = todo.pop()
        if module.name in seen:
            continue
        seen[module.name] = module
        led_to = [resolve(item.target, known) for item in imports(module) if not item.for_types]
        todo += [found for found in led_to if found]
        above = module.name.split(".")[:-1]
        todo += [known[name] for end in range(1, len(above) + 1) if (name := ".".join(above[:end])) in known]
    return list(seen.values())


def _has_code(module: Module) -> bool:
    body = ast.parse(module.path.read_text()).body
    return any(not isinstance(statement, ast.Expr) for statement in body)


def _python(root: Path, patterns: Iterable[str]) -> Iterator[Path]:
    for pattern in patterns:
        yield from sorted(root.glob(pattern))


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines())
