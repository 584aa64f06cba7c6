#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Juju's part for the units of one machine; runs inside the guest and knows no charm by name.

``unit.py serve`` is a service that systemd starts at the first request, so that a hook does not pay for
importing ops each time: each request runs in a forked child that imports the charm anew, under ``flock`` as
Juju's machine lock has it, and with Ubuntu's os-release in a mount namespace of its own. ``unit.py`` with a
request on standard input is the client, ``unit.py juju-exec`` the one that charms' own services use.

A unit is ``/var/lib/juju/agents/unit-<app>-<number>/charm``, the charm with the shared packages staged into
its lib/, as packing does it, and ``/var/lib/lab/units/<app>.json``: what a controller would know of it. A
machine has at most one unit of an application.
"""

import ctypes
import fcntl
import importlib
import inspect
import json
import os
import re
import shutil
import signal
import site
import socket
import struct
import sys
import traceback
from pathlib import Path
from typing import Any

SOCKET = "/run/lab-juju.socket"
LOCK = "/run/lab-juju.lock"
UNITS = Path("/var/lib/lab/units")
AGENTS = Path("/var/lib/juju/agents")
SOURCES = Path("/opt/ovn-offload")
PACKAGES = "/opt/site-packages"
SERIES = Path("/usr/share/lab")
CONTROLLER = "192.168.25.1:17070"
NOT_ATTACHED = "/var/lib/lab/not-attached"
SYSTEMD_FIRST_SOCKET = 3  # sd_listen_fds(3)
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 0x1000, 0x4000, 1 << 18


class RequestError(Exception):
    """The request cannot be served; the message says why."""


def charm_directory(app: str, number: int) -> Path:
    return AGENTS / f"unit-{app}-{number}" / "charm"


def deploy(request: dict[str, Any]) -> dict[str, Any]:
    """Unpack a charm (again: a refresh) and, the first time, note what the controller knows of its unit."""
    app, source = request["app"], SOURCES / "charms" / request.get("charm", request["app"])
    source = Path(request.get("path", source))
    if not (source / "charmcraft.yaml").exists():
        raise RequestError(f"{source} holds no charm")
    number = request.get("number", 0)
    target = charm_directory(app, number)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(
        SOURCES / "lib", target / "lib", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
    )
    if request.get("refresh"):
        return {}
    known = {
        "number": number,
        "config": request.get("config") or {},
        "leader": request.get("leader", True),
        "planned_units": request.get("planned_units", 1),
        "relations": request.get("relations") or [],
        "secrets": request.get("secrets") or [],
    }
    meta = metadata(target)
    given = {relation["endpoint"] for relation in known["relations"]}
    peers = [name for name in meta.get("peers", {}) if name not in given]
    hosts = [name for name, end in meta.get("requires", {}).items() if container(end) and name not in given]
    known["relations"] += [{"endpoint": name} for name in peers]
    if meta.get("subordinate"):
        known["relations"] += [{"endpoint": name, "remote_app_name": "principal"} for name in hosts[:1]]
    for number, relation in enumerate(known["relations"]):
        relation.setdefault("id", number)
    save(app, known)
    return {}


def metadata(directory: Path) -> dict[str, Any]:
    import yaml

    return yaml.safe_load((directory / "charmcraft.yaml").read_text())


def container(endpoint: dict[str, Any]) -> bool:
    return endpoint.get("scope") == "container"


def save(app: str, known: dict[str, Any]) -> None:
    UNITS.mkdir(parents=True, exist_ok=True)
    partial = UNITS / f"{app}.partial"
    partial.write_text(json.dumps(known, indent=1))
    partial.rename(UNITS / f"{app}.json")


def load(app: str) -> dict[str, Any]:
    try:
        return json.loads((UNITS / f"{app}.json").read_text())
    except FileNotFoundError:
        raise RequestError(f"no unit {app} on this machine") from None


def change(request: dict[str, Any]) -> dict[str, Any]:
    """Set what an operator or another unit would: config, leadership, units, relations' remote data."""
    known = load(request["app"])
    for name, value in (request.get("config") or {}).items():
        known["config"][name] = value
        if value is None:
            del known["config"][name]
    for name in ("leader", "planned_units"):
        if name in request:
            known[name] = request[name]
    for new in request.get("relations") or []:
        key = "id" if "id" in new else "endpoint"
        old = [r for r in known["relations"] if r[key] == new[key]]
        if old:
            old[0].update(new)
        else:
            known["relations"].append(
                {**new, "id": 1 + max((r["id"] for r in known["relations"]), default=-1)}
            )
    save(request["app"], known)
    return known


def as_state(testing: Any, known: dict[str, Any], meta: dict[str, Any]) -> Any:
    def relation(saved: dict[str, Any]) -> Any:
        endpoint = saved["endpoint"]
        numbered = {
            key: {int(unit): data for unit, data in value.items()}
            if key in ("peers_data", "remote_units_data")
            else value
            for key, value in saved.items()
        }
        if endpoint in meta.get("peers", {}):
            return testing.PeerRelation(**numbered)
        ends = {**meta.get("requires", {}), **meta.get("provides", {})}
        if endpoint not in ends:
            raise RequestError(f"the charm has no endpoint {endpoint}")
        return (testing.SubordinateRelation if container(ends[endpoint]) else testing.Relation)(**numbered)

    name, message = known.get("status", ["unknown", ""])
    kinds = (testing.ActiveStatus, testing.BlockedStatus, testing.MaintenanceStatus, testing.WaitingStatus)
    kept = next((kind(message) for kind in kinds if kind.name == name), testing.UnknownStatus())
    # ops.testing has no word for a resource that nobody attached: it is where nothing is.
    resources = [testing.Resource(name=name, path=NOT_ATTACHED) for name in meta.get("resources", {})]
    return testing.State(
        resources=resources,
        config=known["config"],
        leader=known["leader"],
        planned_units=known["planned_units"],
        unit_status=kept,
        relations=[relation(saved) for saved in known["relations"]],
        secrets=[testing.Secret(**saved) for saved in known["secrets"]],
    )


def keep(known: dict[str, Any], state: Any) -> None:
    """What the unit itself wrote."""
    for relation in state.relations:
        saved = next(r for r in known["relations"] if r["id"] == relation.id)
        saved["local_app_data"], saved["local_unit_data"] = relation.local_app_data, relation.local_unit_data
    known["status"] = [state.unit_status.name, state.unit_status.message]


def charm_class(ops: Any, directory: Path) -> Any:
    sys.path[:0] = [str(directory / "src"), str(directory / "lib")]
    import charm  # the charm's own src/charm.py

    found = [
        kind for _, kind in inspect.getmembers(charm, inspect.isclass)
        if issubclass(kind, ops.CharmBase) and kind.__module__ == "charm"
    ]  # fmt: skip
    if len(found) != 1:
        raise RequestError(f"{directory}/src/charm.py defines {len(found)} charm classes")
    return found[0]


def dispatch(request: dict[str, Any]) -> dict[str, Any]:
    """Run one event or action through ops.testing, as Juju would through the charm's dispatch script."""
    import ops
    from ops import testing

    app = request["app"]
    known = change(request) if "relations" in request else load(app)
    directory = charm_directory(app, known["number"])
    os.chdir(directory)
    os.environ["JUJU_API_ADDRESSES"] = CONTROLLER
    trace = Path(f"/run/lab-trace-{app}")
    trace.write_text("")
    os.environ["OVN_OFFLOAD_TRACE"] = str(trace)
    reboots: list[bool] = []

    def reboot(unit: Any, now: bool = False) -> None:
        if now:
            raise RequestError("the test machine does not model juju-reboot --now")
        if "action" in request:
            raise ops.ModelError("juju-reboot is not supported when running an action.")
        reboots.append(now)

    ops.Unit.reboot = reboot
    meta = metadata(directory)
    context = testing.Context(
        charm_class(ops, directory), charm_root=directory, app_name=app, unit_id=known["number"]
    )
    state = as_state(testing, known, meta)
    result: dict[str, Any] = {"failure": None, "error": None}
    try:
        if "action" in request:
            event = context.on.action(request["action"], params=request.get("params") or {})
        else:
            event = event_of(context, state, request)
        state = context.run(event, state)
        keep(known, state)
        if reboots:
            known["reboot_requested"] = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        save(app, known)
    except testing.ActionFailed as failed:
        result["failure"] = failed.message
        if failed.state is not None:
            keep(known, failed.state)
            save(app, known)
    except testing.errors.UncaughtCharmError:
        result["error"] = traceback.format_exc()  # a failed hook: what it wrote to Juju is dropped
    return {
        **result,
        "status": known.get("status", ["unknown", ""]),
        "results": context.action_results or {},
        "action_logs": context.action_logs,
        "logs": [[line.level, line.message] for line in context.juju_log],
        "reboot_requested": bool(reboots),
        "relations": known["relations"],
        "writes": [written(json.loads(line)) for line in trace.read_text().splitlines()],
    }


def event_of(context: Any, state: Any, request: dict[str, Any]) -> Any:
    """``config_changed``, or ``<endpoint>_relation_changed`` by ``remote_unit`` or the first other unit."""
    event = request["event"].replace("-", "_")
    found = re.fullmatch(r"(.+)_relation_(created|joined|changed|departed|broken)", event)
    if not found:
        if not hasattr(context.on, event):
            raise RequestError(f"no event {event}")
        return getattr(context.on, event)()
    relation = next((r for r in state.relations if r.endpoint.replace("-", "_") == found[1]), None)
    if relation is None:
        raise RequestError(f"no relation {found[1]}")
    if found[2] in ("created", "broken"):
        return getattr(context.on, f"relation_{found[2]}")(relation)
    others = getattr(relation, "peers_data", None) or getattr(relation, "remote_units_data", None)
    other = request.get("remote_unit", next(iter(others or [0])))
    return getattr(context.on, f"relation_{found[2]}")(relation, remote_unit=other)


def written(entry: dict[str, Any]) -> str:
    """One line of hostnic's trace, as a person reads it: ``write /sys/… 8``."""
    return " ".join([entry["verb"], *(str(argument) for argument in entry["arguments"])])


def present_ubuntu() -> None:
    """Ubuntu's os-release for this process and its children only."""
    libc = ctypes.CDLL(None, use_errno=True)

    def checked(status: int, what: str) -> None:
        if status != 0:
            raise OSError(ctypes.get_errno(), what)

    checked(libc.unshare(CLONE_NEWNS), "unshare")
    checked(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "mount --make-rprivate /")
    for name, target in (("os-release", b"/usr/lib/os-release"), ("lsb-release", b"/etc/lsb-release")):
        checked(libc.mount(os.fsencode(SERIES / name), target, None, MS_BIND, None), name)


VERBS = {
    "deploy": deploy,
    "change": change,
    "dispatch": dispatch,
    "known": lambda request: load(request["app"]),
}


def serve_one(connection: socket.socket) -> None:
    """In the child: read a request, answer it."""
    request = receive(connection)
    with Path(LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            if request["verb"] == "dispatch":
                present_ubuntu()
            answer = {"answer": VERBS[request["verb"]](request)}
        except RequestError as problem:
            answer = {"problem": str(problem)}
        except BaseException:
            answer = {"problem": traceback.format_exc()}
    send(connection, answer)


def send(connection: socket.socket, value: Any) -> None:
    data = json.dumps(value).encode()
    connection.sendall(struct.pack("!I", len(data)) + data)


def receive(connection: socket.socket) -> Any:
    stream = connection.makefile("rb")
    (length,) = struct.unpack("!I", stream.read(4))
    return json.loads(stream.read(length))


def serve() -> None:
    """Import what every hook needs, then fork for each request."""
    sys.path.insert(0, PACKAGES)
    site.addsitedir(PACKAGES)  # runs its .pth files: distutils comes from setuptools, as in a charm's venv
    importlib.import_module("ops.testing")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    with socket.socket(fileno=SYSTEMD_FIRST_SOCKET) as server:
        while True:
            connection, _ = server.accept()
            with connection:
                if os.fork() == 0:
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    serve_one(connection)
                    os._exit(0)


def ask(request: dict[str, Any]) -> Any:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(SOCKET)
        send(connection, request)
        return receive(connection)


def juju_exec(arguments: list[str]) -> int:
    """``juju-exec -u <unit> "JUJU_DISPATCH_PATH=hooks/<event> ./dispatch"``: the form that charms use."""
    found = re.fullmatch(r"-u (\S+)/\d+ JUJU_DISPATCH_PATH=hooks/(\S+) \./dispatch", " ".join(arguments))
    if not found:
        print(f"juju-exec: not modelled: {arguments}", file=sys.stderr)
        return 2
    answer = ask({"verb": "dispatch", "app": found[1], "event": found[2]})
    problem = answer.get("problem") or answer["answer"]["error"]
    print(problem or answer["answer"]["status"], file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["juju-exec"]:
        sys.exit(juju_exec(sys.argv[2:]))
    elif sys.argv[1:] == ["serve"]:
        serve()
    else:
        print(json.dumps(ask(json.load(sys.stdin))))
