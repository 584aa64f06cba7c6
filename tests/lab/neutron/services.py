# SPDX-License-Identifier: Apache-2.0
"""Neutron's server on OVN's databases and northd, in one folder; chassis as ovn-controller reports them."""

import json
import re
import shutil
import sqlite3
import subprocess
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType

from lab import store
from lab.image import digest, locked
from lab.neutron import configuration
from lab.neutron.install import Programs
from lab.neutron.processes import Processes, ServiceError
from lab.progress import Step

SCHEMA = Path(__file__).with_name("schema.py")
SERVER = Path(__file__).with_name("server.py")
SERVES = re.compile(r"wsgi starting up on http://127\.0\.0\.1:(\d+)")
"""eventlet.wsgi's line, with the port that the kernel chose."""
DATABASES = {"nb": "Northbound", "sb": "Southbound"}


class Services:
    """Neutron and OVN from ``with`` to its end.

    Args:
        programs: of OVN and Neutron.
        folder: an empty one, whose path is short enough for UNIX sockets (107 characters with their names).
        hosts: compute hosts, each with a chassis that bridges the physical network `tenantvlan`.
        mtu: of the physical networks, in bytes.

    Raises:
        ServiceError: a service does not come up.

    """

    def __init__(self, programs: Programs, folder: Path, hosts: list[str], mtu: int = 9000) -> None:
        self.release, self.folder, self.hosts, self.mtu = programs.release, folder, hosts, mtu
        self._ovn, self._python = programs.ovn / "bin", programs.python
        environment = {name: str(folder) for name in ("OVS_RUNDIR", "OVN_RUNDIR", "OVS_LOGDIR", "HOME")}
        path = f"{self._ovn}:/usr/sbin:/usr/bin:/sbin:/bin"  # Neutron calls ovsdb-client
        self.processes = Processes(folder, {**environment, "PATH": path})
        self._stack = ExitStack()
        self.port = 0

    def __enter__(self) -> "Services":
        with ExitStack() as stack, Step("Neutron on OVN"):
            stack.enter_context(self.processes)
            self._start_ovn()
            for number, name in enumerate(self.hosts, 1):
                self._chassis(name, f"192.168.24.{number}")
            self._start_neutron()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _start_ovn(self) -> None:
        for name in DATABASES:
            schema = self._ovn.parent / f"usr/share/ovn/ovn-{name}.ovsschema"
            self._run("ovsdb-tool", "create", f"{name}.db", str(schema))
            remotes = [
                "--remote",
                f"punix:{self.folder}/{name}.sock",
                "--unixctl",
                f"{self.folder}/{name}.ctl",
            ]
            self.processes.start(
                f"ovsdb-{name}",
                [f"{self._ovn}/ovsdb-server", f"{name}.db", *remotes, "-vconsole:warn"],
                lambda _, name=name: (self.folder / f"{name}.sock").exists(),
            )
        databases = [f"--ovn{name}-db=unix:{self.folder}/{name}.sock" for name in DATABASES]
        control = self.folder / "northd.ctl"
        self.processes.start(
            "ovn-northd",
            [f"{self._ovn}/ovn-northd", *databases, f"--unixctl={control}", "-vconsole:warn"],
            lambda _: control.exists(),
        )

    def _start_neutron(self) -> None:
        configuration.write(self.folder, self.mtu)
        shutil.copy(self._tables(), self.folder / "neutron.sqlite")
        self.processes.start(
            "neutron-server",
            [str(self._python), "-IWignore", str(SERVER), "--config-file", f"{self.folder}/neutron.conf"],
            SERVES.search,
        )
        found = SERVES.search(self.processes.told("neutron-server"))
        self.port = int(found[1]) if found else 0

    def _tables(self) -> Path:
        """An SQLite file with Neutron's empty tables, made once."""
        key = digest([self._python.parents[1].name, SCHEMA])
        path = store.folder() / f"neutron-tables-{key}.sqlite"
        with locked(store.folder() / "neutron-tables.lock"):
            if not path.exists():
                partial = path.with_suffix(".partial")
                partial.unlink(missing_ok=True)
                done = subprocess.run(
                    [str(self._python), "-I", str(SCHEMA), str(partial)],
                    capture_output=True,
                    text=True,
                    check=False,
                )
                if done.returncode != 0:
                    raise ServiceError(f"Neutron's tables cannot be made: {done.stderr.strip()[-500:]}")
                partial.rename(path)
        return path

    def _run(self, program: str, *arguments: str) -> str:
        """Run one of OVN's commands and return its output."""
        command = [f"{self._ovn}/{program}", *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ServiceError(f"{program} {' '.join(arguments)} failed: {done.stderr.strip()}")
        return done.stdout

    def _southbound(self, *arguments: str) -> str:
        return self._run("ovn-sbctl", f"--db=unix:{self.folder}/sb.sock", *arguments)

    def _chassis(self, name: str, address: str) -> None:
        """Register a compute host as its ovn-controller does."""
        options = "ovn-bridge-mappings=tenantvlan:br-data ovn-cms-options=enable-chassis-as-gw"
        self._southbound(
            *("chassis-add", name, "geneve", address),
            *(
                "--",
                "set",
                "chassis",
                name,
                f"hostname={name}",
                *(f"other_config:{o}" for o in _quoted(options)),
            ),
        )
        # Neutron's list of agents has the hosts with this row, and binds ports on no other.
        chassis = self._southbound("--bare", "--columns=_uuid", "find", "Chassis", f"name={name}").strip()
        self._southbound("create", "Chassis_Private", f"name={name}", f"chassis={chassis}")

    def plug(self, port: str, host_: str) -> None:
        """A port's representor or tap came into br-int of a host, and ovn-controller has its flows."""
        self._southbound("--may-exist", "lsp-bind", port, host_)
        number = self._southbound("--bare", "--columns=_uuid", "find", "Port_Binding", f"logical_port={port}")
        self._southbound("set", "Port_Binding", number.strip(), "up=true")

    def unplug(self, port: str) -> None:
        """It left br-int."""
        self._southbound("--if-exists", "lsp-unbind", port)

    def policy(self, text: str) -> None:
        """Replace the policy file, which Neutron reads again before the next request."""
        (self.folder / "policy.yaml").write_text(text)

    def northbound(self) -> Counter[str]:
        """Rows of each table of OVN's northbound database."""
        told = self._run(
            "ovsdb-client", "dump", "-f", "json", f"unix:{self.folder}/nb.sock", "OVN_Northbound"
        )
        tables = [json.loads(line) for line in told.splitlines() if line.strip()]
        return Counter({table["caption"].split()[0]: len(table["data"]) for table in tables})

    def rows(self) -> Counter[str]:
        """Rows of each table of Neutron's database."""
        with closing(sqlite3.connect(self.folder / "neutron.sqlite", timeout=30)) as database:
            tables = database.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
            counting = {name: f"SELECT count(*) FROM {name}" for (name,) in tables}  # noqa: S608 - no input
            return Counter({name: database.execute(one).fetchone()[0] for name, one in counting.items()})


def _quoted(options: str) -> list[str]:
    return [f'{key}="{value}"' for key, value in (option.split("=", 1) for option in options.split())]
