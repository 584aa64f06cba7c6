# SPDX-License-Identifier: Apache-2.0
"""The sizes of the project's code: packages, folders, files, and what a charm's modules import."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from import_graph import Module, imports, modules, resolve

ENTRIES = ("plan", "charm")
"""Modules of each charm whose imports are followed."""
NOT_PACKED = "lib/hostnic/testing"
"""The model of a host, which tests/pack leaves out of the charms: its lines are counted on their own."""
CHECKER = "bundles/check"

Subject = tuple[str, str]
"""What is measured, and of what: ``("lines", "lib/charmkit")``."""


def measure(root: Path) -> dict[Subject, int]:
    """Every size, by subject.

    - ``lines``: of a package, or of all that is shipped: lib/ without the model, charms, the MAAS command.
    - ``modules``: Python files directly in a folder.
    - ``file``: lines of one file.
    - ``imported-files``, ``imported-lines``: of a charm's module with all code of the project that it leads
      to, also by imports inside functions and by the ``__init__.py`` of packages.
    """
    files = {path.relative_to(root).as_posix(): _lines(path) for path in _python(root)}
    found = {("file", name): count for name, count in files.items()}
    for name, count in files.items():
        for package in _packages(name):
            found["lines", package] = found.get(("lines", package), 0) + count
        folder = ("modules", name.rpartition("/")[0])
        found[folder] = found.get(folder, 0) + 1
    lib = modules(root / "lib")
    for charm in sorted(path.parent for path in root.glob("charms/*/charmcraft.yaml")):
        known = {**lib, **modules(charm / "src")}
        for entry in ENTRIES:
            if entry in known:
                led_to = closure(known[entry], known)
                found["imported-files", f"{charm.name}/{entry}"] = len(led_to)
                found["imported-lines", f"{charm.name}/{entry}"] = sum(_lines(each.path) for each in led_to)
    return found


def closure(start: Module, known: Mapping[str, Module]) -> list[Module]:
    """The module and all that are loaded with it, packages' ``__init__.py`` included."""
    seen: dict[str, Module] = {}
    todo = [start]
    while todo:
        module = todo.pop()
        if module.name in seen:
            continue
        seen[module.name] = module
        todo += [found for item in imports(module) if (found := resolve(item.target, known))]
        above = module.name.split(".")[:-1]
        todo += [known[name] for end in range(1, len(above) + 1) if (name := ".".join(above[:end])) in known]
    return list(seen.values())


def _python(root: Path) -> Iterator[Path]:
    for pattern in ("lib/**/*.py", "charms/*/src/**/*.py", "bundles/**/*.py"):
        yield from sorted(root.glob(pattern))


def _packages(name: str) -> Iterator[str]:
    """What a file's lines count for."""
    if name.startswith(f"{NOT_PACKED}/"):
        yield NOT_PACKED
        return
    yield "/".join(name.split("/")[: 3 if name.startswith("charms/") else 2])
    if not name.startswith(f"{CHECKER}/"):
        yield "shipped"


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines())
