# SPDX-License-Identifier: Apache-2.0
"""Look into a packed charm: it has what its import graph uses and nothing else, and it works on its base."""

import csv
import importlib.metadata
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import probe
import yaml
from import_graph import Import, Module, imports, modules, reachable, resolve
from lock import LEFT_OUT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from stage import Platform

MEGABYTES = 2.5
"""The largest size of an artifact, in units of 10^6 bytes."""

FILES = frozenset(
    {
        *("LICENSE", "icon.svg", "version", "manifest.yaml", "metadata.yaml", "config.yaml", "actions.yaml"),
        *("dispatch", "src", "lib", "venv", "venv/bin", "venv/bin/activate", "venv/lib", "venv/pyvenv.cfg"),
    }
)
"""All that an artifact has at its root and in its venv."""

VERSION = re.compile(r"\d+\.\d+\.\d+(\+git\.[0-9a-f]{12}(\.modified)?)?\n")


def faults(packed: Path, platform: Platform) -> list[str]:
    """List the faults of an artifact, one sentence each; empty when it is good."""
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(packed) as archive:
        root = Path(scratch)
        archive.extractall(root)
        site = root / "venv/lib" / f"python{platform.python}" / "site-packages"
        if not (root / "dispatch").is_file() or not (root / "src/charm.py").is_file():
            return ["it has no dispatch or no src/charm.py"]
        if not site.is_dir():
            found = [path.name for path in (root / "venv/lib").iterdir()]
            return [
                f"its packages are for {', '.join(found)}, and {platform.name} has Python {platform.python}"
            ]
        graph = Graph(root)
        wrong = [
            *_size_faults(packed),
            *_file_faults(root),
            *_machine_faults(root, platform),
            *_missing_modules(graph, site),
            *_distribution_faults(graph, site, platform),
        ]
        return wrong or probe.faults(root, platform, graph.job())


class Graph:
    """The charm's own modules, all that it can come to, and what they import from installed packages."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.own = modules(root / "src") | modules(root / "lib")
        start = modules(root / "src")
        packages = {found.package for found in reachable(start, self.own)}
        # A charm installs programs on its host by name: nothing imports their module main.
        programs = {f"{package}.main" for package in packages} & self.own.keys()
        start |= {name: self.own[name] for name in programs}
        self.modules = reachable(start, self.own)

    def imports(self) -> Iterator[tuple[Module, Import]]:
        """Each import, also inside functions, that the standard library does not answer."""
        for module in self.modules:
            for found in imports(module):
                if found.root not in sys.stdlib_module_names and found.root != "_typeshed":
                    yield module, found

    def job(self) -> probe.Job:
        """Return the probe's job. The late import of packages.py is run instead of imported."""
        roots = {name.partition(".")[0] for name in self.own}
        late = {
            found.target
            for module, found in self.imports()
            if found.root not in roots and module.name != "charmkit.packages"
        }
        names = sorted(module.name for module in self.modules)
        return probe.Job(names, sorted(late), "charmkit.packages" in names)


def _size_faults(packed: Path) -> list[str]:
    size = packed.stat().st_size / 1e6
    return [f"it has {size:.1f} MB, and may have {MEGABYTES} MB"] if size > MEGABYTES else []


def _machine_faults(root: Path, platform: Platform) -> list[str]:
    """Another base or architecture in the manifest, by which Juju and Charmhub choose an artifact."""
    bases = yaml.safe_load((root / "manifest.yaml").read_text())["bases"]
    found = [
        f"{base['name']}@{base['channel']}:{machine}" for base in bases for machine in base["architectures"]
    ]
    return [] if found == [platform.name] else [f"its manifest is for {', '.join(found)}"]


def _file_faults(root: Path) -> list[str]:
    """Files that no charm needs, files that are missing, and what tells of the packing machine."""
    found = {str(path.relative_to(root)) for path in [*root.iterdir(), *(root / "venv").glob("*")]}
    found |= {str(path.relative_to(root)) for path in (root / "venv/bin").glob("*")}
    wrong = [f"it has {path}, which no charm needs" for path in sorted(found - FILES)]
    wrong += [f"it has no {path}" for path in ("LICENSE", "icon.svg", "version") if path not in found]
    if codes := sum(1 for _ in root.rglob("*.pyc")):
        wrong.append(f"it has byte code of the packing machine's Python: {codes} files")
    if objects := sorted(path.name for path in root.rglob("*.so")):
        wrong.append(f"it has compiled modules, which work on one architecture only: {', '.join(objects)}")
    if "version" in found and not VERSION.fullmatch(text := (root / "version").read_text()):
        wrong.append(f"its file version has {text!r}, and not a version with a git revision")
    if "home = /usr/bin\n" not in (root / "venv/pyvenv.cfg").read_text():
        wrong.append("its pyvenv.cfg names another home than /usr/bin, where a base has its Python")
    return wrong


def _missing_modules(graph: Graph, site: Path) -> list[str]:
    """Imports, also those inside functions, that nothing in the artifact or the standard library answers."""
    installed = {path.name.partition(".")[0] for path in site.iterdir()}
    shared = {name.partition(".")[0] for name in modules(graph.root / "lib")}
    lacking: list[str] = []
    for module, found in graph.imports():
        if found.root in installed:
            continue
        answer = resolve(found.target, graph.own)
        whole = answer is not None and (found.root not in shared or _names(answer, found.target))
        if not whole:
            where = f"{module.path.relative_to(graph.root)}:{found.line}"
            lacking.append(f"{where} imports {found.target}, which the artifact lacks")
    return lacking


def _names(module: Module, target: str) -> bool:
    """Whether the module has the imported name: at most one part follows it, which its text mentions."""
    rest = target[len(module.name) :].strip(".")
    return not rest or ("." not in rest and rest in module.path.read_text())


def _distribution_faults(graph: Graph, site: Path, platform: Platform) -> list[str]:
    """Installed packages that nothing uses, and requirements on the base's Python that are not installed."""
    found = {
        canonicalize_name(item.metadata["Name"]): item
        for item in importlib.metadata.distributions(path=[str(site)])
    }
    environment = {
        "python_version": platform.python,
        "python_full_version": f"{platform.python}.0",
        "extra": "",
    }
    roots = {item.root for _, item in graph.imports()}
    todo = [name for name, item in found.items() if roots & _top_levels(item)]
    used: set[str] = set()
    wrong: list[str] = []
    while todo:
        name = todo.pop()
        if name in used:
            continue
        used.add(name)
        for requirement in map(Requirement, found[name].requires or ()):
            needed = canonicalize_name(requirement.name)
            applies = requirement.marker is None or requirement.marker.evaluate(environment)
            if not applies or needed in LEFT_OUT:
                continue
            if needed in found:
                todo.append(needed)
            else:
                wrong.append(
                    f"{name} needs {requirement} on Python {platform.python}, which the artifact lacks"
                )
    unused = sorted(found.keys() - used)
    return wrong + [f"it has the package {name}, which nothing in it uses" for name in unused]


def _top_levels(item: importlib.metadata.Distribution) -> set[str]:
    """The names by which its modules are imported; those of missing files too, which ``files`` leaves out."""
    rows = csv.reader((item.read_text("RECORD") or "").splitlines())
    return {row[0].partition("/")[0].partition(".")[0] for row in rows if row}
