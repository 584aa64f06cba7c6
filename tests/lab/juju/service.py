#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Juju's part for the units of one machine; runs inside the guest and knows no charm by name.

``unit.py serve`` is a service that systemd starts at the first request, so that a hook does not pay for
importing ops and its charm: each request runs in a forked child, one at a time as under Juju's machine lock.
Clients are :mod:`lab.juju` from outside, and ``unit.py juju-exec``, which charms' own services use.

A unit is ``/var/lib/juju/agents/unit-<app>-<number>/charm``, the charm with the shared packages staged into
its lib/, as packing does it, and ``/var/lib/lab/units/<app>.json``: what a controller would know of it. A
machine has at most one unit of an application. ``/run/lab-<app>.trace``: its hooks' writes since the boot.
"""

import importlib
import json
import os
import re
import shutil
import site
import socket
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

SOCKET = "/run/lab-juju.socket"
UNITS = Path("/var/lib/lab/units")
AGENTS = Path("/var/lib/juju/agents")
TRACES = Path("/run")
SOURCES = Path("/opt/ovn-offload")
PACKAGES = "/opt/site-packages"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
CONTROLLER = "192.168.25.1:17070"
NOT_ATTACHED = "/var/lib/lab/not-attached"
SYSTEMD_FIRST_SOCKET = 3  # sd_listen_fds(3)
UNLESS_GIVEN = {"number": 0, "config": {}, "leader": True, "planned_units": 1, "secrets": []}


def save(known: dict[str, Any]) -> None:
    """As one line: the rack's controller looks at those of all units at once.

    Durable, as the real controller is elsewhere: a machine that loses its power takes nothing of it along.
    """
    UNITS.mkdir(parents=True, exist_ok=True)
    new = UNITS / f"{known['app']}.partial"
    with new.open("w") as file:
        file.write(f"{json.dumps(known)}\n")
        file.flush()
        os.fsync(file.fileno())
    new.rename(new.with_suffix(".json"))
    directory = os.open(UNITS, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


def load(app: str) -> dict[str, Any]:
    return json.loads((UNITS / f"{app}.json").read_text())


def deploy(request: dict[str, Any]) -> None:
    """Unpack a charm, and note what the controller knows of its unit."""
    known = {**UNLESS_GIVEN, "status": ["waiting", "agent initialising"], **request}
    known.setdefault("path", str(SOURCES / "charms" / known.get("charm", known["app"])))
    known.setdefault("lib", str(SOURCES / "lib"))
    known["directory"] = str(AGENTS / f"unit-{known['app']}-{known['number']}" / "charm")
    unpack(known)
    if "relations" not in known:  # with peers, and a subordinate's with its principal: by themselves
        meta = metadata(known)
        hosts = [name for name, end in meta.requires.items() if end.scope == "container"]
        own = [*meta.peers, *(hosts[:1] if meta.subordinate else [])]
        known["relations"] = [{"id": number, "endpoint": name} for number, name in enumerate(own)]
    save(known)


def change(request: dict[str, Any]) -> dict[str, Any]:
    """Set what an operator or another unit would: config (None resets an option), relations' remote data.

    Also who leads, and how many units there are.
    """
    known = load(request["app"])
    config = {**known["config"], **request.get("config", {})}
    known["config"] = {name: value for name, value in config.items() if value is not None}
    relations = {each["id"]: each for each in known["relations"]}
    for new in request.get("relations", []):
        relations.setdefault(new["id"], {}).update(new)
    known["relations"] = list(relations.values())
    known.update({name: request[name] for name in ("leader", "planned_units") if name in request})
    for relation in known["relations"]:  # JSON has made text of the other units' numbers
        for key in relation.keys() & {"peers_data", "remote_units_data"}:
            relation[key] = {int(number): data for number, data in relation[key].items()}
    save(known)
    return known


def unpack(known: dict[str, Any]) -> None:
    target = Path(known["directory"])
    shutil.rmtree(target, ignore_errors=True)
    for part, place in ((known["path"], target), (known["lib"], target / "lib")):
        shutil.copytree(part, place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))


def metadata(known: dict[str, Any]) -> Any:
    import ops
    import yaml

    return ops.CharmMeta(yaml.safe_load(Path(known["directory"], "charmcraft.yaml").read_text()))


def charm_class(ops: Any, directory: Path) -> Any:
    sys.path[:0] = [str(directory / "src"), str(directory / "lib")]
    import charm  # the charm's own src/charm.py

    own = [each for each in vars(charm).values() if getattr(each, "__module__", "") == "charm"]
    (found,) = [each for each in own if isinstance(each, type) and issubclass(each, ops.CharmBase)]
    return found


def as_state(testing: Any, known: dict[str, Any], meta: Any) -> Any:
    """Return the controller's knowledge as ops.testing has it."""
    principal = partial(testing.SubordinateRelation, remote_app_name="principal")
    kinds = dict.fromkeys(meta.peers, testing.PeerRelation)
    for name, end in {**meta.requires, **meta.provides}.items():
        kinds[name] = principal if end.scope == "container" else testing.Relation
    return testing.State(
        # ops.testing has no word for a resource that nobody attached: it is where nothing is.
        resources=[testing.Resource(name=name, path=NOT_ATTACHED) for name in meta.resources],
        config=known["config"],
        leader=known["leader"],
        planned_units=known["planned_units"],
        unit_status=testing.UnknownStatus.from_status_name(*known["status"]),
        relations=[kinds[saved["endpoint"]](**saved) for saved in known["relations"]],
        secrets=[testing.Secret(**saved) for saved in known["secrets"]],
        stored_states=[testing.StoredState(**saved) for saved in known.get("stored", [])],
    )


def event_of(context: Any, state: Any, event: str, request: dict[str, Any]) -> Any:
    """``config_changed``, ``<endpoint>_relation_changed`` by ``remote_unit`` …, or without one an action."""
    if not event:
        return context.on.action(request["action"], params=request["params"])
    endpoint, of_relation, kind = event.partition("_relation_")
    if not of_relation:
        return getattr(context.on, event)()
    relation = next(each for each in state.relations if each.endpoint.replace("-", "_") == endpoint)
    by = {"remote_unit": request["remote_unit"]} if request.get("remote_unit") is not None else {}
    if kind == "changed" and not (by or getattr(relation, "peers_data", True)):
        by = {"remote_unit": 0}  # ops.testing wants one also where nobody has joined; see :func:`told`
    return getattr(context.on, f"relation_{kind}")(relation, **by)


@contextmanager
def told(**about: str) -> Iterator[None]:
    """Have Juju tell a hook what ops.testing has no word for, in these variables of its environment.

    A change in an application's databag has no remote unit, where ops.testing takes the first one; and a unit
    that leaves a relation is the one that departs, whatever unit it loses.
    """
    runtime = importlib.import_module("scenario._runtime").Runtime
    environment = runtime._get_event_env
    runtime._get_event_env = lambda self, **given: {**environment(self, **given), **about}
    try:
        yield
    finally:
        runtime._get_event_env = environment


def dispatch(request: dict[str, Any]) -> dict[str, Any]:
    """Run one event or action through ops.testing, as Juju would through the charm's dispatch script."""
    import ops
    from ops import testing

    known, event = change(request), request.get("event", "").replace("-", "_")
    directory, trace = Path(known["directory"]), TRACES / f"lab-{known['app']}.trace"
    if event == "upgrade_charm":
        known.update({part: request[part] for part in ("path", "lib") if part in request})
        unpack(known)
    os.chdir(directory)
    trace.touch()
    before = trace.stat().st_size
    os.environ.update(JUJU_API_ADDRESSES=CONTROLLER, OVN_OFFLOAD_TRACE=str(trace))
    reboots: list[bool] = []

    def reboot(unit: Any) -> None:  # juju-reboot --now is not modelled
        if not event:
            raise ops.ModelError("juju-reboot is not supported when running an action.")
        reboots.append(True)

    ops.Unit.reboot = reboot
    charm = charm_class(ops, directory)
    context = testing.Context(charm, charm_root=directory, app_name=known["app"], unit_id=known["number"])
    state, failure = as_state(testing, known, metadata(known)), None
    try:
        with told(**request.get("told", {})):
            state = context.run(event_of(context, state, event, request), state)
    except testing.ActionFailed as failed:
        state, failure = failed.state, failed.message
    except testing.errors.UncaughtCharmError:
        return {"error": traceback.format_exc()}  # a failed hook: what it wrote to Juju is dropped
    for relation in state.relations:
        saved = next(each for each in known["relations"] if each["id"] == relation.id)
        saved.update(local_app_data=relation.local_app_data, local_unit_data=relation.local_unit_data)
    broken, _, _ = event.partition("_relation_broken")
    if broken != event:
        known["relations"] = [
            each for each in known["relations"] if each["endpoint"].replace("-", "_") != broken
        ]
    known["status"] = [state.unit_status.name, state.unit_status.message]
    known["stored"] = [
        {"name": each.name, "owner_path": each.owner_path, "content": each.content}
        for each in state.stored_states
    ]
    writes = [json.loads(line) for line in trace.read_bytes()[before:].splitlines()]  # hostnic's
    if event:
        count(known, event, observed=bool(context.unit_status_history), wrote=bool(writes))
    if reboots:
        known["reboot_requested"] = BOOT_ID.read_text().strip()
    save(known)
    return {
        "status": known["status"],
        "reboot_requested": bool(reboots),
        "relations": known["relations"],
        "logs": [[line.level, line.message] for line in context.juju_log],
        "writes": [" ".join([each["verb"], *map(str, each["arguments"])]) for each in writes],
        "results": context.action_results or {},
        "failure": failure,
    }


def count(known: dict[str, Any], event: str, *, observed: bool, wrote: bool) -> None:
    """Note that a hook ran, whether it looked at the machine (it sets a status then) and wrote there.

    Hooks that a charm has had dispatched itself are counted, too.
    """
    counts = known.setdefault("hooks", {}).setdefault(event, {"ran": 0, "observed": 0, "wrote": 0})
    for what, one in (("ran", True), ("observed", observed), ("wrote", wrote)):
        counts[what] += one


def remove(request: dict[str, Any]) -> None:
    """After its last hook the unit's agent is gone, and the controller knows nothing of it."""
    directory = Path(load(request["app"])["directory"])
    (UNITS / f"{request['app']}.json").unlink()
    shutil.rmtree(directory.parent)


VERBS = {
    "deploy": deploy,
    "dispatch": dispatch,
    "remove": remove,
    "known": lambda request: load(request["app"]),
}


def imported(app: str, kept: dict[str, tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    """The modules of a charm, for its hooks to start with: imported once after it was unpacked, not used."""
    directory = Path(load(app)["directory"])
    unpacked = (directory / "charmcraft.yaml").stat().st_ctime_ns
    if app not in kept or kept[app][0] != unpacked:
        path, before = [*sys.path], dict(sys.modules)
        importlib.invalidate_caches()
        try:
            charm_class(importlib.import_module("ops"), directory)
        finally:
            kept[app] = unpacked, {name: sys.modules.pop(name) for name in sys.modules.keys() - before}
            sys.path[:] = path
    return kept[app][1]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"answer": VERBS[request.pop("verb")](request)}
    except BaseException:
        return {"problem": traceback.format_exc()}


def serve() -> None:
    """Import what every hook needs, then fork for each request."""
    sys.path.insert(0, PACKAGES)
    site.addsitedir(PACKAGES)  # runs its .pth files: distutils comes from setuptools, as in a charm's venv
    yaml = importlib.import_module("yaml")
    # libyaml, as ops itself takes it: in Python, ops.testing's reading and writing is half of an idle hook.
    yaml.safe_load = partial(yaml.load, Loader=yaml.CSafeLoader)
    yaml.safe_dump = partial(yaml.dump, Dumper=yaml.CSafeDumper)
    importlib.import_module("ops.testing")
    kept: dict[str, tuple[int, dict[str, Any]]] = {}
    with socket.socket(fileno=SYSTEMD_FIRST_SOCKET) as server:
        while True:
            connection, _ = server.accept()
            with connection, connection.makefile("rw") as stream:
                request, modules = json.loads(stream.readline()), {}
                if request["verb"] == "dispatch" and "upgrade" not in request.get("event", ""):
                    with suppress(Exception):  # the child will meet it, too, and say so
                        modules = imported(request["app"], kept)
                if (child := os.fork()) == 0:
                    sys.modules.update(modules)
                    print(json.dumps(answer(request)), file=stream, flush=True)
                    os._exit(0)
                os.waitpid(child, 0)


def juju_exec(arguments: list[str]) -> int:
    """``juju-exec -u <unit> "JUJU_DISPATCH_PATH=hooks/<event> ./dispatch"``: the form that charms use."""
    found = re.fullmatch(r"-u (\S+)/\d+ JUJU_DISPATCH_PATH=hooks/(\S+) \./dispatch", " ".join(arguments))
    if not found:
        print(f"juju-exec: not modelled: {arguments}", file=sys.stderr)
        return 2
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(SOCKET)
        request = {"verb": "dispatch", "app": found[1], "event": found[2]}
        connection.sendall(json.dumps(request).encode() + b"\n")
        answer = json.loads(connection.makefile().read())
    problem = answer.get("problem") or answer["answer"].get("error")
    print(problem or answer["answer"]["status"], file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.path.pop(0)  # this folder: its modules have names that charms' have, too
    if sys.argv[1:2] == ["juju-exec"]:
        sys.exit(juju_exec(sys.argv[2:]))
    serve()
