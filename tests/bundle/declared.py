# SPDX-License-Identifier: Apache-2.0
"""A charm's declarations in its files, and those in its code about the same things."""

import ast
import dataclasses
import importlib
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml
from charmkit import output
from check.options import config
from exporter import install
from import_graph import Module, modules, packed, reachable

ROOT = Path(__file__).parents[2]
LIB = modules(ROOT / "lib")


class Charm:
    """One directory of charms/."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.name = directory.name

    @cached_property
    def charmcraft(self) -> dict[str, Any]:
        """The content of charmcraft.yaml."""
        return yaml.safe_load((self.directory / "charmcraft.yaml").read_text())

    @cached_property
    def modules(self) -> list[Module]:
        """The charm's own modules that are packed, and those of lib/ that they lead to or install."""
        src = packed(self.directory / "src")
        found = reachable(src, {**LIB, **src})
        if LIB[install.__name__] not in found:
            return found
        return reachable({**src, **{name: LIB[name] for name in install.MODULES}}, {**LIB, **src})

    @cached_property
    def config(self) -> ModuleType:
        """The charm's config.py."""
        return config(self.name)

    @cached_property
    def handlers(self) -> dict[str, type | None]:
        """The actions that the code observes, each with the dataclass of its parameters.

        They stand in calls of ``observe``, or in a table of the type Acting that one handler runs. An action
        may have a second handler that adds to its results; only one of them reads parameters.
        """
        found: dict[str, type | None] = {}
        for module in self.modules:
            for name, params in self._handlers(module):
                assert not (params and found.get(name)), f"two handlers read the parameters of {name}"
                found[name] = params or found.get(name)
        return {**found, "plan": self._planning()}

    def _planning(self) -> type:
        """Return the parameters' class of the action plan: the charm's own, or the one that all have."""
        for module in self.modules:
            for node in ast.walk(ast.parse(module.path.read_text())):
                match node:
                    case ast.Assign(targets=[ast.Name(id="planning")], value=ast.Name(id=name)) if (
                        module.name not in LIB
                    ):
                        return getattr(self.config, name)
                    case _:
                        pass
        return output.Output

    def _handlers(self, module: Module) -> Iterator[tuple[str, type | None]]:
        tree = ast.parse(module.path.read_text())
        functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        for node in ast.walk(tree):
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="observe"),
                    args=[
                        ast.Attribute(
                            value=ast.Subscript(slice=ast.Constant(value=str(name))), attr="action"
                        ),
                        ast.Attribute(attr=handler),
                    ],
                ):
                    loaded = _loaded_params(functions, handler)
                    yield name, self._params(module, loaded) if loaded else None
                case ast.AnnAssign(annotation=ast.Name(id="Acting"), value=ast.Dict(keys=names, values=rows)):
                    for name, row in zip(names, rows):
                        action, params = ast.literal_eval(name), row.elts[0].id
                        yield action.replace("_", "-"), self._params(module, params)

    def _params(self, module: Module, name: str) -> type:
        """A charm has the dataclass in its config.py, or takes one that all charms have in common."""
        own = importlib.import_module(module.name) if module.name in LIB else self.config
        return getattr(own, name) if hasattr(own, name) else getattr(output, name)

    @cached_property
    def dependencies(self) -> dict[str, str]:
        """Packages and versions pinned in the charm's pyproject.toml."""
        text = (self.directory / "pyproject.toml").read_text()
        return dict(re.findall(r'^\s+"([A-Za-z0-9._-]+)==([^";]+)"', text, flags=re.MULTILINE))


CHARMS = [Charm(path.parent) for path in sorted(ROOT.glob("charms/*/charmcraft.yaml"))]


def _loaded_params(functions: dict[str, ast.FunctionDef], handler: str) -> str | None:
    """The class that a handler, or a method that it calls, hands to load_params."""
    seen: set[str] = set()
    todo = [handler]
    while todo:
        name = todo.pop()
        if name in seen or name not in functions:
            continue
        seen.add(name)
        for node in ast.walk(functions[name]):
            match node:
                case ast.Call(func=ast.Name(id="load_params"), args=[_, ast.Name(id=loaded)]):
                    return loaded
                case ast.Attribute(value=ast.Name(id="self"), attr=method):
                    todo.append(method)
                case _:
                    pass
    return None


JUJU_TYPES = {"str": "string", "int": "int", "float": "float", "bool": "boolean", "Secret": "secret"}
JSON_TYPES: dict[str, str | list[str]] = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "str | float": ["string", "number"],
}


def fields(cls: type | None, types: Mapping[str, Any]) -> dict[str, tuple[Any, Any, tuple[str, ...]]]:
    """Per field, by the operator's spelling: type, default, allowed words."""
    return {
        field.name.replace("_", "-"): (
            types[_type_name(field.type)],
            None if field.default is dataclasses.MISSING else field.default,
            tuple(field.metadata.get("choices", ())),
        )
        for field in (dataclasses.fields(cls) if cls else ())
    }


def _type_name(annotation: Any) -> str:
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return name.removesuffix(" | None").rpartition(".")[2]
