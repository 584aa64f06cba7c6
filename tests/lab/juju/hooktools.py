# SPDX-License-Identifier: Apache-2.0
"""A controller that answers hook tools, and charms' hooks in this process, with ops' own code in between.

Each hook of a unit is what ``ops.main`` makes of it; what ops would start as a process is answered here, and
counted. As on a controller (juju/juju 3.6: worker/uniter/runner/context):

- A hook reads databags as they are when it reads them first. What it writes is there when it has ended, if it
  has ended well, and only the unit's own databag and, by the leader, its application's can be written.
- Setting what is there already changes nothing, so that nobody is told.
- Juju takes no argument of 128 KiB (Linux' MAX_ARG_STRLEN).

Which hooks follow is the caller's, who is told which databags have changed.
"""

import contextlib
import importlib
import json
import logging
import os
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ops
import yaml
from charmkit import early

from lab.juju.model import Model, Relation, app_of

LONGEST = 128 * 1024
SET_BY_OPS = "OPERATOR_DISPATCH"
MODEL = {"JUJU_VERSION": "3.6.9", "JUJU_MODEL_NAME": "site", "JUJU_MODEL_UUID": "6f3a4519-89ba-4c58-876c"}


@dataclass
class Application:
    """An application.

    Attributes:
        kind: the charm's class.
        directory: of its metadata, as :func:`declared` writes it.
        config: its options with their values.
        meta: what ops makes of its metadata.

    """

    kind: type[ops.CharmBase]
    directory: Path
    config: dict[str, Any]
    meta: Any = None


@dataclass
class Ran:
    """The work of one hook or action.

    Attributes:
        tools: how often each hook tool ran.
        early: it ended before ops was loaded.
        seconds: processor time of this thread, without the start of Python. Requests to switches run in
            threads of their own, as do simulated switches.
        changed: relation and unit, or application, of each databag that is not as before.
        results: of an action.
        failure: of an action.

    """

    tools: Counter[str] = field(default_factory=Counter[str])
    early: bool = False
    seconds: float = 0.0
    changed: list[tuple[Relation, str]] = field(default_factory=list[tuple[Relation, str]])
    results: dict[str, Any] = field(default_factory=dict[str, Any])
    failure: str = ""
    reboot: bool = False
    looked: bool = False


def declared(source: Path, target: Path) -> tuple[Path, dict[str, Any]]:
    """charmcraft.yaml apart in the files that ops reads; also the options with defaults."""
    content = yaml.safe_load((source / "charmcraft.yaml").read_text())
    target.mkdir(parents=True)
    options = content.get("config", {}).get("options", {})
    for key in ("config", "actions"):
        (target / f"{key}.yaml").write_text(yaml.safe_dump(content.pop(key, {})))
    (target / "metadata.yaml").write_text(yaml.safe_dump(content))
    return target, {name: option["default"] for name, option in options.items() if "default" in option}


class Controller(Model):
    """A controller's knowledge of one model, and the hooks of its units.

    Args:
        directory: for what units keep.

    """

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.directory = directory
        self.applications: dict[str, Application] = {}
        self.secrets: dict[str, dict[str, str]] = {}
        self.status: dict[str, tuple[str, str]] = {}
        self.versions: dict[str, str] = {}

    def deploy(self, source: Path, kind: type[ops.CharmBase], **options: Any) -> Application:
        """Add an application named as the folder of its charm; its unit 0 leads.

        Options are named with ``_`` for ``-``.
        """
        name = source.name
        path, config = declared(source, self.directory / f"charm-{name}")
        config |= {option.replace("_", "-"): value for option, value in options.items()}
        self.leaders[name] = f"{name}/0"
        made = Application(kind, path, config, ops.CharmMeta.from_charm_root(path))
        self.applications[name] = made
        return made

    def state(self, unit: str) -> Path:
        """The file in which a unit keeps what it stores."""
        return self.directory / f"{unit.replace('/', '-')}.db"

    def environment(
        self,
        unit: str,
        hook: str,
        relation: Relation | None = None,
        remote: str = "",
        params: Mapping[str, Any] | None = None,
    ) -> dict[str, str]:
        """Return the environment that Juju's agent gives a hook or an action, as for :meth:`begin`."""
        name = app_of(unit)
        path = f"hooks/{hook}" if params is None else f"actions/{hook}"
        environment = {
            **MODEL,
            "JUJU_UNIT_NAME": unit,
            "JUJU_CHARM_DIR": str(self.applications[name].directory),
        }
        if params is not None:
            environment |= {"JUJU_ACTION_NAME": hook, "JUJU_ACTION_UUID": "1"}
        if relation:
            endpoint = relation.ends[name]
            path = f"hooks/{endpoint}-{hook}"
            environment |= {"JUJU_RELATION": endpoint, "JUJU_RELATION_ID": f"{endpoint}:{relation.id}"}
            other = app_of(remote) or relation.far(name)
            environment |= {"JUJU_REMOTE_APP": other, "JUJU_REMOTE_UNIT": remote if "/" in remote else ""}
            if hook == "relation-departed":
                environment["JUJU_DEPARTING_UNIT"] = remote
        return environment | {"JUJU_DISPATCH_PATH": path}

    def begin(
        self,
        unit: str,
        hook: str,
        relation: Relation | None = None,
        remote: str = "",
        *,
        params: Mapping[str, Any] | None = None,
        code: contextlib.AbstractContextManager[None] | None = None,
    ) -> "Tools":
        """Run a hook, named as Juju names it without its relation's endpoint, or an action with its params.

        Others see what it has written once that is committed. Only what is not over before ops is loaded
        needs the charm's ``code``.

        Raises whatever the charm raises; nothing is written then.
        """
        environment = self.environment(unit, hook, relation, remote, params)
        application = self.applications[app_of(unit)]
        tools = Tools(self, unit, params or {})
        with _answered(tools, environment):
            began = time.thread_time()
            try:
                early.end_early()
            except SystemExit:
                tools.ran.early = True
            tools.ran.seconds = time.thread_time() - began
            if not tools.ran.early:
                with code or contextlib.nullcontext():
                    began = time.thread_time()
                    self._dispatch(application, unit, environment)
                    tools.ran.seconds += time.thread_time() - began
        return tools

    def run(self, *what: Any, **named: Any) -> Ran:
        """The same, and what it has written is there at once."""
        tools = self.begin(*what, **named)
        tools.commit()
        return tools.ran

    def _dispatch(self, application: Application, unit: str, environment: dict[str, str]) -> None:
        main: Any = importlib.import_module("ops._main")
        context = importlib.import_module("ops.jujucontext").JujuContext._from_dict(environment)

        class Manager(main._Manager):
            """Reads metadata once for all hooks."""

            def _load_charm_meta(self) -> Any:
                return application.meta

        # ops defines a charm's events on these classes, once in a process.
        events = type("Events", (type(application.kind.on),), {})
        kind = type(application.kind.__name__, (application.kind,), {"on": events()})
        manager = Manager(kind, charm_state_path=str(self.state(unit)), juju_context=context)
        try:
            manager.run()
        finally:
            manager.destroy()


class Tools:
    """The hook tools of one hook."""

    def __init__(self, controller: Controller, unit: str, params: Mapping[str, Any]) -> None:
        self._controller = controller
        self._unit = unit
        self._app = app_of(unit)
        self._params = params
        self._written: dict[tuple[int, str], dict[str, str]] = {}
        self.ran = Ran()

    def __call__(self, argv: list[str], given: str | None) -> str:
        """Return the output of a tool.

        Raises:
            CalledProcessError: it would end with a code other than 0.

        """
        name, *words = argv
        self.ran.tools[name] += 1
        if too_long := [word for word in words if len(word.encode()) >= LONGEST]:
            raise OSError(7, f"Argument list too long: {name} with {len(too_long[0])} characters")
        words = [word for word in words if word not in ("--format=json", "--")]
        answer: Callable[..., object] = getattr(self, f"_{name.replace('-', '_')}")
        try:
            found = answer(words, given) if name == "relation-set" else answer(words)
        except KeyError as error:
            raise subprocess.CalledProcessError(1, argv, "", f"ERROR {error} not found") from None
        return json.dumps(found)

    def commit(self) -> None:
        """Have the others see what the hook has written."""
        for (number, owner), data in self._written.items():
            relation, bag = (
                self._controller.relation(number),
                self._controller.databags[number].get(owner, {}),
            )
            new = {key: value for key, value in (bag | data).items() if value}
            if self._controller.write(relation, owner, new):
                self.ran.changed.append((relation, owner))

    def _relation_ids(self, words: list[str]) -> list[str]:
        own = self._controller.related(self._unit)
        return [f"{words[0]}:{each.id}" for each in own if each.ends[self._app] == words[0]]

    def _relation(self, words: list[str]) -> Relation:
        return self._controller.relation(int(words[words.index("-r") + 1].rpartition(":")[2]))

    def _relation_list(self, words: list[str]) -> list[str] | str:
        relation = self._relation(words)
        if "--app" in words:
            return relation.far(self._app)
        return self._controller.seen(relation, self._unit)

    def _relation_get(self, words: list[str]) -> dict[str, str]:
        relation, owner = self._relation(words), words[-1]
        if "--app" in words:
            owner = app_of(owner)
        bags = self._controller.databags[relation.id]
        return {**bags.get(owner, {}), **self._written.get((relation.id, owner), {})}

    def _relation_set(self, words: list[str], given: str | None) -> None:
        owner = self._app if "--app" in words else self._unit
        if owner == self._app and not self._is_leader([]):
            raise KeyError(f"{self._unit} is not leader, so its application's databag")
        self.write(self._relation(words), owner, json.loads(given or "{}"))

    def write(self, relation: Relation, owner: str, data: Mapping[str, str]) -> None:
        """Have keys of a databag set with :meth:`commit`; an empty text removes one."""
        key = (relation.id, owner)
        self._written[key] = {**self._written.get(key, {}), **data}

    def _is_leader(self, _: list[str]) -> bool:
        return self._controller.leads(self._unit)

    def _config_get(self, _: list[str]) -> dict[str, Any]:
        return self._controller.applications[self._app].config

    def _secret_get(self, words: list[str]) -> dict[str, str]:
        return self._controller.secrets[words[0]]

    def _status_get(self, _: list[str]) -> dict[str, Any]:
        status, message = self._controller.status.get(self._unit, ("unknown", ""))
        return {"status": status, "message": message, "status-data": {}}

    def _status_set(self, words: list[str]) -> None:
        self.ran.looked = True
        self._controller.status[self._unit] = (words[-2], words[-1])

    def _application_version_set(self, words: list[str]) -> None:
        self._controller.versions[self._app] = words[-1]

    def _resource_get(self, words: list[str]) -> str:
        raise KeyError(f"resource {words[0]}")

    def _juju_log(self, _: list[str]) -> None:
        """Nobody reads it."""

    def _juju_reboot(self, _: list[str]) -> None:
        self.ran.reboot = True

    def _action_get(self, _: list[str]) -> Mapping[str, Any]:
        return self._params

    def _action_set(self, words: list[str]) -> None:
        self.ran.results |= dict(word.split("=", 1) for word in words)

    def _action_fail(self, words: list[str]) -> None:
        self.ran.failure = words[-1]

    def _action_log(self, _: list[str]) -> None:
        """Progress, for who waits."""


@contextlib.contextmanager
def _answered(tools: Tools, environment: Mapping[str, str]) -> Generator[None]:
    """Have ops, and what runs before it, ask ``tools``; and undo what a hook changes of its process."""
    utils: Any = importlib.import_module("ops.hookcmds._utils")
    process: Any = importlib.import_module("hostnic.process")
    root = logging.getLogger()
    kept = (utils.subprocess, process.run, list(root.handlers), root.level, sys.excepthook)
    # Only these names: reading and writing the whole environment takes longer than a hook that ends early.
    before = {name: os.environ.get(name) for name in (*environment, SET_BY_OPS)}
    shown = warnings.showwarning

    class Answering:
        """subprocess, as far as ops uses it for hook tools."""

        CalledProcessError = subprocess.CalledProcessError

        @staticmethod
        def run(argv: tuple[str, ...], **given: Any) -> Any:
            return subprocess.CompletedProcess(argv, 0, tools(list(argv), given["input"]), "")

    def run(argv: Sequence[str], timeout: float = 60.0) -> str:
        return tools(list(argv), None)

    utils.subprocess, process.run = Answering, run
    os.environ.update(environment)
    try:
        yield
    finally:
        utils.subprocess, process.run = kept[0], kept[1]
        for name, value in before.items():
            if value is not None:
                os.environ[name] = value
            elif name in os.environ:
                del os.environ[name]
        root.handlers[:], sys.excepthook, warnings.showwarning = kept[2], kept[4], shown
        if root.level != kept[3]:
            root.setLevel(kept[3])
