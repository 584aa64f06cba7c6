# SPDX-License-Identifier: Apache-2.0
"""The rules of the import graph: who may import ops, which way arrows point, who may touch the machine.

Three roofs: charms/ and lib/ run on nodes, tools/ on an operator's workstation, tests/ where the project is
developed.
"""

import sys
from pathlib import Path

import pytest
from import_graph import Module, cycle, imports, modules, resolve, uses

ROOT = Path(__file__).parents[2]

LAYERS = {
    "charmkit": {"converge", "exporter", "hostnic"},
    "exporter": {"converge", "hostnic"},
    "hostnic": {"converge"},
    "intent": {"converge", "yamlfile"},
    "yamlfile": {"converge"},
    "converge": set(),
}
"""Each shared package, and the shared packages that it may import. A charm may import all of them."""

PACKAGES: dict[str, dict[str, set[str] | None]] = {
    "nic-firmware": {"boot": set(), "nic": {"desired", "observed", "record"}},
    "roce-qos": {
        "boot": {"desired", "nic", "observe", "observed", "plan", "record"},
        "nic": {"desired", "observed"},
    },
    "sriov-switchdev": {
        "boot": {"desired", "live", "nic", "observed", "record"},
        "nic": {"desired", "observed"},
        "writers": {"observed"},
    },
    "cumulus-fabric": {
        "tree": set(),
        "attachments": {"observe", "plan", "tree", "verify"},
        "audit": {"observe", "rest", "tree"},
        "backups": {"audit", "observe", "plan", "rest", "tree"},
        "cables": {"rest", "tree"},
        "logins": {"observe", "plan", "rest", "tree"},
        "rest": {"tree"},
        "roce": {"observe", "rest", "tree"},
        "standalone": set(),
        "upgrade": {
            *("apply", "attachments", "backups", "maintenance", "observe", "online", "output", "plan"),
            *("rest", "settling", "survey", "tree"),
        },
        "output": {"cables", "tree", "standalone"},
        "cli": None,
    },
}
"""By charm, its packages, and what of the charm each may import. None: also the charm's own modules."""

LIBRARIES = {
    "charmkit": {"ops", "charmhelpers"},
    "exporter": {"prometheus_client"},
    "hostnic": {"pyroute2"},
    "intent": {"yaml"},
    "yamlfile": {"yaml"},
    "converge": set(),
}
"""Packages from outside that a shared package may import besides the standard library."""

STDLIB = {*sys.stdlib_module_names, "_typeshed"}

DOORS = {
    *("open", "io.open", "pathlib.Path", "os", "shutil", "tempfile", "glob", "fcntl", "ctypes", "mmap"),
    *("subprocess", "multiprocessing", "asyncio", "socket", "ssl", "urllib.request", "http.client"),
    "sqlite3.connect",
    *("pyroute2", "charmhelpers"),
}
"""Names through which Python reaches files, sockets and processes."""

HARMLESS = {
    *("os.environ", "os.strerror", "os.path", "os.fspath", "os.sep", "os.pathsep"),
    *("subprocess.CalledProcessError", "subprocess.TimeoutExpired"),
    *("socket.inet_ntoa", "socket.inet_aton", "socket.inet_ntop", "socket.inet_pton"),
    *("socket.AF_INET", "socket.AF_INET6"),
}
"""Names in those modules that reach nothing."""

OPENERS = {
    "lib/converge/bounded.py": "connections to switches and services, with limits of bytes and time",
    "lib/exporter/server.py": "connections to the exporter, with limits of number, bytes and time",
    "lib/converge/opener.py": "the same for urllib",
    "lib/yamlfile/reader.py": "reads the YAML files that an operator names",
    "lib/intent/places.py": "sees whether the operator has a file of pinned certificates",
    "lib/hostnic/machine.py": "the System of a real host",
    "lib/hostnic/netlink/channel.py": "its netlink sockets",
    "lib/hostnic/netlink/statistics.py": "its ioctl for the counters of a driver",
    "lib/hostnic/process.py": "its processes",
    "lib/hostnic/download.py": "a program of its own that downloads firmware, and is killed when late",
    "lib/hostnic/network/unixctl.py": "the socket of ovs-vswitchd",
    "lib/hostnic/network/tcp.py": "its TCP connections, which show whether another host is up",
    "lib/hostnic/boot/bootcopy.py": "reads the charm's own code, which it copies for boot",
    "lib/hostnic/firmware/mstdatabase.py": "mstflint's database of parameters, which SQLite itself opens",
    "charms/cumulus-fabric/src/rest/client.py": "the REST interface of the switches",
    "charms/cumulus-fabric/src/rest/connection.py": "the TLS connections to it",
    "charms/cumulus-fabric/src/rest/identity.py": "the client's key, which OpenSSL reads from memory",
    "charms/cumulus-fabric/src/backups/folder.py": "the folder with what switches ran before and after runs",
    "charms/cumulus-fabric/src/upgrade/served.py": "reads the image that switches are to get, with limits",
    "charms/cumulus-fabric/src/cli/passwords.py": "SSH to switches that have the factory's password",
    "charms/cumulus-fabric/src/cli/access.py": "reads the credentials that the command line names",
    "charms/cumulus-fabric/src/cli/inputs.py": "reads and writes the other files that the command line names",
    "lib/charmkit/packages.py": "installs distribution packages through charmhelpers",
}
"""Files that may use doors, and why."""


def shipped(root: Path) -> list[tuple[Path, dict[str, Module]]]:
    """For lib/ and for each charm: its own directory, and all modules here that it can import."""
    lib = modules(root / "lib")
    charms = [root / "charms" / p.parent.name / "src" for p in sorted(root.glob("charms/*/charmcraft.yaml"))]
    return [(root / "lib", lib), *((src, lib | modules(src)) for src in charms)]


def own(root: Path) -> list[Module]:
    """Every module that is shipped, once."""
    return [
        m for directory, known in shipped(root) for m in known.values() if m.path.is_relative_to(directory)
    ]


def where(root: Path, module: Module, line: int) -> str:
    return f"{module.path.relative_to(root).as_posix()}:{line}"


def ops_outside_its_place(root: Path) -> list[str]:
    """Imports of ops anywhere but in a charm.py and lib/charmkit."""
    allowed = list(root.glob("charms/*/src/charm.py"))
    return [
        f"{where(root, module, found.line)} imports {found.target}"
        for module in own(root)
        if module.path not in allowed and not module.path.is_relative_to(root / "lib/charmkit")
        for found in imports(module)
        if found.root == "ops"
    ]


def arrows_against_the_layers(root: Path) -> list[str]:
    """Imports that a layer may not make: lib/ of a charm, a layer of one above it, a verb of charm.py."""
    wrong: list[str] = []
    lib = modules(root / "lib")
    for directory, known in shipped(root):
        for module in (m for m in known.values() if m.path.is_relative_to(directory)):
            for found in imports(module):
                if not _arrow_allowed(module, found.target, lib, known):
                    wrong.append(f"{where(root, module, found.line)} imports {found.target}")
    return wrong


def _arrow_allowed(module: Module, target: str, lib: dict[str, Module], known: dict[str, Module]) -> bool:
    layer, root = module.name.partition(".")[0], target.partition(".")[0]
    if module.name not in lib:  # a charm's own module
        return root != "charm"
    if root in LAYERS:
        return (root == layer or root in LAYERS[layer]) and resolve(target, known) is not None
    return root in STDLIB or root in LIBRARIES[layer]


def arrows_between_packages(root: Path) -> list[str]:
    """Imports that a charm's package may not make, and imports of a package above the charm's own modules."""
    wrong: list[str] = []
    for directory, known in shipped(root):
        packages = PACKAGES.get(directory.parent.name, {})
        mine = {name: module for name, module in known.items() if module.path.is_relative_to(directory)}
        every = {name.partition(".")[0] for name in mine}
        flat = every - {name for name, below in packages.items() if below is None}
        for module in mine.values():
            here = module.name.partition(".")[0]
            below = packages.get(here, flat)
            allowed = every if below is None else below | {here}
            for found in imports(module):
                if resolve(found.target, mine) and found.root not in allowed:
                    wrong.append(f"{where(root, module, found.line)} imports {found.target}")
    return wrong


def arrows_between_roofs(root: Path) -> list[str]:
    """Imports of the tools in what the charms ship, and of tests/ in the tools."""
    lib, tools, tests = (modules(root / name) for name in ("lib", "tools", "tests"))
    names = {name.partition(".")[0] for name in tools}
    up = [(module, found) for module in own(root) for found in imports(module) if found.root in names]
    across = [
        (module, found)
        for module in tools.values()
        for found in imports(module)
        if resolve(found.target, tests) and not resolve(found.target, lib | tools)
    ]
    return [f"{where(root, module, found.line)} imports {found.target}" for module, found in up + across]


def circles(root: Path) -> list[str]:
    """Modules that import each other in a circle, be it later in a function or for types alone.

    A reader of one of them needs all the others.
    """
    wrong: list[str] = []
    lib, tools = (modules(root / name) for name in ("lib", "tools"))
    for known in [*(known for _, known in shipped(root)), lib | tools]:
        graph = {
            name: {
                target.name
                for found in imports(module)
                if (target := resolve(found.target, known)) and target != module
            }
            for name, module in known.items()
        }
        if found := cycle(graph):
            wrong.append(" -> ".join(found))
    return wrong


def doors_opened_elsewhere(root: Path) -> list[str]:
    """Uses of files, sockets and processes outside the few modules that are there for it."""
    openers = {path for pattern in OPENERS for path in root.glob(pattern)}
    return [
        f"{where(root, module, used.line)} uses {used.name}"
        for module in own(root)
        if module.path not in openers
        for used in uses(module)
        if _prefixes(used.name) & DOORS and not _prefixes(used.name) & HARMLESS and used.name not in _BARE
    ]


_BARE = {"os", "subprocess", "socket", "urllib", "http"}
"""The module's own name inside ``os.environ``; what counts is the attribute."""


def _prefixes(name: str) -> set[str]:
    parts = name.split(".")
    return {".".join(parts[:length]) for length in range(1, len(parts) + 1)}


RULES = [
    ops_outside_its_place,
    arrows_against_the_layers,
    arrows_between_packages,
    arrows_between_roofs,
    circles,
    doors_opened_elsewhere,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_repository_keeps_the_rule(rule):
    assert rule(ROOT) == []


def test_every_opener_exists_and_opens_something():
    unused = [
        pattern
        for pattern in OPENERS
        if not any(
            _prefixes(used.name) & DOORS
            for path in ROOT.glob(pattern)
            for used in uses(Module(path.stem, path))
        )
    ]
    assert unused == []


def test_every_package_of_a_charm_is_declared():
    for charm, packages in PACKAGES.items():
        found = {path.parent.name for path in ROOT.glob(f"charms/{charm}/src/*/__init__.py")}
        assert found == packages.keys()


CLEAN = {
    "lib/converge/__init__.py": "import enum\n",
    "lib/hostnic/__init__.py": "",
    "lib/hostnic/system.py": "import converge\n",
    "lib/hostnic/machine.py": "from pathlib import Path\n\nFILE = Path('/proc/version')\n",
    "lib/charmkit/__init__.py": "import ops\nfrom hostnic import system\n",
    "charms/demo/charmcraft.yaml": "name: demo\n",
    "charms/demo/src/charm.py": "import os\nimport ops\nimport plan\n\nADDRESS = os.environ['A']\n",
    "charms/demo/src/plan.py": "from converge import Plan\n",
    "charms/cumulus-fabric/charmcraft.yaml": "name: cumulus-fabric\n",
    "charms/cumulus-fabric/src/tree/__init__.py": "",
    "charms/cumulus-fabric/src/rest/client.py": "import tree\n",
    "charms/cumulus-fabric/src/plan.py": "import json\nfrom rest import client\n",
    "charms/cumulus-fabric/src/cli/__init__.py": "",
    "charms/cumulus-fabric/src/cli/inputs.py": "import plan\n",
    "tools/maas/__init__.py": "import json\nfrom converge import Plan\n",
    "tests/maas/__init__.py": "",
    "tests/lab/guest.py": "import maas\n",
}

CHARM, FABRIC = "charms/demo/src", "charms/cumulus-fabric/src"
LATER = "def f():\n    from ops.model import Unit\n"
FOR_TYPES = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from hostnic import other\n"
OTHER = {
    "lib/hostnic/other.py": "from hostnic import system\n",
    "tools/maas/client.py": "import maas\n",
}
"""Modules that import one of the clean tree."""
WRONG = [
    (ops_outside_its_place, f"{CHARM}/plan.py", "import ops\n", ":1 imports ops"),
    (ops_outside_its_place, "lib/hostnic/devices/pci.py", LATER, ":2 imports ops.model.Unit"),
    (arrows_against_the_layers, "lib/converge/x.py", "import hostnic\n", ":1 imports hostnic"),
    (arrows_against_the_layers, "lib/converge/x.py", "import yaml\n", ":1 imports yaml"),
    (arrows_against_the_layers, "lib/hostnic/x.py", "import charmkit\n", ":1 imports charmkit"),
    (arrows_against_the_layers, "lib/charmkit/x.py", "import plan\n", ":1 imports plan"),
    (arrows_against_the_layers, f"{CHARM}/plan.py", "import charm\n", ":1 imports charm"),
    (arrows_between_packages, f"{FABRIC}/rest/client.py", "def f():\n    import plan\n", ":2 imports plan"),
    (
        arrows_between_packages,
        f"{FABRIC}/rest/client.py",
        "from cli import inputs\n",
        ":1 imports cli.inputs",
    ),
    (arrows_between_packages, f"{FABRIC}/plan.py", "from cli import inputs\n", ":1 imports cli.inputs"),
    (arrows_between_roofs, f"{CHARM}/plan.py", "def f():\n    import maas\n", ":2 imports maas"),
    (arrows_between_roofs, "lib/hostnic/x.py", "from maas import client\n", ":1 imports maas.client"),
    (arrows_between_roofs, "tools/maas/x.py", "from lab.guest import Guest\n", ":1 imports lab.guest.Guest"),
    (circles, "lib/hostnic/system.py", "from hostnic import other\n", ""),
    (circles, "lib/hostnic/system.py", FOR_TYPES, ""),
    (circles, "lib/hostnic/system.py", "def f():\n    from hostnic import other\n", ""),
    (circles, "tools/maas/__init__.py", "def f():\n    from maas import client\n", ""),
    (
        doors_opened_elsewhere,
        "lib/hostnic/devices/pci.py",
        "from pathlib import Path as P\n\nX = P('/').iterdir()\n",
        ":3 uses pathlib.Path",
    ),
    (doors_opened_elsewhere, f"{CHARM}/plan.py", "X = open('/x')\n", ":1 uses open"),
    (
        doors_opened_elsewhere,
        f"{CHARM}/charm.py",
        "import subprocess as sp\n\nsp.run(['true'])\n",
        ":3 uses subprocess.run",
    ),
    (
        doors_opened_elsewhere,
        "lib/charmkit/__init__.py",
        "from os import remove\n\nremove('/x')\n",
        ":3 uses os.remove",
    ),
]
"""A rule, a file that breaks it, its text, and what is said of it after its name."""


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_clean_tree_passes(rule, tmp_path):
    write(tmp_path, CLEAN)
    assert rule(tmp_path) == []


@pytest.mark.parametrize(("rule", "path", "text", "complaint"), WRONG)
def test_each_rule_bites(rule, path, text, complaint, tmp_path):
    write(tmp_path, {**CLEAN, **OTHER, path: text})
    found = rule(tmp_path)
    assert any(f"{path}{complaint}" in line if complaint else line for line in found), found
