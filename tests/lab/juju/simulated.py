# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin that answers the integration tests' `juju` commands: its units say what said.yaml expects.

It tests these tests' steps, not the charms: the unit tests compare said.yaml with the charms' code, and what
an intent renders to comes from that code. As on a controller (juju/juju 3.6 and 4.0: cmd/juju,
internal/worker/machineactions):

- A change shows in the status only after a few looks, first as an idle agent with its old words.
- For a while after units were added or refreshed, none of them leads.
- `exec --machine` runs as the user ubuntu, and only sudo makes it root.
- The results of an action come in the order of their names.
- There is no Charmhub, unless SIMULATED_CHARMHUB is set.

SIMULATED names a fault of FAULTS.
"""

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

import yaml
from integration import said

from lab.juju import cli, uniter
from lab.juju.cli import Refused
from lab.juju.machines import Machines, log

ROOT = Path(__file__).parents[3]

VERSION = os.environ.get("SIMULATED_VERSION", "4.0.15")
FAULT = os.environ.get("SIMULATED", "")
FAULTS = (
    "no controller", "deaf to options", "accepts everything", "stays refused", "hook fails", "one unit lags",
    "leaves files", "no reboot", "reboots all", "reboots twice", "action fails", "refresh is stuck",
    "unit stays", "secret is cached", "starts before options", "changed before joined", "removed before stop",
    "broken before departed",
)  # fmt: skip
RELATED = {"related-application": "other", "interface": "host_fabric", "scope": "global"}
LAG = 4
"""Looks at the status until a change is through; the agent works from the second on."""

LEADERLESS = 8
"""Looks at the status until a unit leads, once a change is through."""


class Application:
    def __init__(self, name, path, units):
        self.name, self.path, self.revision = name, path, 0
        self.options, self.related, self.next_unit = {}, set(), itertools.count()
        self.units = {}
        self.shown, self.looks, self.stuck, self.leaderless = None, 0, "", 0
        for machine in range(units):
            self.add(str(machine))

    def add(self, machine):
        self.units[f"{self.name}/{next(self.next_unit)}"] = machine
        self.leaderless = LEADERLESS


class Model(cli.Client):
    def __init__(self):
        self.only = {"secrets": {}, "grants": []}
        super().__init__({**cli.EMPTY, "calls": [], "files": {}})
        self.applications = {}
        self.machines = Machines(FAULT)
        self.parted = {}

    def model(self, options):
        return self.only

    def read(self, path):
        """A file, of a client that may read all of them."""
        return yaml.safe_load(Path(path).read_text())

    # What a unit says.

    def words(self, app):
        if app.name not in said.CHARMS:
            return "active", ""
        table = said.read(app.name)
        refused = FAULT != "accepts everything"
        for value in table.refused if refused else ():
            if app.options.get(value.option) == str(value.value).replace("True", "true"):
                return "blocked", value.says
        if app.name == "cumulus-fabric" and app.options.get("intent") == said.INTENT.read_text():
            return "blocked", said.credentials()[self.access(app)] + "…"
        for value in table.accepted:
            if value.says and app.options.get(value.option) == str(value.value):
                return table.status, value.says
        return table.status, table.says

    def access(self, app):
        secret = self.only["secrets"].get(app.options.get("credentials", "").removeprefix("secret:"))
        if secret is None:
            return "unset"
        if [secret["name"], app.name] not in self.only["grants"]:
            return "unreadable"
        return "unreachable" if "password" in secret["content"] else "unusable"

    def changed(self, app):
        app.looks = LAG

    def look(self, app):
        """The words and the agent's state at this look."""
        if app.shown is None:
            app.shown = ("waiting", "agent initialising")
            app.looks = LAG
        if app.looks:
            app.looks -= 1
            if app.looks:
                return app.shown, "idle" if app.looks == LAG - 1 else "executing"
        app.shown = self.words(app)
        return app.shown, "idle"

    # The client's commands.

    def do_show_controller(self, options, words):
        if FAULT == "no controller":
            raise Refused("No controllers registered.")
        return {"test": {"details": {"agent-version": VERSION, "cloud": "localhost"}}}

    def do_clouds(self, options, words):
        return self.known["clouds"]

    def do_add_model(self, options, words):
        return ""

    def do_destroy_model(self, options, words):
        return ""

    def do_debug_log(self, options, words):
        if not options.include:
            return "unit-roce-qos-0: 10:00:00 ERROR simulated\n"
        app, _, number = options.include.removeprefix("unit-").rpartition("-")
        gone = app not in self.applications or f"{app}/{number}" not in self.app(app).units
        parted = self.parted.get(f"{app}/{number}", [])
        return log(options.include, VERSION, FAULT, leads=number == "0", parted=parted, gone=gone)

    def do_deploy(self, options, words):
        path, name = words if len(words) == 2 else (words[0], words[0])
        if not Path(path).is_file() and "SIMULATED_CHARMHUB" not in os.environ:
            raise Refused(
                f'resolving with preferred channel: Post "https://api.charmhub.io/": {path}: no route'
            )
        subordinate = name in said.HOST_CHARMS
        count = 0 if subordinate else int(options.num_units or 1)
        self.applications[name] = Application(name, path, count)
        for machine in self.applications[name].units.values():
            self.machines.start(machine)

    def do_integrate(self, options, words):
        (one, _), (two, endpoint) = (word.split(":") for word in words)
        one, two = self.app(one), self.app(two)
        if endpoint == "juju-info":
            for machine in one.units.values():
                two.add(machine)
                self.machines.files(two.name, machine, Path.touch)
        else:
            for here, there in ((one, two), (two, one)):
                here.related.add(endpoint)
                hooks = ("relation-created", *uniter.MET * len(there.units))
                for unit in here.units:
                    self.parted.setdefault(unit, []).extend(f"{endpoint}-{hook}" for hook in hooks)
        self.changed(two)

    def do_remove_relation(self, options, words):
        (one, _), (two, endpoint) = (word.split(":") for word in words)
        one, two = self.app(one), self.app(two)
        for here, there in ((one, two), (two, one)) if endpoint != "juju-info" else ():
            here.related.discard(endpoint)
            hooks = uniter.of_a_removed_relation(endpoint, len(there.units))
            if FAULT == "broken before departed":
                hooks.reverse()
            for unit in here.units:
                self.parted.setdefault(unit, []).extend(hooks)
        if endpoint == "juju-info" and FAULT != "unit stays":
            self.leave(two)
        self.changed(two)

    def do_remove_application(self, options, words):
        for name in words:
            self.leave(self.app(name))
            self.applications.pop(name)

    def leave(self, app):
        for machine in app.units.values() if FAULT != "leaves files" else ():
            self.machines.files(app.name, machine, Path.unlink)
        app.units.clear()

    def app(self, name):
        if name not in self.applications:
            raise Refused(f'application "{name}" not found')
        return self.applications[name]

    def do_config(self, options, words):
        name, *pairs = words
        app = self.app(name)
        if FAULT == "deaf to options":
            return
        if not (FAULT == "stays refused" and options.reset):
            for reset in filter(None, (options.reset or "").split(",")):
                app.options.pop(reset, None)
        app.options |= dict(pair.split("=", 1) for pair in pairs)
        self.changed(app)

    def do_refresh(self, options, words):
        app = self.app(words[0])
        app.revision, app.path = app.revision + 1, options.path
        app.leaderless = LEADERLESS
        app.stuck = f"local:{app.name}-{app.revision - 1}" if FAULT == "refresh is stuck" else ""
        self.changed(app)

    def do_status(self, options, words):
        found = {}
        for app in self.applications.values():
            (name, message), agent = self.look(app)
            app.leaderless, units = max(app.leaderless - (not app.looks), 0), {}
            for number, (unit, machine) in enumerate(app.units.items()):
                old = FAULT == "one unit lags" and number == 1
                units[unit] = {
                    "workload-status": {"current": name, "message": "old words" if old else message},
                    "juju-status": {"current": agent, "version": VERSION},
                    "machine": machine,
                    **({"leader": True} if number == 0 and not app.leaderless else {}),
                    **({"upgrading-from": app.stuck} if app.stuck else {}),
                }
                if FAULT == "hook fails" and app.name == "roce-qos":
                    units[unit]["workload-status"] = {"current": "error", "message": 'hook failed: "install"'}
            subordinate = app.name in said.HOST_CHARMS
            found[app.name] = {
                "charm": f"local:{app.name}-{app.revision}", "charm-origin": "local", "charm-name": app.name,
                "charm-rev": app.revision, "base": {"name": "ubuntu", "channel": "22.04"}, "exposed": False,
                "application-status": {"current": name, "message": message},
                "relations": {end: [RELATED] for end in app.related},
                **({"subordinate-to": ["principal"]} if subordinate else {"units": units}),
            }  # fmt: skip
            found[app.name]["_units"] = units
        self.place(found)
        machine = {"juju-status": {"current": "started"}, "machine-status": {"current": "running"}}
        return {
            "model": {
                "name": "m", "type": "iaas", "controller": "test", "cloud": "localhost", "version": VERSION,
                "model-status": {"current": "available"},
            },
            "machines": dict.fromkeys(self.machines.boots, machine),
            "applications": found,
            "storage": {}, "controller": {"timestamp": "10:00:00Z"},
        }  # fmt: skip

    def place(self, found):
        """Subordinates are shown below their principals only."""
        principals = next(body["units"] for name, body in found.items() if name not in said.CHARMS)
        for name in list(found):
            units = found[name].pop("_units")
            if name in said.HOST_CHARMS:
                for unit, body in units.items():
                    for principal in principals.values():
                        if principal["machine"] == body["machine"]:
                            shown = {key: value for key, value in body.items() if key != "machine"}
                            principal.setdefault("subordinates", {})[unit] = shown

    def leader(self, name):
        app = self.app(name)
        if app.leaderless:
            raise Refused(f'could not determine leader for "{name}"')
        return next(iter(app.units))

    def act(self, unit, action, given):
        app = self.app(unit.partition("/")[0])
        name, message = self.words(app)
        act = next((each for each in said.read(app.name).actions if each.run == action), None)
        if act is None:
            return None
        if missing := act.given.keys() - given.keys() - {"dialect"}:
            raise Refused(f"validation failed: (root) : {missing} is missing")
        fails, results = act.fails, {"result": f"… {act.says} …"}
        if app.options and name == "blocked" and not message.startswith(said.read(app.name).says):
            ready = app.name == "cumulus-fabric" and action in OFFLINE
            fails = "" if ready else message
            results = offline(action, app.options["intent"], given) if ready else {}
        if action == "approve-reboot" and app.name == "nic-firmware" and self.machines.requests:
            fails, results = "", {"result": "approved"}
            for machine in list(self.machines.requests):
                self.machines.reboot(machine)
        if FAULT == "action fails" and action == "capture":
            fails = "capture cannot be made"
        return {"status": "failed", "message": fails} if fails else {"results": results}

    def do_exec(self, options, words):
        return self.machines.execute(options.machine, *words)

    def do_update_secret(self, options, words):
        if FAULT != "secret is cached":
            super().do_update_secret(options, words)
        self.changed(self.app("cumulus-fabric"))


OFFLINE = {"audit": "audit", "render": "render", "show-fabric": "show"}


def offline(action, intent, given):
    """The results of an action that needs no switch, from cumulus-fabric's own code."""
    command = [sys.executable, "-m", "cli", OFFLINE[action], "--intent", "-"]
    for name, value in given.items():
        command += [f"--{name}", value]
    path = f"{ROOT}/lib:{ROOT}/charms/cumulus-fabric/src"
    done = subprocess.run(
        command, input=intent, env={"PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    if action == "audit":
        return {"sound": "true", "findings": done.stdout}
    return {{"render": "rendered", "show-fabric": "fabric"}[action]: done.stdout}


class Clock:
    """Sleeping takes no time, and is known to have been."""

    def __init__(self, model):
        self.now, self.model = 0.0, model

    def sleep(self, seconds):
        self.now += seconds
        if seconds > 60:
            self.model.machines.pass_time()

    def monotonic(self):
        return self.now


def pytest_configure(config):
    """Take the place of the client and of the clock."""
    model = Model()
    clock, really = Clock(model), subprocess.run

    def run(command, **given):
        if command[0] != "juju":
            return really(command, **given)
        out, error, code = cli.answer(model, command[1:])
        if code and given.get("check"):
            raise subprocess.CalledProcessError(code, command, out, error)
        return subprocess.CompletedProcess(command, code, out, error)

    subprocess.run = run
    time.sleep, time.monotonic = clock.sleep, clock.monotonic
