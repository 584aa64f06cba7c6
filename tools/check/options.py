# SPDX-License-Identifier: Apache-2.0
"""Options as the code of this project's charms declares them: the class Options of each config.py."""

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]


@cache
def config(name: str) -> ModuleType:
    """A charm's config.py, loaded under a name of its own: every charm has a module of that name."""
    path = ROOT / "charms" / name / "src/config.py"
    spec = importlib.util.spec_from_file_location(f"{name.replace('-', '_')}_config", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def classes() -> dict[str, type[Any]]:
    """The class Options of each charm, by the charm's name; it refuses values with an InvalidValue."""
    names = sorted(path.parent.name for path in ROOT.glob("charms/*/charmcraft.yaml"))
    return {name: config(name).Options for name in names}
