# SPDX-License-Identifier: Apache-2.0
"""A stand-in for Juju's client, with the client's words: as a command `juju` that keeps its models in a file,
or in this process (:func:`answer`), where units may be anything that a subclass of :class:`Client` asks.

Source: juju/juju 3.6, cmd/juju: cloud/{list,add,addcredential,listcredentials}.go, commands/bootstrap.go,
controller/{listcontrollers,addmodel,listmodels}.go, space/list.go, status/formatted.go, action/{run,exec}.go,
secrets/{add,update,list,grantrevoke}.go, application/{config,deploy}.go for arguments, JSON and refusals.
"""

import argparse
import fcntl
import json
import re
import stat
import sys
from functools import cache
from pathlib import Path

import yaml

SCRIPT = """#!/bin/sh
PYTHONPATH={path} exec {python} -m lab.juju.cli {state} "$@"
"""
TIMES = {"completed": "2026-11-23 10:00:02 +0000 UTC", "enqueued": "2026-11-23 10:00:00 +0000 UTC"}
SHARED = {"clouds": {"localhost": {"defined": "built-in", "type": "lxd"}}, "credentials": {}}
EMPTY = {**SHARED, "controllers": {}, "models": {}, "actions": {}, "calls": [], "files": {}}
"""`models`: by "controller:model", with `spaces`, `status`, `secrets`, `grants`, `config`, and what
:mod:`lab.juju.deployed` adds; `actions`: what "unit action" answers; `calls`: every argv; `files`: what each
call read, by the call's number; `access`: of this user to the models, `admin` if it is not there."""
READ = {"status", "config", "export-bundle", "spaces", "secrets"}
READ |= {"models", "controllers", "clouds", "credentials"}
"""Commands for which access `read` is enough; `config` only if it sets nothing."""
OPTIONS = (
    "-c", "--controller", "-f", "--file", "--format", "--wait", "--params", "--unit", "--execution-group",
    "--base", "--num-units", "--to", "--machine", "--path", "--reset", "--limit", "--include",
)  # fmt: skip
REPEATED = {
    "--config": "config",
    "--bootstrap-base": "bases",
    "--overlay": "overlay",
    "--watch": "watch",
    "--constraints": "constraints",
}
FLAGS = ("--client", "--parallel", "--no-switch", "--no-prompt", "--force", "--destroy-storage")
NO_CONTROLLER = """No controllers registered.

Please either create a new controller using "juju bootstrap" or connect to
another controller that you have been given access to using "juju register"."""


class Refused(Exception):
    """The client's output after ERROR."""


@cache
def _parser():
    """The options of all commands. One parser: a measurement asks the client hundreds of times."""
    parser = argparse.ArgumentParser(prog="juju", add_help=False, exit_on_error=False)
    parser.add_argument("-m", "--model")
    for option in OPTIONS:
        parser.add_argument(option)
    for option, name in REPEATED.items():
        parser.add_argument(option, action="append", dest=name)
    for flag in FLAGS:
        parser.add_argument(flag, action="store_true")
    return parser


def install(folder, **known):
    """Write the command and its state; the folder belongs into PATH. Read the state with `state`."""
    folder.mkdir(exist_ok=True)
    path = folder / "state.json"
    path.write_text(json.dumps({**EMPTY, **known}))
    command = folder / "juju"
    root = Path(__file__).parents[2]
    command.write_text(SCRIPT.format(path=root, python=sys.executable, state=path))
    command.chmod(0o755)
    return path


def state(path):
    return json.loads(path.read_text())


class Client:
    def __init__(self, known):
        self.known = known

    def run(self, words):
        self.known["calls"].append(words)
        verb, *rest = words
        script = rest[rest.index("--") + 1 :] if "--" in rest else []
        rest = rest[: rest.index("--")] if "--" in rest else rest
        handler = getattr(self, f"do_{verb.replace('-', '_')}", None)
        if handler is None:
            raise Refused(f"unrecognized command: juju {verb}")
        given = argparse.Namespace(**{name: [] for name in REPEATED.values()})
        options, left = _parser().parse_known_args(rest, given)
        self.allow(verb, left)
        if wrong := [word for word in left if word.startswith("-")]:
            raise Refused(f"option provided but not defined: {wrong[0]}")
        return handler(options, [*left, *script])

    def allow(self, verb, words):
        access = self.known.get("access", "admin")
        if access == "no controller":
            raise Refused(NO_CONTROLLER)
        sets = verb not in READ or (verb == "config" and any("=" in word for word in words))
        if access == "none" or (access == "read" and sets):
            raise Refused("permission denied")

    def read(self, path):
        """A file, as the confined snap reads it: in its own folder, or not hidden and not in /tmp."""
        found = Path(path)
        own = found.parent == Path.home() / "snap/juju/common"
        if not own and (found.is_absolute() or any(part.startswith(".") for part in found.parts)):
            raise Refused(f"open {path}: permission denied")
        text = found.read_text()
        entry = {"mode": stat.S_IMODE(found.stat().st_mode), "text": text}
        self.known["files"][str(len(self.known["calls"]))] = entry
        return yaml.safe_load(text)

    def model(self, options):
        name = options.model or self.known.get("current", "")
        if name not in self.known["models"]:
            raise Refused(f"model {name or '(none)'} not found")
        return self.known["models"][name]

    # The client's own.

    def do_clouds(self, options, _):
        assert options.client
        return self.known["clouds"]

    def do_add_cloud(self, options, words):
        (name,) = words
        if name in self.known["clouds"]:
            raise Refused(f'"{name}" already exists')
        cloud = self.read(options.f)["clouds"][name]
        if cloud["type"] != "maas" or not cloud["endpoint"].startswith("http"):
            raise Refused("cloud definition is not valid")
        self.known["clouds"][name] = {"defined": "local", **cloud}

    def do_credentials(self, options, _):
        found = {
            cloud: {"cloud-credentials": {name: {"auth-type": "oauth1"} for name in names}}
            for cloud, names in self.known["credentials"].items()
        }
        return {"client-credentials": found} if found else {}

    def do_add_credential(self, options, words):
        (cloud,) = words
        if cloud not in self.known["clouds"]:
            raise Refused(f'cloud "{cloud}" not found')
        for name, body in self.read(options.f)["credentials"][cloud].items():
            if body["auth-type"] != "oauth1" or not re.fullmatch(r"\w+:\w+:\w+", body["maas-oauth"]):
                raise Refused("credential is not valid")
            self.known["credentials"].setdefault(cloud, []).append(name)

    def do_bootstrap(self, options, words):
        cloud, name = words
        if not self.known["credentials"].get(cloud):
            raise Refused(f'detecting credentials for "{cloud}" cloud provider: credentials not found')
        if self.known.get("no machine"):
            raise Refused(
                "failed to bootstrap model: cannot start bootstrap instance: cannot match acquisition"
            )
        print(f'Creating Juju controller "{name}" on {cloud}', file=sys.stderr)
        self.known["controllers"][name] = {"cloud": cloud, "constraints": "".join(options.constraints)}

    def do_controllers(self, *_):
        return {"controllers": self.known["controllers"] or None, "current-controller": ""}

    def do_models(self, options, _):
        if options.c not in self.known["controllers"]:
            raise Refused(f"controller {options.c} not found")
        names = [key.partition(":")[2] for key in self.known["models"] if key.startswith(f"{options.c}:")]
        return {"models": [{"name": f"admin/{name}", "short-name": name} for name in names]}

    def do_add_model(self, options, words):
        (name,) = words
        key = f"{options.c}:{name}"
        self.known["models"][key] = {"spaces": {}, "status": {}, "secrets": {}, "grants": [], "config": {}}
        self.known["models"][key]["model-config"] = options.config
        self.known["current"] = key

    # The model's.

    def do_reload_spaces(self, options, _):
        self.model(options)["spaces"] = self.known.get("maas spaces", {})

    def do_spaces(self, options, _):
        found = {"alpha": [], **self.model(options)["spaces"]}
        details = {"type": "ipv4", "status": "in-use", "zones": ["default"]}
        return {
            "spaces": [
                {"id": str(number), "name": name, "subnets": dict.fromkeys(cidrs, details)}
                for number, (name, cidrs) in enumerate(found.items())
            ]
        }

    def do_deploy(self, options, words):
        """`deployed` is the model's status afterwards."""
        for path in (*words, *options.overlay):
            self.read(path)
        self.model(options)["status"] = self.known["deployed"]

    def do_status(self, options, _):
        return self.model(options)["status"]

    def do_run(self, options, words):
        self.model(options)
        units = [word for word in words if "/" in word and "=" not in word]
        action, *parameters = words[len(units) :]
        if len({unit.partition("/")[0] for unit in units}) > 1:
            raise Refused("all units must be of the same application")
        given = dict(word.split("=", 1) for word in parameters)
        if options.params:
            given |= self.read(options.params)
        said = {}
        for number, receiver in enumerate(units, 1):
            unit = self.leader(receiver.removesuffix("/leader")) if receiver.endswith("/leader") else receiver
            told = self.act(unit, action, given)
            if told is None:
                raise Refused(f'action "{action}" not defined for unit "{unit}". (not found)')
            task = {"id": str(number), "timing": {**TIMES}, "unit": unit, "status": "completed", **told}
            task["results"] = {**dict(sorted(told.get("results", {}).items())), "return-code": 0}
            said[unit] = task
        self.known.setdefault("parameters", []).append([action, given])
        failed = [unit for unit, task in said.items() if task["status"] != "completed"]
        return said, (f"the following task failed: {failed[0]}" if failed else "")

    def leader(self, application):
        """The unit that leads."""
        return f"{application}/0"

    def act(self, unit, action, given):
        """Return an action's results on a unit, without Juju's own; None if the charm has no such action."""
        return self.known["actions"].get(f"{unit} {action}")

    def do_exec(self, options, words):
        self.model(options)
        (script,) = words
        status, out, error = self.execute(options.unit, script)
        task = {"id": "1", "timing": {**TIMES}, "unit": options.unit, "status": "completed"}
        task["results"] = {"return-code": status, "stdout": out, "stderr": error}
        return {options.unit: task}

    def execute(self, unit, script):
        """Exit status and both outputs of a script on a unit's machine."""
        raise Refused(f'unit "{unit}" not found')

    def do_secrets(self, options, _):
        found = {
            key: {"revision": body["revision"], "owner": "<model>", "name": body["name"]}
            for key, body in self.model(options)["secrets"].items()
        }
        return found or ""

    def do_add_secret(self, options, words):
        (name,) = words
        secrets = self.model(options)["secrets"]
        if any(body["name"] == name for body in secrets.values()):
            raise Refused(f'secret with name "{name}" already exists')
        key = f"d0secret{len(secrets)}"
        secrets[key] = {"name": name, "revision": 1, "content": self.read(options.file)}
        return f"secret:{key}"

    def do_update_secret(self, options, words):
        (name,) = words
        for body in self.model(options)["secrets"].values():
            if body["name"] == name:
                body.update(revision=body["revision"] + 1, content=self.read(options.file))
                return
        raise Refused(f'secret "{name}" not found')

    def do_grant_secret(self, options, words):
        model = self.model(options)
        if words not in model["grants"]:
            model["grants"].append(words)

    def do_revoke_secret(self, options, words):
        self.model(options)["grants"].remove(words)

    def do_config(self, options, words):
        application, *pairs = words
        known = self.model(options)["config"].setdefault(application, {})
        for pair in pairs:
            name, _, value = pair.partition("=")
            value = Path(value[1:]).read_text() if value.startswith("@") else value
            known[name] = value
        if pairs:
            return None
        unset = {"source": "unset"}
        defaults = self.model(options).get("defaults", {}).get(application, {})
        settings = {name: {"value": value, "source": "default"} for name, value in defaults.items()} | {
            name: unset if value is None else {"value": value, "source": "user"}
            for name, value in known.items()
        }
        return {"application": application, "charm": application, "settings": settings}

    def do_export_bundle(self, options, _):
        exported = self.model(options).get("export")
        if exported is None:
            raise Refused("exporting bundle: not implemented")
        return exported


def answer(client, words):
    """Return the client's output on both streams, and its exit status."""
    failure = ""
    try:
        said = client.run(list(words))
        if isinstance(said, tuple):
            said, failure = said
    except (Refused, OSError) as error:
        said, failure = None, str(error)
    text = said if isinstance(said, str) else json.dumps(said)
    out = "" if said is None else f"{text}\n"
    return out, f"ERROR {failure}\n" if failure else "", 1 if failure else 0


def main(path, *words):
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several clients may run at a time
        known = state(path)
        out, error, status = answer(Client(known), words)
        path.write_text(json.dumps(known))
    print(out, end="")
    print(error, end="", file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
