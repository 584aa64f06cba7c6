# SPDX-License-Identifier: Apache-2.0
"""Process 1 of the cloud's namespaces: mounts the root, starts the services, ends with its standard input.

Its end ends every process in the namespaces, and takes network, mounts and all files with it: what the
services write is in memory. It prints a line for each step that is done, and :data:`READY` at last; on
failure it prints the reason with the end of the service's log, and exits.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path
from typing import Any

from lab.cloud import services, wires
from lab.cloud.addresses import CONTROLLER, PASSWORD, REGION, url
from lab.cloud.configuration import RABBIT_URL, SOCKET, database, files
from lab.cloud.openstacks import OPENSTACKS
from lab.cloud.services import Service
from lab.patience import Patience

MEMORY = Path("/mnt")
"""In the mount namespace: the host's own stays as it is."""
ROOT = MEMORY / "root"
LOGS = "/var/log/cloud"
READY = "ready"
LIMIT = 300
"""Seconds until a service must be ready, as :class:`lab.patience.Patience` counts them."""
KEPT = ("var/lib/mysql", "etc/keystone/fernet-keys", "etc/keystone/credential-keys")
"""The folders in the databases' archive."""
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root"}
ADMIN = {
    "auth_url": f"{url('keystone')}/v3",
    "username": "admin",
    "password": PASSWORD,
    "project_name": "admin",
    "user_domain_name": "Default",
    "project_domain_name": "Default",
    "region_name": REGION,
}
"""openstacksdk's arguments for the administrator."""


class Failed(Exception):
    """The cloud cannot start; the message says why."""


class Inside:
    """The services in the root, and their processes."""

    def __init__(self, root: str, ovn: str, options: dict[str, Any], suite: str) -> None:
        self.ovn, self.openstack = ovn, OPENSTACKS[suite]
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        _mount(root)
        for path, text in {**files(ovn, options), "/etc/hosts": "127.0.0.1 localhost controller\n"}.items():
            target = ROOT / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        for path in (LOGS, "/run/mysqld", "/run/ovn", "/var/lib/nova/tmp", "/var/lib/neutron/lock"):
            (ROOT / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
        shutil.chown(ROOT / "run/mysqld", *_owner("mysql"))

    def run(self, *command: str) -> None:
        """Run a command in the root to its end."""
        done = subprocess.run(
            ["chroot", str(ROOT), *command], env=ENVIRONMENT, stdin=subprocess.DEVNULL, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
        if done.returncode:
            raise Failed(f"{command[0]} failed:\n{done.stdout[-4000:]}")

    def start(self, *wanted: Service) -> None:
        """Start services side by side, and return when all of them are ready."""
        for service in wanted:
            with (ROOT / LOGS.lstrip("/") / f"{service.name}.log").open("wb") as log:
                self._processes[service.name] = subprocess.Popen(
                    ["chroot", str(ROOT), *service.command], env={**ENVIRONMENT, **service.environment},
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                )  # fmt: skip
        patience = Patience(LIMIT, _processes)
        for service in wanted:
            while not service.ready():
                self._look(service, "is not ready in time" if patience.over() else "")
                time.sleep(0.3)
            self._look(service, "")
            patience.restart()
            print(f"{service.name} is ready", flush=True)

    def stop(self, name: str) -> None:
        """End a service, and wait for its end."""
        self._processes[name].terminate()
        self._processes.pop(name).wait()

    def _look(self, service: Service, wrong: str) -> None:
        status = self._processes[service.name].poll()
        wrong = wrong if status is None else f"has ended with status {status}"
        if wrong:
            log = (ROOT / LOGS.lstrip("/") / f"{service.name}.log").read_text(errors="replace")
            raise Failed(f"{service.name} {wrong}:\n{log[-4000:]}")


def initialize(cloud: Inside) -> None:
    """Create the databases and the catalog; their archive goes to standard output."""
    cloud.start(services.mariadb(str(ROOT)))
    place = MEMORY / "root/root"
    here = Path(__file__).parent
    for name in ("initialize.sh", "catalog.py"):
        shutil.copy(here / name, place / name)
    cells = database("nova_cell0"), database("nova")
    cloud.run("sh", "/root/initialize.sh", f"{url('keystone')}/v3", PASSWORD, REGION, *cells, RABBIT_URL)
    print("the databases exist", flush=True)
    cloud.start(services.keystone(cloud.openstack))
    kinds = {"glance": "image", "placement": "placement", "nova": "compute", "neutron": "network"}
    catalog = [(name, kind, url(name) + ("/v2.1" if name == "nova" else "")) for name, kind in kinds.items()]
    told = {"connect": ADMIN, "password": PASSWORD, "users": list(kinds), "catalog": catalog}
    cloud.run("python3", "/root/catalog.py", json.dumps(told))
    cloud.stop("keystone")
    cloud.run("mariadb-admin", f"--socket={SOCKET}", "shutdown")
    cloud.stop("mariadb")


def keep(path: Path) -> None:
    """Write the databases' archive."""
    with tarfile.open(path, "w") as archive:
        for name in KEPT:
            archive.add(ROOT / name, name)


def run(cloud: Inside, state: str) -> None:
    """Start all services on the databases of the archive."""
    shutil.rmtree(ROOT / "var/lib/mysql")
    # The archive is this module's own, with its owners' numbers.
    subprocess.run(["tar", "-C", str(ROOT), "--numeric-owner", "-xpf", state], check=True)
    own = [services.ovn()] if cloud.ovn == CONTROLLER else []
    openstack = services.keystone(cloud.openstack), *services.rest(cloud.openstack)
    cloud.start(services.mariadb(str(ROOT)), services.rabbitmq(), *own, *openstack)


def _mount(root: str) -> None:
    """The root, writable in memory, with the host's devices."""
    _command("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", str(MEMORY))
    for name in ("upper", "work", "root"):
        (MEMORY / name).mkdir()
    layers = f"lowerdir={root},upperdir={MEMORY / 'upper'},workdir={MEMORY / 'work'}"
    options = layers if os.geteuid() == 0 and _is_real_root() else f"{layers},userxattr"
    _command("mount", "-t", "overlay", "-o", options, "overlay", str(ROOT))
    for name in ("proc", "dev"):
        _command("mount", "--rbind", f"/{name}", str(ROOT / name))
    _command("mount", "-t", "sysfs", "-o", "ro", "sysfs", str(ROOT / "sys"))
    for name in ("run", "tmp"):
        _command("mount", "-t", "tmpfs", "tmpfs", str(ROOT / name))
    (ROOT / "tmp").chmod(0o1777)


def _is_real_root() -> bool:
    return Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]


def _owner(user: str) -> tuple[int, int]:
    """The numbers of a user of the root."""
    lines = (ROOT / "etc/passwd").read_text().splitlines()
    found = next(line.split(":") for line in lines if line.startswith(f"{user}:"))
    return int(found[2]), int(found[3])


def _command(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise Failed(f"{' '.join(command)}: {done.stderr.strip()}")


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _end_with_input() -> None:
    while os.read(0, 1):
        pass
    os._exit(0)


def main(given: dict[str, Any]) -> int:
    """Do what :class:`lab.cloud.cloud.Cloud` asks for."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    socket.sethostname("controller")
    try:
        wires.plug(given.get("cable"))
        wires.forward(given.get("proxy"))
        cloud = Inside(given["root"], given["ovn"], given["options"], given["suite"])
        if given["initialize"]:
            initialize(cloud)
            keep(Path(given["state"]))
        else:
            run(cloud, given["state"])
    except Failed as problem:
        print(problem, flush=True)
        return 1
    print(READY, flush=True)
    if given["initialize"]:
        return 0
    threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
