# SPDX-License-Identifier: Apache-2.0
"""A whole site of 8, 64 and 256 nodes, with the charms' own code: what each hook of each unit costs.

``PYTHONPATH=lib:tests python tests/bench/site.py [--tool SECONDS] [NODES …]`` prints a table for each size.
Hosts are modelled (tests/lab/modelled), one for each unit; switches are simulated (tests/lab/nvue) and run
the intent; :mod:`lab.juju` is Juju. Racks have 16 nodes and come up a minute apart.

``hours`` is until nothing is left to do, with hook tools and other processes of ``--tool`` seconds each.
Processor time in the tables is that of the thread in which a hook runs, without the start of Python;
switches are simulated in other threads. After the deployment :mod:`processes` measures what hooks of the
fabric's unit take as programs of their own; these times, for the hooks that were counted, are compared.
The program ends with 1 if a deployment costs the fabric's unit more than it may.
"""

import argparse
import importlib
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests/bench")]

import fabric as fabrics  # noqa: E402
import processes  # noqa: E402
from lab.juju.agents import STATUS, Agents, Costs, Count, Does, Machine, Spent  # noqa: E402
from lab.juju.hooktools import Controller  # noqa: E402
from lab.juju.model import Event  # noqa: E402
from lab.modelled import FakeHost  # noqa: E402

SIZES = {8: (1, 2), 16: (1, 2), 64: (2, 8), 256: (16, 32)}
"""Spines and leaves."""

IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where units keep their state: each hook waits for a disk otherwise."""

RACK = 16
FABRIC = "cumulus-fabric"
HOST_CHARMS = ("nic-firmware", "sriov-switchdev", "roce-qos")
SURVEYS = 20
"""Of all switches in a deployment, at most."""

GROWTH = 1.25
"""How much faster than the number of nodes the processor time of the fabric's unit may grow: 20 times from 16
nodes to 256."""

APART = 8
"""Sizes that are closer are not compared: what a slow moment adds would count for too much."""

DAY = 86_400


class Code:
    """The modules of one charm: each charm has a module charm, config, plan …, so one is there at a time."""

    def __init__(self, name: str) -> None:
        self._path = str(ROOT / "charms" / name / "src")
        self._modules: dict[str, Any] = {}
        self._names = {each.stem for each in Path(self._path).iterdir()}
        with self.active():
            module = importlib.import_module("charm")
        own = [each for each in vars(module).values() if getattr(each, "__module__", "") == "charm"]
        self.module = module
        self.kind = next(each for each in own if isinstance(each, type) and hasattr(each, "on"))

    @contextmanager
    def active(self) -> Iterator[None]:
        """Have these modules imported."""
        sys.path.insert(0, self._path)
        hidden = {name: sys.modules.pop(name) for name in self._names & sys.modules.keys()}
        sys.modules.update(self._modules)
        try:
            yield
        finally:
            sys.path.remove(self._path)
            for name, module in list(sys.modules.items()):
                if (getattr(module, "__file__", None) or "").startswith(self._path):
                    self._modules[name] = sys.modules.pop(name)
            sys.modules.update(hidden)


class Site:
    """A model with the bundle's charms, its machines and its switches."""

    def __init__(self, nodes: int, directory: Path, stack: ExitStack, tool: float) -> None:
        self.nodes = 0
        self.hosts: dict[str, FakeHost] = {}
        self.of_the_fabric = FakeHost([], bonded=False)
        self.controller = Controller(directory)
        self.codes = {name: Code(name) for name in (FABRIC, *HOST_CHARMS)}
        of_a_host = Does(self._on_host, self._spawned, lambda unit: self.hosts[unit].reboot())
        does = {**dict.fromkeys(HOST_CHARMS, of_a_host), FABRIC: Does(self._at_switches, self._asked)}
        self.agents = Agents(self.controller, does, Costs(tool))
        spines, leaves = SIZES.get(nodes) or (1, 2 * -(-nodes // RACK))
        self._rack(spines, leaves, max(nodes, RACK), stack)
        for name, code in self.codes.items():
            self.controller.deploy(ROOT / "charms" / name, code.kind)
        self.controller.secrets["secret:1"] = {"user": "cumulus", "password": self._password}
        pins = " ".join(f"{name}={'0' * 64}" for name in self.rack.servers)
        self.options(FABRIC).update(
            {"intent": self.intent, "credentials": "secret:1", "pinned-certificates": pins}
        )
        self.controller.relate({FABRIC: "applied"})
        self._fabric = self.controller.relate({FABRIC: "fabric", "roce-qos": "fabric"})
        for name in ("nic-firmware", "sriov-switchdev"):
            self.controller.relate({name: "reboot"})
        self._principals = [
            self.controller.relate({name: "juju-info", "nova-compute": "juju-info"}) for name in HOST_CHARMS
        ]

    def options(self, name: str) -> dict[str, Any]:
        """The options of an application."""
        return self.controller.applications[name].config

    def _rack(self, spines: int, leaves: int, hosts: int, stack: ExitStack) -> None:
        content = yaml.safe_load(fabrics.intent(spines, leaves, hosts))
        content["leaves"]["management"] = "127.2.0.1"
        content["spines"]["management"] = "127.3.0.1"
        self.intent = yaml.safe_dump(content)
        with self.codes[FABRIC].active():
            site = importlib.import_module("unit.cumulus_fabric.online.site")
            read = importlib.import_module("intent.expand").read
            self.rack = stack.enter_context(site.rack(read(self.intent), applied=True))
            self._password = site.PASSWORD
            online = importlib.import_module("online")
            made = self.rack.site.fleet

            def connect(fabric: Any, access: Any, limit: int) -> Any:
                return online.Fleet(
                    {name: made.switches[name] for name in made.switches}, limit, self.rack.clock
                )

            self.codes[FABRIC].kind.connect = staticmethod(connect)
            self.codes[FABRIC].kind.machine = staticmethod(lambda: self.of_the_fabric)
            self.codes[FABRIC].module.time = self  # the charm's clock

    def time(self) -> float:
        """Seconds, for the charm."""
        return self.agents.now

    @contextmanager
    def _at_switches(self, unit: str) -> Iterator[None]:
        for server in self.rack.servers.values():
            server.calls.clear()
        with self.codes[FABRIC].active():
            yield

    def _asked(self, unit: str) -> Spent:
        return Spent(requests=sum(len(server.calls) for server in self.rack.servers.values()))

    def measured(self, directory: Path) -> processes.Seconds:
        """Measure hooks of the fabric's unit as processes, with all that it has kept until now."""
        options, pins = self.options(FABRIC), self.options(FABRIC)["pinned-certificates"]
        addresses = {each.name: each.management for each in self.rack.fabric.switches}
        directory.mkdir()
        with processes.listening(self.rack.servers, addresses, directory) as fingerprint:
            options["pinned-certificates"] = " ".join(f"{name}={fingerprint}" for name in addresses)
            try:
                unit = processes.Unit(self.controller, f"{FABRIC}/0", directory)
                return processes.measured(unit, self.controller, self._fabric)
            finally:
                options["pinned-certificates"] = pins

    @contextmanager
    def _on_host(self, unit: str) -> Iterator[None]:
        code, host = self.codes[unit.partition("/")[0]], self.hosts[unit]
        host.spawned.clear()
        host.trace.clear()
        code.kind.machine = staticmethod(lambda: host)
        with code.active():
            yield

    def _spawned(self, unit: str) -> Spent:
        return Spent(others=len(self.hosts[unit].spawned))

    def add_rack(self, nodes: int) -> None:
        """Nodes with one unit of each host charm."""
        numbers = range(self.nodes, self.nodes + nodes)
        for number in numbers:
            for relation in self._principals:
                self.agents.principal(f"nova-compute/{number}", relation)
        for number in numbers:
            machine = Machine()
            for name in HOST_CHARMS:
                self.hosts[f"{name}/{number}"] = node()
                self.agents.start(f"{name}/{number}", machine)
        self.nodes = numbers.stop

    def deploy(self, nodes: int) -> None:
        """The fabric first, then rack by rack."""
        self.agents.start(f"{FABRIC}/0", Machine())
        for start in range(0, nodes, RACK):
            few = min(RACK, nodes - start)
            self.agents.later(60.0 * (start // RACK), lambda few=few: self.add_rack(few))
        self.agents.later(60.0 * (nodes // RACK) + STATUS, lambda: self.tick(FABRIC))

    def tick(self, *names: str) -> None:
        """update-status of all units of these applications."""
        for name in names:
            for unit in self.agents.all(name):
                self.agents.emit(unit, Event("update-status"))

    def change(self, name: str, **options: Any) -> None:
        """Set options of an application."""
        self.options(name).update({key.replace("_", "-"): value for key, value in options.items()})
        for unit in self.agents.all(name):
            self.agents.emit(unit, Event("config-changed"))


def node() -> FakeHost:
    """A compute node as MAAS leaves it, with what the charms' tools need."""
    host = FakeHost()
    for tool in ("mstconfig", "setpci"):
        host.disk.install(f"/usr/bin/{tool}", b"", 0o755)
    host.disk.install("/proc/net/route", b"Iface\tDestination\tGateway\n", 0o644)
    host.disk.install("/proc/1/environ", b"HOME=/\0", 0o400)
    host.disk.install("/proc/sys/kernel/hostname", b"node1\n", 0o444)
    host.answers[("systemd-run",)] = ""
    return host


HEADS = (
    "hooks/unit",
    "looks/unit",
    "tools/hook",
    "most",
    "others/hook",
    "surveys",
    "req/switch",
    "cpu s",
    "busy s/unit",
)


def show(site: Site, phase: str, seconds: float, times: int = 1) -> None:
    """The rows of one phase; then everything is counted from here."""
    print(f"\n{phase}: {seconds / 3600:.2f} hours" + (f", of which {times} in a day" if times > 1 else ""))
    print(f"{'':16}" + "".join(f"{head:>13}" for head in HEADS))
    for name in site.codes:
        count = site.agents.count(name)
        if not count.hooks:
            continue
        hooks, units = count.hooks.total(), max(len(site.agents.all(name)), 1)
        tools = sum(many * each for many, each in count.tools.items())
        cells = (
            f"{hooks / units:.1f}", f"{count.looks / units:.1f}", f"{tools / hooks:.1f}",
            str(max(count.tools)), f"{count.others / hooks:.1f}", str(count.surveys),
            f"{count.requests / len(site.rack.servers):.0f}", f"{count.seconds:.2f}",
            f"{count.busy / units:.1f}",
        )  # fmt: skip
        print(f"{name:16}" + "".join(f"{cell:>13}" for cell in cells), flush=True)
    bags = ", ".join(f"{kind} {size:,}" for kind, size in sorted(site.agents.largest.items()))
    print(f"databags, bytes at most: {bags or 'none written'}", flush=True)
    site.agents.reset()


class Deployed(NamedTuple):
    """The hooks of the fabric's unit in a deployment, and the cost of a hook of each kind as a process."""

    count: Count
    each: processes.Seconds

    @property
    def seconds(self) -> float:
        """Processor time of all of its hooks."""
        hooks, joined = self.count.hooks.total(), self.count.hooks["relation-joined"]
        return (
            self.each.joined * joined
            + self.each.silent * (self.count.early - joined)
            + self.each.report * (hooks - self.count.early - self.count.surveys)
            + self.each.survey * self.count.surveys
        )


def run(nodes: int, tool: float) -> Deployed:
    """All phases of one size."""
    print(f"\n== {nodes} nodes, a hook tool takes {tool * 1000:.0f} ms")
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as directory, ExitStack() as stack:
        site = Site(nodes, Path(directory), stack, tool)

        def phase(name: str, times: int = 1) -> Count:
            seconds = site.agents.settle()
            count = site.agents.count(FABRIC)
            show(site, name, seconds, times)
            return count

        site.deploy(nodes)
        found = Deployed(phase("deployment"), site.measured(Path(directory) / "processes"))
        times = ", ".join(f"{what} {seconds:.3f}" for what, seconds in found.each._asdict().items())
        print(f"{FABRIC}'s hooks as processes, processor time: {times}; in all {found.seconds:.1f} s")
        site.change("sriov-switchdev", reboot_settle=301)
        phase("one option of sriov-switchdev")
        content = yaml.safe_load(site.intent)
        content["mtu"] = {"host": 8900}
        site.change(FABRIC, intent=yaml.safe_dump(content))
        phase("the intent: another MTU for hosts")
        site.agents.lose([f"{name}/{nodes - 1}" for name in HOST_CHARMS])
        phase("the loss of one node")
        site.add_rack(RACK)
        phase("one more rack")
        site.tick(FABRIC, *HOST_CHARMS)
        phase("update-status of all", times=int(DAY / STATUS))
    return found


def over(deployed: Mapping[int, Deployed]) -> list[str]:
    """List the excessive costs of a deployment for the fabric's unit; ``deployed`` is by number of nodes."""
    found = [
        f"{each.count.surveys} surveys of the switches for {nodes} nodes, {SURVEYS} are allowed"
        for nodes, each in deployed.items()
        if each.count.surveys > SURVEYS
    ]
    for (few, less), (many, more) in combinations(sorted(deployed.items()), 2):
        if many < APART * few:
            continue
        ratio, allowed = more.seconds / less.seconds, GROWTH * many / few
        what = f"processor time of {FABRIC}'s unit in a deployment of {many} nodes against {few}"
        print(f"{what}: {less.seconds:.1f} s, {more.seconds:.1f} s: ratio {ratio:.1f}, allowed {allowed:.1f}")
        if ratio > allowed:
            found.append(f"{what}: ratio {ratio:.1f}, {allowed:.1f} is allowed")
    return found


def main(sizes: Sequence[int], tool: float = 0.005) -> int:
    """Print the tables, and those of a rolling reboot; 1 if a deployment costs more than it may."""
    import reboots

    problems = over({nodes: run(nodes, tool) for nodes in sizes})
    reboots.main(tuple(sizes))
    print("\n".join(problems), file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="tox -e site --", description=__doc__)
    parser.add_argument("nodes", nargs="*", type=int)
    parser.add_argument("--tool", type=float, default=0.005, help="seconds that a hook tool takes")
    given = parser.parse_args()
    sys.exit(main(given.nodes or tuple(SIZES), given.tool))
