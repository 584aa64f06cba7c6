# SPDX-License-Identifier: Apache-2.0
"""The processor time of the hooks of cumulus-fabric's unit as programs of their own.

Each hook is a Python that runs the charm's ``charm.py`` with what a unit of a simulated site (:mod:`site`)
has kept. Hook tools are programs that ask the simulated controller; the switches run in this process,
and are asked by HTTPS. A hook's processor time is what the kernel says of the ended process, with all of its
threads, less that of the hook tools that it started: on a controller these are Juju's own programs. The
machine that the charm sees is a folder, so that nothing is written to this one. Switches listen at addresses
that the intent has, in 127.0.0.0/8: two runs at a time are refused.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import NamedTuple

from charmkit.fabric import HOST
from lab.juju.hooktools import MODEL, Controller, Ran, Tools
from lab.juju.model import Relation
from lab.nvue import Certificate, Rest, Server

ROOT = Path(__file__).parents[2]
NAME = "cumulus-fabric"
PORT = 8765
"""Of NVUE on a switch."""
RUNS = 2

TOOL = """#!{python} -IS
import json, os, socket, sys
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
given = sys.stdin.read() if name == "relation-set" else ""
with socket.socket(socket.AF_UNIX) as controller:
    controller.connect({address!r})
    controller.sendall(json.dumps([[name, *words], given]).encode())
    controller.shutdown(socket.SHUT_WR)
    code, said = json.loads(b"".join(iter(lambda: controller.recv(1 << 16), b"")))
print(said, end="", file=sys.stderr if code else sys.stdout)
sys.exit(code)
"""
TOOLS = (
    "application-version-set config-get is-leader juju-log relation-get relation-ids relation-list "
    "relation-set resource-get secret-get status-get status-set"
)

HOOK = """
import atexit, os, resource, sys
def tell():
    tools = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(sys.argv[1] + "/tools", "w") as file:
        file.write(str(tools.ru_utime + tools.ru_stime))
atexit.register(tell)
charm = sys.modules["charm"] = type(sys)("charm")
with open(sys.argv[2] + "/charm.py") as file:
    exec(compile(file.read(), file.name, "exec"), vars(charm))
from hostnic.machine import HostFiles, Machine
class Files:
    def __init__(self, files):
        self._files = files
    def __getattr__(self, name):
        act = getattr(self._files, name)
        return lambda path, *given, **named: act(sys.argv[1] + path, *given, **named)
class Folder(Machine):
    files = Files(HostFiles())
    def run(self, argv, timeout=60.0):
        if argv[1] == "enable":
            os.makedirs(wants := sys.argv[1] + "/etc/systemd/system/multi-user.target.wants", exist_ok=True)
            os.symlink("/dev/null", f"{wants}/{argv[-1]}")
        return ""
    query = run
charm.CumulusFabricCharm.machine = staticmethod(Folder)
charm.CumulusFabricCharm.backups = type(charm.CumulusFabricCharm.backups)(sys.argv[1] + "/backups")
charm.ops.main(charm.CumulusFabricCharm)
"""
"""A hook that ends early does so in the first lines of charm.py."""


class Seconds(NamedTuple):
    """Of processor time, for one hook of each kind."""

    joined: float  # a host's unit is there
    silent: float  # it has published nothing
    report: float  # its report is new, and is compared
    survey: float  # all switches are asked


class Unit:
    """A unit of cumulus-fabric whose hooks are processes, with what it has kept so far."""

    def __init__(self, controller: Controller, unit: str, directory: Path) -> None:
        self._controller = controller
        self._unit = unit
        self._host, self._charm = directory / "host", directory / "charm"
        self._host.mkdir()
        shutil.copytree(controller.applications[NAME].directory, self._charm)
        shutil.copy(controller.state(unit), self._charm / ".unit-state.db")
        tools, address = directory / "tools", str(directory / "controller")
        tools.mkdir()
        for name in TOOLS.split():
            (tools / name).write_text(TOOL.format(python=sys.executable, address=address))
            (tools / name).chmod(0o755)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(address)
        self._socket.listen()
        self._source = ROOT / "charms" / NAME / "src"
        self._environment = {
            **os.environ,
            **MODEL,
            "PATH": f"{tools}:{os.environ['PATH']}",
            "PYTHONPATH": f"{ROOT / 'lib'}:{self._source}",
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(directory / "bytecode"),  # a charm has it after its first hook
        }

    def hook(self, hook: str, relation: Relation | None = None, remote: str = "") -> tuple[float, Ran]:
        """Its processor time in seconds, and what it did. Raises RuntimeError if it fails."""
        about = self._controller.environment(self._unit, hook, relation, remote)
        tools, before = Tools(self._controller, self._unit, {}), _of_children()
        with self._answering(tools):
            done = subprocess.run(
                [sys.executable, "-c", HOOK, str(self._host), str(self._source)],
                cwd=self._charm,
                env={**self._environment, **about, "JUJU_CHARM_DIR": str(self._charm)},
                capture_output=True,
                text=True,
                check=False,
            )
        if done.returncode:
            raise RuntimeError(f"{hook}: {done.stderr}")
        tools.commit()
        return _of_children() - before - float((self._host / "tools").read_text()), tools.ran

    @contextmanager
    def _answering(self, tools: Tools) -> Iterator[None]:
        """Have the programs answered; the last connection is this one's own, and ends it."""

        def answer() -> None:
            while True:
                with self._socket.accept()[0] as asked:
                    if not (text := b"".join(iter(lambda: asked.recv(1 << 16), b""))):
                        return
                    argv, given = json.loads(text)
                    try:
                        said = (0, tools(argv, given))
                    except subprocess.CalledProcessError as error:
                        said = (error.returncode, error.stderr)
                    asked.sendall(json.dumps(said).encode())

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield
        finally:
            with socket.socket(socket.AF_UNIX) as last:
                last.connect(self._socket.getsockname())
            thread.join()


def _of_children() -> float:
    """Seconds of processor time of all processes that have ended."""
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def listening(servers: dict[str, Rest], addresses: dict[str, str], directory: Path) -> Iterator[str]:
    """Have switches listen at these addresses of this machine, too; the fingerprint of their certificate."""
    certificate = Certificate.make(directory)
    with ExitStack() as stack:
        for name, rest in servers.items():
            login = {"user": rest.user, "password": rest.password}
            server = Server(rest.switch, certificate, address=addresses[name], port=PORT, **login)
            stack.enter_context(server)
        yield certificate.fingerprint


def measured(unit: Unit, controller: Controller, relation: Relation) -> Seconds:
    """The least time of several hooks of each kind, about hosts in ``relation``, whose databags stay."""
    bags = controller.databags[relation.id]
    name = next(each for each in bags if HOST in bags[each])
    report, new = bags[name], f"{name.partition('/')[0]}/{len(bags)}"
    bags[new] = {"ingress-address": "192.0.2.7"}

    def least(hook: str, remote: str = "") -> float:
        return min(unit.hook(hook, relation if remote else None, remote)[0] for _ in range(RUNS))

    def changed() -> float:
        mtu = 9000 if '"mtu":1500' in bags[name][HOST] else 1500
        bags[name] = {**report, HOST: re.sub('"mtu":[0-9]+', f'"mtu":{mtu}', report[HOST])}
        seconds, ran = unit.hook("relation-changed", relation, name)
        assert not ran.tools["secret-get"], "the switches were asked"
        return seconds

    unit.hook("update-status")  # puts the exporter in place
    try:
        return Seconds(
            joined=least("relation-joined", new),
            silent=least("relation-changed", new),
            survey=least("update-status"),
            report=min(changed() for _ in range(RUNS)),
        )
    finally:
        del bags[new]
        bags[name] = report
