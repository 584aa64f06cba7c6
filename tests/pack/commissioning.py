# SPDX-License-Identifier: Apache-2.0
"""Make the MAAS commissioning script: one file with the charm's own code in it, for a bare Python.

``tox -e commissioning`` writes ``build/50-nic-firmware.py``. Each module's source is in it as it is, under
its name; a few lines at the end let Python import from there.
"""

import argparse
import sys
from pathlib import Path

from import_graph import Module, imports, modules, resolve

ROOT = Path(__file__).parents[2]
CHARM = ROOT / "charms/nic-firmware/src"
TARGET = ROOT / "build/50-nic-firmware.py"

IMPORTER = '''

class _Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the modules above."""

    def find_spec(self, name, path=None, target=None):
        if name not in SOURCES:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=name in PACKAGES)

    def exec_module(self, module):
        exec(compile(SOURCES[module.__name__], f"<{module.__name__}>", "exec"), module.__dict__)


sys.meta_path.insert(0, _Sources())

from commission import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
'''


def needed() -> dict[str, Module]:
    """The modules that are imported when ``commission`` is, by name."""
    known = {**modules(ROOT / "lib"), **modules(CHARM)}
    found: dict[str, Module] = {}
    todo = [known["commission"]]
    while todo:
        module = todo.pop()
        if module.name in found:
            continue
        found[module.name] = module
        # A module's packages are imported before it.
        todo += [known[name] for name in _packages(module.name) if name in known]
        for item in imports(module):
            target = resolve(item.target, known)
            if target and item.at_start:
                todo.append(target)
    return found


def _packages(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


def outside() -> set[str]:
    """Return the script's imports that are neither in it nor in the standard library."""
    own = {name.partition(".")[0] for name in needed()}
    return (
        {item.root for module in needed().values() for item in imports(module) if item.at_start}
        - own
        - set(sys.stdlib_module_names)
        - {"_typeshed"}
    )


def script() -> str:
    """The script's text."""
    found = needed()
    metadata = _metadata(found["commission"])
    packages = sorted(name for name, module in found.items() if module.path.name == "__init__.py")
    sources = "".join(
        f"    {name!r}: {module.path.read_text()!r},\n" for name, module in sorted(found.items())
    )
    head = "import importlib.abc\nimport importlib.machinery\nimport sys\n"
    return (
        f"#!/usr/bin/env python3\n# SPDX-License-Identifier: Apache-2.0\n{metadata}"
        f"{head}\nPACKAGES = {packages!r}\nSOURCES = {{\n{sources}}}\n{IMPORTER}"
    )


def _metadata(module: Module) -> str:
    text = module.path.read_text().partition('METADATA = """\\\n')[2]
    return text.partition('"""')[0]


def main(arguments: list[str]) -> None:
    """Write the script; the only argument is --help."""
    about = f"Write {TARGET.relative_to(ROOT)}, nic-firmware's script for MAAS, which needs only Python."
    argparse.ArgumentParser(prog="tox -e commissioning --", description=about).parse_args(arguments)
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(script())
    TARGET.chmod(0o755)
    print(TARGET.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
