# SPDX-License-Identifier: Apache-2.0
"""Look into a packed charm: is all there that its import graph uses, and does it import on pure Python?"""

import importlib.metadata
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from import_graph import Module, imports, modules, reachable, resolve
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from stage import COMPILED_ALLOWED, Platform

PROBE = """
import importlib, importlib.machinery as machinery, json, sys
sys.path[:0], names, compiled = json.loads(sys.argv[1])
if not compiled:
    directories = tuple(sys.path[:3])
    refuse = machinery.ExtensionFileLoader.create_module
    def create_module(self, spec):
        if spec.origin.startswith(directories):
            raise ImportError(f"{spec.origin} is compiled")
        return refuse(self, spec)
    machinery.ExtensionFileLoader.create_module = create_module
for name in names:
    importlib.import_module(name)
"""


def faults(packed: Path, platform: Platform) -> list[str]:
    """What is wrong with an artifact, one sentence each; empty when it is good."""
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(packed) as archive:
        root = Path(scratch)
        archive.extractall(root)
        name = packed.name.partition("_")[0]
        site = root / "venv/lib" / f"python{platform.python}" / "site-packages"
        if not (root / "dispatch").is_file() or not (root / "src/charm.py").is_file():
            return ["it has no dispatch or no src/charm.py"]
        if not site.is_dir():
            found = [path.name for path in (root / "venv/lib").iterdir()]
            return [
                f"its packages are for {', '.join(found)}, and {platform.name} has Python {platform.python}"
            ]
        lacking = [*_missing_modules(root, site), *_missing_distributions(site, platform)]
        return lacking or _import_fault(root, site, platform, compiled=name in COMPILED_ALLOWED)


def _missing_modules(root: Path, site: Path) -> list[str]:
    """Imports, also those inside functions, that nothing in the artifact or the standard library answers."""
    own = modules(root / "src") | modules(root / "lib")
    installed = {path.name.partition(".")[0] for path in site.iterdir()}
    shared = {name.partition(".")[0] for name in modules(root / "lib")}
    lacking: list[str] = []
    for module in reachable(modules(root / "src"), own):
        for found in imports(module):
            if found.root in sys.stdlib_module_names or found.root in installed or found.root == "_typeshed":
                continue
            answer = resolve(found.target, own)
            whole = answer is not None and (found.root not in shared or _names(answer, found.target))
            if not whole:
                where = f"{module.path.relative_to(root)}:{found.line}"
                lacking.append(f"{where} imports {found.target}, which the artifact lacks")
    return lacking


def _names(module: Module, target: str) -> bool:
    """Whether the module has the imported name: at most one part follows it, which its text mentions."""
    rest = target[len(module.name) :].strip(".")
    return not rest or ("." not in rest and rest in module.path.read_text())


def _missing_distributions(site: Path, platform: Platform) -> list[str]:
    """Requirements of the installed packages, as the base's Python reads them, that are not installed."""
    found = {
        canonicalize_name(item.metadata["Name"]): item
        for item in importlib.metadata.distributions(path=[str(site)])
    }
    environment = {
        "python_version": platform.python,
        "python_full_version": f"{platform.python}.0",
        "extra": "",
    }
    return [
        f"{name} needs {requirement} on Python {platform.python}, which the artifact lacks"
        for name, item in found.items()
        for requirement in map(Requirement, item.requires or ())
        if (requirement.marker is None or requirement.marker.evaluate(environment))
        and canonicalize_name(requirement.name) not in found
    ]


def _import_fault(root: Path, site: Path, platform: Platform, *, compiled: bool) -> list[str]:
    """Import every module of the charm's src/ as dispatch would, in a Python that sees nothing else."""
    theirs = Path(f"/usr/bin/python{platform.python}")
    python = str(theirs) if theirs.exists() else sys.executable
    path = [str(root / "lib"), str(root / "src"), str(site)]
    arguments = json.dumps([path, sorted(modules(root / "src")), compiled])
    done = subprocess.run(
        [python, "-I", "-S", "-B", "-c", PROBE, arguments], capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return []
    return [f"it does not import: {done.stderr.strip().splitlines()[-1]}"]
